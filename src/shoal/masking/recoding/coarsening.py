"""Naive coarsening: each quasi-identifier by itself into a fixed number of intervals (paper 1, Algorithm S3).

`labels` cuts the sorted distinct values v_0 < ... < v_(L-1) into r runs, the i-th of which ends at index
floor(i L / r) - 1: this gives the intervals the paper prints (Tables S7 and S8). `width` cuts the domain into
r intervals of the same length, as the paper's text has it. The attributes are not looked at together, so
nothing is promised: what is unique may stay so, which is the paper's point against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import SAME, parameter
from shoal.data.cells import MaskedColumn, interval_text
from shoal.data.microdata import Coded, Microdata
from shoal.data.schema import Kind
from shoal.data.short_sets import LONGEST, set_cells, shortened_note
from shoal.errors import InputError, did_you_mean
from shoal.masking.chunks import WholeTable
from shoal.masking.method import Masked, Method, Strength
from shoal.masking.recoding.frequencies import refuse_unlisted
from shoal.masking.recoding.suppressing import refuse_suppressing, suppress_failing, without_small
from shoal.privacy.model import PrivacyModel

Mode = Literal["labels", "width"]

_EXACT = float(1 << 53)  # whole numbers beyond have no number of their own among floats


class Coarsen(Method):
    """Each attribute by itself into a fixed number of intervals; it promises nothing.

    `resolution` is the number of intervals, one for all attributes or one for each that is named. `mode` cuts the
    distinct values into runs (`labels`) or the domain into equal lengths (`width`).
    """

    resolution: int | dict[str, int] = parameter("intervals, of all columns or by column", default=8, least=1)
    mode: Mode = parameter("cut the distinct values into runs, or the domain into equal widths", default="labels")
    longest: int = parameter("characters of a set; one that is longer is shown shorter", default=LONGEST, least=3)

    choose = "every value must be recoded the same way; it promises nothing, so the check may refuse"
    strength = Strength("resolution", 1, inf, whole=True)
    seedless = True
    in_chunks = SAME
    did = (
        "Each quasi-identifier was recoded by itself into a fixed number of intervals "
        "(Sánchez et al. 2016, Algorithm S3)."
    )

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Each attribute in its intervals; one without a resolution stays as it is, and a note says so."""
        resolutions = self.resolutions(microdata.schema.quasi_identifiers)
        columns = {
            coded.name: coarsen(coded, resolutions[coded.name], self.mode, self.longest)
            if coded.name in resolutions
            else unmasked(coded)
            for coded in microdata.quasi
        }
        left = [name for name in columns if name not in resolutions]
        notes = tuple(f"Column {name!r} has no resolution and is shown as it is." for name in left)
        notes += tuple(note for column in columns.values() for note in shortened_note(column, self.longest))
        return suppress_failing(microdata, Masked(columns, notes=notes), models, suppression)

    def refuse_in_chunks(self, models: Sequence[PrivacyModel], suppression: float, engine: str) -> None:
        """Refuses to suppress for how few people of a population fit a class: an engine counts records alone."""
        refuse_suppressing(self.name, models, suppression, engine)

    def prepared(self, whole: WholeTable) -> Method:
        """Each attribute by itself, as all its values say, and in every chunk alike."""
        for name in self.resolutions(whole.schema.quasi_identifiers):
            if self.mode == "labels":
                refuse_unlisted(
                    whole, name, "too many to be cut into runs: cut its domain into equal lengths (mode = 'width')."
                )
            known = whole.attributes.whole[name]
            if max(abs(known.least), abs(known.greatest)) > _EXACT:
                refuse_unlisted(whole, name, "and numbers beyond 2^53: use the memory engine, or leave it out.")
        return without_small(whole, self)

    def resolutions(self, quasi: Sequence[str]) -> dict[str, int]:
        """Of each quasi-identifier that has one."""
        if not isinstance(self.resolution, Mapping):
            return dict.fromkeys(quasi, self.resolution)
        for name in self.resolution:
            if name not in quasi:
                raise InputError(
                    f"The 'resolution' parameter of {self.name} names {name!r}, which is no quasi-identifier "
                    f"of the table.{did_you_mean(name, quasi)}"
                )
        return dict(self.resolution)


