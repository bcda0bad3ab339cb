"""A draft of a table of any size: masked chunk by chunk, by the code of a table in memory, and not judged yet.

Chunks are masked when somebody reads the result, each with a seed of its own, and shuffled. What must be known of a
chunk afterwards goes along as text beside its first record, what must be known of a record in columns that are never
released (`Carried`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import randbits
from typing import Any

import numpy as np
import polars as pl

from shoal import events
from shoal.capabilities import refuse_together, refuse_what_cannot
from shoal.data.forms import Forms
from shoal.data.frames import OWN
from shoal.data.free_text import MaskTexts
from shoal.data.microdata import Microdata
from shoal.data.people import counting
from shoal.data.schema import Attribute, Kind, Person, Role, Schema
from shoal.data.text_choice import left_out_note
from shoal.draft import assemble, never_shown, owner_column, texts_without_role
from shoal.engines.order import put_in_order, refuse_order, with_positions
from shoal.engines.paired import ORIGINAL
from shoal.engines.spelled import Spelled
from shoal.engines.table import FACTS, Batch, Parts, Table, first_records, selected
from shoal.engines.text import SPELLED
from shoal.engines.whole import POSITION
from shoal.errors import InputError
from shoal.masking import chunks
from shoal.masking.chunks import Attributes, WholeTable, at_random
from shoal.masking.collapse import refuse_single_class
from shoal.masking.method import Masked, Method
from shoal.masking.owners_in_chunks import FreshNumbers, by_owner
from shoal.masking.publishing.confidential import Showing, check_promises, publish_confidential
from shoal.masking.publishing.person_in_class import numbered_in_chunks, refuse_in_class
from shoal.masking.publishing.private_mean import PrivateMean, budget
from shoal.masking.whole_histories import Together, whole_of
from shoal.policy import Policy
from shoal.privacy.classes import class_sizes
from shoal.privacy.in_chunks import judged_by_classes, measured, measured_in_chunk, same_records
from shoal.privacy.judge import Original, WentAlong
from shoal.privacy.model import PrivacyModel
from shoal.privacy.weighed import weights_in
from shoal.pseudonymize import KEPT, judge_replaced, notes_of, replaced_in_chunks
from shoal.releases.continued import GoingOn, going_on
from shoal.releases.ledger import Ledger
from shoal.releases.recorded import Digests
from shoal.report.drawn import Draw, facts_to_report
from shoal.survey import Survey, survey
from shoal.utility.information_loss import information_loss, losses_by_table, squared_losses, suppressed_losses
from shoal.utility.separation_loss import pairs_lost

_FRESH = frozenset({Role.INSENSITIVE})
LOST = f"{OWN}lost"  # of a record that is shown in several tables: the squared loss of what these share


@dataclass(frozen=True)
class ChunkedDraft:
    """A masked table that nobody has judged yet, and how it was made."""

    survey: Survey
    table: Table = field(repr=False)  # as it will be shown, and what is carried; worked out when it is read
    carried: Carried
    in_order: bool  # whether the release keeps the order of the input
    going_on: GoingOn | None = field(default=None, repr=False)  # from earlier releases
    numbered: str | None = None  # the column of fresh numbers that say whose rows belong together

    @property
    def schema(self) -> Schema:
        """The attributes that are shown."""
        known = self.survey.schema
        if self.numbered is None:
            return known
        return replace(known, attributes=(Attribute(self.numbered, _FRESH, Kind.NOMINAL), *known.attributes))

    @property
    def public(self) -> Table:
        """What may be released."""
        carried = self.carried.schema
        return self.table.select([name for name in self.table.schema if name not in carried]) if carried else self.table

    def kept(self) -> tuple[ChunkedDraft, list[str]]:
        """The draft worked out once, where it is read again; and the facts about its chunks."""
        table, facts = self.table.kept()
        return replace(self, table=table), facts

    def original(self) -> Original | None:
        """The originals that went along with the records, where promises are judged beside them."""
        if not self.carried.originals:
            return None
        return WentAlong(self.survey.spelled.as_values(self.table), self.survey.schema, self.survey.attributes.whole)

    def facts(self, chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What the method tells of the whole table, by what it tells of each chunk."""
        if self.going_on is not None:
            return self.going_on.facts(chunks)
        if whole_of(self.survey.promises) is None:
            return chunks[0]
        return {name: sum(each[name] for each in chunks) for name in chunks[0]}  # of owners and rows, numbers all

    def judge_replaced(self, written: Table) -> None:
        """Refuses what was written unless pseudonyms and shifted dates are right beside what went along."""
        if not self.carried.identified:
            return
        known, values = self.survey, self.survey.spelled.as_values
        quasi = known.schema.quasi_identifiers
        names = [name.removeprefix(KEPT) for name in self.carried.identified]
        shown = [name for name in names if name in self.public.schema and name not in quasi]
        same_records(values(self.table), values(written), shown)
        judge_replaced(values(self.table), known.policy, quasi, known.records)


