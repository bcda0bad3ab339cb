"""Amounts as files write them: 1,234.50 and 1.234,50, 1 234,50 and 1'234.50, with a currency or a percent sign.

What is less than nothing has its minus before or behind (83.12-), or stands in brackets (1,234.50).

A form turns the text of a file into plain text, which is digits and a point, and plain text back into the file's. It is
recognised from a column's distinct texts. Nothing is guessed: 1.234 throughout may be a thousand or a fraction, and
that is said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

SPACES = " \u00a0\u202f\u2009"  # thousands are parted by any of these: plain, no-break, narrow, thin
_CURRENCIES = (
    "EUR USD GBP CHF JPY CNY SEK NOK DKK PLN CZK HUF RON BGN ISK TRY INR BRL CAD AUD NZD MXN ZAR RUB UAH KRW SGD HKD "
    "Euro Euros euro euros kr kr. Kr zł Kč Ft lei Fr. Fr SFr. SFr Rs Rs. R$ US$ A$ C$"
)
_UNIT = rf"(?:\p{{Sc}}|%|‰|{'|'.join(re.escape(word) for word in sorted(_CURRENCIES.split(), key=len, reverse=True))})"
_BODY = rf"\d[\d.,'’{SPACES}]*\d|\d|[.,]\d+"
_AMOUNT = rf"^([+(-]?)({_UNIT}[{SPACES}]?)?([+(-]?)({_BODY})([)-]?)([{SPACES}]?{_UNIT})?([)-]?)$"
_FIRST = "-{before}{body}{behind}"
_LEADING = (_FIRST, "{before}-{body}{behind}")
_NEGATIVES = {
    _FIRST: "^-u?nu?$",
    _LEADING[1]: "^u-nu?$",
    "{before}{body}{behind}-": "^u?nu?-$",
    "{before}{body}-{behind}": "^u?n-u$",
    "({before}{body}{behind})": r"^\(u?nu?\)$",
    "{before}({body}){behind}": r"^u\(n\)u?$|^\(n\)u$",
}  # how a negative amount is written -> where signs stand beside its units and its number
_SEVERAL = 5  # amounts above a thousand that show what a mark is for
_ENOUGH = 1000  # texts that show whether a column may hold amounts


@dataclass(frozen=True)
class AmountForm:
    """What stands before and behind an amount, its decimal mark, what parts thousands, and how many decimals it has."""

    before: str = ""
    behind: str = ""
    decimal: str = "."
    thousands: str = ""
    decimals: int = 0  # at least so many; more where a number needs them
    negative: str = _FIRST  # how one below nothing is written

    def plain(self, words: pl.Series) -> pl.Series:
        """The texts as digits with a point; null where one is no such amount."""
        parts = _parted(words)
        unit, body, negative = parts["unit"], parts["body"], parts["negative"]
        grouped = body.str.contains(self._grouping).fill_null(value=False)
        number = body.str.replace_all(f"[{re.escape(self._marks)}]", "") if self.thousands else body
        number = number.str.replace(self.decimal, ".", literal=True)
        text = pl.select(pl.when(negative != "").then("-" + number).otherwise(number)).to_series()
        signed = negative.is_in(["", *self._negatives])
        fits = grouped & signed & (unit == self._unit)
        return text.set(~fits | text.cast(pl.Float64, strict=False).is_null(), None).alias(words.name)

    @property
    def _marks(self) -> str:
        """All that stands for the mark of thousands."""
        return SPACES if self.thousands in SPACES else "'’" if self.thousands in "'’" else self.thousands

    @property
    def _unit(self) -> str:
        return re.sub(f"[{SPACES}]", "", f"{self.before}|{self.behind}")

    @property
    def _negatives(self) -> tuple[str, ...]:
        """The ways of negative amounts that are read; before a number a minus may stand on either side of its unit."""
        if self.negative in _LEADING:
            return _LEADING
        units = {"before": self.before, "body": "0", "behind": self.behind}
        return tuple(way for way in _NEGATIVES if way.format(**units) == self.negative.format(**units))

    @cached_property
    def _grouping(self) -> str:
        """Digits in threes or without marks, then perhaps decimals."""
        threes = rf"|[1-9]\d{{0,2}}(?:[{re.escape(self._marks)}]\d{{3}})+" if self.thousands else ""
        return rf"^(?:0|[1-9]\d*{threes})?(?:{re.escape(self.decimal)}\d+)?$"

    def written(self, plain: str) -> str | None:
        """A number, given by digits and a point, in this form, with as many decimals as it needs; None: no number."""
        number = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?", plain)
        if number is None:
            return None
        sign, whole, fraction = number[1], number[2], (number[3] or "").rstrip("0").ljust(self.decimals, "0")
        if self.thousands:
            whole = f"{int(whole):,}".replace(",", self.thousands)
        body = whole + (self.decimal + fraction if fraction else "")
        shape = self.negative if sign else "{before}{body}{behind}"
        return shape.format(before=self.before, body=body, behind=self.behind)

    @property
    def is_plain(self) -> bool:
        """Whether all of it is digits and a point, which is read without a form."""
        leading = self.negative in _LEADING
        return leading and (self.before, self.behind, self.decimal, self.thousands) == ("", "", ".", "")

    @property
    def sentence(self) -> str:
        """How the amounts are read, in words."""
        below = "" if self.negative in _LEADING else f", those below nothing like {self.written('-1234567.5')}"
        return f"numbers written like {self.written('1234567.5')}{below}"

    @property
    def order(self) -> str:
        """Of dates alone."""
        return ""


@dataclass(frozen=True)
class Doubt:
    """Why a column of amounts cannot be read, and a decimal mark that would settle it."""

    doubt: str
    decimal: str = ""


def recognised(words: pl.Series, decimal: str | None = None, *, sure: bool = False) -> AmountForm | Doubt | None:
    """The form of a column's distinct texts, None where fewer than half are amounts.

    `decimal` is the stated mark; it is stated of this very column, or its kind is, where they are `sure` to be amounts.
    """
    if words.head(_ENOUGH).str.contains(_AMOUNT).sum() * 2 < min(len(words), _ENOUGH):
        return None
    amounts = _parted(words).drop_nulls("negative")
    if amounts.is_empty():
        return None
    units = amounts["unit"]
    if units.n_unique() > 1:
        named = sorted(unit.replace("|", "") or "none" for unit in units.unique())
        return Doubt(f"its amounts are in several units ({', '.join(named)})")
    negative = _negative(amounts, sure=sure)
    if isinstance(negative, Doubt) or negative is None:
        return negative
    marks = _marks(amounts["body"], decimal, money=units[0].strip("|%‰") != "")
    if isinstance(marks, Doubt) or marks is None:
        return marks
    point, thousands = marks
    before, behind = (amounts[end].mode().sort()[0] for end in ("before", "behind"))
    fractions = amounts["body"].str.extract(rf"{re.escape(point)}(\d+)$").str.len_chars().fill_null(0)
    fixed = int(fractions[0]) if fractions.n_unique() == 1 else 0
    form = AmountForm(before, behind, point, thousands, fixed, negative)
    if thousands and not before + behind and not fractions.max() and _of_one_length(amounts["body"]):
        return None
    return form if form.plain(words).count() * 2 >= len(words) else None


def _parted(words: pl.Series) -> pl.DataFrame:
    """Texts as body, units, and how they are negative; that is empty of others, and null of what is no amount."""
    names = ["first", "before", "second", "body", "third", "behind", "fourth"]
    groups = words.str.extract_groups(_AMOUNT).struct.unnest()
    groups.columns = names
    unit = [pl.when(pl.col(end).fill_null("") != "").then(pl.lit("u")).otherwise(pl.lit("")) for end in names[1::4]]
    shape = pl.concat_str("first", unit[0], "second", pl.lit("n"), "third", unit[1], "fourth")
    negative: Any = pl.when(shape.str.contains(r"^\+?u?nu?$|^u\+nu?$")).then(pl.lit(""))
    for style, where in _NEGATIVES.items():
        negative = negative.when(shape.str.contains(where)).then(pl.lit(style))
    return groups.select(
        words.alias("text"),
        pl.col("before", "behind").fill_null(""),
        pl.concat_str(pl.col("before").fill_null(""), pl.lit("|"), pl.col("behind").fill_null(""))
        .str.replace_all(f"[{SPACES}]", "")
        .alias("unit"),
        "body",
        negative=negative.otherwise(None),
    )


def _negative(amounts: pl.DataFrame, *, sure: bool) -> str | Doubt | None:
    """How most negative amounts are written; in doubt where whole numbers alone show it, as grades do (2-)."""
    below = amounts.filter(pl.col("negative") != "")
    ways = below["negative"].mode().sort().to_list()
    style = next((way for way in _NEGATIVES if way in ways), _FIRST)
    marked = (pl.col("unit") != "|") | pl.col("body").str.contains(r"\D")
    if style in _LEADING or sure or amounts.select(marked.any()).item():
        return style
    if not 1 < below.height <= amounts.height / 2:
        return None  # a stray one, or numbers in brackets throughout
    return Doubt(f"nothing shows whether {below['text'][0]!r} is below nothing", ".")


def _of_one_length(bodies: pl.Series) -> bool:
    """Whether all have the same three groups of digits or more, as numbers of firms and telephones have."""
    groups = bodies.str.count_matches(r"\d+")
    return groups.min() == groups.max() and groups[0] > 2 and bodies.str.len_chars().n_unique() == 1


def _marks(bodies: pl.Series, stated: str | None, *, money: bool) -> tuple[str, str] | Doubt | None:
    """The decimal mark and what parts thousands, by what no number could show otherwise."""
    spaced = next((mark for mark in (*SPACES, "'", "’") if bodies.str.contains(mark, literal=True).any()), "")
    threes = {mark: bodies.filter(_as_thousands(bodies, mark)) for mark in ".,"}
    fractions = {mark: bodies.filter(_as_fraction(bodies, mark)) for mark in ".,"}
    open_ = {mark: bodies.filter(_as_either(bodies, mark)) for mark in ".,"}
    decimal = {mark for mark in ".," if len(fractions[mark])}
    thousands = {mark for mark in ".," if len(threes[mark])} | ({spaced} if spaced else set())
    if stated is not None:
        decimal, thousands = (
            {stated},
            thousands - {stated} | {mark for mark in ".," if mark != stated and len(open_[mark])},
        )
    if len(decimal) > 1 or decimal & thousands or len(thousands) > 1:
        return None
    in_doubt = [mark for mark in ".," if len(open_[mark]) and mark not in decimal | thousands]
    if in_doubt and not decimal and not thousands and bodies.str.contains(r"^\d{4,}$").any():
        decimal = {in_doubt.pop()}  # thousands have no mark
    if in_doubt and not decimal and not thousands and (money or _only_above(bodies, open_[in_doubt[0]])):
        thousands = {in_doubt.pop()}  # no currency has a thousandth
    if in_doubt and not decimal and not thousands:
        settling = "," if in_doubt[0] == "." else "."
        return Doubt(f"nothing shows whether {open_[in_doubt[0]][0]!r} is a thousand or a fraction", settling)
    for mark in in_doubt:  # the mark that is not yet spoken for
        if decimal and not thousands:
            thousands = {mark}
        elif thousands and not decimal:
            decimal = {mark}
        else:
            return None
    point = next(iter(decimal), "," if "." in thousands else ".")
    return point, next(iter(thousands), "")


def _only_above(bodies: pl.Series, marked: pl.Series) -> bool:
    """Whether numbers below a thousand have no mark and several above have one: decimals would show in both."""
    return len(marked) >= _SEVERAL and len(bodies) > len(marked) and bool(bodies.str.contains(r"^\d{1,3}$").any())


def _as_thousands(bodies: pl.Series, mark: str) -> pl.Series:
    """Texts in which the mark parts thousands: it occurs twice, or before another mark."""
    sign, point = re.escape(mark), "," if mark == "." else "."
    return bodies.str.contains(
        rf"^\d{{1,3}}(?:{sign}\d{{3}}){{2,}}(?:{re.escape(point)}\d+)?$|^\d{{1,3}}{sign}\d{{3}}{re.escape(point)}\d+$"
    )


def _as_fraction(bodies: pl.Series, mark: str) -> pl.Series:
    """Texts in which the mark can only be that of decimals."""
    sign = re.escape(mark)
    last = rf"{sign}(?:\d{{1,2}}|\d{{4,}})$|^(?:0|\d{{4,}})?{sign}\d+$|[^\d{sign}].*{sign}\d+$"
    return bodies.str.contains(last) & ~bodies.str.contains(rf"{sign}.*{sign}")


def _as_either(bodies: pl.Series, mark: str) -> pl.Series:
    """Texts such as 1.234, of which nothing shows whether it is more than a thousand or less than two."""
    return bodies.str.contains(rf"^[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}$")
