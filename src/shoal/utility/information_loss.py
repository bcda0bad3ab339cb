"""Information loss: the mean standardised distance between original and masked records (paper 1, Eq. 3 and 4).

IL = (1 / (n m)) sum_i sqrt(sum_j d_ij^2), where d_ij is the distance from the original value to the farther end of what
the masked cell admits, over sigma_j. A set of categories counts (its size - 1) / (all categories - 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded, Microdata


def information_loss(
    microdata: Microdata, masked: Mapping[str, MaskedColumn], kept: npt.NDArray[np.int64] | None = None
) -> float:
    """Over the quasi-identifiers; `kept` are the released records, suppressed ones count as wildcards throughout."""
    quasi = microdata.quasi
    total = float(np.sqrt(squared_losses(quasi, masked, kept)).sum())
    if kept is not None and len(kept) < len(microdata):
        suppressed = np.setdiff1d(np.arange(len(microdata)), kept, assume_unique=True)
        total += float(np.sqrt(suppressed_losses(quasi, suppressed)).sum())
    return total / (len(microdata) * len(quasi))


def squared_losses(
    attributes: Sequence[Coded], masked: Mapping[str, MaskedColumn], kept: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.float64]:
    """Released record -> the sum over the attributes of squared distances; `kept` are the records released."""
    squares = np.zeros(len(attributes[0].codes) if kept is None else len(kept))
    for coded in attributes:
        _add(squares, coded, masked[coded.name], kept)
    return squares


def suppressed_losses(attributes: Sequence[Coded], suppressed: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Suppressed record -> the same sum, if it were shown by wildcards."""
    wildcards = {coded.name: _wildcard(coded, len(suppressed)) for coded in attributes}
    return squared_losses(attributes, wildcards, suppressed)


def losses_by_table(
    shared: npt.NDArray[np.float64], own: Mapping[str, npt.NDArray[np.float64]], columns: int
) -> dict[str, float]:
    """What tables lose that share some `columns` and show one more each, and ("") one that shows all, over all records.

    `shared` and `own` are squared losses of the columns that are shared and of the others.
    """
    each = {name: float(np.sqrt(shared + more).sum()) / (columns + 1) for name, more in own.items()}
    return {**each, "": float(np.sqrt(sum(own.values(), shared)).sum()) / (columns + len(own))}


def attribute_loss(coded: Coded, masked: MaskedColumn, kept: npt.NDArray[np.int64] | None = None) -> float:
    """The mean distance of one attribute, in its own standard deviations."""
    squares = np.zeros(len(masked.index))
    _add(squares, coded, masked, kept)
    return float(np.sqrt(squares).mean()) if len(squares) else 0.0


def _add(
    squares: npt.NDArray[np.float64], coded: Coded, masked: MaskedColumn, kept: npt.NDArray[np.int64] | None
) -> None:
    """Adds each record's squared standardised distance to the farther end of its cell (Eq. 4)."""
    from shoal.kernels.threads import in_blocks

    codes = coded.codes if kept is None else coded.codes[kept]
    if coded.sigma == 0.0:
        return
    whole = (coded.bounds[1] - coded.bounds[0]) * coded.scale  # from a missing value to any other
    if coded.is_nominal:  # sets need not be contiguous: they count by their size, from the first place on
        low, high = np.where(np.isnan(masked.low), np.nan, 0.0), masked.size - 1.0
        positions = np.zeros_like(coded.positions)
    else:
        low, high, positions = masked.low, masked.high, coded.positions
    positions = np.append(positions, np.nan)  # that of a missing value

    def add(a: int, b: int) -> None:
        value, cell = positions[codes[a:b]], masked.index[a:b]
        least = low[cell]
        far = np.maximum(value - least, high[cell] - value) * coded.scale
        missing, not_shown = codes[a:b] < 0, np.isnan(least)
        far[missing | not_shown] = whole
        far[missing & not_shown] = 0.0
        squares[a:b] += far * far

    in_blocks(len(squares), 1 << 16, add)


def _wildcard(coded: Coded, records: int) -> MaskedColumn:
    import polars as pl

    low, high = coded.bounds
    return MaskedColumn(
        coded.attribute,
        np.zeros(records, np.int32),
        pl.Series(["*"]),
        np.array([low]),
        np.array([high]),
        np.array([float(len(coded.values))]),
    )
