"""Hierarchies built by a rule or learnt: bands of numbers, masked codes, dates, ordered categories, taxonomies.

Each builder is a function of the values and a few choices; `build` takes them from a table as in a policy file:
`{type = "steps", steps = [5, 10, 20]}`. Every tree lists all the values and ends in `*` (a taxonomy in its own root).
Levels that would merge nothing more in these values are left out: ages 0 to 9 have no bands of 20.

How bands are shown. Bands of whole numbers are closed, `[0;4]`, `[5;9]`. Bands of decimals begin at their first end and
stop short of the second, yet print as `[0;5]`, `[5;10]`: a reader who takes both ends as included admits one value too
many, never one too few. By cuts the last band is open, `65+`, so that it does not tell the greatest value; the first
begins at a round number.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.hierarchy import TOP, Hierarchy, from_levels
from shoal.data.masked import interval_text, set_text
from shoal.errors import InputError, did_you_mean, require

EXACT = 2**53  # whole numbers up to here are exact as decimals
LARGEST = 2**58  # of whole numbers: ends of their bands still have 64 bits
LONGEST_CODE = 50  # characters; what is longer is text, not a code
FEWEST_CODES = 10  # distinct values before texts of one shape are taken for codes
FINEST = 6  # halvings of learnt bands: at most 64 of them
BUNDLES = (64, 16, 4)  # about how many groups learnt from frequencies, level by level
IN_FULL = 8  # values of a group that its label still lists
MIDDLE = (0.4, 0.6)  # share of the records below a learnt cut, so that there is a choice of round numbers

Levels = list[tuple[str, pl.Series]]  # from fine to coarse: the level in words, and each value's label
Ints = npt.NDArray[np.int64]


def build(spec: Mapping[str, Any], values: pl.Series, attribute: str) -> Hierarchy:
    """The hierarchy that a table of choices describes: its `type`, and what that builder takes."""
    choices = dict(spec)
    kind = choices.pop("type", None)
    if kind not in BUILDERS:
        hint = did_you_mean(str(kind), BUILDERS) or f" Known are {', '.join(BUILDERS)}."
        raise InputError(f"The hierarchy of {attribute!r} has no type {kind!r}.{hint}")
    builder = BUILDERS[kind]
    known = {n: p for n, p in inspect.signature(builder).parameters.items() if p.kind is p.KEYWORD_ONLY}
    for choice in choices:
        if choice not in known:
            hint = did_you_mean(choice, known) or f" It takes {', '.join(known) or 'nothing'}."
            raise InputError(f"The hierarchy of {attribute!r}, of type {kind!r}, has no choice {choice!r}.{hint}")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in choices:
            raise InputError(f"The hierarchy of {attribute!r}, of type {kind!r}, needs {name!r}: give it.")
    return builder(values, attribute, **choices)


def merging(leaves: pl.Series, levels: Iterable[tuple[str, pl.Series]], attribute: str) -> Hierarchy:
    """The tree of these levels without those that merge nothing, below one top."""
    kept = [("", leaves)]
    for name, labels in levels:
        if 1 < labels.n_unique() < kept[-1][1].n_unique():
            kept.append((name, labels))
    top = pl.Series([TOP]).new_from_index(0, len(leaves))
    columns = [labels for _, labels in kept]
    return from_levels([*columns, top], attribute, [*(name for name, _ in kept), ""])


def _distinct(values: pl.Series, attribute: str) -> pl.DataFrame:
    """The distinct values by the text that stands for them, with their records."""
    values = (values.fill_nan(None) if values.dtype.is_float() else values).drop_nulls()
    if values.is_empty():
        raise InputError(f"Column {attribute!r} has no values to build a hierarchy from: give the hierarchy itself.")
    label = pl.col("value").cast(pl.String)
    by = label.alias("label") if values.dtype.is_float() else pl.col("value")  # 0.0 equals -0.0, the texts do not
    counted = pl.DataFrame({"value": values}).group_by(by).agg(pl.first("value").alias("any"), count=pl.len())
    return counted.select(value="any", count=pl.col("count").cast(pl.Int64)).with_columns(label=label).sort("label")


# ---- numbers


@dataclass(frozen=True)
class _Numbers:
    """A column's distinct numbers, ascending."""

    labels: pl.Series
    numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64]
    counts: Ints
    whole: bool  # only whole numbers occur, kept as such


