"""Dates as files write them: dd.mm.yyyy, d/m/yy, mm/dd/yyyy, with the month's name, 19480727, with times.

A form turns the text of a file into plain text, which is ISO 8601, and plain text back into the file's. It reads
nothing that it would write otherwise, so that what it has read it gives back to the letter. Forms are recognised from a
column's distinct texts. Nothing is guessed: where it cannot be seen whether the day or the month comes first, that is
said.

A form is named by its format: y, m, d for year, month and day, as many letters as digits (d and m: no zero in front),
mmm or mmmm for the month's name, hh, mm, ss for a time, f for each digit of a second's fraction, am for am and pm.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from shoal.data.month_names import Names, month_words, names_with
from shoal.data.reading import PIVOT, order_of

_TOKEN = re.compile(r"'[^']*'|yyyy|yy|mmmm|mmm|mm|m|dd|d|hh|h|ss|f+|am|AM|[^']")
_PATTERNS = {
    "yyyy": r"(\d{4})", "yy": r"(\d{2})", "mm": r"(\d{2})", "m": r"([1-9]|1[0-2])",
    "dd": r"(\d{2})", "d": r"([1-9]|[12]\d|3[01])", "hh": r"(\d{2})", "h": r"(\d|1\d|2[0-3])",
    "minute": r"([0-5]\d)", "ss": r"([0-5]\d)", "am": "(am|pm)", "AM": "(AM|PM)",
}  # fmt: skip
_PARTS = {"yyyy": "year", "yy": "year", "mmmm": "month", "mmm": "month", "mm": "month", "m": "month", "dd": "day"}
_PARTS |= {"d": "day", "hh": "hour", "h": "hour", "minute": "minute", "ss": "second", "am": "half", "AM": "half"}


@dataclass(frozen=True)
class DateForm:
    """A way of writing days or moments, by its format; `months` are the names that mmm stands for."""

    format: str
    months: Names = ()
    pivot: int = PIVOT

    @cached_property
    def _tokens(self) -> list[tuple[str, str]]:
        """(what it stands for or nothing, letters): `mm` behind an hour is minutes."""
        tokens = []
        timed = False
        for letters in _TOKEN.findall(self.format):
            timed = timed or letters in ("h", "hh")
            name = "minute" if timed and letters == "mm" else letters
            part = "fraction" if letters[0] == "f" else _PARTS.get(name, "")
            tokens.append((part, name if part else letters.strip("'")))
        return tokens

    @cached_property
    def _pattern(self) -> str:
        def pattern(part: str, letters: str) -> str:
            if not part:
                return re.escape(letters)
            if letters in ("mmm", "mmmm"):
                return f"({'|'.join(map(re.escape, sorted(self.months, key=len, reverse=True)))})"
            return rf"(\d{{{len(letters)}}})" if part == "fraction" else _PATTERNS[letters]

        return f"^{''.join(pattern(*letters) for letters in self._tokens)}$"

    @property
    def timed(self) -> bool:
        """Whether it tells a time of day."""
        return any(part == "hour" for part, _ in self._tokens)

    def plain(self, words: pl.Series) -> pl.Series:
        """The texts as ISO 8601; null where one is not written so, or is no day of any calendar."""
        groups = words.str.extract_groups(self._pattern).struct.unnest()
        parts = [part for part, _ in self._tokens if part]
        fields = {part: groups.to_series(place) for place, part in enumerate(parts)}
        fields["year"] = self._years(fields["year"])
        if self.months:
            numbers = [f"{number:02d}" for number in range(1, 13)]
            fields["month"] = fields["month"].replace_strict(list(self.months), numbers, default=None)
        digits = pl.DataFrame(fields).with_columns(pl.col("month", "day").str.zfill(2))
        day = digits.select(pl.concat_str("year", "month", "day", separator="-")).to_series()
        valid = day.str.to_date("%Y-%m-%d", strict=False).is_not_null()
        text = _with_time(digits, day) if self.timed else day
        return text.set(~valid, None).alias(words.name)

    def _years(self, digits: pl.Series) -> pl.Series:
        if not any(letters == "yy" for _, letters in self._tokens):
            return digits
        number = digits.cast(pl.Int64)
        century = self.pivot - self.pivot % 100
        return (number + century + (number < self.pivot % 100).cast(pl.Int64) * 100).cast(pl.String)

    def written(self, plain: str) -> str | None:
        """A day or moment, given in ISO 8601, in this form; None where the form cannot tell all of it."""
        try:
            moment = dt.datetime.fromisoformat(plain)
        except ValueError:
            return None
        short = any(letters == "yy" for _, letters in self._tokens)
        if moment.tzinfo is not None or (short and not self.pivot <= moment.year < self.pivot + 100):
            return None
        text = "".join(self._part(part, letters, moment) if part else letters for part, letters in self._tokens)
        shown = {part for part, _ in self._tokens}
        finest = next((size for part, size in _FINEST if part in shown), "days")
        whole = {"days": moment.time() == dt.time(), "minutes": not (moment.second or moment.microsecond)}
        exact = whole.get(finest, finest != "seconds" or not moment.microsecond)
        if "fraction" in shown:
            exact = moment.microsecond % 10 ** (6 - self._fraction) == 0
        return text if exact else None

    @property
    def _fraction(self) -> int:
        return next((len(letters) for part, letters in self._tokens if part == "fraction"), 0)

    def _part(self, part: str, letters: str, moment: dt.datetime) -> str:
        if letters in ("mmm", "mmmm"):
            return self.months[moment.month - 1]
        if part == "half":
            half = "am" if moment.hour < 12 else "pm"
            return half if letters == "am" else half.upper()
        if part == "fraction":
            return f"{moment.microsecond:06d}"[: len(letters)]
        number = int(getattr(moment, part))
        if part == "hour" and any(each == "half" for each, _ in self._tokens):
            number = (number - 1) % 12 + 1
        return f"{number % 100 if letters == 'yy' else number:0{_width(letters)}d}"


_FINEST = (("fraction", "fractions"), ("second", "seconds"), ("minute", "minutes"))


def _width(letters: str) -> int:
    return 2 if letters == "minute" else len(letters)


def _with_time(digits: pl.DataFrame, day: pl.Series) -> pl.Series:
    """`day` with the time that the digits tell, of 24 hours."""
    hour = digits["hour"].cast(pl.Int64)
    good = hour < 24
    if "half" in digits.columns:
        good = (hour >= 1) & (hour <= 12)
        hour = hour % 12 + (digits["half"].str.to_lowercase() == "pm").cast(pl.Int64) * 12
    time = [day.alias("day"), hour.cast(pl.String).str.zfill(2).alias("hour"), digits["minute"]]
    seconds = digits["second"] if "second" in digits.columns else pl.Series("second", ["00"] * len(day))
    text = pl.DataFrame([*time, seconds]).select(
        pl.concat_str("day", pl.lit("T"), "hour", pl.lit(":"), "minute", pl.lit(":"), "second")
    )
    moments = text.to_series().set(~good.fill_null(value=False), None)
    if "fraction" not in digits.columns:
        return moments
    return (
        pl.DataFrame([moments.alias("m"), digits["fraction"]])
        .select(pl.concat_str("m", pl.lit("."), "fraction"))
        .to_series()
    )


@dataclass(frozen=True)
class DateForms:
    """The forms in which a column writes its dates, the commonest first; and what is in doubt of them, in words."""

    forms: tuple[DateForm, ...]
    doubt: str = ""

    def plain(self, words: pl.Series) -> pl.Series:
        """The texts as ISO 8601, null where none of the forms reads one."""
        text = pl.Series(words.name, [None] * len(words), dtype=pl.String)
        for form in self.forms:
            text = text.fill_null(form.plain(words))
        return text

    def written(self, plain: str) -> str | None:
        """In the commonest form that tells all of it."""
        return next((text for form in self.forms if (text := form.written(plain)) is not None), None)

    @property
    def sentence(self) -> str:
        """How the dates are read, in words."""
        formats = " and ".join(form.format for form in self.forms)
        short = [form.pivot for form in self.forms if re.search(r"(?<!y)yy(?!y)", form.format)]
        years = f"; two digits of a year are one from {short[0]} to {short[0] + 99}" if short else ""
        return f"dates written {formats}{years}"

    @property
    def order(self) -> str:
        """The formats in which only the order tells the day from the month."""
        return "|".join(form.format for form in self.forms if order_of(form.format)[2] in ("dmy", "mdy"))


# ---- recognised

_A, _B, _LAST = r"(?P<a>9{1,2})", r"(?P<b>9{1,2})", r"(?P<year>9999|99)"
_TIME = r"(?P<time>(?P<gap>, | |T)(?P<hour>9{1,2}):99(?P<second>:99(?P<fraction>\.9{1,6})?)?(?P<half> ?[aApP][mM])?)?"
_SHAPES = [
    re.compile(date + _TIME)
    for date in (
        rf"{_A}(?P<s>[./-]){_B}(?P=s){_LAST}",
        rf"(?P<year>9999)(?P<s>[./-]){_A}(?P=s){_B}",
        r"(?P<run>9{8}|9{6})",
        rf"{_A}(?P<s>\. |\.| de | |-|/)(?P<name>N)(?P<r>, | de | |\.|-|/|){_LAST}",
        rf"(?P<name>N)(?P<s> |-|/){_A}(?P<r>, |,| |-|/){_LAST}",
        rf"(?P<year>9999)(?P<s> |-|/)(?P<name>N)(?P=s){_A}",
    )
]  # fmt: skip
_ENOUGH = 1000  # texts that show whether a column may hold dates
_FEW = 20  # distinct runs of eight digits that are all dates speak for themselves
YEARS = (1850, 2100)  # in which a run of digits may lie to be a date


def recognised(
    words: pl.Series, stated: Sequence[str] = (), *, pivot: int = PIVOT, speaks: bool = False
) -> DateForms | None:
    """The forms of a column's distinct texts, None where fewer than half are dates by their shape.

    `stated` are formats that say whether the day or the month comes first; `speaks` says that the column is known to
    hold dates, by its name or a declared kind: then eight digits are dates if all are valid ones.
    """
    shapes = _shapes(words.head(_ENOUGH))
    if sum(count for _, count in shapes.values()) * 2 < min(len(words), _ENOUGH):
        return None
    shapes = _shapes(words)
    orders, doubt = _orders(words, shapes, _stated_orders(stated))
    if any("run" in match.groupdict() and match["run"] for match, _ in shapes.values()) and ("", 4) not in orders:
        orders |= _order_of_runs(words, speaks=speaks)
    candidates = [form for match, _ in shapes.values() for form in _forms(match, orders, words, pivot)]
    forms = _covering(list(dict.fromkeys(candidates)), words)
    if not speaks and forms and all(map(_is_short, forms)) and DateForms(tuple(forms)).plain(words).null_count():
        return None  # 2.13.99 beside 1.2.10: numbers of chapters or versions
    return DateForms(tuple(forms), doubt) if forms or doubt else None


def _is_short(form: DateForm) -> bool:
    """Whether it is written in digits only, two of them for the year."""
    return re.search(r"mmm|yyyy", form.format) is None


def _shapes(words: pl.Series) -> dict[str, tuple[re.Match[str], int]]:
    """The shapes of dates among the texts, digits as 9 and names of months as N, with how many texts have each."""
    digits = words.str.replace_all(r"[0-8]", "9")
    counted = digits.str.replace(r"\p{L}{3,}\.?", "N").alias("shape").value_counts()
    matches = ((shape, _shape(shape), count) for shape, count in counted.iter_rows())
    return {shape: (match, count) for shape, match, count in matches if match is not None}


def _shape(shape: str | None) -> re.Match[str] | None:
    if shape is None or len(shape) > 40:
        return None
    return next((match for pattern in _SHAPES if (match := pattern.fullmatch(shape))), None)


Orders = dict[tuple[str, int], str]  # (what parts the numbers, digits of the year) -> ymd, dmy or mdy


def _stated_orders(formats: Sequence[str]) -> Orders:
    return {(sign, digits): order for sign, digits, order in map(order_of, formats) if order}


def _orders(words: pl.Series, shapes: Mapping[str, tuple[re.Match[str], int]], stated: Orders) -> tuple[Orders, str]:
    """Whether the day or the month comes first, for each separator; and what is in doubt."""
    orders, doubt = dict(stated), ""
    kinds = {(match["s"], len(match["year"])) for match, _ in shapes.values() if match.re in (_SHAPES[0],)}
    for sign, digits in sorted(kinds):
        if (sign, digits) in orders:
            continue
        if sign == ".":
            orders[sign, digits] = "dmy"
            continue
        numbers = words.str.extract_groups(
            rf"^(\d{{1,2}}){re.escape(sign)}(\d{{1,2}}){re.escape(sign)}\d{{{digits}}}(?:\D|$)"
        )
        first, second = (numbers.struct.field(place).cast(pl.Int64) for place in ("1", "2"))
        day_first, month_first = (first > 12) & (second <= 12), (second > 12) & (first <= 12)
        year = "yy" if digits == 2 else "yyyy"
        if day_first.any() != month_first.any():
            orders[sign, digits] = "dmy" if day_first.any() else "mdy"
        elif day_first.any():
            doubt = (
                f"the day comes first in {words.filter(day_first.fill_null(False))[0]!r} and the month in "
                f"{words.filter(month_first.fill_null(False))[0]!r}"
            )
        else:
            formats = [f"{''.join(order)}{sign}{year}" for order in (("dd", sign, "mm"), ("mm", sign, "dd"))]
            example = words.filter(first.is_not_null())[0]
            doubt = f"nothing shows whether {example!r} is {formats[0]} or {formats[1]}"
    return orders, doubt


def _order_of_runs(words: pl.Series, *, speaks: bool) -> Orders:
    """Eight digits are year, month and day if all are dates of these years, and the name or the spread says so."""
    days = words.str.to_date("%Y%m%d", strict=False)
    years = days.dt.year()
    if not len(words) or days.null_count() or not ((years >= YEARS[0]) & (years <= YEARS[1])).all():
        return {}
    spread = len(words) >= _FEW and days.dt.truncate("1mo").n_unique() > 1
    return {("", 4): "ymd"} if speaks or spread else {}


def _forms(match: re.Match[str], orders: Orders, words: pl.Series, pivot: int) -> Iterator[DateForm]:
    """The forms that texts of this shape may have."""
    parts, time = match.groupdict(), _time_format(match)
    if parts.get("run"):
        digits = 4 if len(parts["run"]) == 8 else 2
        if ("", digits) in orders:
            pieces = {"y": "y" * digits, "m": "mm", "d": "dd"}
            yield DateForm("".join(pieces[letter] for letter in orders["", digits]) + time, pivot=pivot)
        return
    year = "y" * len(parts["year"])
    if parts.get("name"):
        yield from _named_forms(match, words, time, pivot)
        return
    order = "ymd" if match.re is _SHAPES[1] else orders.get((parts["s"], len(year)))
    for day, month in (("dd", "mm"), ("d", "m"), ("d", "mm"), ("dd", "m")) if order else ():
        pieces = {"y": year, "m": month, "d": day}
        yield DateForm(parts["s"].join(pieces[letter] for letter in order or "") + time, pivot=pivot)


def _named_forms(match: re.Match[str], words: pl.Series, time: str, pivot: int) -> Iterator[DateForm]:
    parts = match.groupdict()
    names = words.str.extract(r"(\p{L}{3,}\.?)").unique().drop_nulls()
    known = frozenset(name for name in names if name in month_words())
    months = names_with(known) if known else None
    for way in [months] if months else [each for name in sorted(known) if (each := names_with(frozenset({name})))]:
        name = "mmmm" if max(map(len, way)) > 5 else "mmm"
        first, second = (_literal(parts[key] or "") for key in ("s", "r")) if "r" in parts else (parts["s"],) * 2
        year = "y" * len(parts["year"])
        for day in ("dd", "d"):
            pieces = {
                3: (day, first, name, second, year),
                4: (name, first, day, second, year),
                5: (year, first, name, second, day),
            }
            yield DateForm("".join(pieces[_SHAPES.index(match.re)]) + time, way, pivot)


def _literal(text: str) -> str:
    """What stands between two parts, its letters in quotes."""
    return f" '{text.strip()}' " if text.strip().isalpha() else text


def _time_format(match: re.Match[str]) -> str:
    if not match["time"]:
        return ""
    seconds = ":ss" if match["second"] else ""
    fraction = "." + "f" * (len(match["fraction"]) - 1) if match["fraction"] else ""
    half = match["half"] or ""
    sign = half.replace(half.strip(), "AM" if half.strip().isupper() else "am") if half else ""
    return f"{match['gap']}{'h' * len(match['hour'])}:mm{seconds}{fraction}{sign}"


def _covering(candidates: list[DateForm], words: pl.Series) -> list[DateForm]:
    """Of the forms as few as read all that any reads, the one that reads most first."""
    reads = {form: form.plain(words).is_not_null() for form in candidates}
    left, chosen = pl.Series([True] * len(words)), []
    while reads:
        best = max(reads, key=lambda form: int((reads[form] & left).sum()))
        if not (reads[best] & left).any():
            break
        chosen.append(best)
        left &= ~reads.pop(best)
    return chosen
