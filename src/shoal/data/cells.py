r"""Masked values: what a released cell shows, and the set of original values it admits (docs/spec.md#cells; paper 1).

| text            | admits                                   |
|-----------------|------------------------------------------|
| `26`            | that value                               |
| `[24;28]`       | every value from 24 to 28, both included |
| `{a;b}`         | the listed values                        |
| `937**`         | every code of that length that begins so |
| `all but {a;b}` | every category of the domain but those   |
| `85+`           | 85 and all above (numbers; else a label) |
| `9th to 12th`   | the categories between (of an order)     |
| node label      | the leaves below it in the hierarchy     |
| `*`             | the whole domain                         |
| (empty)         | missing, a value of its own              |

A text leaves as it came unless it would be misread: one that begins and ends like a range, a set or what a set leaves
out (`[a;b]`, `{a}`, `all but {a}`), ends in a star, or holds a backslash before one of `\ ; { } [ ] *`. In such a text,
and in every text that stands inside a range, a set or before stars, a backslash is put before each of these characters;
who reads takes it away again. So `[70-80)`, `a;b`, `a*b` and `9\3` are released as they are, and a value `[a;b]` as
`\[a\;b\]`. Node labels are escaped alike, unless they are masks that say what the node says (`937**`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.schema import Attribute, Kind

WILDCARD = "*"
_EXACT = 2.0**53  # integers up to here are exact as floats
_SPECIAL = r"([\\;{}\[\]*])"
_ESCAPED = r"\\([\\;{}\[\]*])"
ALL_BUT = "all but "  # and the set of what is left out
MISREAD = rf"(?s)^\[.*;.*\]$|^({ALL_BUT})?\{{.*\}}$|\*$|{_ESCAPED}"  # a text that would not read back as itself
Positions = npt.NDArray[np.int64] | npt.NDArray[np.uint64] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Runs:
    """Exactly what each cell admits: stretches of positions, both ends included, ascending and apart.

    Whole numbers keep their 64 bits. Where `discrete`, only whole positions exist (integers, days,
    categories), so that [1;2] and [3;5] leave no gap; otherwise the line is continuous (decimals, times).
    """

    starts: npt.NDArray[np.int64]  # cell -> its first run, one more entry at the end; missing has no runs
    low: Positions  # run -> least position
    high: Positions  # run -> greatest position
    whole: npt.NDArray[np.bool_]  # cell -> is it the wildcard
    discrete: bool


@dataclass(frozen=True)
class MaskedColumn:
    """A released attribute, dictionary-encoded: each record points to a cell, each cell to what it admits.

    A position is the number itself for numeric attributes, the physical value (days, microseconds) for dates,
    and the index in the ordered list of categories for ordinal and nominal ones.
    """

    attribute: Attribute
    index: npt.NDArray[np.int32]  # record -> cell
    text: pl.Series  # cell -> what the release shows, text or the plain value itself; null is missing
    low: npt.NDArray[np.float64]  # cell -> least admitted position; NaN where missing
    high: npt.NDArray[np.float64]  # cell -> greatest admitted position; NaN where missing
    size: npt.NDArray[np.float64]  # cell -> how many categories it admits (nominal), else NaN
    runs: Runs | None = None  # the same exactly, as read_cells gives it
    shortened: int = 0  # cells that stand for sets too long to be read

    def hidden(self) -> npt.NDArray[np.bool_]:
        """Which cells are the wildcard; a column that shows plain values in their own type has none."""
        if self.text.dtype != pl.String:
            return np.zeros(len(self.text), np.bool_)
        return (self.text == WILDCARD).fill_null(False).to_numpy()

    def values(self) -> pl.Series:
        """The column as released, one cell a record; texts that many records share, as codes of a list of them."""
        text = self.text
        if text.dtype == pl.String and len(text) < len(self.index):
            text = text.cast(pl.Enum(text.drop_nulls().unique(maintain_order=True)))
        return text.gather(self.index).alias(self.attribute.name)


def plain_cells(values: pl.Series, attribute: Attribute, positions: npt.NDArray[np.float64]) -> MaskedColumn:
    """A column that shows one plain value a record, in its own type unless a category could read as a mask.

    `positions` says where each value lies, NaN where it is missing; the values may be one a class and be pointed to
    by replacing the index.
    """
    size = np.where(np.isnan(positions), np.nan, 1.0)
    if attribute.kind is not Kind.NOMINAL:
        size = np.full(len(positions), np.nan)
    if values.dtype == pl.String or (_is_categorical(values) and plain_text(values).ne(values.cast(pl.String)).any()):
        values = plain_text(values)
    return MaskedColumn(attribute, np.arange(len(values), dtype=np.int32), values, positions, positions, size)


def in_whole_numbers(column: MaskedColumn, dtype: pl.DataType) -> MaskedColumn:
    """A column of integers that is shown by floats, such as means, as integers again where each of them is whole."""
    text = column.text
    if not dtype.is_integer() or column.attribute.kind is not Kind.NUMERIC:
        return column
    if text.dtype == pl.Float64 and ((text == text.round()) & (text.abs() <= _EXACT)).all():
        return replace(column, text=text.cast(pl.Int64))
    if text.dtype == pl.String and text.str.contains(r"^-?\d{1,15}\.0$|^\*$").all():
        return replace(column, text=text.str.strip_suffix(".0"))
    return column


def _is_categorical(values: pl.Series) -> bool:
    return isinstance(values.dtype, pl.Categorical | pl.Enum)


def with_one_zero(numbers: pl.Series) -> pl.Series:
    """The numbers with 0.0 for -0.0, which is equal but has another text.

    Adding 0.0 would change nothing: Polars leaves that out.
    """
    return numbers.set((numbers == 0).fill_null(value=False), 0.0)


def plain_text(values: pl.Series) -> pl.Series:
    """The text of each value as a cell of its own shows it; only text that would be misread is changed."""
    text = _printed(values)
    if _may_need_escapes(values):
        misread = text.str.contains(MISREAD)
        if misread.any():
            return text.str.replace_all(_SPECIAL, r"\$1").zip_with(misread.fill_null(False), text)
    return text


def inner_text(values: pl.Series) -> pl.Series:
    """The text of each value inside a set or a range, or before stars: all that divides these is escaped."""
    text = _printed(values)
    return text.str.replace_all(_SPECIAL, r"\$1") if _may_need_escapes(values) else text


def _may_need_escapes(values: pl.Series) -> bool:
    return not (values.dtype.is_numeric() or values.dtype.is_temporal() or values.dtype == pl.Boolean)


def _printed(values: pl.Series) -> pl.Series:
    if values.dtype.is_float():
        values = with_one_zero(values)
    text = values if values.dtype == pl.String else values.cast(pl.String)
    # Of a time, no more digits of a second than it has.
    return text.str.replace(r"\.0+([+-]|$)", "$1") if values.dtype == pl.Datetime else text


def interval_text(low: pl.Series, high: pl.Series) -> pl.Series:
    """`[low;high]`, or the value itself where both ends are the same."""
    ends = pl.DataFrame({"alone": plain_text(low), "low": inner_text(low), "high": inner_text(high)})
    same = (low == high).alias("same")
    interval = pl.concat_str(pl.lit("["), pl.col("low"), pl.lit(";"), pl.col("high"), pl.lit("]"))
    return ends.select(pl.when(same).then("alone").otherwise(interval).alias(low.name)).to_series()


def set_text(values: pl.Series, offsets: npt.NDArray[np.int64], codes: npt.NDArray[np.int32]) -> pl.Series:
    """`{a;b}` in the order of the codes, or the value itself where there is only one."""
    import pyarrow as pa

    begins = pl.Series(offsets).to_arrow()  # `pa.array` would import pandas, to see whether this is of its

    def in_lists(items: pl.Series) -> pl.Series:
        return pl.Series(values.name, pa.LargeListArray.from_arrays(begins, items.to_arrow()))

    lists = in_lists(inner_text(values).gather(codes))
    alone = plain_text(values).gather(in_lists(pl.Series(codes)).list.first())
    frame = pl.DataFrame({"joined": lists.list.join(";"), "count": lists.list.len(), "alone": alone})
    braced = pl.concat_str(pl.lit("{"), pl.col("joined"), pl.lit("}"))
    shown = pl.when(pl.col("count") > 1).then(braced).when(pl.col("count") == 1).then("alone")
    return frame.select(shown.alias(values.name)).to_series()


def unescape(text: pl.Series) -> pl.Series:
    """The texts as they were before they were escaped: without the backslashes of `plain_text` and `inner_text`."""
    if text.str.contains("\\", literal=True).any():
        return text.str.replace_all(_ESCAPED, "$1")
    return text