def draft_in_chunks(
    table: Table,
    policy: Policy,
    *,
    seed: int | None = None,
    keep_order: bool = False,
    ledger: Ledger | None = None,
    incremental: bool = False,
    drawn: int = 0,
    apart: Sequence[str] = (),
    number_people: bool = False,
    forms: Forms | None = None,
) -> ChunkedDraft:
    """Masks the table as the policy says, when the draft is read; `drawn` records are drawn for a report.

    An `incremental` one goes on from the releases of the ledger. Columns that are shown `apart`, each in a table of its
    own, go along as they are, with what was lost beside them. The people of each class are numbered if asked. `forms`
    say how the file writes dates and amounts.
    """
    if number_people:
        refuse_in_class(list(table.schema), policy.person, policy.models)
    refuse_in_chunks(policy, table.engine)
    refuse_together(policy, table.engine, incremental=incremental)
    if keep_order:
        refuse_order(table)
    events.stage("reading")
    table, texts = with_texts_in_chunks(table, policy)
    subject = None if ledger is None else ledger.subject
    table = replaced_in_chunks(table, policy, forms)
    subject = f"{KEPT}{subject}" if f"{KEPT}{subject}" in table.schema else subject
    known = survey(table, policy, subject=subject, forms=forms)
    again = _repeating(table, policy, known.records)
    known = replace(known, notes=(*texts, *known.notes, *notes_of(policy), *again))
    schema, whole = known.attributes.schema, known.attributes.whole
    refuse_single_class(
        known.records, schema, lambda name: np.append(whole[name].counts, whole[name].missing), known.promises
    )
    if keep_order or incremental:
        known = replace(known, table=with_positions(known.table))
    alike = Alike(policy.show, policy.private_means())
    if policy.show:
        check_promises(schema, policy.method, alike.means, known.promises)
        known = replace(known, notes=(*known.notes, *budget(alike.means, known.k)))
    events.stage("masking")
    columns = tuple(attribute.name for attribute in known.schema if Role.IDENTIFIER not in attribute.roles)
    digests = None if ledger is None else Digests(ledger, columns, subject)
    carried = _carried(known, apart, digests, keep_order=keep_order)
    seed, going = randbits(63) if seed is None else seed, None
    if incremental:
        assert carried.digests is not None
        going = going_on(known.whole, policy.method, carried.digests, partial(_chunks, policy.method, seed=seed))
        known = replace(known, table=going.table, notes=(*known.notes, *going.notes))
    masked, fresh = _masked(known, going, alike, carried, seed, Draw.some(drawn, known.records, policy))
    if number_people and policy.person is not None:
        masked = numbered_in_chunks(masked, known.schema.quasi_identifiers, policy.person, known.records, seed)
    if keep_order:
        masked = put_in_order(masked, known.records, chunks.CHUNK)
        carried = replace(carried, position=False)
    return ChunkedDraft(known, masked, carried, keep_order, going, fresh)


def _carried(known: Survey, apart: Sequence[str], digests: Digests | None, *, keep_order: bool) -> Carried:
    """What goes along with masked records, unseen."""
    types, policy = known.table.schema, known.policy
    judged_by = {model.attribute: types[model.attribute] for model in known.promises if model.attribute}
    originals = {name: dtype for name, dtype in judged_by.items() if name in policy.show}
    whose = (policy.person, None if apart else policy.household_column, *weights_in(known.promises))
    originals |= {name: types[name] for name in (*apart, *whose) if name is not None}
    identified = {name: dtype for name, dtype in types.items() if name.startswith(KEPT)}
    return Carried(keep_order, digests, originals, bool(apart), identified)


def refuse_in_chunks(policy: Policy, engine: str) -> None:
    """Refuses what the policy asks for and cannot be done in chunks, before anything is read."""
    refuse_what_cannot(policy, engine)
    policy.refuse_suppression()
    for model in policy.models:
        model.refuse_in_chunks(engine)
    policy.method.refuse_in_chunks(policy.models, policy.suppression, engine)


