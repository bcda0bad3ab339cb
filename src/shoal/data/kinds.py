"""Whether a column holds codes, numbers, dates or categories, and why, whatever the type that it is stored in.

How to use it. `read_kind(column)` says the kind with its reason; `infer_kind(column)` the kind alone. Only the column's
name, type and distinct values are looked at, so that a column which lists each value once says the same.

A whole number is a code where the name says so (`shoal.data.code_signs`), or where every value carries a right check
digit. Without such a sign it is a number, however few values there are: `doubtful` says that one should ask.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shoal.data.bands import bands_in_order
from shoal.data.check_digits import gtin
from shoal.data.code_signs import CodeSign, named_code, named_number
from shoal.data.schema import Kind
from shoal.data.text_types import count_zero_led, known_words
from shoal.data.words_in_order import MOST, words_in_order
from shoal.errors import InputError

FEW = range(3, 13)  # distinct whole numbers that may be codes: with two, numbers and codes are shown alike
LOOKED_AT = 2_000  # values for a first impression
LONGEST = 50  # characters of a code
FEWEST_CHECKED = 20  # values before right check digits can be no accident
_ICD = r"^[A-TV-Z]\d[\dA-Z](?:\.[\dA-Z]{1,4})?$"
_POSTCODE = (
    r"^(?:\d{5}-\d{4}"  # United States, ZIP+4
    r"|[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z][ -]?\d[ABCEGHJ-NPRSTV-Z]\d"  # Canada
    r"|[A-Z]{1,2}\d[A-Z\d]? ?\d[ABD-HJLNP-UW-Z]{2}"  # United Kingdom
    r"|\d{2}-\d{3}|[1-9]\d{3} ?[A-Z]{2})$"  # Poland, the Netherlands
)
_BY_TYPE = {
    Kind.DATE: "Date or time, by its type.",
    Kind.ORDINAL: "In the order that its type states.",
    Kind.NOMINAL: "Categories without an order.",
}


@dataclass(frozen=True)
class Reading:
    """What a column holds. `reason` is a clause ("its name says postcode"), empty where the type alone decides."""

    kind: Kind
    reason: str = ""
    nests: bool = False  # codes whose beginnings have a meaning of their own
    order: tuple[str, ...] | None = None  # all categories, where they are in an order by themselves
    doubtful: bool = False  # whole numbers that may well be codes

    def sentence(self, column: pl.Series) -> str:
        """What is said of the column where it is looked at."""
        if self.order is not None:
            return f"In an order by itself: {self.reason}."
        if self.doubtful:
            return f"Number, or perhaps a code: {self.reason}."
        if self.reason:
            return f"Code: {self.reason}."
        if self.kind is Kind.NUMERIC and column.n_unique() - (column.null_count() > 0) == 2:
            return "Number: of two values, which are masked alike as codes."
        if self.kind is Kind.NUMERIC:
            return "Number: it has decimals." if _whole_numbers(column) is None else "Number: no sign of codes."
        return _BY_TYPE[self.kind]


def infer_kind(column: pl.Series) -> Kind:
    """The kind of a column, by its name, type and values."""
    return read_kind(column).kind


def kind_by_type(column: pl.Series) -> Kind:
    """The kind of a column, by its type alone.

    Numbers are numeric; dates, times and durations are dates; an Enum, whose categories have an order, is ordinal;
    other categories, texts and yes/no are nominal, as is a column of nothing but missing values.
    """
    dtype = column.dtype
    if dtype.is_numeric():
        return Kind.NUMERIC
    if dtype.is_temporal():
        return Kind.DATE
    if isinstance(dtype, pl.Enum):
        return Kind.ORDINAL
    if isinstance(dtype, (pl.Boolean, pl.String, pl.Categorical, pl.Null)):
        return Kind.NOMINAL
    raise InputError(
        f"Column {column.name!r} holds values of type {dtype}, which have no kind: "
        "leave the column out, or turn it into columns of numbers, dates or text."
    )


def read_kind(column: pl.Series) -> Reading:
    """What a column holds, by its name, type and values."""
    kind = kind_by_type(column)
    if kind is Kind.NUMERIC:
        return _of_numbers(column) or Reading(kind)
    if isinstance(column.dtype, pl.String | pl.Categorical):
        return _of_texts(column) or Reading(kind)
    return Reading(kind)


def stays_codes(column: pl.Series, numbers: pl.Series) -> bool:
    """Whether a column of text that holds `numbers` stays text: its name says codes, and some are none or have a point.

    A postcode 3625 KM beside 90210 is no slip, and ICD 250.00 is not 250.0.
    """
    if named_code(column.name, LONGEST) is None:
        return False
    known = known_words(column)
    named = named_code(column.name, max(known.str.len_chars().drop_nulls(), default=0))
    return named is not None and (numbers.count() < known.count() or named.points)


def _of_numbers(column: pl.Series) -> Reading | None:
    whole = _whole_numbers(column)
    if whole is None:
        return _of_fractions(column)
    least, greatest = (0, 0) if whole.is_empty() else (int(whole.min()), int(whole.max()))  # type: ignore[arg-type]
    if (named := named_code(column.name, len(str(greatest)))) is not None:
        return Reading(Kind.NOMINAL, f"its name says {named.what}", named.nests)
    if least >= 10**7 and len(str(least)) == len(str(greatest)) and _checked(whole):
        return Reading(Kind.NOMINAL, "every value ends in the right check digit of an article number")
    if least < 0 or greatest >= 100 or named_number(column.name):
        return None
    distinct = whole.n_unique()
    return Reading(Kind.NUMERIC, f"{distinct} different whole numbers", doubtful=True) if distinct in FEW else None


def _of_fractions(column: pl.Series) -> Reading | None:
    """Codes with a point in them, such as NACE 46.3, where the name says so."""
    named = named_code(column.name, LONGEST) if column.dtype.is_float() else None
    if named is None or not named.points or not bool((column.fill_nan(None).drop_nulls() >= 0).all()):
        return None
    return Reading(Kind.NOMINAL, f"its name says {named.what}", named.nests)


def _whole_numbers(column: pl.Series) -> pl.Series | None:
    """The values where all are whole, as beside missing ones they often stand as floats; None of any others."""
    if column.dtype.is_integer():
        return column.drop_nulls()
    if not column.dtype.is_float():
        return None
    known = column.fill_nan(None).drop_nulls()
    whole = not known.is_empty() and bool((known == known.round()).all() and known.abs().max() < 1e15)  # type: ignore[operator]
    return known.cast(pl.Int64) if whole else None


def _checked(numbers: pl.Series) -> bool:
    """Whether all are article numbers (GTIN); a few would be so by accident."""
    texts = numbers.unique().sort().head(LOOKED_AT).cast(pl.String)
    return len(texts) >= FEWEST_CHECKED and len(texts[0]) in (8, 12, 13, 14) and all(map(gtin, texts))


def _of_texts(column: pl.Series) -> Reading | None:
    """By all values, where some show that each may be a code or a band, with a digit in all of those, or a word."""
    known = column.drop_nulls()
    if known.is_empty():
        return None
    first = known.head(LOOKED_AT).cast(pl.String)
    if not first.str.contains(r"\d").all():
        few = first.n_unique() <= MOST and (order := words_in_order(known.unique().cast(pl.String)))
        return _ordered(order, "words") if few and order else None
    return _by_texts(column.name, known.unique().cast(pl.String))


def _by_texts(name: str, texts: pl.Series) -> Reading | None:
    if (order := bands_in_order(texts)) is not None:
        return _ordered(order, "bands of numbers")
    texts = texts.str.strip_chars()
    named = named_code(name, int(texts.str.len_chars().max()))  # type: ignore[arg-type]
    if texts.str.contains(r"^\d+$").all() and (zero_led := count_zero_led(texts)):
        return _of_zero_led(texts, zero_led, named)
    if named is not None and texts.str.contains(r"\d").all():
        return Reading(Kind.NOMINAL, f"its name says {named.what}", named.nests)
    if texts.str.contains(_ICD).all() and texts.str.contains(".", literal=True).any():
        return Reading(Kind.NOMINAL, "its values look like diagnoses (ICD-10)", nests=True)
    if texts.str.contains(_POSTCODE).all():
        return Reading(Kind.NOMINAL, "its values look like postcodes", nests=True)
    return None


def _ordered(order: tuple[str, ...], what: str) -> Reading:
    return Reading(Kind.ORDINAL, f"its values are {what}, {order[0]} to {order[-1]}", order=order)


def _of_zero_led(texts: pl.Series, zero_led: int, named: CodeSign | None) -> Reading:
    """Digits of which some begin with 0."""
    lengths = texts.str.len_chars()
    some = f"some begin with 0 ({zero_led:,} of {len(texts):,})"
    if lengths.n_unique() > 1:
        return Reading(Kind.NOMINAL, f"its values are digits, {some}", bool(named and named.nests))
    nests = named.nests if named else True
    return Reading(Kind.NOMINAL, f"every value has {lengths[0]} digits, {some}", nests)