def _numbers(values: pl.Series, attribute: str) -> _Numbers:
    found = _distinct(values, attribute)
    dtype = values.dtype
    if not (dtype.is_numeric() or dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)):
        raise InputError(f"Column {attribute!r} holds {dtype}, not numbers: build its hierarchy by another type.")
    source = found["value"] if dtype.is_numeric() else found["label"]
    decimal = source.cast(pl.Float64, strict=False)
    _refuse(~decimal.is_finite().fill_null(False), found, attribute, "which is no number")
    _refuse(decimal.abs() >= 1e300, found, attribute, "too large a number for bands")  # their ends must be numbers too
    large = decimal.abs() >= LARGEST
    whole = bool((decimal == decimal.floor()).all()) and not (dtype.is_float() and large.any())
    if whole:
        _refuse(large, found, attribute, "a number of more than 58 bits: mask its digits")
        exact = source.cast(pl.Int64, strict=False)
        number = exact if exact.null_count() == 0 else decimal.cast(pl.Int64)  # texts such as 1.0
    found = found.with_columns(number=number if whole else decimal).sort("number", "label")
    return _Numbers(found["label"], found["number"].to_numpy(), found["count"].to_numpy(), whole)


def _refuse(bad: pl.Series, found: pl.DataFrame, attribute: str, why: str) -> None:
    if bad.any():
        raise InputError(f"Column {attribute!r} holds {found['label'].filter(bad)[0]!r}, {why}.")


def steps(values: pl.Series, attribute: str, *, steps: Sequence[float], origin: float = 0) -> Hierarchy:
    """Bands of these widths, each a multiple of the one before, counted from the origin: 5, 10, 20."""
    chosen = _exact_numbers(steps, "steps")
    require(
        "hierarchies by steps", "steps", steps, "one or more positive numbers", holds=bool(chosen) and min(chosen) > 0
    )
    for finer, coarser in pairwise(chosen):
        if coarser % finer or coarser == finer:
            raise InputError(
                f"Bands of {coarser} do not nest those of {finer} (hierarchy of {attribute!r}): "
                "make each step a multiple of the one before."
            )
    found = _numbers(values, attribute)
    start = _exact_numbers([origin], "origin")[0]
    return merging(found.labels, _stepped(found, chosen, start, attribute), attribute)


def width(values: pl.Series, attribute: str, *, width: float, origin: float = 0) -> Hierarchy:
    """Bands of equal width, then twice as wide at each level, until one band holds all."""
    chosen = _exact_numbers([width], "width")[0]
    require("hierarchies by width", "width", width, "a positive number", holds=chosen > 0)
    found = _numbers(values, attribute)
    start = _exact_numbers([origin], "origin")[0]
    span = max(abs(Decimal(str(end)) - start) for end in (found.numbers[0], found.numbers[-1]))
    widths = [chosen]
    while widths[-1] < 2 * span:
        widths.append(2 * widths[-1])
    return merging(found.labels, _stepped(found, widths, start, attribute), attribute)


def _stepped(found: _Numbers, widths: Sequence[Decimal], origin: Decimal, attribute: str) -> Levels:
    """Ends of bands are whole multiples of the finest decimal in widths and origin, so that they print exactly."""
    decimals = max(0, *(-int(n.normalize().as_tuple().exponent) for n in (*widths, origin)))
    scale = 10**decimals
    step, start = int(widths[0] * scale), int(origin * scale)
    closed = found.whole and scale == 1
    if closed:
        finest = (found.numbers.astype(np.int64) - start) // step
    else:
        if (float(np.abs(found.numbers).max()) + abs(float(origin))) * scale >= EXACT:
            raise InputError(f"Bands of {widths[0]} are too narrow for column {attribute!r}: widen them.")
        finest = np.floor((found.numbers * scale - start) / step).astype(np.int64)
        finest -= found.numbers < (finest * step + start) / scale  # floor of a rounded quotient: one off at most
        finest += found.numbers >= ((finest + 1) * step + start) / scale
    levels = []
    for width in widths:
        low = finest // int(width / widths[0]) * int(width * scale) + start
        low, band = np.unique(low, return_inverse=True)
        high = low + int(width * scale) - closed
        ends = (pl.Series(end if scale == 1 else end / scale) for end in (low, high))
        levels.append((f"bands of {width.normalize():f}", interval_text(*ends).gather(band)))
    return levels


