"""The pooled audit of large releases over the same people (paper 2, section 3.2), as `shoal.releases.audit` has it.

Subjects are known by a keyed hash that is drawn anew for each audit, classes by what they show. The records of one
subject come together in one chunk and give her signature: her class in each release, or that she is absent.
Subjects of one signature, brought together again, are an atom; all that is asked of releases and of pairs of them is
counted from atoms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from secrets import randbits
from typing import Any

import polars as pl

from shoal.data.identity import identity_text
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
from shoal.releases.published import need_columns, subjects_of

_SUBJECT = ("@who", "@whose")  # two hashes of a subject
_FIRST, _SECOND = "first class", "second class"  # in the releases of a pair


_IN_MEMORY = "values of single subjects are compared only in memory"
_Keys = tuple[int, int]  # of a subject's two hashes


def audit_tables(
    tables: Mapping[str, Table],
    quasi: Sequence[str] | Mapping[str, Sequence[str]],
    subject: str,
    k: int,
    *,
    confidential: bool = False,
) -> Audit:
    """Every pair and the pool of all releases, which still carry the column that tells their subjects.

    `quasi` names the quasi-identifiers, of all releases or of each by its name. Where there are `confidential` columns,
    `left_out` says what was not asked of them.
    """
    if not tables:
        raise InputError("There is no release to audit: name some.")
    if len({table.engine for table in tables.values()}) > 1:
        raise InputError("The releases are on different engines: open all of them on the same.")
    known = {name: tuple(quasi[name] if isinstance(quasi, Mapping) else quasi) for name in tables}
    releases = [_Release(name, table, subject, known[name]) for name, table in tables.items()]
    for release in releases:
        release.check()
    records = [records_of(release.table) for release in releases]
    chunks = releases[0].table.chunks(sum(records))
    atoms = _atoms(releases, chunks)
    return Audit(
        tuple(release.summary(number) for release, number in zip(releases, records, strict=True)),
        k,
        _histogram(atoms),
        tuple(_pair(atoms, i, j, releases, k, chunks) for i, j in combinations(range(len(releases)), 2)),
        _worst(atoms, releases, k),
        engine=releases[0].table.engine,
        left_out=dict.fromkeys(("differencing", "changed values"), _IN_MEMORY) if confidential else {},
    )


@dataclass(frozen=True)
class _Release:
    name: str
    table: Table
    subject: str
    quasi: tuple[str, ...]

    def check(self) -> None:
        """Refuses what cannot be audited, before any work."""
        need_quasi(self.quasi)
        columns = pl.DataFrame(schema=self.table.schema)
        need_columns(self.name, columns, self.quasi)
        subjects_of(columns, self.subject, self.name)

    def summary(self, records: int) -> dict[str, Any]:
        sizes = class_sizes(self.table.select(self.quasi), self.quasi, records)
        return {
            "name": self.name,
            "records": records,
            "classes": int(sizes.classes.sum()),
            "smallest_class": sizes.smallest,
        }

    def signed(self, number: int, keys: _Keys) -> Table:
        columns = list(dict.fromkeys((self.subject, *self.quasi)))
        return self.table.select(columns).map(
            _Signed(self.name, self.subject, self.quasi, number, keys), _Signed.schema
        )


# ---- atoms


def _label(release: int) -> str:
    """The column that tells a subject's class in a release."""
    return f"{release} class"


def _atoms(releases: Sequence[_Release], chunks: int) -> Table:
    """A row an atom: its class in each release, null where absent, and its `@subjects`."""
    keys = randbits(64), randbits(64)
    signed = [release.signed(i, keys) for i, release in enumerate(releases)]
    labels = tuple(_label(i) for i in range(len(releases)))
    signatures = _Signatures(tuple(release.name for release in releases), releases[0].subject)
    schema = pl.Schema({**dict.fromkeys(labels, pl.String()), "@subjects": pl.Int64()})
    with_key = pl.Schema({**schema, "@key": pl.String()})
    by_subject = reduce(lambda left, right: left.union(right), signed).exchange(ByHash(chunks, _SUBJECT[0]), chunks)
    partial_atoms = by_subject.map(signatures, with_key)
    atoms = partial_atoms.exchange(ByHash(chunks, "@key"), chunks).map(_Atoms(labels), schema)
    return atoms.kept()[0]