def with_texts_in_chunks(table: Table, policy: Policy) -> tuple[Table, tuple[str, ...]]:
    """The table with free text masked or left out, as the policy says; its first records show where text is."""
    names = [name for name in table.schema if not name.startswith(SPELLED)]
    texts = [name for name in names if table.schema[name] == pl.String]
    sample = first_records(selected(table, texts)) if texts else pl.DataFrame()
    left = texts_without_role(sample, names, policy)
    work = policy.text.work(never_shown(policy))
    if work is not None:
        if policy.text.masker is not None and table.engine == "spark":
            raise InputError(
                "A masker of text of one's own runs where Shoal does, not on Spark's machines: leave it out, or use "
                "--engine disk."
            )
        spelled = {name: f"{SPELLED}{name}" for name in work.columns if f"{SPELLED}{name}" in table.schema}
        schema = pl.Schema({**table.schema, **dict.fromkeys((*work.columns, *spelled.values()), pl.String())})
        table = table.map(_MaskBatch(work, spelled), schema)
    kept = [name for name in table.schema if name.removeprefix(SPELLED) not in left]
    return selected(table, kept), left_out_note(left) + policy.text.notes()


@dataclass(frozen=True)
class _MaskBatch:
    """Masks the free text of a batch, also where it stands as it is spelled."""

    work: MaskTexts
    spelled: Mapping[str, str]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return self.work(batch.frame, self.spelled)


def _repeating(table: Table, policy: Policy, records: int) -> Iterator[str]:
    """Of identifiers that repeat, where no person is named: an engine counts their people, not those of each class."""
    identifiers = () if policy.person is not None else (*policy.identifiers, *policy.pseudonyms)
    for name in dict.fromkeys(name for name in identifiers if name != policy.household_column):
        sizes = class_sizes(selected(table, [name]), [name], records)
        if (again := counting(name, sizes.records, int(sizes.classes.sum()))) is not None:
            uncounted = f"How many {again.owners} each class holds was not counted: the memory engine does that."
            yield f"{again.sentence()} {uncounted}"


def _masked(
    known: Survey, going: GoingOn | None, alike: Alike, carried: Carried, seed: int, draw: Draw | None
) -> tuple[Table, str | None]:
    """The table as it will be shown, worked out when it is read, and its fresh numbers; a trial tells its columns."""
    whole, method = known.whole, known.policy.method
    prepared, fresh, together = method.prepared(whole), None, None
    if (histories := whole_of(known.promises)) is not None:
        column = owner_column(known.policy, histories)
        owner = known.schema.person if histories.together == "person" else Person(column)
        assert owner is not None
        prepared = Together(method)
        together, before = by_owner(whole, histories, owner, seed)
        fresh = None if column in known.policy.pseudonyms else FreshNumbers(column, seed, before)
    work = MaskChunk(whole.attributes, known.released, prepared, known.promises, alike, seed, known.spelled, fresh)
    trial = _tried(work, known)
    shown = pl.Schema({**trial, **dict.fromkeys(with_stars(known), pl.String()), **carried.schema})
    work = replace(work, shown=shown, carried=carried, draw=draw, method=prepared if going is None else going.method)
    if together is None:
        together = _chunks(method, whole, seed=seed) if going is None else going.chunks
    return together.map(work, shown), None if fresh is None else fresh.column


def _chunks(method: Method, whole: WholeTable, *, seed: int) -> Parts:
    return at_random(whole, seed) if measured(whole.promises) else method.chunks(whole, seed)


def _tried(work: MaskChunk, known: Survey) -> pl.Schema:
    """The columns that a chunk will show; of whom the records of the trial are is not known."""
    work = replace(work, attributes=work.attributes.of_strangers(), released=work.released.of_strangers())
    return replace(work, promises=judged_by_classes(known.promises))(_trial(known), 0).schema


def _trial(known: Survey) -> pl.DataFrame:
    """Some records, to see what a chunk will show; a perturbing method needs columns that vary."""
    sample = known.summary.sample
    if not known.policy.method.perturbs:
        sample = sample.head(max(known.k, 1000))
    others = {name: dtype for name, dtype in known.table.schema.items() if name not in sample.columns}
    missing = (pl.lit(None, dtype).alias(name) for name, dtype in others.items())
    sample = sample.with_columns(*missing).select(known.table.schema.names())
    if (histories := whole_of(known.promises)) is None:
        return sample
    return sample.with_columns(pl.int_range(pl.len()).alias(owner_column(known.policy, histories)))  # one row each


def with_stars(known: Survey) -> list[str]:
    """Attributes of which some chunk may show `*`, though a trial of a few records shows numbers only."""
    whole, shown = known.attributes.whole, known.policy.show
    centred = [name for name, by in shown.items() if by in ("mean", "median")]
    if known.policy.method.may_show_stars:
        centred += [name for name in known.schema.quasi_identifiers if name not in shown]
    return [name for name in centred if 0 < whole[name].missing < known.records]


# ---- one chunk