def cuts(values: pl.Series, attribute: str, *, cuts: Sequence[float] | Sequence[Sequence[float]]) -> Hierarchy:
    """Bands that begin at the cuts of each level, finest first: [[18, 40, 65], [65]]; one list is one level."""
    found = _numbers(values, attribute)
    levels = [_exact_numbers(level, "cuts") for level in _as_levels(cuts)]
    for level in levels:
        rising = bool(level) and all(a < b for a, b in pairwise(level))
        require("hierarchies by cuts", "cuts", cuts, "rising numbers", holds=rising)
    _check_nested([[*map(str, level)] for level in levels], attribute)
    tree = merging(found.labels, [("", _cut(found, level)) for level in levels], attribute)
    below = any(_exact(found.numbers[0]) < level[0] for level in levels)  # such a band begins near the least value
    return replace(tree, learnt=below)


def _check_nested(levels: Sequence[Sequence[str]], attribute: str) -> None:
    for finer, coarser in pairwise(levels):
        for cut in coarser:
            if cut not in finer:
                raise InputError(
                    f"The cut at {cut} of a coarser level is none of the finer level below (hierarchy of "
                    f"{attribute!r}): add it there, or leave it out here."
                )


def frequency(values: pl.Series, attribute: str, *, bands: int) -> Hierarchy:
    """Bands of about equally many records, as near as ties let them; neighbours merge in pairs at each level."""
    whole = isinstance(bands, int) and not isinstance(bands, bool)
    require("hierarchies by frequency", "bands", bands, "a whole number of 2 or more", holds=whole and bands >= 2)
    found = _numbers(values, attribute)
    upto = np.cumsum(found.counts)
    starts = np.arange(bands) * upto[-1] // bands  # the record with which each band begins
    at = [_exact(found.numbers[i]) for i in np.searchsorted(upto, starts, side="right")]
    levels: Levels = []
    apart = 1
    while apart < bands:
        merged = sorted({*at[apart::apart]} - {at[0]})
        if merged:
            levels.append((f"{len(merged) + 1} bands of like frequency", _cut(found, merged)))
        apart *= 2
    return replace(merging(found.labels, levels, attribute), learnt=True)


def _cut(found: _Numbers, starts: Sequence[Decimal]) -> pl.Series:
    """Each number's band `[start;next start]`; below the first cut from a round number on, above the last open."""
    whole = found.whole
    edges = [Decimal(ceil(start)) for start in starts] if whole else list(starts)
    at = np.array([int(edge) if whole else float(edge) for edge in edges])
    band = np.searchsorted(at, found.numbers, side="right")
    least, greatest = _exact(found.numbers[0]), _exact(found.numbers[-1])
    next_width = abs((edges[1] if len(edges) > 1 else greatest) - edges[0])
    if least < edges[0]:
        edges.insert(0, _roundest(least - next_width, least, least, whole))
    else:
        band -= 1
    text = [f"{edge.normalize():f}" for edge in edges]
    last = [f"{edge - 1:f}" if whole else shown for edge, shown in zip(edges[1:], text[1:], strict=True)]
    labels = [low if low == high else f"[{low};{high}]" for low, high in zip(text, last, strict=False)]
    return pl.Series([*labels, f"{text[-1]}+"], dtype=pl.String).gather(band)


def _exact(number: float | np.number[Any]) -> Decimal:
    """The number as it prints."""
    return Decimal(str(number))


