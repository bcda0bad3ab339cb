"""The pooled audit of large releases over the same people (paper 2, section 3.2), as `shoal.releases.audit` has it.

Subjects are known by a keyed hash that is drawn anew for each audit, classes by what they show. The records of one
subject come together in one chunk and give her signature: her class in each release, or that she is absent, and with
which earlier release each of her confidential values agrees. Subjects of one signature, brought together again, are an
atom; all that is asked of releases and of pairs of them is counted from atoms, but for the differencing attack, which
asks for the values of classes (`shoal.releases.differencing_tables`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from secrets import randbits
from typing import Any

import polars as pl

from shoal.data.schema import need_quasi
from shoal.engines.table import Batch, Table, records_of
from shoal.errors import InputError
from shoal.privacy.classes import (
    CLASS,
    COUNTS,
    ByHash,
    all_of,
    class_sizes,
    counts_of,
    in_classes,
    rows,
    shown,
    summed,
)
from shoal.releases.audit import WORST, Audit, Pair, count_overlaps, counted, pair_of
from shoal.releases.changes import Changed, changed_in
from shoal.releases.differencing import Differenced
from shoal.releases.differencing_tables import Side, differencing_tables
from shoal.releases.published import need_columns, subjects_of
from shoal.releases.signed_subjects import SUBJECT, Keys, Signatures, Signed, agrees_in, label_in, number_in

_FIRST, _SECOND = "first class", "second class"  # in the releases of a pair
_CHANGED = "changed"  # a sign for each attribute: whether her value differs between them; empty where she is in one


def audit_tables(
    tables: Mapping[str, Table],
    quasi: Sequence[str] | Mapping[str, Sequence[str]],
    subject: str,
    k: int,
    *,
    confidential: Sequence[str] = (),
) -> Audit:
    """Every pair and the pool of all releases, which still carry the column that tells their subjects.

    `quasi` names the quasi-identifiers, of all releases or of each by its name. `confidential` columns that the
    releases hold are attacked by differencing, and their values compared.
    """
    if not tables:
        raise InputError("There is no release to audit: name some.")
    if len({table.engine for table in tables.values()}) > 1:
        raise InputError("The releases are on different engines: open all of them on the same.")
    known = {name: tuple(quasi[name] if isinstance(quasi, Mapping) else quasi) for name in tables}
    releases = [_Release(name, table, subject, known[name], tuple(confidential)) for name, table in tables.items()]
    for release in releases:
        release.check()
    records = [records_of(release.table) for release in releases]
    chunks = releases[0].table.chunks(sum(records))
    subjects = _subjects(releases, chunks)
    subjects = subjects.kept()[0] if confidential else subjects  # read again for each pair
    atoms = _atoms(subjects, chunks)
    pairs = (_pair(atoms, i, j, releases, k, chunks) for i, j in combinations(range(len(releases)), 2))
    return Audit(
        tuple(release.summary(number) for release, number in zip(releases, records, strict=True)),
        k,
        _histogram(atoms),
        tuple(replace(pair, differencing=_differencing(subjects, pair.releases, releases, chunks)) for pair in pairs),
        _worst(atoms, releases, k),
        engine=releases[0].table.engine,
    )


@dataclass(frozen=True)
class _Release:
    name: str
    table: Table
    subject: str
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]

    def check(self) -> None:
        """Refuses what cannot be audited, before any work."""
        need_quasi(self.quasi)
        columns = pl.DataFrame(schema=self.table.schema)
        need_columns(self.name, columns, [*self.quasi, *self.confidential])
        subjects_of(columns, self.subject, self.name)

    def summary(self, records: int) -> dict[str, Any]:
        sizes = class_sizes(self.table.select(self.quasi), self.quasi, records)
        return {
            "name": self.name,
            "records": records,
            "classes": int(sizes.classes.sum()),
            "smallest_class": sizes.smallest,
        }

    def signed(self, number: int, keys: Keys) -> Table:
        columns = list(dict.fromkeys((self.subject, *self.quasi, *self.confidential)))
        work = Signed(self.name, self.subject, self.quasi, self.confidential, number, keys)
        return self.table.select(columns).map(work, work.schema)

    @property
    def numeric(self) -> list[str]:
        """The confidential columns that hold numbers."""
        return [name for name in self.confidential if self.table.schema[name].is_numeric()]


# ---- atoms


def _subjects(releases: Sequence[_Release], chunks: int) -> Table:
    """A row a subject: her signature, and her numbers."""
    keys = randbits(64), randbits(64)
    signed = [release.signed(i, keys) for i, release in enumerate(releases)]
    names = tuple(release.name for release in releases)
    work = Signatures(names, releases[0].subject, len(releases[0].confidential))
    by_subject = reduce(lambda left, right: left.union(right), signed).exchange(ByHash(chunks, SUBJECT[0]), chunks)
    return by_subject.map(work, work.schema)


def _atoms(subjects: Table, chunks: int) -> Table:
    """A row an atom: its signature, null where absent, and its `@subjects`."""
    signature = tuple(name for name in subjects.schema if " number " not in name)
    schema = pl.Schema({**{name: subjects.schema[name] for name in signature}, "@subjects": pl.Int64()})
    counted_there = subjects.map(_CountAtoms(signature), pl.Schema({**schema, "@key": pl.String()}))
    atoms = counted_there.exchange(ByHash(chunks, "@key"), chunks).map(_Atoms(signature), schema)
    return atoms.kept()[0]


@dataclass(frozen=True)
class _CountAtoms:
    """How many of a batch's subjects have each signature."""

    signature: tuple[str, ...]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        atoms = batch.frame.group_by(self.signature).agg(pl.len().cast(pl.Int64).alias("@subjects"))
        return atoms.with_columns(in_classes(atoms, self.signature)[CLASS].alias("@key"))


