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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from shoal.data.category_groups import LEAST, learnt_bundles, order, tree
from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_levels import Levels, distinct, merging, refuse
from shoal.data.kinds import read_kind
from shoal.data.number_bands import cuts, frequency, round_widths, steps, width
from shoal.data.prefix_trees import LONGEST_CODE, digits_of, prefix_tree, prefixes
from shoal.data.schema import Kind, Scalar
from shoal.errors import InputError, did_you_mean, require


def build(spec: Mapping[str, Any], values: pl.Series, attribute: str, counts: pl.Series | None = None) -> Hierarchy:
    """The hierarchy that a table of choices describes: its `type`, and what that builder takes.

    Where each value is listed once, `counts` says how many records have it, for builders that ask how often.
    """
    choices = dict(spec)
    kind = choices.pop("type", None)
    if kind not in BUILDERS:
        hint = did_you_mean(str(kind), BUILDERS) or f" Known are {', '.join(BUILDERS)}."
        raise InputError(f"The hierarchy of {attribute!r} has no type {kind!r}.{hint}")
    builder = BUILDERS[kind]
    takes = inspect.signature(builder).parameters
    known = {n: p for n, p in takes.items() if p.kind is p.KEYWORD_ONLY}
    for choice in choices:
        if choice not in known:
            hint = did_you_mean(choice, known) or f" It takes {', '.join(known) or 'nothing'}."
            raise InputError(f"The hierarchy of {attribute!r}, of type {kind!r}, has no choice {choice!r}.{hint}")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in choices:
            raise InputError(f"The hierarchy of {attribute!r}, of type {kind!r}, needs {name!r}: give it.")
    if "counts" in takes:
        return builder(values, attribute, counts, **choices)
    return builder(values, attribute, **choices)


def mask(values: pl.Series, attribute: str, *, side: str = "right") -> Hierarchy:
    """Codes with one character more masked at each level: 93722, 9372*, 937**, ...

    Numbers are filled up with zeros to the longest (1234 beside 93722 is 01234). Texts of other lengths stay as they
    are, set flush with the side that is not masked: A01 beside A01.1 is A01 until its own last character is masked.
    """
    require("hierarchies by mask", "side", side, "'right' or 'left'", holds=side in ("right", "left"))
    distinct_values = distinct(values, attribute)
    distinct_values = distinct_values.with_columns(code=_codes(distinct_values, attribute))
    length = int(distinct_values["code"].str.len_chars().max())  # type: ignore[arg-type]
    if length > LONGEST_CODE:
        raise InputError(
            f"Column {attribute!r} holds a value of {length} characters: only codes of up to {LONGEST_CODE} are masked."
        )
    distinct_values = (
        distinct_values.sort("code") if side == "right" else distinct_values.sort(pl.col("code").str.reverse())
    )
    kept = "first" if side == "right" else "last"
    levels = [
        (f"{kept} {keep} of {length} characters", _masked(distinct_values["code"], keep, side))
        for keep in range(length - 1, 0, -1)
    ]
    return merging(distinct_values["label"], levels, attribute)


def _codes(distinct_values: pl.DataFrame, attribute: str) -> pl.Series:
    value = distinct_values["value"]
    if not value.dtype.is_numeric():
        return distinct_values["label"]
    return digits_of(distinct_values, attribute, "are masked")


def _masked(codes: pl.Series, keep: int, side: str) -> pl.Series:
    code = pl.col("code")
    hidden = (code.str.len_chars().cast(pl.Int64) - keep).clip(lower_bound=0)
    stars = pl.lit("*" * LONGEST_CODE).str.head(hidden)
    parts = (code.str.head(keep), stars) if side == "right" else (stars, code.str.tail(keep))
    return pl.DataFrame({"code": codes}).select(pl.concat_str(*parts)).to_series()


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
    distinct_values = distinct(values, attribute)
    distinct_values = distinct_values.with_columns(day=_days(distinct_values, attribute)).sort("day", "value")
    units = [unit for unit in UNITS if unit in given]
    built: Levels = []
    for unit, above in zip(units, [*units[1:], None], strict=True):
        label = _weeks_within(UNITS[above]) if unit == "week" and above else UNITS[unit](pl.col("day"))
        built.append((f"{unit}s", distinct_values.select(label.alias(unit)).to_series()))
    return merging(distinct_values["label"], built, attribute)


def _days(distinct_values: pl.DataFrame, attribute: str) -> pl.Series:
    value, label = distinct_values["value"], distinct_values["label"]
    if value.dtype == pl.Date or isinstance(value.dtype, pl.Datetime):
        return value.dt.date()
    day = label.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    like_one = label.str.contains(r"^\d{4}-\d\d-\d\d($|[ T]\d\d:\d\d)")
    refuse(day.is_null() | ~like_one, distinct_values, attribute, "which is no date such as 2024-03-31")
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


def auto(values: pl.Series, attribute: str, counts: pl.Series | None = None, *, least: int = LEAST) -> Hierarchy:
    """The hierarchy that suits the values: dates, ordered categories, numbers, codes by their beginnings, other texts.

    Of other texts, a label names only values of at least so many records (`learnt_bundles`).
    """
    reading = read_kind(values)
    return suited(values, attribute, reading.kind, reading.order, counts=counts, least=least)


def suited(
    values: pl.Series,
    attribute: str,
    kind: Kind,
    domain: Sequence[Scalar] | None = None,
    *,
    counts: pl.Series | None = None,
    least: int = LEAST,
) -> Hierarchy:
    """The hierarchy that suits values of this kind; `domain` are the categories of ordinal ones, in their order."""
    if kind is Kind.ORDINAL:
        return order(values, attribute, order=None if domain is None else [str(category) for category in domain])
    if kind is Kind.DATE:
        return dates(values, attribute)
    if kind is Kind.NUMERIC:
        return round_widths(values, attribute, counts)
    codes = prefix_tree(values, attribute)
    if codes is not None:
        return codes
    labels = distinct(values, attribute)["label"]
    if labels.str.to_date("%Y-%m-%d", strict=False).null_count() == 0:
        return dates(values, attribute)
    if values.dtype == pl.String and labels.str.contains(r"^-?\d{1,15}(\.\d+)?$").all():
        return round_widths(values, attribute, counts)
    return learnt_bundles(values, attribute, counts, least=least)


BUILDERS: dict[str, Callable[..., Hierarchy]] = {
    "steps": steps,
    "width": width,
    "frequency": frequency,
    "cuts": cuts,
    "mask": mask,
    "prefix": prefixes,
    "dates": dates,
    "order": order,
    "tree": tree,
    "auto": auto,
}
