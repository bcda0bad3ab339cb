"""Whole histories masked alike: all rows of a person, or all members of a household, side by side in one wide record.

Rows that can be put together, because a pseudonym is kept, are safe only together: the classes of each by itself may be
large, and their combination nobody else's. So each owner of rows becomes one wide record: what is the owner's once,
what is a row's for row 1, 2, ... side by side. Owners of the same shape are grouped by any method that groups records,
and every class is shown alike in all of its rows. Long again, the rows of at least k owners are the same.

Defined in docs/spec.md#linked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn, plain_text
from shoal.data.microdata import Coded, Microdata
from shoal.data.schema import Attribute, Role, Schema
from shoal.masking.method import Masked, Method
from shoal.masking.shapes import Ints, shapes_of
from shoal.privacy.model import PrivacyModel


@dataclass(frozen=True)
class Rows:
    """The rows of one table: whose each is (owners are numbered 0, 1, ...), and which come first of those of an owner.

    `shared` are quasi-identifiers that are the owner's: the same in all of his rows.
    """

    microdata: Microdata
    owner: Ints
    place: Ints  # row -> a number that ascends in the order of an owner's rows
    shared: tuple[str, ...] = ()
    table: str = ""  # its name, where there are several

    def counts(self, owners: int) -> Ints:
        """Owner -> rows."""
        return np.bincount(self.owner, minlength=owners)

    def by_owner(self, owners: int) -> tuple[Ints, Ints]:
        """Rows owner after owner in their order, and where each owner's begin."""
        return np.lexsort((self.place, self.owner)), np.append(0, np.cumsum(self.counts(owners)))


class Slot(NamedTuple):
    """A column of a wide record: what it shows of which table, and the rows that show it, one or more a record."""

    table: int
    name: str
    rows: tuple[Ints, ...]  # wide record -> row; the first of them gives the values


def mask_histories(
    tables: Sequence[Rows],
    shown: Ints,
    method: Method,
    models: Sequence[PrivacyModel],
    *,
    suppression: float = 0.0,
    seed: int | None = None,
) -> list[Masked]:
    """The tables, with so many rows `shown` of each owner and table, masked so that whole histories are alike.

    `models` are promised of wide records: those about a confidential attribute of each of its rows.
    """
    listed = [rows.by_owner(len(shown)) for rows in tables]
    cells: list[_Cells] = [_Cells(rows.microdata) for rows in tables]
    for shape, owners in shapes_of(shown, np.arange(len(shown))):
        slots = list(_slots(tables, listed, shape, owners))
        wide, promised = _wide(tables, slots, models)
        masked = method.mask(wide, promised, suppression=suppression, seed=seed)
        kept = np.arange(len(owners)) if masked.kept is None else masked.kept
        for column, slot in zip(wide.schema, slots, strict=True):
            if column.name in masked.columns:
                cells[slot.table].add(slot, masked.columns[column.name], kept)
    return [each.long() for each in cells]


def _slots(tables: Sequence[Rows], listed: Sequence[tuple[Ints, Ints]], shape: Ints, owners: Ints) -> Iterator[Slot]:
    for number, (rows, (order, starts)) in enumerate(zip(tables, listed, strict=True)):
        of = tuple(order[starts[owners] + place] for place in range(shape[number]))
        schema = rows.microdata.schema
        for name in dict.fromkeys((*schema.quasi_identifiers, *schema.confidential)) if of else ():
            if name in rows.shared:
                yield Slot(number, name, of)
            else:
                yield from (Slot(number, name, (row,)) for row in of)


def _wide(
    tables: Sequence[Rows], slots: Sequence[Slot], models: Sequence[PrivacyModel]
) -> tuple[Microdata, list[PrivacyModel]]:
    """One record an owner, and what is promised of it: each attribute by the codes that its table has for it."""
    columns: dict[str, pl.Series] = {}
    coded: dict[str, Coded] = {}
    promised = [model for model in models if model.attribute is None]
    for slot in slots:
        rows = tables[slot.table]
        name = _name(rows, slot.name, columns)
        source = rows.microdata[slot.name]
        columns[name] = rows.microdata.frame[slot.name][slot.rows[0]].alias(name)
        coded[name] = replace(source, attribute=replace(source.attribute, name=name), codes=source.codes[slot.rows[0]])
        if Role.CONFIDENTIAL in source.attribute.roles:
            promised += [model.of(name) for model in models if model.attribute == slot.name]
    wide = Microdata(pl.DataFrame(list(columns.values())), Schema(tuple(each.attribute for each in coded.values())))
    wide.coded.update(coded)
    return wide, promised


def _name(rows: Rows, name: str, taken: dict[str, pl.Series]) -> str:
    """`charge of row 2`, as a message may have to name it."""
    of = f"{name} of {rows.table}" if rows.table else name
    number = 1
    while f"{of}, row {number}" in taken:
        number += 1
    return f"{of}, row {number}"


class _Cells:
    """What was shown so far of a table: row after row of each attribute, and the cells they point to."""

    def __init__(self, microdata: Microdata) -> None:
        self.attributes = {name: microdata.schema[name] for name in microdata.schema.quasi_identifiers}
        self.records = len(microdata)
        self.of: dict[str, list[tuple[Ints, MaskedColumn, npt.NDArray[np.int32]]]] = {n: [] for n in self.attributes}

    def add(self, slot: Slot, column: MaskedColumn, kept: Ints) -> None:
        for rows in slot.rows:
            self.of[slot.name].append((rows[kept], column, column.index))

    def long(self) -> Masked:
        """One record a row again, in the order of the table."""
        columns = {name: self._column(attribute) for name, attribute in self.attributes.items()}
        shown = np.zeros(self.records, np.bool_)
        for rows, _, _ in next(iter(self.of.values()), []):
            shown[rows] = True
        return Masked(columns, None if shown.all() else np.flatnonzero(shown))

    def _column(self, attribute: Attribute) -> MaskedColumn:
        parts = self.of[attribute.name]
        sizes = np.array([len(column.text) for _, column, _ in parts], np.int64)
        before = np.append(0, np.cumsum(sizes))[: len(parts)]
        index = np.full(self.records, -1, np.int64)
        for (rows, _, cell), offset in zip(parts, before, strict=True):
            index[rows] = cell + offset
        several = [column for _, column, _ in parts]
        return MaskedColumn(
            attribute,
            index[index >= 0].astype(np.int32),
            _texts([column.text for column in several]).alias(attribute.name),
            np.concatenate([np.zeros(0), *(column.low for column in several)]),
            np.concatenate([np.zeros(0), *(column.high for column in several)]),
            np.concatenate([np.zeros(0), *(column.size for column in several)]),
        )


def _texts(several: Sequence[pl.Series]) -> pl.Series:
    """Of one type: plain values where all are, else what is shown of them."""
    if not several:
        return pl.Series(dtype=pl.String)
    alike = len({text.dtype for text in several}) == 1
    return pl.concat([(text if alike or text.dtype == pl.String else plain_text(text)).alias("") for text in several])
