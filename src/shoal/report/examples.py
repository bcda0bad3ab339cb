"""A few records before and after, which say more than numbers: the custodian sees what became of them.

These are true values of people. They stand on the custodian's page alone, which says so at its top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.report.findings import Findings
from shoal.report.reported import Reported
from shoal.show.numbers import counted
from shoal.utility.information_loss import squared_losses

Rows = npt.NDArray[np.int64]

RECORDS = 5
AMONG = 20_000  # records that these are chosen among, where there are more
CELLS, AS_THEY_ARE = 12, 4  # columns that are shown: masked ones, and others


class Cell(NamedTuple):
    """A value of a record: as it was, and as it is released; alike where nothing was done to it."""

    column: str
    before: str
    after: str


@dataclass(frozen=True)
class Example:
    """A record, why it was chosen, and how many others look like it, where that is known."""

    chosen: str
    alike: str
    masked: list[Cell]
    others: list[Cell]


@dataclass(frozen=True)
class Examples:
    """The records, and how they were chosen."""

    records: list[Example]
    how: str

    @classmethod
    def of(cls, release: Reported, findings: Findings) -> Examples:
        """Different records: the typical, the one that lost most, one of the smallest group, and by lot."""
        if not release.records or not len(release.table):
            return cls([], "")
        shown, every = _Shown.of(findings), len(release.table)
        among = np.arange(every) if every <= AMONG else np.sort(np.random.default_rng(0).choice(every, AMONG, False))
        chosen: dict[int, str] = {}
        for why, row in _chosen(release, findings, shown, among):
            chosen.setdefault(row, why)
        records = [_example(release, findings, shown, row, why) for row, why in list(chosen.items())[:RECORDS]]
        some = f"{AMONG:,} drawn of {every:,} released records" if every > AMONG else f"{every:,} released records"
        if release.drawn is not None:
            some += " that were drawn when they were masked; how many look like each is not counted there"
        hidden = max(len(release.schema.quasi_identifiers) - CELLS, 0)
        more = f" The first {CELLS} masked columns are shown, {hidden:,} more are not." if hidden else ""
        return cls(records, f"Chosen among {some}.{more}")


class _Shown(NamedTuple):
    """What is released of the masked columns as numbers, the same where the same is shown."""

    numbers: pl.DataFrame
    counted: bool  # whether records have look-alikes, and these are all records

    @classmethod
    def of(cls, findings: Findings) -> _Shown:
        return cls(findings.numbers, findings.drawn is None and not findings.apart)

    def alike(self, row: int) -> int:
        """How many records show the same as this one."""
        values = self.numbers.row(row, named=True)
        return self.numbers.filter(pl.all_horizontal(pl.col(name) == value for name, value in values.items())).height

    def smallest(self) -> int:
        """A record of the smallest class: the first there is."""
        classes = self.numbers.lazy().with_row_index("shoal row").group_by(self.numbers.columns)
        sizes = classes.agg(pl.len().alias("shoal size"), pl.col("shoal row").min())
        first = sizes.select("shoal size", "shoal row").collect(engine="streaming")
        return int(first.sort("shoal size", "shoal row")["shoal row"][0])


def _chosen(release: Reported, findings: Findings, shown: _Shown, among: Rows) -> Iterator[tuple[str, int]]:
    kept = release.masked.kept
    rows = among if kept is None else kept[among]
    columns = {name: _some(findings.columns[name], among) for name in release.schema.quasi_identifiers}
    lost = squared_losses(release.original.quasi, columns, rows)
    order = np.argsort(lost, kind="stable")
    yield "Typical: half of all lost less", int(among[order[len(order) // 2]])
    yield "Lost most", int(among[order[-1]])
    if shown.counted:
        yield "In the smallest group of look-alikes", shown.smallest()
    yield "Lost least", int(among[order[0]])
    for row in np.random.default_rng(1).permutation(among)[:RECORDS]:
        yield "Drawn by lot", int(row)


def _some(column: MaskedColumn, rows: Rows) -> MaskedColumn:
    return replace(column, index=column.index[rows])


def _example(release: Reported, findings: Findings, shown: _Shown, row: int, why: str) -> Example:
    kept, schema = release.masked.kept, release.schema
    before = release.original.frame.row(row if kept is None else int(kept[row]), named=True)
    after = {name: findings.columns[name].text[int(findings.columns[name].index[row])] for name in findings.columns}
    masked = [
        Cell(findings.label(name), _text(before[name]), _text(after[name])) for name in schema.quasi_identifiers[:CELLS]
    ]
    table: Mapping[str, object] = release.table.row(row, named=True)
    others = [name for name in release.table.columns if name in schema and name not in schema.quasi_identifiers]
    as_they_are = [Cell(findings.label(name), _text(before.get(name)), _text(table[name])) for name in others]
    alike = f"{counted(shown.alike(row) - 1, 'other')} look the same" if shown.counted else ""
    return Example(why, alike, masked, as_they_are[:AS_THEY_ARE])


def _text(value: object) -> str:
    """As people read it: a number that was computed to six digits."""
    return "(empty)" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
