"""Values as numbers and sets as sparse rows: what all that is done with purchases needs again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


def numbered(columns: Sequence[pl.Series]) -> Ints:
    """Record -> the number, from 0, of its combination of values in these columns."""
    frame = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    return frame.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64) - 1


def places(values: pl.Series, listed: pl.Series) -> Ints:
    """Where each value stands in a list of distinct ones, both compared as text; -1 where it is not listed."""
    known = pl.DataFrame({"value": listed.cast(pl.String)}).with_row_index("place")
    joined = pl.DataFrame({"value": values.cast(pl.String)}).join(known, on="value", how="left", maintain_order="left")
    return joined["place"].cast(pl.Int64).fill_null(-1).to_numpy()


def by_code(codes: npt.NDArray[np.integer], count: int) -> tuple[Ints, Ints]:
    """The records of each code one after the other, and where each code's begin; one more entry at the end."""
    return np.argsort(codes, kind="stable"), np.append(0, np.cumsum(np.bincount(codes, minlength=count)))


def incidence(rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], shape: tuple[int, int]) -> csr_array:
    """A matrix of 1 where a row holds a column, however often; the columns of a row ascend."""
    from scipy.sparse import coo_array

    held = coo_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape).tocsr()
    held.sum_duplicates()
    held.data[:] = 1
    return held


def renumbered(matrix: csr_array, number: npt.NDArray[np.integer], width: int) -> csr_array:
    """The matrix with column j as column number[j] of `width`; what comes to stand in one column is summed."""
    from scipy.sparse import csr_array

    columns = number.astype(np.int32)[matrix.indices]
    moved = csr_array((matrix.data.copy(), columns, matrix.indptr.copy()), shape=(matrix.shape[0], width))
    moved.sum_duplicates()  # sorts the columns of each row too
    return moved


def columns_of(matrix: csr_array, row: int) -> Codes:
    """The columns that a row holds."""
    columns: Codes = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    return columns


def values_of(matrix: csr_array, row: int) -> npt.NDArray[Any]:
    """The values of a row, in the order of `columns_of`."""
    values: npt.NDArray[Any] = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]]
    return values


def in_random_order(matrix: csr_array, rng: np.random.Generator) -> Ints:
    """The positions of the matrix's entries, row by row, those of each row shuffled."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.argsort(rows + rng.random(matrix.nnz))


def some_of_each(matrix: csr_array, most: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Positions of at most so many entries of each row, drawn by lot and ascending, and where each row's begin."""
    rank = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
    drawn = np.sort(in_random_order(matrix, rng)[rank < most])
    return drawn, np.searchsorted(drawn, matrix.indptr)