@dataclass(frozen=True)
class _Atoms:
    """The same of all subjects."""

    labels: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        return frame.group_by(self.labels).agg(pl.col("@subjects").sum())


# ---- all together


def _histogram(atoms: Table) -> dict[int, int]:
    """With how many a subject is alike -> subjects."""
    return _by_sizes(counts_of(summed(all_of(atoms.map(_by_size, COUNTS))), "pooled"))


def _by_size(batch: Batch) -> pl.DataFrame:
    return rows("pooled", counted(batch.frame["@subjects"]))


@dataclass(frozen=True)
class _Smallest:
    """The smallest atoms below k."""

    k: int

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return self.of(batch.frame)

    def of(self, atoms: pl.DataFrame) -> pl.DataFrame:
        return atoms.filter(pl.col("@subjects") < self.k).sort("@subjects", *atoms.columns).head(WORST)

    def merge(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        return self.of(pl.concat([left, right]))


@dataclass(frozen=True)
class _Show:
    """What some classes show."""

    quasi: tuple[str, ...]
    wanted: pl.Series

    def __call__(self, batch: Batch) -> pl.DataFrame:
        classes = in_classes(shown(batch.frame, self.quasi), self.quasi)
        first = classes[CLASS].is_first_distinct() & classes[CLASS].is_in(self.wanted.implode())
        texts = batch.frame.filter(first).select(pl.concat_list(pl.col(self.quasi).cast(pl.String)).alias("@texts"))
        return classes.filter(first).hstack(texts)


def _either(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([left, right]).unique(CLASS)


def _worst(atoms: Table, releases: Sequence[_Release], k: int) -> tuple[dict[str, Any], ...]:
    """How many the smallest atoms below k are, and what each release shows of them."""
    smallest = _Smallest(k)
    fewest = atoms.fold(smallest, smallest.merge)
    if fewest is None or not fewest.height:
        return ()
    worst: list[dict[str, Any]] = [{"subjects": n, "shown": {}} for n in fewest["@subjects"]]
    for i, release in enumerate(releases):
        wanted = fewest[label_in(i)]
        seen = release.table.select(release.quasi).fold(_Show(release.quasi, wanted.drop_nulls()), _either)
        texts = {} if seen is None else dict(seen.iter_rows())
        for atom, label in zip(worst, wanted, strict=True):
            cells = texts.get(label)
            atom["shown"][release.name] = None if cells is None else dict(zip(release.quasi, cells, strict=True))
    return tuple(worst)


# ---- two releases beside each other


@dataclass(frozen=True)
class _Two:
    """The atoms of two releases alone."""

    first: int
    second: int
    attributes: int

    def __call__(self, batch: Batch) -> pl.DataFrame:
        pair = ((self.first, _FIRST), (self.second, _SECOND))
        there = batch.frame.filter(pl.any_horizontal(pl.col(label_in(release)).is_not_null() for release, _ in pair))
        labels = [pl.col(label_in(release)).alias(name) for release, name in pair]
        atoms = there.select(*labels, self._changed().alias(_CHANGED), "@subjects")
        return _joined(atoms).with_columns(pl.coalesce(_FIRST, _SECOND).alias("@key"))

    def _changed(self) -> pl.Expr:
        agrees = ([pl.col(agrees_in(i, n)) for i in (self.first, self.second)] for n in range(self.attributes))
        differs = [first != second for first, second in agrees]
        signs = pl.concat_str([each.cast(pl.Int8).cast(pl.String) for each in differs]) if differs else pl.lit("")
        return signs.fill_null("")

    schema = pl.Schema(
        {**dict.fromkeys((_FIRST, _SECOND, _CHANGED), pl.String()), "@subjects": pl.Int64(), "@key": pl.String()}
    )


def _joined(atoms: pl.DataFrame) -> pl.DataFrame:
    return atoms.group_by(_FIRST, _SECOND, _CHANGED).agg(pl.col("@subjects").sum())


def _elsewhere(label: str) -> pl.Expr:
    """Subjects of the class who are not in the one beside it."""
    return pl.col("@subjects").sum().over(label) - pl.col("@subjects").sum().over(_FIRST, _SECOND)


def _beside_first(frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
    """Each class of the first release is here with all classes of the second that it meets."""
    atoms = _joined(frame)
    return atoms.with_columns(_elsewhere(_FIRST).alias("first_others"), pl.coalesce(_SECOND, _FIRST).alias("@key"))


_BESIDE_FIRST = pl.Schema({**_Two.schema, "first_others": pl.Int64()})


def _beside_second(frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
    """And here each of the second with all of the first: what is asked of a pair can be counted."""
    meeting = frame.with_columns(_elsewhere(_SECOND).alias("second_others")).drop_nulls([_FIRST, _SECOND])
    others = pl.col("first_others", "second_others").first()
    overlaps = meeting.group_by(_FIRST, _SECOND).agg(others, common=pl.col("@subjects").sum())
    return pl.concat([rows("pooled", counted(frame["@subjects"])), count_overlaps(overlaps)])


@dataclass(frozen=True)
class _Changes:
    """Of each attribute how many changed of how many that two classes have in common, and in how many such pairs."""

    attributes: int

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        meeting = frame.drop_nulls([_FIRST, _SECOND])
        return pl.concat([pl.DataFrame(schema=self.schema), *(self._of(meeting, n) for n in range(self.attributes))])

    def _of(self, meeting: pl.DataFrame, number: int) -> pl.DataFrame:
        changed = pl.col("@subjects").filter(pl.col(_CHANGED).str.slice(number, 1) == "1").sum()
        groups = meeting.group_by(_FIRST, _SECOND).agg(alike=changed, size=pl.col("@subjects").sum())
        alike = groups.filter(pl.col("alike") > 0).group_by("alike", "size").agg(groups=pl.len().cast(pl.Int64))
        return alike.select(pl.lit(number, pl.Int64).alias("attribute"), "alike", "size", "groups")

    schema = pl.Schema(dict.fromkeys(("attribute", "alike", "size", "groups"), pl.Int64()))


def _pair(atoms: Table, i: int, j: int, releases: Sequence[_Release], k: int, chunks: int) -> Pair:
    names = releases[i].confidential
    two = atoms.map(_Two(i, j, len(names)), _Two.schema).exchange(ByHash(chunks, "@key"), chunks)
    by_second = two.map(_beside_first, _BESIDE_FIRST).exchange(ByHash(chunks, "@key"), chunks)
    counts = summed(all_of(by_second.map(_beside_second, COUNTS)))
    pair = pair_of((releases[i].name, releases[j].name), counts, _by_sizes(counts_of(counts, "pooled")), k)
    changes = all_of(by_second.map(_Changes(len(names)), _Changes.schema)) if names else pl.DataFrame()
    return replace(pair, changed=tuple(_changed(changes, number, name, k) for number, name in enumerate(names)))


def _changed(changes: pl.DataFrame, number: int, name: str, k: int) -> Changed:
    groups = changes.filter(pl.col("attribute") == number)
    return changed_in(name, groups.with_columns(records=pl.col("alike") * pl.col("groups")), k)


def _differencing(
    subjects: Table, pair: tuple[str, str], releases: Sequence[_Release], chunks: int
) -> tuple[Differenced, ...]:
    """The attack on each column that holds numbers in both."""
    i, j = ([release.name for release in releases].index(name) for name in pair)
    names = [name for name in releases[i].numeric if name in releases[j].numeric]
    if not names:
        return ()
    numbered = {name: releases[i].confidential.index(name) for name in names}
    first, second = (
        Side(label_in(each), {name: number_in(each, n) for name, n in numbered.items()}) for each in (i, j)
    )
    return differencing_tables(subjects, first, second, chunks)


def _by_sizes(atoms: pl.DataFrame) -> dict[int, int]:
    """Size of an atom -> subjects in atoms of that size."""
    return dict(atoms.select("key", subjects=pl.col("key") * pl.col("count")).iter_rows())