def _exact_numbers(numbers: object, name: str) -> list[Decimal]:
    given = list(numbers) if isinstance(numbers, Sequence) and not isinstance(numbers, str) else [numbers]
    for number in given:
        usable = isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < EXACT
        require("a hierarchy", name, number, "a number", holds=usable)
    return [Decimal(str(number)) for number in given]


def _as_levels(given: object) -> list[Sequence[Any]]:
    """One list a level; a single list is one level."""
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    require("a hierarchy", "cuts", given, "a list, or one list a level", holds=listed and bool(given))
    assert isinstance(given, Sequence)
    nested = [isinstance(part, Sequence) and not isinstance(part, str) for part in given]
    require("a hierarchy", "cuts", given, "a list, or one list a level", holds=all(nested) or not any(nested))
    return list(given) if all(nested) else [given]


def _roundest(low: Decimal, high: Decimal, near: Decimal, whole: bool) -> Decimal:
    """The multiple in [low, high] of the largest 1, 2 or 5 x a power of ten; of several the nearest to `near`."""
    if low <= 0 <= high:
        return Decimal(0)
    for power in range(max(abs(low), abs(high)).adjusted() + 1, -1 if whole else -20, -1):
        for digit in (5, 2, 1):
            unit = Decimal(digit).scaleb(power)
            first, last = ceil(low / unit), floor(high / unit)
            if first <= last:
                return min(max(round(near / unit), first), last) * unit
    return near


# ---- codes


def mask(values: pl.Series, attribute: str, *, side: str = "right") -> Hierarchy:
    """Codes with one character more masked at each level: 93722, 9372*, 937**, ...

    Numbers are filled up with zeros to the longest (1234 beside 93722 is 01234). Texts of other lengths stay as they
    are, set flush with the side that is not masked: A01 beside A01.1 is A01 until its own last character is masked.
    """
    require("hierarchies by mask", "side", side, "'right' or 'left'", holds=side in ("right", "left"))
    found = _distinct(values, attribute)
    found = found.with_columns(code=_codes(found, attribute))
    length = int(found["code"].str.len_chars().max())  # type: ignore[arg-type]
    if length > LONGEST_CODE:
        raise InputError(
            f"Column {attribute!r} holds a value of {length} characters: only codes of up to {LONGEST_CODE} are masked."
        )
    found = found.sort("code") if side == "right" else found.sort(pl.col("code").str.reverse())
    kept = "first" if side == "right" else "last"
    levels = [
        (f"{kept} {keep} of {length} characters", _masked(found["code"], keep, side))
        for keep in range(length - 1, 0, -1)
    ]
    return merging(found["label"], levels, attribute)


def _codes(found: pl.DataFrame, attribute: str) -> pl.Series:
    value = found["value"]
    if not value.dtype.is_numeric():
        return found["label"]
    usable = (value >= 0) & (value == value.floor()) & (value.cast(pl.Float64) < 2**63)
    _refuse(~usable, found, attribute, "which is no code: only digits without a sign are masked")
    text = value.cast(pl.Int64).cast(pl.String)
    return text.str.zfill(int(text.str.len_chars().max()))  # type: ignore[arg-type]


def _masked(codes: pl.Series, keep: int, side: str) -> pl.Series:
    code = pl.col("code")
    hidden = (code.str.len_chars().cast(pl.Int64) - keep).clip(lower_bound=0)
    stars = pl.lit("*" * LONGEST_CODE).str.head(hidden)
    parts = (code.str.head(keep), stars) if side == "right" else (stars, code.str.tail(keep))
    return pl.DataFrame({"code": codes}).select(pl.concat_str(*parts)).to_series()


# ---- dates


def _decade(day: pl.Expr) -> pl.Expr:
    return pl.format("{}s", day.dt.year() // 10 * 10)


UNITS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "day": lambda day: day.dt.strftime("%Y-%m-%d"),
    "week": lambda day: day.dt.strftime("%G-W%V"),
    "month": lambda day: day.dt.strftime("%Y-%m"),
    "quarter": lambda day: pl.format("{}-Q{}", day.dt.year(), day.dt.quarter()),
    "year": lambda day: day.dt.year().cast(pl.String),
    "decade": _decade,
}


