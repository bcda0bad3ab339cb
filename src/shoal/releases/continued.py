"""Incremental releases of a table of any size: what `shoal.releases.incremental` keeps, atom by atom.

The ledger's people are brought to the engine, and meet the table's records in ranges of their digests: there the
signature of everybody is known, and with it her atom. Then the records of an atom come together, with how many of it
are absent and all that it was ever shown as. The invariant is about single atoms, so that a chunk of whole atoms tells
by itself who may stay. New people are divided as the method divides a table. In the end each chunk, of whole atoms and
of at least k new people or none, is grouped by the code of a table in memory.

Who is withheld goes along to the end and is left out there. The ledger judges what comes of all this by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN
from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.engines.table import Batch, Parts, Table, records_of
from shoal.engines.whole import POSITION, Summary, look_at
from shoal.masking.chunks import Attributes, WholeTable, chunks_of
from shoal.masking.grouped import publish
from shoal.masking.method import Masked, Method
from shoal.masking.partition import ABSENT, Labels, Partition
from shoal.privacy.model import PrivacyModel
from shoal.releases.atoms import Pool, numbered
from shoal.releases.incremental import NEW, Past, left_out_notes, refuse_method, refuse_nobody, regroup
from shoal.releases.pieces import Recorded
from shoal.releases.published import Published
from shoal.releases.recorded import CODE, SUBJECT, VALUE, ByPiece, Digests, Once

RELEASE = f"{OWN}release"  # the number of the earlier release that a row is of; null: the table's
SHOWN = f"{OWN}shown"  # what a class showed, as JSON
ATOM, CHANGE = f"{OWN}atom", f"{OWN}change"  # null: a new person
GONE = f"{OWN}gone"  # of a row about an atom, how many of it are absent; null: a record
WITHHELD = f"{OWN}withheld"  # true or null
CHUNK = f"{OWN}chunk"
NOW = f"{OWN}now"

_SEED = 3  # every task must send an atom to the same chunk
_STOOD = {RELEASE: pl.Int64(), CODE: pl.Int64(), SHOWN: pl.String()}
_PAST = {ATOM: pl.Binary(), CHANGE: pl.String(), SHOWN: pl.String(), GONE: pl.Int64()}
_FATE = {ATOM: pl.Binary(), SHOWN: pl.String(), WITHHELD: pl.Boolean(), CHUNK: pl.Int64()}


@dataclass(frozen=True)
class GoingOn:
    """A table that goes on from earlier releases: all its records in chunks, how these are masked, and who is left out.

    `table` has the columns of the chunks.
    """

    table: Table = field(repr=False)
    chunks: Parts = field(repr=False)
    method: Method
    waiting: int
    withheld: int
    k: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Who is left out, and why."""
        return left_out_notes(self.waiting, self.withheld, self.k)

    def facts(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        """What is known of the result, by the facts about each chunk."""
        counted = {name: sum(chunk[name] for chunk in chunks) for name in ("classes_kept", "classes_new")}
        return {**counted, "withheld": self.waiting + self.withheld}


class Continued(Method):
    """Masks a chunk of whole atoms and new people, each with its fate beside it.

    `rest` is what all say of each attribute who are shown, `new` what all new people do.
    """

    method: Method
    rest: Attributes = field(repr=False)
    new: Attributes = field(repr=False)

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked:
        """The chunk without those who are withheld."""
        kept = np.flatnonzero(microdata.frame[WITHHELD].is_null().to_numpy())
        frame = microdata.frame[kept]
        if frame.is_empty():
            everybody = publish(microdata, Partition.of_labels(np.zeros(len(microdata), np.int64)))
            return Masked(
                {name: replace(cells, index=np.zeros(0, np.int32)) for name, cells in everybody.columns.items()}, kept
            )
        atom, atoms = _atoms(frame)
        past = Past(atom, np.zeros_like(atom), np.zeros(atoms, np.int64), _ever_shown(frame, atom))
        masked = regroup(
            self.rest.microdata(frame), past, self.method, models,
            suppression=suppression, seed=seed, all_new=self.new.whole,
        )  # fmt: skip
        records = kept if masked.kept is None else kept[masked.kept]
        return replace(masked, kept=None if len(records) == len(microdata) else records)


def _ever_shown(frame: pl.DataFrame, atom: Labels) -> dict[str, pl.DataFrame]:
    """What each atom was ever shown as, by attribute."""
    rows: dict[str, list[tuple[int, str | None]]] = {}
    first = frame[SHOWN].is_not_null()
    for label, lines in zip(atom[first.to_numpy()].tolist(), frame[SHOWN].filter(first), strict=True):
        for cells in map(json.loads, filter(None, lines.split("\n"))):
            for name, text in cells.items():
                rows.setdefault(name, []).append((label, text))
    types = pl.Schema({"atom": pl.Int32(), "text": pl.String()})
    return {name: pl.DataFrame(texts, schema=types, orient="row") for name, texts in rows.items()}


def _atoms(frame: pl.DataFrame) -> tuple[Labels, int]:
    """The atom of each record, numbered as they occur, NEW where it has none; and how many there are."""
    keys = frame.select(pl.col(ATOM).drop_nulls().unique(maintain_order=True)).with_row_index("atom")
    label = frame.select(ATOM).join(keys, on=ATOM, how="left", maintain_order="left")["atom"]
    return label.cast(pl.Int32).fill_null(NEW).to_numpy(), keys.height


def going_on(whole: WholeTable, method: Method, digests: Digests, divided: Callable[[WholeTable], Parts]) -> GoingOn:
    """The table, whose records carry positions, beside all releases of the ledger; `divided` puts people in chunks."""
    refuse_method(method)
    k, names = whole.k, list(whole.attributes.whole)
    met = _met(whole, digests)
    fate = pl.Schema({**whole.table.schema, **_FATE})
    chunks = whole.table.chunks(records_of(met))
    old, _ = met.map(_that_stood, met.schema).exchange(_ByAtom(chunks), chunks).map(_Fate(k, fate), fate).kept()
    new = met.map(_New(fate), fate)
    again, newly = look_at(old.map(_that_stay, fate), names), look_at(new, names)
    waiting = newly.records if newly.records < k else 0
    shown = [summary for summary in (again, newly)[: 1 if waiting else 2] if summary.records]
    refuse_nobody(len(shown), whole.records, k)
    stood, fresh = whole.records - newly.records, _attributes(whole.schema, newly)
    parts = max(1, chunks_of(stood))
    table = old.map(_InChunk(_ByAtom(parts)), fate)
    if waiting:
        table = table.union(new.map(_that_wait, fate))
    elif newly.records:
        among_themselves = divided(replace(whole, table=new, attributes=fresh, summary=newly))
        parts = max(parts, len(among_themselves.sizes()))
        table = table.union(among_themselves.map(_in_its_chunk, fate))
    continued = Continued(method.prepared(whole), _attributes(whole.schema, reduce(Summary.plus, shown)), fresh)
    return GoingOn(table, table.exchange(_by_chunk, parts), continued, waiting, stood - again.records, k)


def _attributes(schema: Schema, summary: Summary) -> Attributes:
    return Attributes(schema, {name: marginal.whole(schema[name]) for name, marginal in summary.marginals.items()})


# ---- everybody meets what is known of her


def _met(whole: WholeTable, digests: Digests) -> Table:
    """All records, each with its atom and what changed; and rows about the atoms (`GONE`)."""
    table = whole.table
    met = pl.Schema({**table.schema, **_PAST})
    with digests.ledger.earlier() as earlier:
        if not earlier:
            return table.map(_Wider(met), met)
        attributes = tuple(tuple(release.attributes) for release in earlier)
        own = (f"{VALUE}{name}" for names in (digests.columns, *attributes) for name in names)
        of_people = pl.Schema({**dict.fromkeys((SUBJECT, *own), pl.Binary()), **_STOOD})
        members = table.like(_members(earlier, of_people), of_people)
        people = whole.records + sum(release.records for release in earlier)
    both = pl.Schema({**table.schema, **of_people})
    chunks = table.chunks(people)
    sent = table.map(_WithDigests(digests, both), both).union(members.map(_Wider(both), both))
    meet = _Meet(digests, attributes, met)
    return sent.exchange(ByPiece(chunks), chunks).map(meet, met).kept()[0]


def _members(earlier: Sequence[Recorded], schema: pl.Schema) -> Iterator[pl.DataFrame]:
    """Who stood where, what stands for her values, and what her class showed; piece by piece."""
    for number, release in enumerate(earlier):
        shown = pl.Series([None] * release.shown.height, dtype=pl.String)
        if release.shown.width:
            shown = release.shown.select(pl.struct(pl.all()).struct.json_encode()).to_series()
        for part in range(release.pieces):
            piece = release.piece(part, release.pieces)
            label = piece.members["class"].cast(pl.Int64)
            stood = pl.DataFrame({SUBJECT: piece.members["subject"], CODE: label, SHOWN: shown.gather(label)})
            own = piece.values.rename(lambda name: f"{VALUE}{name}")
            yield _wider(stood.hstack(own).with_columns(pl.lit(number, pl.Int64).alias(RELEASE)), schema)


def _wider(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """With all columns of the schema; those it lacks are missing."""
    return pl.concat([pl.DataFrame(schema=schema), frame], how="diagonal").select(schema.names())


@dataclass(frozen=True)
class _Wider:
    schema: pl.Schema

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return _wider(batch.frame, self.schema)


@dataclass(frozen=True)
class _WithDigests:
    """The table's own records, known by their digests."""

    digests: Digests
    schema: pl.Schema

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return _wider(batch.frame.hstack(self.digests(batch.frame)), self.schema)


@dataclass(frozen=True)
class _Meet:
    """The people of a range of digests: of each record its atom, and of each atom who is absent and what it showed.

    An atom is known by its signature, which is the same in every range.
    """

    digests: Digests
    attributes: tuple[tuple[str, ...], ...]  # of each earlier release
    schema: pl.Schema

    def __call__(self, frame: pl.DataFrame, piece: int) -> pl.DataFrame:
        records = Once(self.digests.ledger.subject)(frame.filter(pl.col(RELEASE).is_null()), piece)
        records = records.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(CODE))
        stood = [frame.filter(pl.col(RELEASE) == number) for number in range(len(self.attributes))]
        releases = [_published(*each) for each in zip(stood, self.attributes, strict=True)]
        people = _signed(Pool.of([*releases, _published(records, self.digests.columns)]))
        here = people.filter(pl.col(NOW) != ABSENT).sort(NOW)
        own = records.select(name for name in self.schema if name not in _PAST).hstack(here.select(ATOM, CHANGE))
        return pl.concat([_wider(part, self.schema) for part in (own, _about(people, stood))])


def _published(rows: pl.DataFrame, attributes: Iterable[str]) -> Published:
    members = rows.select(pl.col(SUBJECT).alias("subject"), pl.col(CODE).alias("class"))
    return Published(
        "", members, pl.DataFrame(), rows.select(pl.col(f"{VALUE}{name}").alias(name) for name in attributes)
    )


def _signed(pool: Pool) -> pl.DataFrame:
    """Of each subject her atom, what changed of her, her record (`NOW`), and her class in each earlier release."""
    signed, last = pool.signed(), len(pool.labels) - 1
    now = f"class {last}"
    changes = [name for name in signed.columns if name.startswith(f"change {last} ")]
    before = [name for name in signed.columns if name not in (now, *changes)]
    classes = [f"class {number}" for number in range(last)]
    text = signed.select(pl.concat_str(before, separator=" ")).to_series()
    few = text.unique()
    keys = pl.Series([blake2b(signature.encode(), digest_size=16).digest() for signature in few], dtype=pl.Binary)
    seen = pl.any_horizontal(pl.col(name) != ABSENT for name in classes)
    return signed.select(
        pl.when(seen).then(text.replace_strict(few, keys)).alias(ATOM),
        pl.concat_str(pl.lit(""), *changes, separator=" ").alias(CHANGE),
        pl.col(now).alias(NOW),
        *classes,
    )


def _about(people: pl.DataFrame, stood: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What each atom was shown as, a row each; beside the first of them how many of it are absent."""
    shown = []
    for number, rows in enumerate(stood):
        classes = rows.select(pl.col(CODE).cast(pl.Int32).alias(f"class {number}"), SHOWN).unique()
        shown.append(people.select(ATOM, f"class {number}").unique().join(classes, on=f"class {number}"))
    each = pl.concat([cells.select(ATOM, SHOWN) for cells in shown]).unique(maintain_order=True)
    gone = people.filter(pl.col(NOW) == ABSENT).group_by(ATOM).agg(pl.len().cast(pl.Int64).alias(GONE))
    first = pl.col(ATOM).is_first_distinct()
    each = each.join(gone, on=ATOM, how="left", maintain_order="left")
    return each.with_columns(pl.when(first).then(pl.col(GONE)).fill_null(0))


# ---- who may stay


def _that_stood(batch: Batch) -> pl.DataFrame:
    return batch.frame.filter(pl.col(ATOM).is_not_null())


def _that_stay(batch: Batch) -> pl.DataFrame:
    return batch.frame.filter(pl.col(WITHHELD).is_null())


@dataclass(frozen=True)
class _New:
    """Records of people who were in no release."""

    schema: pl.Schema

    def __call__(self, batch: Batch) -> pl.DataFrame:
        new = batch.frame.filter(pl.col(ATOM).is_null())
        return _wider(new.select(name for name in new.columns if name in self.schema), self.schema)


@dataclass(frozen=True)
class _ByAtom:
    """The chunk of a row, by its atom."""

    chunks: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        return (batch.frame[ATOM].hash(seed=_SEED) % self.chunks).cast(pl.Int64).to_numpy()


@dataclass(frozen=True)
class _Fate:
    """Whole atoms: who of them is withheld, and beside the first who stays all that the atom was ever shown as."""

    k: int
    schema: pl.Schema

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        records = frame.filter(pl.col(GONE).is_null()).drop(SHOWN, GONE).sort(POSITION)
        if records.is_empty():
            return pl.DataFrame(schema=self.schema)
        ever = pl.col(SHOWN).drop_nulls().unique().sort().str.join("\n")
        about = frame.filter(pl.col(GONE).is_not_null()).group_by(ATOM).agg(pl.col(GONE).sum(), ever)
        records = records.join(about, on=ATOM, maintain_order="left")
        atom, atoms = _atoms(records)
        gone = np.zeros(atoms, np.int64)
        gone[atom] = records[GONE].to_numpy()
        stays = Past(atom, numbered(records, [CHANGE]), gone, {}).stays(self.k)
        first = pl.struct(ATOM, WITHHELD).is_first_distinct() & pl.col(WITHHELD).is_null()
        fated = records.with_columns(pl.when(pl.Series(~stays)).then(True).alias(WITHHELD))
        fated = fated.with_columns(pl.when(first).then(SHOWN).alias(SHOWN)).drop(CHANGE, GONE)
        return _wider(fated, self.schema)


# ---- chunks of whole atoms and of new people


@dataclass(frozen=True)
class _InChunk:
    """Says of each record to which chunk it goes, by its atom."""

    by_atom: _ByAtom

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return batch.frame.with_columns(pl.Series(CHUNK, self.by_atom(batch)))


def _that_wait(batch: Batch) -> pl.DataFrame:
    return batch.frame.with_columns(pl.lit(True).alias(WITHHELD), pl.lit(0, pl.Int64).alias(CHUNK))


def _in_its_chunk(frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
    return frame.with_columns(pl.lit(chunk, pl.Int64).alias(CHUNK))


def _by_chunk(batch: Batch) -> npt.NDArray[np.int64]:
    return batch.frame[CHUNK].to_numpy()
