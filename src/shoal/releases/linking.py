"""The intruder's view of two releases: linking them by what they show (paper 2, section 3.2).

A record of one release and a record of the other may be the same person's if what they show is compatible in every
attribute: the sets of values that their cells admit meet (fitting, docs/spec.md#cells, #class-equality). How many
candidates each record has in the other release; and, since somebody who is in both lies in the intersection with one of
them, how much narrower the range of an attribute gets: the complementary-release attack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind
from shoal.errors import InputError
from shoal.masking.grouping.ordered import hilbert_order
from shoal.show import Bars, Chart, Result, Series, Sheet

if TYPE_CHECKING:
    from shoal.kernels.compatible import Tree

Codes = npt.NDArray[np.int32]

_BLOCK = 4096  # boxes looked up together


@dataclass(frozen=True)
class Linked:
    """What the records of one release find in the other."""

    releases: tuple[str, str]
    records: int
    without_candidates: int
    linked_uniquely: int  # records with one candidate only
    records_below_k: int  # records with candidates, but fewer than k
    fewest_candidates: int | None  # of those that have any
    median_candidates: float
    narrowed: int  # records of which a range gets narrower
    left_open: dict[str, float]  # attribute -> the share of a range that remains, on average over records with one
    histogram: dict[int, int]  # candidates -> records


@dataclass(frozen=True)
class Linkage(Result):
    """The intruder's view of several releases, each pair both ways."""

    k: int
    pairs: tuple[Linked, ...]
    releases: tuple[dict[str, Any], ...]

    @property
    def smallest_pooled_class(self) -> int | None:
        """The fewest candidates that any record has, of those that have some."""
        return min((pair.fewest_candidates for pair in self.pairs if pair.fewest_candidates is not None), default=None)

    @property
    def subjects_below_k(self) -> int:
        """The most records of any pair of releases whose candidates are fewer than k."""
        return max((pair.records_below_k for pair in self.pairs), default=0)

    @property
    def histogram(self) -> dict[int, int]:
        """Candidates -> records, of all pairs."""
        records: Counter[int] = Counter()
        for pair in self.pairs:
            records.update(pair.histogram)
        return dict(sorted(records.items()))

    @property
    def holds(self) -> bool:
        """Whether no record has candidates, but fewer than k."""
        return self.subjects_below_k == 0

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON takes them."""
        return {
            "view": "intruder",
            "releases": list(self.releases),
            "k": self.k,
            "subjects": sum(release["records"] for release in self.releases),  # nobody can tell who is in both
            "pairs": [asdict(pair) for pair in self.pairs],
            "smallest_pooled_class": self.smallest_pooled_class,
            "subjects_below_k": self.subjects_below_k,
            "histogram": self.histogram,
            "holds": self.holds,
        }

    def charts(self) -> list[Chart]:
        """How many records have how many candidates."""
        records = Series("records", [float(count) for count in self.histogram.values()])
        return [Bars("Records by their number of candidates", [f"{n:,}" for n in self.histogram], (records,), "number")]

    def sheets(self) -> list[Sheet]:
        """Candidates by pair of releases, and what remains of ranges, as tables."""
        rows = [
            (
                " in ".join(pair.releases),
                f"{pair.records:,}",
                f"{pair.median_candidates:,.0f}",
                f"{pair.linked_uniquely:,}",
                f"{pair.records_below_k:,}",
                f"{pair.narrowed:,}",
            )
            for pair in self.pairs
        ]
        left = [
            (f"{name}, {' in '.join(pair.releases)}", f"{share:.1%}")
            for pair in self.pairs
            for name, share in pair.left_open.items()
        ]
        header = ("candidates of", "records", "median", "only one", f"below {self.k}", "narrowed")
        return [
            Sheet("Linked by what is shown", header, rows, numbers=5),
            Sheet("What remains of a range", ("", "share"), left),
        ]


class _Boxes(NamedTuple):
    """Two releases in the same codes; cells are numbered through all attributes."""

    starts: npt.NDArray[np.int64]  # cell -> its first run
    low: Codes  # run -> least code
    high: Codes
    first: Codes  # (records, attributes): cells
    second: Codes
    places: list[npt.NDArray[np.float64]]  # attribute -> code -> position
    solid: npt.NDArray[np.bool_]  # attribute -> is every cell a single run


def link(
    names: tuple[str, str], first: pl.DataFrame, second: pl.DataFrame, attributes: Sequence[Attribute], k: int
) -> tuple[Linked, Linked]:
    """What the records of each find in the other, by these attributes of both."""
    boxes = _boxes(first, second, attributes)
    there = _linked(names, boxes, boxes.first, boxes.second, attributes, k)
    back = _linked((names[1], names[0]), boxes, boxes.second, boxes.first, attributes, k)
    return there, back


def as_shown(attribute: Attribute, column: pl.Series) -> Attribute:
    """An attribute whose kind nobody stated: on a line, if all that is shown of it are numbers or dates, or ranges."""
    if attribute.kind is Kind.NOMINAL and attribute.hierarchy is None:
        for kind in (Kind.NUMERIC, Kind.DATE):
            with suppress(InputError):
                read_cells(column.unique(), replace(attribute, kind=kind))
                return replace(attribute, kind=kind)
    return attribute


def _boxes(first: pl.DataFrame, second: pl.DataFrame, attributes: Sequence[Attribute]) -> _Boxes:
    starts, low, high = [np.zeros(1, np.int64)], [], []
    index, places, solid = [], [], []
    for attribute in attributes:
        column = both_columns(first, second, attribute.name)
        cells = read_cells(column, attribute)
        runs = cells.runs
        assert runs is not None
        ends = np.unique(np.concatenate([runs.low, runs.high]))
        # Missing is a code of its own, the least; a wildcard admits it too.
        count = np.maximum(np.diff(runs.starts), 1)
        begins = np.append(0, np.cumsum(count))
        codes = np.zeros((2, int(begins[-1])), np.int32)
        some = np.repeat(np.diff(runs.starts) > 0, count)
        codes[0, some], codes[1, some] = np.searchsorted(ends, runs.low) + 1, np.searchsorted(ends, runs.high) + 1
        codes[0, begins[:-1][runs.whole]] = 0
        index.append(cells.index + (len(np.concatenate(starts)) - 1))
        starts.append(starts[-1][-1] + begins[1:])
        low.append(codes[0])
        high.append(codes[1])
        places.append(np.append(np.nan, ends.astype(np.float64)))
        solid.append(bool((count == 1).all()))
    matrix = np.column_stack(index).astype(np.int32)
    return _Boxes(
        np.concatenate(starts), np.concatenate(low), np.concatenate(high),
        matrix[: first.height], matrix[first.height :], places, np.array(solid),
    )  # fmt: skip


def both_columns(first: pl.DataFrame, second: pl.DataFrame, name: str) -> pl.Series:
    """A column of both releases, one after the other; as text where one of them shows masks."""
    a, b = first[name], second[name]
    return pl.concat([a, b] if a.dtype == b.dtype else [a.cast(pl.String), b.cast(pl.String)])


def _linked(
    names: tuple[str, str], boxes: _Boxes, asking: Codes, other_cells: Codes, attributes: Sequence[Attribute], k: int
) -> Linked:
    from shoal.kernels.compatible import find_compatible
    from shoal.kernels.threads import in_blocks

    distinct, records = _distinct(asking)
    tree = _tree(boxes, *_distinct(other_cells))
    counts = np.zeros(len(distinct), np.int64)
    span = np.empty((2, *distinct.shape), np.int32)
    span[0], span[1] = np.iinfo(np.int32).max, -1

    def find(a: int, b: int) -> None:
        results = counts[a:b], span[0, a:b], span[1, a:b]
        find_compatible(tree, boxes.starts, boxes.low, boxes.high, distinct[a:b], boxes.solid, *results)

    in_blocks(len(distinct), _BLOCK, find)
    some = counts > 0
    candidates = np.repeat(counts, records)
    narrower, left_open = _narrowed(boxes, distinct, records, span, some, attributes)
    return Linked(
        names,
        len(asking),
        int(records[~some].sum()),
        int(records[counts == 1].sum()),
        int(records[some & (counts < k)].sum()),
        int(counts[some].min()) if some.any() else None,
        float(np.median(candidates)) if len(candidates) else 0.0,
        int(records[narrower].sum()),
        left_open,
        _histogram(candidates),
    )


def _histogram(candidates: npt.NDArray[np.int64]) -> dict[int, int]:
    size, records = np.unique(candidates, return_counts=True)
    return dict(zip(size.tolist(), records.tolist(), strict=True))


def _distinct(cells: Codes) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Distinct boxes, and how many records show each."""
    frame = pl.DataFrame(cells, schema=[str(j) for j in range(cells.shape[1])], orient="row")
    counted = frame.group_by(frame.columns, maintain_order=True).len("records")
    return np.ascontiguousarray(counted.drop("records").to_numpy()), counted["records"].to_numpy().astype(np.int64)