@dataclass(frozen=True)
class _Signed:
    """Who each record is about, and her class."""

    name: str
    subject: str
    quasi: tuple[str, ...]
    release: int
    keys: _Keys

    def __call__(self, batch: Batch) -> pl.DataFrame:
        subjects = identity_text(batch.frame[self.subject])
        if subjects.null_count():
            raise InputError(f"{self.name} does not say in {self.subject!r} whom some records are about: fill it in.")
        who = [
            subjects.hash(key).reinterpret(signed=True).alias(name)
            for name, key in zip(_SUBJECT, self.keys, strict=True)
        ]
        release = pl.lit(self.release, pl.Int64).alias("@release")
        classes = in_classes(shown(batch.frame, self.quasi), self.quasi)
        return classes.with_columns(*who, release).select(list(self.schema))

    schema = pl.Schema({**dict.fromkeys((*_SUBJECT, "@release"), pl.Int64()), CLASS: pl.String()})


@dataclass(frozen=True)
class _Signatures:
    """The signatures of a chunk's subjects, and how many have each."""

    names: tuple[str, ...]
    subject: str

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        again = frame.filter(frame.select(*_SUBJECT, "@release").is_duplicated())
        if again.height:
            raise InputError(
                f"{self.names[again['@release'][0]]} names a subject in {self.subject!r} more than once: "
                "give one record a subject, or name the column that tells subjects apart."
            )
        labels = {
            _label(release): pl.col(CLASS).filter(pl.col("@release") == release).first()
            for release in range(len(self.names))
        }
        subjects = frame.group_by(_SUBJECT).agg(**labels)
        atoms = subjects.group_by(list(labels)).agg(pl.len().cast(pl.Int64).alias("@subjects"))
        return atoms.with_columns(in_classes(atoms, list(labels))[CLASS].alias("@key"))


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
        wanted = fewest[_label(i)]
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

    first: str
    second: str

    def __call__(self, batch: Batch) -> pl.DataFrame:
        names = {self.first: _FIRST, self.second: _SECOND}
        both = batch.frame.rename(names).filter(pl.any_horizontal(pl.col(_FIRST, _SECOND).is_not_null()))
        return _joined(both).with_columns(pl.coalesce(_FIRST, _SECOND).alias("@key"))

    schema = pl.Schema({_FIRST: pl.String(), _SECOND: pl.String(), "@subjects": pl.Int64(), "@key": pl.String()})


def _joined(atoms: pl.DataFrame) -> pl.DataFrame:
    return atoms.group_by(_FIRST, _SECOND).agg(pl.col("@subjects").sum())


def _beside_first(frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
    """Each class of the first release is here with all classes of the second that it meets."""
    others = pl.col("@subjects").sum().over(_FIRST) - pl.col("@subjects")
    return _joined(frame).with_columns(others.alias("first_others"), pl.coalesce(_SECOND, _FIRST).alias("@key"))


_BESIDE_FIRST = pl.Schema({**_Two.schema, "first_others": pl.Int64()})


def _beside_second(frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
    """And here each of the second with all of the first: what is asked of a pair can be counted."""
    others = pl.col("@subjects").sum().over(_SECOND) - pl.col("@subjects")
    both = frame.with_columns(others.alias("second_others"), common=pl.col("@subjects"))
    meeting = both.filter(pl.all_horizontal(pl.col(_FIRST, _SECOND).is_not_null()))
    return pl.concat([rows("pooled", counted(frame["@subjects"])), count_overlaps(meeting)])


def _pair(atoms: Table, i: int, j: int, releases: Sequence[_Release], k: int, chunks: int) -> Pair:
    two = atoms.map(_Two(_label(i), _label(j)), _Two.schema).exchange(ByHash(chunks, "@key"), chunks)
    by_second = two.map(_beside_first, _BESIDE_FIRST).exchange(ByHash(chunks, "@key"), chunks)
    counts = summed(all_of(by_second.map(_beside_second, COUNTS)))
    return pair_of((releases[i].name, releases[j].name), counts, _by_sizes(counts_of(counts, "pooled")), k)


def _by_sizes(atoms: pl.DataFrame) -> dict[int, int]:
    """Size of an atom -> subjects in atoms of that size."""
    return dict(atoms.select("key", subjects=pl.col("key") * pl.col("count")).iter_rows())
