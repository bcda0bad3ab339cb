"""Unique records of a table of any size, for all that an intruder may know and for unions of groups of attributes.

(Eq. 1; docs/spec.md#uniqueness.) Where masked cells are shown the worst case counts, by fitting (docs/spec.md#fitting),
which compares classes with each other. It asks for the distinct classes only: where these can be listed it is exact;
otherwise the classes of one record bound it from above, and `left_out` says so. Of plain values, a unique record is a
class of one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Schema
from shoal.engines.memory import MemoryTable
from shoal.engines.table import CHUNK, COUNTED, Batch, Table, selected
from shoal.engines.whole import LISTED
from shoal.errors import InputError
from shoal.privacy.classes import ByClass, Sizes, all_of, class_sizes, list_classes, shown
from shoal.privacy.model import as_told_apart

EQUALITY = "class equality"
FITTING = "worst case (fitting)"

Attributes = tuple[str, ...]

_AT_ONCE = 4 * CHUNK  # records with one value that a chunk can hold


@dataclass(frozen=True)
class Uniques:
    """How many records are unique by each of several sets of attributes."""

    by: Mapping[frozenset[str], int]
    rule: str
    proven: bool  # otherwise some records count as unique because the search was cut short
    left_out: Mapping[str, str] = field(default_factory=dict)

    def known(self, attributes: Sequence[str]) -> int:
        """How many are unique to whoever knows these attributes."""
        return self.by[frozenset(attributes)]


def count_uniques(
    table: Table, schema: Schema, known: Sequence[Sequence[str]], sizes: Sizes, texts: Mapping[str, MaskedColumn] | None
) -> Uniques:
    """By each set of attributes `known`, of which the first is all that an intruder may know.

    `sizes` are those of the classes by all. `texts` are the cells of a table in memory, where they are read already;
    None: what masked cells admit is not asked for.
    """
    quasi = known[0]
    frame = table.whole
    if frame is None:
        if sizes.number > LISTED:
            return _bounded(table, schema, known, sizes)
        frame = _stand_ins(table, quasi)
        texts = read_texts(frame, schema, quasi)
    sets = {frozenset(attributes): list(attributes) for attributes in known}
    cells = _masked_cells(frame, schema, quasi, texts or {})
    if cells:
        from shoal.risk.uniqueness import worst_case_uniques

        worst_case = {key: worst_case_uniques([cells[name] for name in names]) for key, names in sets.items()}
        by = {key: int(each.unique.sum()) for key, each in worst_case.items()}
        return Uniques(by, FITTING, all(each.proven for each in worst_case.values()))
    here = MemoryTable(frame.with_columns(pl.Series(name, column.index) for name, column in (texts or {}).items()))
    by = {key: _single(class_sizes(here, names, frame.height)) for key, names in sets.items() if key != set(quasi)}
    return Uniques({frozenset(quasi): _single(sizes), **by}, EQUALITY, True)


def uniques_of_nested(table: Table, ordered: Sequence[str], records: int) -> Iterator[int]:
    """Unique records by the first attribute, by the first two, and so on; masked cells count as equal or not."""
    nested = [tuple(ordered[: count + 1]) for count in range(len(ordered))]
    if (frame := table.whole) is not None:
        yield from _narrowed(frame, ordered)
        return
    if _most_alike(table, ordered[0]) > _AT_ONCE:
        yield from (_single(class_sizes(table, names, records)) for names in nested)
        return
    chunks = table.chunks(records)  # who is alike by more attributes is alike by the first
    together = selected(table, ordered).exchange(ByClass(nested[0], chunks), chunks)
    counts = all_of(together.map(_Nested(tuple(nested)), _Nested.schema))
    yield from (int(counts.filter(pl.col("known") == known)["uniques"].sum()) for known in range(len(nested)))


def _narrowed(frame: pl.DataFrame, ordered: Sequence[str]) -> Iterator[int]:
    """Whoever is unique by some attributes is so by more: only the others are looked at again."""
    cells = shown(frame, ordered)
    cells = cells.select(
        cell.alias(name) for cell, name in zip(as_told_apart(cells.schema, ordered), ordered, strict=True)
    )
    for count in range(1, len(ordered) + 1):
        cells = cells.filter(pl.len().over(ordered[:count]) > 1)
        yield frame.height - cells.height


def _most_alike(table: Table, name: str) -> int:
    """How many records have the most frequent value."""
    return int(table.counts([name])[COUNTED].max() or 0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Nested:
    """Unique records of a chunk, by each set of attributes."""

    known: tuple[tuple[str, ...], ...]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        counts = [class_sizes(MemoryTable(frame), names, frame.height) for names in self.known]
        return pl.DataFrame({"known": range(len(counts)), "uniques": [_single(sizes) for sizes in counts]}, self.schema)

    schema = pl.Schema({"known": pl.Int64(), "uniques": pl.Int64()})


def _single(sizes: Sizes) -> int:
    return int(sizes.classes[sizes.size == 1].sum())


# ---- a table that comes in chunks


def _stand_ins(table: Table, quasi: Sequence[str]) -> pl.DataFrame:
    """Of records that show the same, two stand for all."""
    listed = list_classes(table, quasi)
    return pl.concat([listed, listed.filter(pl.col(COUNTED) > 1)]).drop(COUNTED)


def _bounded(table: Table, schema: Schema, known: Sequence[Sequence[str]], sizes: Sizes) -> Uniques:
    quasi = known[0]
    by = {frozenset(names): _single(class_sizes(table, names, sizes.records)) for names in known[1:]}
    by[frozenset(quasi)] = _single(sizes)
    if not table.fold(_Masks(schema, tuple(quasi)), bool.__or__):
        return Uniques(by, EQUALITY, True)
    reason = (
        f"which masked records fit others is searched among at most {LISTED:,} classes; the count is of classes of "
        "one record, an upper bound"
    )
    left_out = {"worst-case uniques": reason} if any(by.values()) else {}
    return Uniques(by, FITTING, not left_out, left_out)


@dataclass(frozen=True)
class _Masks:
    """Whether some quasi-identifier of a batch shows what admits more than one value."""

    schema: Schema
    quasi: Attributes

    def __call__(self, batch: Batch) -> bool:
        return any(_shows_masks(cells) for cells in read_texts(batch.frame, self.schema, self.quasi).values())


# ---- what cells admit


def read_texts(frame: pl.DataFrame, schema: Schema, quasi: Sequence[str]) -> dict[str, MaskedColumn]:
    """The quasi-identifiers that may show masks: those given as text, or as categories."""
    plain = [name for name in quasi if frame[name].dtype.is_numeric() or frame[name].dtype.is_temporal()]
    return {name: _read(frame[name], schema[name]) for name in quasi if name not in plain}


def _masked_cells(
    frame: pl.DataFrame, schema: Schema, quasi: Sequence[str], texts: Mapping[str, MaskedColumn]
) -> dict[str, MaskedColumn]:
    """What each record admits in each quasi-identifier; nothing where all show plain values."""
    if not any(_shows_masks(column) for column in texts.values()):
        return {}
    return {q: texts[q] if q in texts else read_cells(frame[q], schema[q]) for q in quasi}


def _read(column: pl.Series, attribute: Attribute) -> MaskedColumn:
    """Nominal values are never shown as intervals: text with intervals stands for numbers or dates.

    So a release can be measured by itself, where nothing but its text tells what the attributes were.
    """
    unclear = attribute.kind is Kind.NOMINAL and attribute.domain is None and attribute.hierarchy is None
    if unclear and column.unique().cast(pl.String).str.contains(r"^\[.*;.*\]$").any():
        for kind in (Kind.NUMERIC, Kind.DATE):
            try:
                return read_cells(column, replace(attribute, kind=kind))
            except InputError:
                continue
    return read_cells(column, attribute)


def _shows_masks(column: MaskedColumn) -> bool:
    """Whether some cell admits more than one position."""
    runs = column.runs
    several = column.low < column.high
    return bool(several.any() or (runs is not None and runs.whole.any()))