def _tree(boxes: _Boxes, distinct: Codes, records: npt.NDArray[np.int64]) -> Tree:
    from shoal.kernels.compatible import FAN, Tree

    low, high = boxes.low[boxes.starts[distinct]], boxes.high[boxes.starts[distinct + 1] - 1]
    # Eight standard deviations keep full resolution on the curve: all codes lie within.
    widths = np.array([len(places) for places in boxes.places])
    order = hilbert_order(((low + high) * (8 / widths)).astype(np.float32))
    ends = [[low[order]], [low[order]], [high[order]], [high[order]]]
    while len(ends[0][-1]) > 1:
        begins = np.arange(0, len(ends[0][-1]), FAN)
        for levels, reduce in zip(ends, (np.minimum, np.maximum, np.minimum, np.maximum), strict=True):
            levels.append(reduce.reduceat(levels[-1], begins, axis=0))
    level = np.append(0, np.cumsum([len(nodes) for nodes in ends[0]]))
    before = np.append(0, np.cumsum(records[order]))
    least_low, greatest_low, least_high, greatest_high = (np.concatenate(levels) for levels in ends)
    return Tree(before, distinct[order], least_low, greatest_low, least_high, greatest_high, level)


def _narrowed(
    boxes: _Boxes,
    distinct: Codes,
    records: npt.NDArray[np.int64],
    span: Codes,
    some: npt.NDArray[np.bool_],
    attributes: Sequence[Attribute],
) -> tuple[npt.NDArray[np.bool_], dict[str, float]]:
    """Whose ranges get narrower by all candidates together, and what share of a range remains."""
    narrower = np.zeros(len(distinct), np.bool_)
    left_open: dict[str, float] = {}
    low, high = boxes.low[boxes.starts[distinct]], boxes.high[boxes.starts[distinct + 1] - 1]
    for j, attribute in enumerate(attributes):
        if attribute.kind is Kind.NOMINAL:
            continue
        ranged = some & (high[:, j] > low[:, j]) & (low[:, j] > 0)
        if not ranged.any():
            continue
        place = boxes.places[j]
        before = place[high[ranged, j]] - place[low[ranged, j]]
        least, greatest = (
            np.maximum(low[ranged, j], span[0, ranged, j]),
            np.minimum(high[ranged, j], span[1, ranged, j]),
        )
        share = (place[greatest] - place[least]) / before
        narrower[np.flatnonzero(ranged)[share < 1.0]] = True
        left_open[attribute.name] = float(np.average(share, weights=records[ranged]))
    return narrower, left_open