def dates(
    values: pl.Series, attribute: str, *, levels: Sequence[str] = ("month", "quarter", "year", "decade")
) -> Hierarchy:
    """Days, weeks (2024-W05), months (2024-03), quarters (2024-Q1), years, decades (2020s), from fine to coarse.

    A week that lies in two of the months (or quarters, years, decades) above it is shown as two spans of days.
    """
    given = list(levels) if isinstance(levels, Sequence) and not isinstance(levels, str) else [levels]
    for unit in given:
        if str(unit) not in UNITS:
            hint = did_you_mean(str(unit), UNITS) or f" Known are {', '.join(UNITS)}."
            raise InputError(f"The hierarchy of {attribute!r} has no level {unit!r}.{hint}")
    found = _distinct(values, attribute)
    found = found.with_columns(day=_days(found, attribute)).sort("day", "value")
    units = [unit for unit in UNITS if unit in given]
    built: Levels = []
    for unit, above in zip(units, [*units[1:], None], strict=True):
        label = _weeks_within(UNITS[above]) if unit == "week" and above else UNITS[unit](pl.col("day"))
        built.append((f"{unit}s", found.select(label.alias(unit)).to_series()))
    return merging(found["label"], built, attribute)


def _days(found: pl.DataFrame, attribute: str) -> pl.Series:
    value, label = found["value"], found["label"]
    if value.dtype == pl.Date or isinstance(value.dtype, pl.Datetime):
        return value.dt.date()
    day = label.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    like_one = label.str.contains(r"^\d{4}-\d\d-\d\d($|[ T]\d\d:\d\d)")
    _refuse(day.is_null() | ~like_one, found, attribute, "which is no date such as 2024-03-31")
    return day


