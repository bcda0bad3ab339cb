"""A table made anew from what it shows, so that its memory and its files hold nothing else.

A column is more than its values. Polars and Arrow share buffers between a table and what is selected from it, so that
the texts of records that are left out stay in memory, in the order of the source, and are written with the others; a
missing cell keeps the value that stood there before it was masked; categories list what no record has. Every table
passes here before it leaves: each column gets new buffers, in the order of the released records, with zeros where
nothing is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from shoal.errors import InputError

Missing = npt.NDArray[np.bool_]  # record -> is its cell empty

_TEXT = (pl.String, pl.Categorical)
_FIXED = (pl.Boolean, pl.Decimal, pl.Null)


def made_anew(frame: pl.DataFrame) -> pl.DataFrame:
    """A copy of the table in buffers of its own, which hold what the table shows and nothing else.

    An Enum keeps its order and those of its categories that occur; a Categorical, whose codes tell in which order
    the source had them, becomes text.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return pl.DataFrame(list(pool.map(_column, frame)))


def _column(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, _TEXT):
        return _text(column.cast(pl.String))
    if isinstance(dtype, pl.Enum):
        return _ordered(column, dtype)
    if dtype in (pl.Int128, pl.UInt128):
        return _column(_narrowed(column))
    if dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, _FIXED):
        return _fixed(column)
    raise InputError(
        f"Column {column.name!r} holds values of type {dtype}, of which it cannot be said what they show: "
        "leave the column out, or turn it into columns of numbers, dates or text."
    )


def _text(column: pl.Series) -> pl.Series:
    """Text after text without gaps, in the order of the records."""
    missing = _missing(column)
    filled = column.fill_null("").rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    offsets = np.frombuffer(filled.buffers()[1], np.int64, len(filled) + 1, filled.offset * 8)
    letters = np.frombuffer(filled.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    buffers = (pa.py_buffer(offsets - offsets[0]), pa.py_buffer(letters.copy()), bits_of(missing))
    return pl.Series(column.name, pa.LargeStringArray.from_buffers(len(filled), *buffers))


def _ordered(column: pl.Series, dtype: pl.Enum) -> pl.Series:
    occurs = dtype.categories.filter(dtype.categories.is_in(column.cast(pl.String).unique().implode()))
    codes = column.cast(pl.String).cast(pl.Enum(occurs)).to_physical()
    return _fixed(codes).cat.to(pl.Enum(occurs))


def _fixed(column: pl.Series) -> pl.Series:
    """Cells that all take the same room; nothing stands in those that are missing."""
    missing = _missing(column)
    held = column.rechunk().to_arrow()
    if isinstance(held, pa.NullArray):
        return pl.Series(column.name, pa.nulls(len(held)))
    if isinstance(held, pa.BooleanArray):
        values = np.packbits(held.fill_null(False).to_numpy(zero_copy_only=False), bitorder="little")
    else:
        width = held.type.bit_width // 8
        values = np.frombuffer(held.buffers()[1] or b"", f"V{width}", len(held), held.offset * width).copy()
        values[missing] = np.zeros((), values.dtype)
    anew = pa.Array.from_buffers(held.type, len(held), [bits_of(missing), pa.py_buffer(values)])
    return pl.Series(column.name, anew, dtype=column.dtype)


def _missing(column: pl.Series) -> Missing:
    return column.is_null().to_numpy()


def bits_of(missing: Missing) -> pa.Buffer | None:
    """Arrow's bitmap of the cells that are there; none where all are."""
    return pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None


def _narrowed(column: pl.Series) -> pl.Series:
    """Of 128 bits, as a database's sums come, in a type that files know."""
    return next(narrow for narrow in _narrower(column) if narrow.null_count() == column.null_count())


def _narrower(column: pl.Series) -> Iterator[pl.Series]:
    for dtype in (pl.Int64, pl.Decimal(38, 0)):
        yield column.cast(dtype, strict=False)
    yield column.cast(pl.String)