def coarsen(coded: Coded, resolution: int, mode: Mode = "labels", longest: int = LONGEST) -> MaskedColumn:
    """One attribute at that resolution; values stay as they are where intervals are as many or more."""
    distinct = len(coded.values)
    if coded.unlisted is None and resolution >= distinct:
        return unmasked(coded)
    if mode == "width" and coded.attribute.kind in (Kind.NUMERIC, Kind.DATE):
        return _equal_widths(coded, resolution)
    i = np.arange(resolution + 1)
    starts = i * distinct // resolution if mode == "labels" else -(-i * distinct // resolution)
    return _runs(coded, starts, longest)


def unmasked(coded: Coded) -> MaskedColumn:
    """The attribute as it is, each value a cell."""
    return _runs(coded, np.arange(len(coded.values) + 1))


def _runs(coded: Coded, starts: npt.NDArray[np.int64], longest: int = LONGEST) -> MaskedColumn:
    """Cell c admits the values from code starts[c] up to starts[c + 1], which it excludes."""
    first, last, sizes = starts[:-1], starts[1:] - 1, np.diff(starts)
    shortened = 0
    if coded.is_nominal:
        sets = set_cells(coded.values, starts, np.arange(starts[-1], dtype=np.int32), longest)
        text, size, shortened = sets.text, sets.size, len(sets.shortened)
        first, last = sets.low.astype(np.int64), sets.high.astype(np.int64)
    else:
        text = interval_text(coded.values.gather(first), coded.values.gather(last))
        size = np.full(len(first), np.nan)
    cell_of_code = np.repeat(np.arange(len(first)), sizes)
    column = _column(coded, cell_of_code, text, coded.positions[first], coded.positions[last], size)
    return replace(column, shortened=shortened)


def _equal_widths(coded: Coded, parts: int) -> MaskedColumn:
    """Cell c admits what lies from the c-th edge of the domain to the next; an interval holds its lower edge.

    Of whole numbers and days there are greatest - least + 1, and an interval ends one before the next.
    """
    line = coded.values.to_physical()
    least, greatest = _domain(coded)
    if line.dtype.is_integer():
        span = greatest - least + 1
        edges = [least - (-i * span // parts) for i in range(parts + 1)]
        upper = [edge - 1 for edge in edges[1:]]
    else:
        edges = np.linspace(least, greatest, parts + 1).tolist()
        upper = edges[1:]
    low, high = (pl.Series(coded.name, ends, dtype=line.dtype) for ends in (edges[:-1], upper))
    cell_of_code = np.searchsorted(low.to_numpy(), line.to_numpy(), side="right") - 1
    text = interval_text(low.cast(coded.values.dtype), high.cast(coded.values.dtype))
    least_of, greatest_of = (end.cast(pl.Float64).to_numpy() for end in (low, high))
    return _column(coded, cell_of_code, text, least_of, greatest_of, np.full(parts, np.nan))


def _domain(coded: Coded) -> tuple[int, int]:
    """Least and greatest value as declared or else as found, exact where 64-bit numbers are."""
    known = coded.values
    if coded.attribute.domain:
        declared = pl.Series(coded.name, list(coded.attribute.domain), strict=False).cast(known.dtype, strict=False)
        known = pl.concat([known, declared.drop_nulls()])
    line = known.to_physical()
    if coded.unlisted is not None:  # of a part: the whole table reaches farther
        ends = [coded.unlisted.least, coded.unlisted.greatest]
        line = pl.concat([line, pl.Series(ends).cast(line.dtype).alias(line.name)])
    return line.min(), line.max()  # type: ignore[return-value]


def _column(
    coded: Coded,
    cell_of_code: npt.NDArray[np.int64],
    text: pl.Series,
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    size: npt.NDArray[np.float64],
) -> MaskedColumn:
    """Adds the cell of missing values, to which the code -1 leads as the last one."""
    index = np.append(cell_of_code, len(text)).astype(np.int32)[coded.codes]
    low, high, size = (np.append(ends, np.nan) for ends in (low, high, size))
    return MaskedColumn(coded.attribute, index, text.extend_constant(None, 1), low, high, size)
