"""What perturbing methods share: the columns they can treat, where values lie, and how perturbed ones are shown.

Every attribute draws from a stream of its own, so that one more of them changes no other. What is missing is a value
too: which records lack it is drawn anew, as many as before, or the pattern of gaps would give away who is who.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf
from typing import Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn, plain_cells
from shoal.data.microdata import MISSING, Microdata
from shoal.data.schema import Attribute, Kind
from shoal.errors import InputError

Numbers = npt.NDArray[np.float64]
Records = npt.NDArray[np.int64]
Within = Literal["domain", "anywhere"]
Result = TypeVar("Result")

ON_A_LINE = (Kind.NUMERIC, Kind.DATE)
IN_ORDER = (*ON_A_LINE, Kind.ORDINAL)
CATEGORIES = (Kind.NOMINAL, Kind.ORDINAL)

_CALENDAR = pl.Series(["0001-01-01", "9999-12-31"]).str.to_date()


# ---- what is drawn


def streams(seed: int | None) -> Stream:
    """attribute -> its stream of random numbers; None -> that of what is drawn once a record. Gaps have their own."""
    entropy = np.random.SeedSequence(seed).entropy
    assert isinstance(entropy, int)

    def stream(name: str | None, *, gaps: bool = False) -> np.random.Generator:
        own = [256] if name is None else [*name.encode()]  # no byte is 256 or 257
        return np.random.default_rng([entropy, *own, *([257] if gaps else [])])

    return stream


def side_by_side(names: Sequence[str], work: Callable[[str], Result]) -> dict[str, Result]:
    """attribute -> what the work gives for it, on all cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(work, names), strict=True))


class Stream(Protocol):
    """Where a method's random numbers come from: a stream for each attribute, so that none depends on the others."""

    def __call__(self, name: str | None, *, gaps: bool = False) -> np.random.Generator:
        """The stream of the attribute, or of what is drawn once a record; `gaps`: that by which gaps are moved."""
        ...


# ---- the columns as they are


def treated(method: str, microdata: Microdata, kinds: Sequence[Kind]) -> list[str]:
    """The quasi-identifiers; refused where one is of another kind or does not vary."""
    if len(microdata) < 2:
        raise InputError(f"The table holds one record only: method {method!r} needs at least two.")
    for name in microdata.schema.quasi_identifiers:
        column = own_column(microdata, name)
        if microdata.schema[name].kind not in kinds:
            raise _wrong_kind(method, column, microdata.schema[name], kinds)
        physical = column.to_physical()
        if physical.min() == physical.max():
            held = "no value" if column.null_count() == len(column) else "one value only"
            raise InputError(
                f"Column {name!r} holds {held}, which method {method!r} cannot perturb: "
                "leave it out of the quasi-identifiers."
            )
    return microdata.schema.quasi_identifiers


def _wrong_kind(method: str, column: pl.Series, attribute: Attribute, kinds: Sequence[Kind]) -> InputError:
    remedy = "leave it out of the quasi-identifiers, or choose another method"
    if column.dtype == pl.String:  # numbers among which there is text come as text
        is_text = column.is_not_null() & column.cast(pl.Float64, strict=False).is_null()
        if 0 < is_text.sum() <= len(column) // 2:
            record = int(is_text.arg_max() or 0)
            remedy = f"correct {column[record]!r} in record {record + 1} if it should hold numbers, or {remedy}"
    return InputError(
        f"Method {method!r} cannot treat column {attribute.name!r}, which is {attribute.kind}: "
        f"it is for values that are {' or '.join(kinds)}; {remedy}."
    )


def own_column(microdata: Microdata, name: str) -> pl.Series:
    """As given; what is not a number is missing."""
    column = microdata.frame[name]
    return column.fill_nan(None) if column.dtype.is_float() else column


def positions(microdata: Microdata, name: str) -> Numbers:
    """Where each record's value lies: the number, the day, the category's index; NaN where it is missing.

    Plain numbers and dates are read as they stand, which takes a tenth of the time of coding them.
    """
    column = own_column(microdata, name)
    if microdata.schema[name].kind in ON_A_LINE and (_is_plain(column.dtype) or _is_day(column.dtype)):
        numbers = column.to_physical().cast(pl.Float64).to_numpy()
        if not np.isinf(numbers).any():
            return numbers
    coded = microdata[name]  # refuses infinities, and what is neither number nor date
    return np.append(coded.positions, np.nan)[np.where(coded.codes == MISSING, len(coded.positions), coded.codes)]


def in_order(microdata: Microdata, name: str, rng: np.random.Generator) -> Records:
    """The records that have a value, ascending by it; equal values in random order."""
    from shoal.kernels.sorting import float_keys, sort_with
    from shoal.kernels.swapping import shuffle_ties

    column, at = own_column(microdata, name), positions(microdata, name)
    if microdata.schema[name].kind in ON_A_LINE and column.dtype.is_integer() and _is_plain(column.dtype):
        whole = column.fill_null(0).cast(pl.UInt64 if column.dtype == pl.UInt64 else pl.Int64).to_numpy()
        keys = whole.view(np.uint64) ^ np.uint64(0 if whole.dtype == np.uint64 else 1 << 63)  # 64 bits, exactly
    else:
        keys = float_keys(at)
    records = np.flatnonzero(~np.isnan(at))
    keys = keys[records]
    sort_with(keys, records, len(records), np.empty_like(keys), np.empty_like(records))
    shuffle_ties(keys, records, rng)
    return records


def _is_plain(dtype: pl.DataType) -> bool:
    return dtype.is_float() or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128))


def _is_day(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.Date | pl.Datetime)