@dataclass(frozen=True)
class Carried:
    """What goes along with masked records and is never released.

    Their position, digests for a ledger, and `originals`: whose they are, sampling weights, their own values of columns
    that classes show alike, where a promise is about these. Where those are shown apart, what is lost of the others.
    """

    position: bool = False
    digests: Digests | None = None
    originals: Mapping[str, pl.DataType] = field(default_factory=dict)
    apart: bool = False
    identified: Mapping[str, pl.DataType] = field(default_factory=dict)  # what pseudonyms and shifts replaced

    @property
    def schema(self) -> pl.Schema:
        """The columns, as types."""
        position = {POSITION: pl.Int64()} if self.position else {}
        originals = {f"{ORIGINAL}{name}": dtype for name, dtype in self.originals.items()}
        lost = {LOST: pl.Float64()} if self.apart else {}
        digests = self.digests.schema if self.digests else {}
        return pl.Schema({**position, **digests, **originals, **lost, **self.identified})

    def of(self, kept: pl.DataFrame) -> list[pl.Series]:
        """The columns that go along with these records."""
        position = [kept[POSITION]] if self.position else []
        originals = (kept[name].alias(f"{ORIGINAL}{name}") for name in self.originals)
        digests = self.digests(kept) if self.digests else ()
        return [*position, *digests, *originals, *kept.select(list(self.identified))]


@dataclass(frozen=True)
class Alike:
    """Confidential columns that each class shows alike, how, and of private means epsilon and domain."""

    show: Mapping[str, Showing]
    means: Mapping[str, PrivateMean]


@dataclass(frozen=True)
class MaskChunk:
    """Masks a chunk by the method's own code and shuffles it; facts about it stand beside its first record."""

    attributes: Attributes  # that classes are made by
    released: Attributes  # that the release is judged by
    method: Method
    promises: Sequence[PrivacyModel]
    alike: Alike
    seed: int
    spelled: Spelled
    fresh: FreshNumbers | None = None  # where whole histories are shown
    carried: Carried = field(default_factory=Carried)
    draw: Draw | None = None  # which records the report compares
    shown: pl.Schema | None = None  # as all chunks show it; None: as this one does

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        """The chunk's records as they will be shown, with what is carried and facts about them."""
        original = self.attributes.microdata(frame)
        own = np.random.SeedSequence([self.seed, chunk])
        masked = self.method.mask(original, self.promises, seed=int(own.generate_state(1, np.uint64)[0] >> 1))
        if self.alike.show:
            masked = publish_confidential(original, masked, self.alike.show, self.alike.means)
            original = self.released.microdata(frame)
        shown = assemble(original, masked)
        coded = [name for name, dtype in shown.schema.items() if isinstance(dtype, pl.Enum) and name in masked.columns]
        shown = shown.with_columns(pl.col(coded).cast(pl.String))
        kept = frame if masked.kept is None else frame[masked.kept]
        shown = self.spelled.written(shown, kept).with_columns(self.carried.of(kept))
        if self.fresh is not None:
            shown = pl.DataFrame([self.fresh(kept, chunk), *shown.drop(self.fresh.column, strict=False)])
        if self.carried.apart:
            shown = shown.with_columns(pl.Series(LOST, squared_losses(original.quasi, masked.columns, masked.kept)))
        if self.shown is not None:
            shown = shown.cast({name: dtype for name, dtype in self.shown.items() if name != FACTS})
        # Position alone can re-identify. Chunks themselves tell nothing: all records of a class are in the same, or
        # the chunks were drawn at random.
        order = np.random.default_rng(own).permutation(shown.height)
        facts = json.dumps(self._facts(original, masked, shown, chunk))
        facts_column = pl.Series(FACTS, [facts, *[None] * (shown.height - 1)][: shown.height], dtype=pl.String)
        return shown[order].with_columns(facts_column)

    def _facts(self, original: Microdata, masked: Masked, shown: pl.DataFrame, chunk: int) -> dict[str, Any]:
        drawn = facts_to_report(original, masked, self.draw, self.seed, chunk) if self.draw else {}
        return {
            "records": len(original),
            "loss": information_loss(original, masked.columns, masked.kept) * len(original),
            "separation": pairs_lost(original, masked.columns, masked.kept),
            "notes": list(masked.notes),
            "facts": dict(masked.facts),
            **measured_in_chunk(original, masked.kept, shown, self.promises, self.spelled.cells),
            **drawn,
            **self._lost_apart(original, masked),
        }

    def _lost_apart(self, original: Microdata, masked: Masked) -> dict[str, Any]:
        """What each of several tables loses by the records that none of them shows."""
        if not self.carried.apart or masked.kept is None:
            return {}
        suppressed = np.setdiff1d(np.arange(len(original)), masked.kept, assume_unique=True)
        own = {name: suppressed_losses([original[name]], suppressed) for name in original.schema.confidential}
        return {LOST: losses_by_table(suppressed_losses(original.quasi, suppressed), own, len(original.quasi))}