def _weeks_within(above: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    day = pl.col("day")
    monday = day.dt.truncate("1w")
    sunday = monday.dt.offset_by("6d")
    first_after = sunday.dt.truncate("1mo")  # every coarser unit begins with a month
    early = above(day) == above(monday)
    start = pl.when(early).then(monday).otherwise(first_after)
    end = pl.when(early).then(first_after.dt.offset_by("-1d")).otherwise(sunday)
    part = pl.when(start == end).then(start.cast(pl.String)).otherwise(pl.format("[{};{}]", start, end))
    return pl.when(above(monday) == above(sunday)).then(UNITS["week"](day)).otherwise(part)


# ---- categories


def order(
    values: pl.Series,
    attribute: str,
    *,
    order: Sequence[str] | None = None,
    cuts: Sequence[str] | Sequence[Sequence[str]] | None = None,
) -> Hierarchy:
    """Categories in their order, merged with their neighbours: from one cut to the next, or in pairs at each level.

    A cut names the category with which a group begins; the finest level comes first. A group shows as `[low;high]`.
    """
    if order is None and isinstance(values.dtype, pl.Enum):
        order = values.dtype.categories.to_list()
    listed = isinstance(order, Sequence) and not isinstance(order, str)
    require("hierarchies by order", "order", order, "all categories in their order", holds=listed)
    assert order is not None
    categories = pl.Series([str(category) for category in order], dtype=pl.String)
    place = {category: i for i, category in enumerate(categories)}
    require("hierarchies by order", "order", order, "different categories", holds=0 < len(place) == len(categories))
    _check_known(values.drop_nulls().cast(pl.String).unique(maintain_order=True), place, attribute)
    if cuts is None:
        begins = [[*range(0, len(place), size)] for size in _powers_of_two(len(place))]
    else:
        named = [[*map(str, level)] for level in _as_levels(cuts)]
        _check_nested(named, attribute)
        begins = [_places_of(level, place, attribute) for level in named]
    return merging(categories, [("", _merged(categories, level)) for level in begins], attribute)


def _check_known(present: Iterable[str], known: Mapping[str, object], attribute: str) -> None:
    for value in present:
        if value not in known:
            hint = did_you_mean(value, known) or " Add it, or correct the value."
            raise InputError(f"Column {attribute!r} holds {value!r}, which its hierarchy does not list.{hint}")


def _powers_of_two(below: int) -> list[int]:
    return [2**power for power in range(1, below.bit_length()) if 2**power < below]


def _places_of(level: Sequence[str], place: Mapping[str, int], attribute: str) -> list[int]:
    _check_known(level, place, attribute)
    return sorted({0, *(place[cut] for cut in level)})


def _merged(categories: pl.Series, begins: Sequence[int]) -> pl.Series:
    ends = [*(begin - 1 for begin in begins[1:]), len(categories) - 1]
    group = np.searchsorted(np.array(begins), np.arange(len(categories)), side="right") - 1
    return interval_text(categories.gather(list(begins)), categories.gather(ends)).gather(group)


def tree(values: pl.Series, attribute: str, *, parents: Mapping[str, str] | Sequence[Sequence[str]]) -> Hierarchy:
    """A taxonomy given as child and parent, as a table or as pairs.

    All its leaves are listed, and nodes that occur as values. A leaf nearer to the top than others stays itself on
    the levels below its parent's, so that each level is one depth of the taxonomy.
    """
    parent = _parents(parents, attribute)
    present = values.drop_nulls().cast(pl.String).unique(maintain_order=True).to_list()
    names = list(dict.fromkeys([*parent, *parent.values()]))
    _check_known(present, dict.fromkeys(names), attribute)
    number = {name: i for i, name in enumerate(names)}
    up = np.array([number[parent.get(name, name)] for name in names])
    depth = _depths(up, names, attribute)
    inner = np.zeros(len(names), np.bool_)
    inner[up[depth > 0]] = True
    value = np.array([number[v] for v in present], np.int64)
    leaves = np.union1d(np.flatnonzero(~inner), value)
    # A node that is a value too has itself as a leaf, one level below.
    below = depth[leaves] + inner[leaves]
    columns, at, labels = [], leaves, pl.Series(names, dtype=pl.String)
    for level in range(int(below.max()), -1, -1):
        columns.append(labels.gather(at))
        at = np.where((depth[at] == level) & (level > 0), up[at], at)
    return from_levels(columns, attribute)


def _parents(given: object, attribute: str) -> dict[str, str]:
    pairs = list(given.items()) if isinstance(given, Mapping) else given
    usable = isinstance(pairs, Sequence) and all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs)
    require("hierarchies by tree", "parents", given, "a table of child = parent, or pairs of them", holds=usable)
    assert isinstance(pairs, Sequence)
    parent: dict[str, str] = {}
    for child, above in ((str(a), str(b)) for a, b in pairs):
        if parent.setdefault(child, above) != above:
            raise InputError(
                f"The hierarchy of {attribute!r} gives {child!r} two parents, {parent[child]!r} and {above!r}: "
                "keep one."
            )
    require("hierarchies by tree", "parents", given, "not empty", holds=bool(parent))
    return parent


def _depths(up: Ints, names: Sequence[str], attribute: str) -> Ints:
    """How far each node is below its root; by jumps that double, so that a long chain costs little."""
    depth: Ints = (up != np.arange(len(up))).astype(np.int64)
    jump = up
    for _ in range(len(up).bit_length()):
        depth, jump = depth + depth[jump], jump[jump]
    circular = np.flatnonzero(up[jump] != jump)
    if len(circular):
        raise InputError(
            f"The hierarchy of {attribute!r} makes {names[circular[0]]!r} an ancestor of itself: break the circle."
        )
    return depth


# ---- learnt from the data


def auto(values: pl.Series, attribute: str) -> Hierarchy:
    """By what the values are: dates, ordered categories, numbers, codes of one shape, or any other texts."""
    dtype = values.dtype
    if dtype == pl.Date or isinstance(dtype, pl.Datetime):
        return dates(values, attribute)
    if isinstance(dtype, pl.Enum):
        return order(values, attribute)
    if dtype.is_numeric():
        return _learnt_bands(values, attribute)
    labels = _distinct(values, attribute)["label"]
    if _look_like_codes(labels):
        return mask(values, attribute)
    if labels.str.to_date("%Y-%m-%d", strict=False).null_count() == 0:
        return dates(values, attribute)
    if labels.str.contains(r"^-?\d{1,15}(\.\d+)?$").all():
        return _learnt_bands(values, attribute)
    return _learnt_bundles(values, attribute)


