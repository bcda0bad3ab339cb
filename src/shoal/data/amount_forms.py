"""Amounts as files write them: 1,234.50 and 1.234,50, 1 234,50 and 1'234.50, with a currency or a percent sign.

A form turns the text of a file into plain text, which is digits and a point, and plain text back into the file's. It is
recognised from a column's distinct texts. Nothing is guessed: 1.234 throughout may be a thousand or a fraction, and
that is said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import polars as pl

SPACES = " \u00a0\u202f\u2009"  # thousands are parted by any of these: plain, no-break, narrow, thin
_CURRENCIES = (
    "EUR USD GBP CHF JPY CNY SEK NOK DKK PLN CZK HUF RON BGN ISK TRY INR BRL CAD AUD NZD MXN ZAR RUB UAH KRW SGD HKD "
    "Euro Euros euro euros kr kr. Kr zł Kč Ft lei Fr. Fr SFr. SFr Rs Rs. R$ US$ A$ C$"
)
_UNIT = rf"(?:\p{{Sc}}|%|‰|{'|'.join(re.escape(word) for word in sorted(_CURRENCIES.split(), key=len, reverse=True))})"
_BODY = rf"\d[\d.,'’{SPACES}]*\d|\d|[.,]\d+"
_AMOUNT = rf"^([+-]?)({_UNIT}[{SPACES}]?)?([+-]?)({_BODY})([{SPACES}]?{_UNIT})?$"
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
    sign_first: bool = True  # a minus stands before the currency

    def plain(self, words: pl.Series) -> pl.Series:
        """The texts as digits with a point; null where one is no such amount."""
        groups = words.str.extract_groups(_AMOUNT).struct
        unit = groups["2"].fill_null("") + "|" + groups["5"].fill_null("")
        body = groups["4"]
        grouped = body.str.contains(self._grouping).fill_null(value=False)
        number = body.str.replace_all(f"[{re.escape(self._marks)}]", "") if self.thousands else body
        number = number.str.replace(self.decimal, ".", literal=True)
        text = groups["1"].str.replace("+", "", literal=True) + groups["3"].str.replace("+", "", literal=True) + number
        fits = grouped & (unit.str.replace_all(f"[{SPACES}]", "") == self._unit)
        return text.set(~fits | text.cast(pl.Float64, strict=False).is_null(), None).alias(words.name)

    @property
    def _marks(self) -> str:
        """All that stands for the mark of thousands."""
        return SPACES if self.thousands in SPACES else "'’" if self.thousands in "'’" else self.thousands

    @property
    def _unit(self) -> str:
        return re.sub(f"[{SPACES}]", "", f"{self.before}|{self.behind}")

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
        before = f"{sign}{self.before}" if self.sign_first else f"{self.before}{sign}"
        return f"{before}{body}{self.behind}"

    @property
    def is_plain(self) -> bool:
        """Whether all of it is digits and a point, which is read without a form."""
        return (self.before, self.behind, self.decimal, self.thousands) == ("", "", ".", "")

    @property
    def sentence(self) -> str:
        """How the amounts are read, in words."""
        return f"numbers written like {self.written('1234567.5')}"

    @property
    def order(self) -> str:
        """Of dates alone."""
        return ""


@dataclass(frozen=True)
class Doubt:
    """Why a column of amounts cannot be read, and a decimal mark that would settle it."""

    doubt: str
    decimal: str = ""


def recognised(words: pl.Series, decimal: str | None = None) -> AmountForm | Doubt | None:
    """The form of a column's distinct texts, None where fewer than half are amounts; `decimal` is the stated mark."""
    if words.head(_ENOUGH).str.contains(_AMOUNT).sum() * 2 < min(len(words), _ENOUGH):
        return None
    groups = words.str.extract_groups(_AMOUNT).struct.unnest()
    groups.columns = ["first", "before", "second", "body", "behind"]
    amounts = groups.with_columns(pl.col("before", "behind").fill_null("")).drop_nulls("body")
    units = amounts.select(
        pl.concat_str("before", pl.lit("|"), "behind").str.replace_all(f"[{SPACES}]", "")
    ).to_series()
    if units.n_unique() > 1:
        named = sorted(unit.replace("|", "") or "none" for unit in units.unique())
        return Doubt(f"its amounts are in several units ({', '.join(named)})")
    marks = _marks(amounts["body"], decimal, money=units[0].strip("|%‰") != "")
    if isinstance(marks, Doubt) or marks is None:
        return marks
    point, thousands = marks
    before, behind = (amounts[end].mode().sort()[0] for end in ("before", "behind"))
    fractions = amounts["body"].str.extract(rf"{re.escape(point)}(\d+)$").str.len_chars().fill_null(0)
    fixed = int(fractions[0]) if fractions.n_unique() == 1 else 0
    sign_first = not (amounts["second"] == "-").any()
    form = AmountForm(before, behind, point, thousands, fixed, sign_first)
    if thousands and not before + behind and not fractions.max() and _of_one_length(amounts["body"]):
        return None
    return form if form.plain(words).count() * 2 >= len(words) else None


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