# ---- the columns as shown


def shown_from(microdata: Microdata, name: str, source: Records) -> MaskedColumn:
    """Each record shows the value of its source, in the column's own type."""
    at = positions(microdata, name)
    return plain_cells(own_column(microdata, name).gather(source), microdata.schema[name], at[source])


def with_gaps_moved(columns: Mapping[str, MaskedColumn], stream: Stream) -> dict[str, MaskedColumn]:
    """Of each column as many cells are missing as before, in records drawn at random.

    Who now lacks a value gives the masked one to somebody who lacked it: the column shows the same cells altogether.
    Givers and takers are paired in the order of what their other masked values say of this one, so that attributes go
    on going together.
    """
    if not any(np.isnan(column.low[column.index]).any() for column in columns.values()):
        return dict(columns)
    scores = np.stack([_scored(column) for column in columns.values()])
    correlations = scores @ scores.T / scores.shape[1]
    np.fill_diagonal(correlations, 0.0)
    order = dict(zip(columns, correlations @ scores, strict=True))
    return side_by_side(list(columns), lambda name: _gaps_moved(columns[name], order[name], stream(name, gaps=True)))


def _scored(column: MaskedColumn) -> Numbers:
    """The masked values by their ranks, from -1/2 to 1/2, 0 where they are missing."""
    rank = pl.Series(column.low[column.index]).fill_nan(None).rank("average")
    return (rank / (rank.count() + 1) - 0.5).fill_null(0.0).to_numpy()


def _gaps_moved(column: MaskedColumn, order: Numbers, rng: np.random.Generator) -> MaskedColumn:
    missing = np.isnan(column.low)[column.index]
    anew = rng.permutation(missing)
    tied = rng.random(len(missing))
    takes, gives = (
        some[np.lexsort((tied[some], order[some]))]
        for some in (np.flatnonzero(missing & ~anew), np.flatnonzero(anew & ~missing))
    )
    index = column.index.copy()
    index[takes], index[gives] = column.index[gives], column.index[takes]
    return replace(column, index=index)


def reflected(microdata: Microdata, name: str, numbers: Numbers) -> Numbers:
    """Numbers beyond the stated domain, or else beyond the least and the greatest value, come back as from a mirror.

    So no value that cannot be is shown, and none stands at an end as often as if it had been cut off there.
    """
    at = positions(microdata, name)
    stated = _stated_ends(microdata.frame[name].dtype, microdata.schema[name])
    least, greatest = float(np.nanmin(at)), float(np.nanmax(at))
    low, high = (min(stated[0], least), max(stated[1], greatest)) if stated else (least, greatest)
    width = high - low
    if width == 0.0:  # whole numbers that no float tells apart
        return np.clip(numbers, low, high)
    along = np.mod(numbers - low, 2 * width)
    back = np.clip(low + np.minimum(along, 2 * width - along), low, high)
    return np.where((numbers < low) | (numbers > high), back, numbers)


def shown_numbers(
    microdata: Microdata, name: str, numbers: Numbers, *, whole: bool = False, clamp: bool = False
) -> MaskedColumn:
    """Each record shows its number, NaN where it is missing.

    Dates are rounded to their step, and so are integers if they are to stay `whole`; otherwise these become decimals.
    """
    attribute, dtype = microdata.schema[name], microdata.frame[name].dtype
    in_steps = _is_day(dtype) or (whole and dtype.is_integer())
    low, high = _limits(dtype) if in_steps else (-inf, inf)
    if clamp and (ends := _stated_ends(dtype, attribute)):
        low, high = max(low, ends[0]), min(high, ends[1])
    if in_steps:
        numbers, low, high = np.rint(numbers), np.ceil(low), np.floor(high)
    numbers = np.clip(numbers, low, high)
    values = pl.Series(name, numbers).fill_nan(None)
    if in_steps:
        values = values.cast(pl.Int32 if dtype == pl.Date else pl.UInt64 if dtype == pl.UInt64 else pl.Int64).cast(
            dtype
        )
    return plain_cells(values, attribute, numbers)


def _limits(dtype: pl.DataType) -> tuple[float, float]:
    """The least and greatest number that the type, or the calendar, has room for."""
    low, high = -(2**63), 2**63 - 1
    if dtype.is_integer() and _is_plain(dtype):
        limits = np.iinfo(pl.Series(dtype=dtype).to_numpy().dtype)
        low, high = int(limits.min), int(limits.max)
    elif _is_day(dtype) and dtype != pl.Datetime("ns"):  # nanoseconds fill their 64 bits within few centuries
        low, high = _CALENDAR.cast(dtype).to_physical().to_list()
    rounded = float(high)
    return float(low), rounded if int(rounded) <= high else float(np.nextafter(rounded, 0))


def require_domain(method: str, microdata: Microdata, names: Sequence[str]) -> None:
    """To be clamped, some value must have an end."""
    if not any(_stated_ends(microdata.frame[name].dtype, microdata.schema[name]) for name in names):
        raise InputError(
            f"Method {method!r} is to clamp values to their domain, but no quasi-identifier states one: "
            "state it in the policy (attributes.NAME.domain), or do not clamp."
        )


def _stated_ends(dtype: pl.DataType, attribute: Attribute) -> tuple[float, float] | None:
    if not attribute.domain:
        return None
    stated = pl.Series(list(attribute.domain), strict=False)
    on_line = stated.cast(dtype if _is_day(dtype) else pl.Float64, strict=False).drop_nulls()
    ends = sorted(map(float, on_line.to_physical()))
    return (ends[0], ends[-1]) if ends else None
