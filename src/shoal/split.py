"""Split releases: one table for each confidential attribute, all of them k-anonymous (paper 2, Algorithm 1).

Of T(A1..Ar, C1..Cs), where confidential attributes may identify too, classes are made from A1..Ar alone, and each table
T_i(A1..Ar, C_i) shows C_i alike within them. Few attributes have to be grouped, however many are released; and since
the tables share their classes, all of them merged are k-anonymous on all attributes.

Tables of attributes that do not depend on each other may have partitions of their own: then each is an ordinary
release with C_i among its quasi-identifiers, and nobody may merge them.

Defined in docs/spec.md#split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

import numpy as np

from shoal import events
from shoal.anonymize import Progress
from shoal.data.commit import Paper, commit
from shoal.data.frames import Frame, to_polars
from shoal.data.microdata import Microdata
from shoal.draft import Draft, draft, prepare
from shoal.errors import InputError, PromiseError
from shoal.masking.method import class_size
from shoal.masking.publishing.confidential import grouped_by
from shoal.masking.publishing.private_mean import budget
from shoal.masking.whole_histories import refuse_whole, whole_of
from shoal.policy import Policy
from shoal.privacy.check import released_classes
from shoal.release import Judgement, Release, as_file, judged
from shoal.risk.attack import Outcome
from shoal.risk.dependence import Dependence, dependence
from shoal.risk.joined import Standing, attack_joined, broken_together
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

if TYPE_CHECKING:
    from shoal.chunked_split import ChunkedSplitRelease
    from shoal.data.codebook import Codebook
    from shoal.data.dialects import Dialect
    from shoal.data.notation import Spelling
    from shoal.events import Listener, Stop
    from shoal.releases.ledger import Ledger


@dataclass(frozen=True)
class SplitDraft(Generic[Frame]):
    """Masked tables that nobody has judged yet."""

    tables: Mapping[str, Draft[Frame]] = field(repr=False)  # confidential attribute -> its table
    merged: Draft[Frame] | None = field(repr=False)  # all attributes in one; None where partitions are not shared
    dependence: Dependence
    notes: tuple[str, ...]

    def judged(self) -> SplitRelease[Frame]:
        """The release, if every promise holds of every table, and of all merged."""
        self._judge_together()
        tables = {name: judged(made) for name, made in self.tables.items()}
        merged = judged(self.merged) if self.merged is not None else None
        return SplitRelease(tables, merged, self.dependence, self.notes)

    def in_dialect(self, dialect: Dialect | None) -> SplitDraft[Frame]:
        """The tables to be written in text files that are laid out so."""
        tables = {name: replace(made, dialect=dialect) for name, made in self.tables.items()}
        merged = None if self.merged is None else replace(self.merged, dialect=dialect)
        return replace(self, tables=tables, merged=merged)

    def noted(self, ledger: Ledger) -> SplitDraft[Frame]:
        """With a note where hardly anybody is known to the ledger."""
        frame = next(iter(self.tables.values())).original.frame
        merged = self.merged.noted(ledger) if self.merged is not None else None
        return replace(self, merged=merged, notes=(*self.notes, *ledger.strangers(frame)))

    def write(
        self,
        path: str | Path,
        *,
        merge: bool = False,
        keep_order: bool = False,
        certificate: str | Path | None = None,
        report: str | Path | None = None,
        seed: int | None = None,
        ledger: Ledger | None = None,
        overwrite: bool = False,
    ) -> SplitRelease:
        """Writes `release.charge.csv` and so on for `release.csv`, with `merge` all in one as `release.csv` too.

        All files are written and judged before the first gets its name; with `overwrite` all old ones go before, as
        an old table beside a new one would tell more than either. With a ledger, the classes they share are recorded
        once, with the last of them. The report is about all attributes in one.
        """
        self._check(merge, keep_order, ledger, report)
        self._judge_together()
        targets = targets_of(path, list(self.tables), certificate, merge=merge)
        refuse_older(path, merge=merge)
        refuse_uncertified_tables(targets, overwrite=overwrite)
        drafts = {**self.tables, **({} if self.merged is None else {MERGED: self.merged})}
        means = [mean for made in self.tables.values() for mean in made.policy.private_means().values()]
        files = [
            as_file(
                drafts[name] if ledger is None else replace(drafts[name], spelling=None),
                target,
                keep_order=keep_order,
                certificate=paper,
                seed=None if seed is None else seed + i,  # orders of their own: positions link nobody
                ledger=ledger if i == 0 else None,
                overwrite=overwrite,
                epsilon=sum(mean.epsilon for mean in means),
                shown_too=list(self.tables),
            )
            for i, (name, (target, paper)) in enumerate(targets.items())
        ]
        if report is not None:
            page = Paper[Path, Judgement](Path(report), lambda partial, *_: self._report(partial), private=True)
            files[0] = replace(files[0], papers=(*files[0].papers, page))
        releases = commit(files, overwrite=overwrite)
        written = {name: judgement.release for name, judgement in zip(targets, releases, strict=True)}
        merged = written.pop(MERGED, None) or (judged(self.merged) if self.merged is not None else None)
        return SplitRelease(written, merged, self.dependence, self.notes)

    def _report(self, path: Path) -> None:
        assert self.merged is not None
        judged(self.merged).report(path, overwrite=True)

    def _judge_together(self) -> None:
        """Refuses tables of which one breaks a promise about another: each is judged on what all of them leave."""
        if self.merged is not None:
            return
        known = standings(self.tables, self.dependence)
        for i, (name, made) in enumerate(self.tables.items()):
            for model in made.promises:
                if model.attribute == name and (people := broken_together(known, i, model)):
                    raise PromiseError(
                        f"With classes of their own, the tables together do not keep {model.name} of {name!r}: what "
                        f"the others show of {people:,} people leaves too little of what its own table promises. "
                        "Nothing was released. Let the tables share their classes: leave out independent of --split."
                    )

    def _check(self, merge: bool, keep_order: bool, ledger: Ledger | None, report: str | Path | None) -> None:
        if self.merged is not None:
            return
        if report is not None:
            raise InputError("A report is about one partition: leave out --report, or independent of --split.")
        if merge:
            raise InputError("Tables with partitions of their own cannot be merged: leave out independent or merge.")
        if keep_order:
            raise InputError(
                "Tables in the same order can be laid side by side, record by record: let them be shuffled."
            )
        if ledger is not None:
            raise InputError("A ledger records one partition a release: leave out --ledger, or independent of --split.")


@dataclass(frozen=True)
class SplitRelease(SplitTables, Generic[Frame]):
    """One judged table a confidential attribute."""

    tables: Mapping[str, Release[Frame]] = field(repr=False)
    merged: Release[Frame] | None = field(repr=False)

    def attack(self, seed: int = 0) -> tuple[Outcome, ...]:
        """Whose values somebody finds out who lays tables with classes of their own side by side."""
        if self.merged is not None:
            raise InputError("The tables share their classes: laid side by side they show nothing that one does not.")
        known = standings({name: release.draft for name, release in self.tables.items()}, self.dependence)
        return tuple(attack_joined(known, i, seed) for i in range(len(known)))


@overload
def split(
    frame: Frame,
    policy: Policy,
    *,
    independent: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
    engine: Literal["memory"] | None = None,
    listen: Listener | None = None,
    stop: Stop | None = None,
) -> SplitRelease[Frame]: ...


@overload
def split(
    frame: Any,
    policy: Policy,
    *,
    independent: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
    engine: Literal["disk", "spark"],
    listen: Listener | None = None,
    stop: Stop | None = None,
) -> ChunkedSplitRelease: ...


def split(
    frame: Any,
    policy: Policy,
    *,
    independent: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    listen: Listener | None = None,
    stop: Stop | None = None,
) -> Any:
    """One table for each confidential attribute, handed out only if every promise holds of each and of all merged.

    They share one partition. With `independent`, only those that depend on each other do, which the engine `memory`
    alone can judge. `engine`, `listen`, `progress` and `stop` are as in `shoal.anonymize`.
    """
    from shoal.data.forms import Forms
    from shoal.engines.opening import engine_of, open_table

    with events.heard(listen or events.by_stage(progress), stop):
        chosen = engine_of(frame, engine)
        if chosen == "memory":
            return split_draft(frame, policy, independent=independent, seed=seed).judged()
        from shoal.chunked_split import refuse_independent, split_in_chunks

        if independent:
            refuse_independent(chosen)
        forms = Forms.under(policy.reading, policy.attributes)
        return split_in_chunks(open_table(frame, chosen, forms=forms), policy, seed=seed, forms=forms).judged()


@events.apart
def split_draft(
    frame: Frame,
    policy: Policy,
    *,
    independent: bool = False,
    seed: int | None = None,
    spelling: Spelling | None = None,
    book: Codebook | None = None,
) -> SplitDraft[Frame]:
    """Masks every table. Nothing has been judged yet."""
    table, _ = to_polars(frame)
    original, _ = prepare(table, policy)
    refuse_whole(whole_of(policy.models), "is split by confidential columns (--split)")
    confidential_of(policy)
    confidential = original.schema.confidential
    grouped_by(original.schema, shown_by(policy, confidential) | policy.show)  # refused where that cannot be
    k = class_size(original, policy.promises(original.schema))
    known = [name for name in original.schema.quasi_identifiers if name not in confidential]
    tested = dependence(
        [original[name] for name in confidential], [original[name] for name in known] if independent else ()
    )
    groups = tested.components if independent else [tuple(confidential)]
    tables: dict[str, Draft[Frame]] = {}
    notes = [
        *left_out_of_all(table.columns, {a.name: a.roles for a in original.schema}),
        tested.rule,
        *budget(policy.private_means(), k),
    ]
    for names in groups:
        alone = independent and len(names) == 1  # an ordinary release, unless an aggregate is asked for
        shown = {n: by for n, by in policy.show.items() if n in names} if alone else shown_by(policy, names)
        made = draft(frame, about(policy, names, shown), seed=seed, spelling=spelling, book=book)
        tables |= {name: _only(made, name) for name in names}
        notes += made.masked.notes
    merged = made if len(groups) == 1 else None
    return SplitDraft({name: tables[name] for name in confidential}, merged, tested, tuple(notes))


def _only(made: Draft[Frame], name: str) -> Draft[Frame]:
    """T_i: A1..Ar and one confidential attribute of a draft that may show several."""
    others = {confidential for confidential in made.schema.confidential if confidential != name}
    schema = made.schema.only(attribute for attribute in made.schema if attribute.name not in others)
    columns = {column: cells for column, cells in made.masked.columns.items() if column not in others}
    return replace(
        made,
        table=made.table.drop(others),
        schema=schema,
        policy=about(made.policy, [name], {n: by for n, by in made.policy.show.items() if n == name}),
        promises=tuple(model for model in made.promises if model.attribute not in others),
        original=Microdata(made.original.frame, schema),
        masked=replace(made.masked, columns=columns, notes=()),
        notes=(),
    )


def standings(tables: Mapping[str, Draft], tested: Dependence) -> list[Standing]:
    """Where everybody stands whom all of the tables show."""
    n = len(next(iter(tables.values())).original)
    kept = {name: np.arange(n) if made.masked.kept is None else made.masked.kept for name, made in tables.items()}
    everywhere = reduce(np.intersect1d, kept.values())
    partition = {name: i for i, names in enumerate(tested.components) for name in names}

    def standing(name: str, made: Draft) -> Standing:
        key = released_classes(made.table, made.schema).key.to_numpy()
        label = np.unique(key[np.searchsorted(kept[name], everywhere)], return_inverse=True)[1].astype(np.int64)
        coded = made.original[name]
        return Standing(replace(coded, codes=coded.codes[everywhere]), label, partition[name])

    return [standing(name, made) for name, made in tables.items()]
