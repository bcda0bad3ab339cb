"""Whether record i of an original table and of a masked one in memory are the same person."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn, Runs
from shoal.data.microdata import MISSING, Coded, Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Kind, Schema
from shoal.errors import InputError
from shoal.utility.placed import check_columns


def read_both(
    original: pl.DataFrame, masked: pl.DataFrame, schema: Schema
) -> tuple[Microdata, dict[str, MaskedColumn]]:
    """The original, encoded, and what the masked table shows of its quasi-identifiers."""
    check_columns(schema.quasi_identifiers, original.columns, masked.columns)
    for table, frame in {"original": original, "masked": masked}.items():
        if frame.height == 0:
            raise InputError(f"The {table} table has no records: there is nothing to measure.")
    microdata = Microdata(original, schema)
    quasi = schema.quasi_identifiers
    return microdata, {name: read_cells(masked[name], schema[name], microdata[name].values) for name in quasi}


def why_unpaired(microdata: Microdata, cells: Mapping[str, MaskedColumn], released: int, paired: bool | None) -> str:
    """Why row i of both tables cannot be taken for the same person; nothing where it can."""
    if released != len(microdata):
        counts = f"the original has {len(microdata):,} records, the masked table {released:,}"
        if paired:
            raise InputError(f"The tables cannot be paired: {counts}.")
        return f"the tables cannot be paired: {counts}"
    if paired is not None:
        return "" if paired else "the tables were declared not to be paired"
    for name, column in cells.items():
        fits = admits(column, microdata[name])
        if not fits.all():
            record = int(fits.argmin()) + 1
            return (
                f"the tables cannot be paired: record {record:,} of the masked table does not admit the "
                f"original {name!r} of that row, so the records were shuffled or perturbed"
            )
    return ""


def admits(column: MaskedColumn, coded: Coded) -> npt.NDArray[np.bool_]:
    """Whether the cell of each record admits the record's original value.

    Missing is admitted by missing and by the wildcard, which admits everything.
    """
    runs = column.runs
    assert runs is not None, "cells are read from what is shown"
    first, last = _codes_of_runs(runs, coded)
    count = np.diff(runs.starts)
    least, most = np.full((2, len(count)), MISSING)
    least[count > 0], most[count > 0] = (
        first[runs.starts[:-1][count > 0]],
        last[runs.starts[1:][count > 0] - 1],
    )
    least[runs.whole], most[runs.whole] = MISSING, len(coded.values)
    fits: npt.NDArray[np.bool_] = (least[column.index] <= coded.codes) & (coded.codes <= most[column.index])
    gaps = np.flatnonzero(fits & ((count > 1) & ~runs.whole)[column.index])
    fits[gaps] = _in_some_run(column.index[gaps], coded.codes[gaps], runs, first, last)
    return fits


def _codes_of_runs(runs: Runs, coded: Coded) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first and the last code that each run admits, the last before the first where it admits none."""
    if coded.attribute.kind in (Kind.NUMERIC, Kind.DATE):
        line = coded.values.to_physical().to_numpy()
        return np.searchsorted(line, runs.low, "left"), np.searchsorted(line, runs.high, "right") - 1
    return runs.low.astype(np.int64), runs.high.astype(np.int64)


def _in_some_run(
    cell: npt.NDArray[np.int32],
    code: npt.NDArray[np.int32],
    runs: Runs,
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """For codes between the ends of their cell: whether the run that begins next before them holds them."""
    owner = np.repeat(np.arange(len(runs.starts) - 1), np.diff(runs.starts))
    width = int(max(first.max(initial=0), code.max(initial=0))) + 1
    run = np.searchsorted(owner * width + first, cell.astype(np.int64) * width + code, "right") - 1
    return code <= last[run]
