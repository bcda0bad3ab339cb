"""A split release of a table of any size: one table for each confidential attribute, as in `shoal.split`, on an engine.

    1. A1..Ar are masked in chunks (`shoal.chunked_draft`); confidential values go along, and are not shown yet
    2. the records of each class are brought together, whichever chunks they were masked in, so that a class is all that
       shows the same in A1..Ar: it shows one cell of each confidential attribute
    3. each table takes its columns of that, in an order of its own, is written, judged as it stands there, and gets its
       name together with all others (`shoal.data.commit`)

All records of a class show the same in every table, and stand in the same chunk because of what they show in A1..Ar:
who lays the tables side by side learns nothing by chunk or position that their classes do not tell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import randbits
from typing import Any

import numpy as np
import polars as pl

from shoal import events
from shoal.chunked_draft import LOST, Alike, Carried, ChunkedDraft, draft_in_chunks, with_stars
from shoal.chunked_release import ChunkedRelease, ToFolder, judged_release, refuse_ledger
from shoal.data.commit import commit
from shoal.data.forms import Forms
from shoal.draft import assemble
from shoal.engines.order import put_in_order, with_positions
from shoal.engines.paired import ORIGINAL
from shoal.engines.spelled import Spelled, spelling_of
from shoal.engines.table import FACTS, Batch, Table
from shoal.engines.whole import POSITION
from shoal.errors import InputError
from shoal.masking import chunks
from shoal.masking.chunks import Attributes
from shoal.masking.method import Masked
from shoal.masking.publishing.confidential import check_promises, grouped_by, refuse_none_left, shown_by_classes
from shoal.masking.publishing.private_mean import budget
from shoal.masking.whole_histories import refuse_whole, whole_of
from shoal.policy import Policy
from shoal.privacy.classes import CLASS, ByClass, in_classes
from shoal.privacy.weighed import weights_in
from shoal.releases.ledger import Ledger
from shoal.report.words import each_note_once
from shoal.risk.dependence import Dependence, dependence
from shoal.split_tables import (
    MERGED,
    SplitTables,
    about,
    confidential_of,
    left_out_of_all,
    refuse_older,
    refuse_uncertified_tables,
    shown_by,
    targets_of,
)
from shoal.survey import Survey
from shoal.utility.information_loss import losses_by_table, squared_losses

_TRIAL = 1000  # records that tell what a chunk will show


@dataclass(frozen=True)
class ChunkedSplitRelease(SplitTables):
    """One judged table a confidential attribute, where an engine keeps it."""

    tables: Mapping[str, ChunkedRelease] = field(repr=False)
    merged: ChunkedRelease = field(repr=False)


@dataclass(frozen=True)
class ChunkedSplitDraft:
    """Masked tables that nobody has judged yet; `MERGED` is all attributes in one."""

    drafts: Mapping[str, ChunkedDraft] = field(repr=False)
    facts: Mapping[str, list[str]] = field(repr=False)  # table -> what is known of its chunks, as text
    dependence: Dependence
    notes: tuple[str, ...]

    def judged(self) -> ChunkedSplitRelease:
        """The release, if every promise holds of every table, and of all merged."""
        tables = {name: self._judged(name, made.public.kept()[0]) for name, made in self.drafts.items()}
        return ChunkedSplitRelease(tables, tables.pop(MERGED), self.dependence, self.notes)

    def _judged(self, name: str, shown: Table) -> ChunkedRelease:
        return judged_release(self.drafts[name], shown, self.facts[name])

    def write(
        self,
        folder: str,
        kind: str,
        *,
        merge: bool,
        certificate: str | Path | None,
        seed: int | None,
        ledger: Ledger | None,
        overwrite: bool,
    ) -> ChunkedSplitRelease:
        """Writes a folder each, all judged before the first gets its name; the ledger records their classes once."""
        names = [name for name in self.drafts if name != MERGED]
        targets = targets_of(folder, names, certificate, merge=merge)
        refuse_older(folder, merge=merge)
        refuse_uncertified_tables(targets, overwrite=overwrite)
        merged = None if merge else self._judged(MERGED, self.drafts[MERGED].public)
        cost = sum(mean.epsilon for mean in self.drafts[MERGED].survey.policy.private_means().values())
        recorded = [ledger, *[None] * len(targets)]  # with the last that gets its name, which is the first of them
        folders = {
            name: ToFolder(self.drafts[name], self.facts[name], str(target.path), kind, overwrite, seed, book, cost)
            for (name, target), book in zip(targets.items(), recorded, strict=False)
        }
        outputs = [
            to.output(targets[name].certificate, target=place_of(to.made.table, to.folder))
            for name, to in folders.items()
        ]
        judgements = commit(outputs, overwrite=overwrite)
        named = zip(folders.items(), judgements, strict=True)
        released = {name: to.released(judgement) for (name, to), judgement in named}
        people = judgements[0].people
        strangers = () if ledger is None or people is None else ledger.strangers_of(people)
        merged = released.pop(MERGED, None) or merged
        assert merged is not None
        return ChunkedSplitRelease(released, merged, self.dependence, (*self.notes, *strangers))


def refuse_independent(engine: str) -> None:
    """Refuses tables with classes of their own: what they tell together is judged over all records at once."""
    raise InputError(
        "Tables with classes of their own (--split confidential:independent) are tested for what depends on what, and "
        f"judged by what all of them leave of each person, over all records at once, which the engine {engine!r} never "
        "has: leave out independent, or use --engine memory."
    )


def place_of(table: Table, folder: str) -> Path:
    """Where on this machine a folder is written; refused where it is elsewhere."""
    place = table.place(folder)
    if place is None:
        raise elsewhere(folder)
    return place


def elsewhere(folder: str) -> InputError:
    """The error of folders in a store where they could not get their names together."""
    return InputError(
        f"The tables of a split release get their names together, or none does, and in the store of {folder!r} a name "
        "cannot be taken back: name a folder of this machine by its path, and copy the tables there."
    )


def split_to(
    table: Table,
    policy: Policy,
    folder: str,
    kind: str = "parquet",
    *,
    merge: bool = False,
    seed: int | None = None,
    certificate: str | Path | None = None,
    overwrite: bool = False,
    keep_order: bool = False,
    ledger: Ledger | None = None,
    forms: Forms | None = None,
) -> ChunkedSplitRelease:
    """Writes `release.charge` and so on for `release`, each a folder; with `merge` all in one as `release` too."""
    place_of(table, folder)
    if ledger is not None:
        refuse_ledger(table, policy, ledger)
        seed = randbits(63) if seed is None else seed  # the ledger keeps it
    made = split_in_chunks(table, policy, seed=seed, keep_order=keep_order, ledger=ledger, forms=forms)
    return made.write(folder, kind, merge=merge, certificate=certificate, seed=seed, ledger=ledger, overwrite=overwrite)


def split_in_chunks(
    table: Table,
    policy: Policy,
    *,
    seed: int | None = None,
    keep_order: bool = False,
    ledger: Ledger | None = None,
    forms: Forms | None = None,
) -> ChunkedSplitDraft:
    """Masks every table, over shared classes. Nothing has been judged yet."""
    refuse_whole(whole_of(policy.models), "is split by confidential columns (--split)")
    names = confidential_of(policy)
    refuse_none_left([name for name in policy.quasi_identifiers if name not in names])
    for model in policy.models:
        if model.beside_original:
            raise InputError(
                f"The engine {table.engine!r} cannot promise the {model.name} of several tables: it is measured as a "
                "chunk is masked, before classes show what is confidential. Leave it out, or use --engine memory."
            )
    seed = randbits(63) if seed is None else seed
    merged = about(policy, names, shown_by(policy, names))
    grouped = merged.changed(show={}, epsilon=None)
    made = draft_in_chunks(table, grouped, seed=seed, keep_order=keep_order, ledger=ledger, apart=names, forms=forms)
    known = made.survey
    grouped_by(known.attributes.schema, merged.show | policy.show)  # refused where that cannot be
    alike = Alike(merged.show, merged.private_means())
    check_promises(known.attributes.schema, merged.method, alike.means, known.promises)
    apart = _apart(table, replace(known, policy=merged))
    made, masked = made.kept()
    events.stage("publishing")
    shown, carried = _shown_in_classes(made, apart, alike)
    shown, published = shown.kept()
    schema = known.attributes.schema
    drafts = {
        name: _only(apart, name, shown, carried, None if keep_order else _Reordered(seed, number))
        for number, name in enumerate((MERGED, *schema.confidential))
    }
    drawn = known.released.microdata(known.summary.sample.sort(POSITION))  # permuted as the whole table would be
    tested = dependence([drawn[name] for name in schema.confidential])
    facts = _Facts([json.loads(text) for text in masked], [json.loads(text) for text in published])
    notes = (
        *left_out_of_all(list(table.schema), policy.roles(list(table.schema))),
        f"{tested.rule} {_by_some(len(drawn), known.records)}".strip(),
        *budget(alike.means, known.k),
        *facts.notes(),
    )
    return ChunkedSplitDraft(drafts, {name: facts.of(name) for name in drafts}, tested, notes)


def _by_some(drawn: int, records: int) -> str:
    return f"This was tested on {drawn:,} records, drawn evenly." if drawn < records else ""


def _apart(table: Table, known: Survey) -> Survey:
    """What is known of all attributes in one table; what is confidential is written in its own notation, too."""
    alike = known.schema.only(attribute for attribute in known.schema if attribute.name in known.policy.show)
    forms = known.spelled.forms
    notations = spelling_of(table, alike, forms).notations
    return replace(known, spelled=Spelled({}, {**known.spelled.notations, **notations}, forms))


def _only(known: Survey, name: str, shown: Table, carried: Carried, order: _Reordered | None) -> ChunkedDraft:
    """T_i: A1..Ar and one confidential attribute; all of them if it is `MERGED`."""
    if name != MERGED:
        others = set(known.policy.confidential) - {name}
        schema = known.attributes.schema.only(a for a in known.attributes.schema if a.name not in others)
        policy = about(known.policy, [name], {name: known.policy.show[name]})
        known = replace(known, policy=policy, attributes=replace(known.attributes, schema=schema), notes=())
        kept = (name, known.policy.person, *weights_in(known.promises))
        carried = replace(carried, originals={n: dtype for n, dtype in carried.originals.items() if n in kept})
    table = shown.select([*known.schema.names, *carried.schema])
    return ChunkedDraft(known, table if order is None else table.map(order, table.schema), carried, order is None)


@dataclass(frozen=True)
class _Reordered:
    """The records of a table in an order of its own: positions link nobody across tables."""

    seed: int
    number: int  # of the table

    def __call__(self, batch: Batch) -> pl.DataFrame:
        own = np.random.SeedSequence(self.seed, spawn_key=(self.number, batch.position))
        return batch.frame[np.random.default_rng(own).permutation(batch.frame.height)]


@dataclass(frozen=True)
class _Facts:
    """What chunks have told as they were masked, and as classes were shown."""

    masked: Sequence[dict[str, Any]]
    shown: Sequence[dict[str, Any]]

    def notes(self) -> list[str]:
        """Each once."""
        return [
            note for facts in (self.masked, self.shown) for note in each_note_once([fact["notes"] for fact in facts])
        ]

    def of(self, name: str) -> list[str]:
        """Of one table, as text; only of all in one do they tell the notes."""
        lost = [fact.get(LOST, {}).get(name, 0.0) for fact in self.masked]  # with what is suppressed
        fresh: dict[str, Any] = {
            LOST: None,
            "separation": {},
            "notes": [],
        }  # pairs are not counted over tables that are shown apart
        facts = [{**fact, **fresh, "loss": loss} for fact, loss in zip(self.masked, lost, strict=True)]
        facts[0]["loss"] += sum(fact["loss"][name] for fact in self.shown)
        facts[0]["notes"] = self.notes() if name == MERGED else []
        return [json.dumps(fact) for fact in facts]


# ---- classes of the whole table


def _shown_in_classes(made: ChunkedDraft, known: Survey, alike: Alike) -> tuple[Table, Carried]:
    """The masked table with what each class shows of confidential attributes; and what still goes along."""
    quasi = tuple(made.survey.schema.quasi_identifiers)
    judged = {*(model.attribute for model in known.promises), known.policy.person, *weights_in(known.promises)}
    originals = {name: dtype for name, dtype in made.carried.originals.items() if name in judged}
    carried = replace(made.carried, originals=originals, apart=False, position=made.in_order)
    own = known.schema.only(attribute for attribute in known.schema if attribute.name in alike.show)
    spelled = Spelled({}, {name: way for name, way in known.spelled.notations.items() if name in alike.show})
    work = _ShowClasses(quasi, Attributes(own, known.attributes.whole), alike, spelled)
    tried = work(_trial(made, known), 0).schema
    stars = dict.fromkeys((name for name in with_stars(known) if name in alike.show), pl.String())
    cells = {**made.table.schema, **tried, **stars}
    shown = pl.Schema({**{name: cells[name] for name in known.schema.names}, **carried.schema, FACTS: pl.String()})
    table = with_positions(made.table) if made.in_order else made.table
    count = table.chunks(known.records)
    together = table.exchange(ByClass(quasi, count), count).map(replace(work, shown=shown), shown)
    if made.in_order:
        together = put_in_order(together, known.records, chunks.CHUNK)
    return together, replace(carried, position=False)


def _trial(made: ChunkedDraft, known: Survey) -> pl.DataFrame:
    """Some records, as they would come to a chunk."""
    sample = known.summary.sample.head(_TRIAL)
    quasi = made.survey.schema.quasi_identifiers
    own = (pl.col(name).alias(f"{ORIGINAL}{name}") for name in made.carried.originals if name in sample.columns)
    return sample.select(*quasi, *own, pl.lit(0.0).alias(LOST))


@dataclass(frozen=True)
class _ShowClasses:
    """What classes show of confidential attributes; a chunk holds all records of each of its classes."""

    quasi: tuple[str, ...]  # that classes are told apart by
    own: Attributes  # the confidential ones
    alike: Alike
    spelled: Spelled
    shown: pl.Schema | None = None  # as all chunks show it; None: the confidential cells of this one

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        original = self.own.microdata(frame.select(pl.col(f"{ORIGINAL}{n}").alias(n) for n in self.own.schema.names))
        index = in_classes(frame, self.quasi)[CLASS].rank("dense").cast(pl.Int32).to_numpy() - 1
        cells, notes = shown_by_classes(original, index, self.alike.show, self.alike.means)
        confidential = assemble(original, Masked(cells)).with_columns(pl.col(pl.Enum).cast(pl.String))
        confidential = self.spelled.written(confidential, original.frame)
        if self.shown is None:
            return confidential
        own = {name: squared_losses([original[name]], cells) for name in cells}
        lost = losses_by_table(frame[LOST].to_numpy(), own, len(self.quasi))
        facts = json.dumps({"loss": lost, "notes": notes})
        beside_first = pl.Series(FACTS, [facts, *[None] * (frame.height - 1)], dtype=pl.String)
        shown = frame.with_columns(*confidential.get_columns(), beside_first).select(self.shown.names())
        return shown.cast(self.shown)