def _look_like_codes(labels: pl.Series) -> bool:
    """Many texts of one shape, letters and digits at the same places in all of them."""
    shape = labels.str.replace_all(r"\p{L}", "A").str.replace_all(r"\d", "9").unique()
    return (
        len(labels) >= FEWEST_CODES
        and len(shape) == 1
        and bool(shape.str.contains(r"^[A9]{3,12}$")[0])
        and "9" in shape[0]
    )


def _learnt_bands(values: pl.Series, attribute: str) -> Hierarchy:
    """Bands halved by their records again and again, at the roundest number near the middle."""
    found = _numbers(values, attribute)
    halvings = min(FINEST, max(0, (len(found.numbers) // 2).bit_length() - 1))
    upto = np.concatenate([[0], np.cumsum(found.counts)])
    bands, cuts = [(0, len(found.numbers))], []
    levels: list[list[Decimal]] = []
    for _ in range(halvings):
        halves: list[tuple[int, int]] = []
        for begin, end in bands:
            if end - begin > 1:
                cut = _middle(found, upto, begin, end)
                at = int(np.searchsorted(found.numbers, int(cut) if found.whole else float(cut)))
                cuts.append(cut)
                halves += [(begin, at), (at, end)]
        levels.append(sorted(cuts))
        bands = halves
    named = [(f"{len(level) + 1} learnt bands", _cut(found, level)) for level in reversed(levels)]
    return replace(merging(found.labels, named, attribute), learnt=True)


def _middle(found: _Numbers, upto: Ints, begin: int, end: int) -> Decimal:
    """A round number with about as many of the band's records below it as above."""
    share = (upto[begin : end + 1] - upto[begin]) / (upto[end] - upto[begin])  # of the records below each value
    low, high = int(np.searchsorted(share, MIDDLE[0])), int(np.searchsorted(share, MIDDLE[1], side="right")) - 1
    half = int(np.clip(np.abs(share - 0.5).argmin(), 1, end - begin - 1))
    low, high = (low, high) if 0 < low <= half <= high < end - begin else (half, half)
    before, first = (_exact(found.numbers[begin + i]) for i in (low - 1, low))
    just_above = before + 1 if found.whole else (before + first) / 2
    last, near = (_exact(found.numbers[begin + i]) for i in (high, half))
    return _roundest(just_above, last, near, found.whole)


def _learnt_bundles(values: pl.Series, attribute: str) -> Hierarchy:
    """Values from the most to the least frequent, the rarer ones bundled: a bundle is a stretch of equal share."""
    found = _distinct(values, attribute).sort("count", "label", descending=[True, False])
    count = found["count"].cast(pl.Int64).to_numpy()
    before = np.cumsum(count) - count
    levels = [
        (f"rare values in bundles of 1/{parts} of the records", _bundled(found["label"], before * parts // count.sum()))
        for parts in BUNDLES
    ]
    return replace(merging(found["label"], levels, attribute), learnt=True)


def _bundled(labels: pl.Series, bundle: Ints) -> pl.Series:
    """`{a;b;c}`, or the first with the number of others where there are many."""
    first, group = np.unique(bundle, return_index=True, return_inverse=True)[1:]
    offsets = np.append(first, len(labels))
    size = pl.Series(np.diff(offsets))
    listed = set_text(labels, offsets, np.arange(len(labels), dtype=np.int32))
    many = pl.DataFrame({"first": labels.gather(first), "more": size - 1}).select(
        pl.format("{} and {} others", "first", "more")
    )
    return listed.zip_with(size <= IN_FULL, many.to_series()).gather(group)


BUILDERS: dict[str, Callable[..., Hierarchy]] = {
    "steps": steps,
    "width": width,
    "frequency": frequency,
    "cuts": cuts,
    "mask": mask,
    "dates": dates,
    "order": order,
    "tree": tree,
    "auto": auto,
}
