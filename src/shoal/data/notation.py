"""How a text file spells its values, which a parser does not keep: `1.50`, `+5`, `2020-01-01T10:00`, `True`, `NA`.

A column that no method masks is written to a text file as it stood in the one that was read. A quasi-identifier is not
copied: two records of a class that spell a value differently could be told apart. It is written in the notation of its
column instead, where all of the column is written in one (so many decimals, such a date and time, True and False); then
the text of a value follows from the value alone.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import polars as pl

from shoal.data.cells import plain_text
from shoal.data.csv_files import as_written, decimal_in
from shoal.data.forms import Forms, plain_cells
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.data.schema import Attribute, Kind
from shoal.data.text_types import known_words
from shoal.errors import InputError

_PART = re.compile(r"[^\[\]{};]+")  # of a masked cell: a value that stands in it
_TRUTHS = (("True", "False"), ("TRUE", "FALSE"))
_FIXED = r"^-?(0|[1-9]\d*)\.\d{%d}$"
_BARE = r"^-?(0|[1-9]\d*)(\.\d*[1-9])?$"
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\+?")
_COMMA_NUMBER = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?\+?$"
_DIGITS = 16  # characters of a number that a float keeps all digits of
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T])\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True)
class Spelling:
    """A text file that was read, and how; its texts are read again when they are asked for."""

    path: Path
    reading: Reading
    stamp: tuple[int, int, int]
    forms: Forms = field(default_factory=Forms)  # in which its dates and amounts are read

    @classmethod
    def of(cls, path: Path, reading: Reading = AS_IT_SEEMS, forms: Forms | None = None) -> Spelling:
        """The file as it is now; made before the table is read, so that a change in between is noticed."""
        return cls(path, reading, _stamp(path), forms or Forms(reading))

    def texts(self, types: Mapping[str, pl.DataType], decimal: str = ".") -> pl.DataFrame:
        """The columns as they stand in the file; a decimal comma is a point where that is the mark to be written."""
        texts = as_written(self.path, list(types), self.reading)
        if _stamp(self.path) != self.stamp:
            raise InputError(f"{self.path} was written to while it was read: let nothing write to it meanwhile.")
        floats = [name for name, dtype in types.items() if dtype.is_float() and name not in self.forms.columns]
        if floats and decimal != "," and decimal_in(self.path, self.reading) == ",":
            texts = texts.with_columns(pl.col(floats).str.replace(",", ".", literal=True))
        return texts


def _stamp(path: Path) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


# ---- decimal commas


class DecimalComma:
    """Plain numbers with a comma in the place of the point."""

    sentence, order = "numbers with a decimal comma", ""

    def written(self, plain: str) -> str | None:
        """The number, or the least of those that are open above, with a comma; None: no number."""
        return plain.replace(".", ",") if _PLAIN_NUMBER.fullmatch(plain) else None

    def plain(self, words: pl.Series) -> pl.Series:
        """The texts with points; null where one is no such number."""
        return words.set(~words.str.contains(_COMMA_NUMBER), None).str.replace(",", ".", literal=True)


COMMA = DecimalComma()


def with_commas(
    table: pl.DataFrame, types: Mapping[str, pl.DataType], copied: Mapping[str, pl.DataType], forms: Forms
) -> tuple[pl.DataFrame, dict[str, pl.DataType], Forms]:
    """The table with a comma in every number that is not `copied`, whose texts have it, nor in a form of its own.

    `types` are those of the columns that were read. With it what has to be known to read it again, as by `read_own`.
    """
    own = {name: table[name] for name in table.columns if name not in copied and name not in forms.columns}
    numbers = {name: column for name, column in own.items() if column.dtype.is_float()}
    cells = {
        name: column
        for name, column in own.items()
        if name in types and types[name].is_numeric() and column.dtype in (pl.String, pl.Enum, pl.Categorical)
    }
    texts = {name: rewritten(column, COMMA) for name, column in (numbers | cells).items()}
    exact = {
        name: text
        for name, text in texts.items()
        if name in numbers or plain_cells(text, COMMA).equals(cells[name].cast(pl.String))
    }
    commas = [*exact, *(name for name, dtype in copied.items() if dtype.is_float() and name not in forms.columns)]
    known = {**copied, **{name: column.dtype for name, column in numbers.items()}}
    columns = forms.columns | dict.fromkeys(commas, COMMA)
    return table.with_columns(text.alias(name) for name, text in exact.items()), known, replace(forms, columns=columns)


# ---- columns that no method masks


def lost(column: pl.Series) -> bool:
    """Whether parsing lost how a column was written; texts keep it, but for empty ones, which are missing."""
    return column.dtype != pl.String or column.null_count() > 0


# ---- quasi-identifiers


def has_notation(dtype: pl.DataType, attribute: Attribute) -> bool:
    """Can the column be written in several ways that read back as the same values?"""
    if attribute.hierarchy is not None:  # its labels are shown
        return False
    on_a_line = attribute.kind in (Kind.NUMERIC, Kind.DATE)
    return dtype == pl.Boolean or (on_a_line and (dtype.is_float() or dtype == pl.Datetime))


class Notation(Protocol):
    """A way to write the values of a column, so that masked ones look like the original's."""

    def written(self, plain: str) -> str | None:
        """A value, given by its plain text, in this way; None where that cannot be or would not be exact."""
        ...


@dataclass(frozen=True)
class Truths:
    """Yes and no by two words, such as True and False."""

    true: str
    false: str

    def written(self, plain: str) -> str | None:
        """The word for `true` or `false`."""
        return {"true": self.true, "false": self.false}.get(plain)


@dataclass(frozen=True)
class Decimals:
    """So many of them; None: no more than are needed, and none of a whole number."""

    digits: int | None

    def written(self, plain: str) -> str | None:
        """The number with so many decimals; None where it would not be exact."""
        if self.digits is None:
            return plain.removesuffix(".0")
        try:
            number = float(plain)
        except ValueError:  # a wildcard
            return None
        text = f"{number:.{self.digits}f}"
        return text if float(text) == number else None


@dataclass(frozen=True)
class Moments:
    """The sign between day and time, how many characters tell both, and the time zone."""

    separator: str
    length: int
    zone: str

    def written(self, plain: str) -> str | None:
        """The moment in this form; None where it is finer than the form tells."""
        try:
            moment = dt.datetime.fromisoformat(plain)
            if self.zone:
                offset = dt.datetime.fromisoformat(f"2000-01-01T00:00{self.zone}").tzinfo
                moment = moment.astimezone(offset).replace(tzinfo=None)
        except (ValueError, OverflowError):  # in its zone it may lie before the year 1 or after 9999
            return None
        text = moment.isoformat(self.separator, "microseconds")
        return None if text[self.length :].strip(":.0") else text[: self.length] + self.zone


Notations = tuple[Notation, ...] | None  # those in which all is written, the closest first; None: nothing is written


def notations_of(texts: pl.Series, dtype: pl.DataType) -> Notations:
    """The notations of the type in which all of these texts are written; the plain one is none of them."""
    words = known_words(texts).drop_nulls()
    if not len(words):
        return None
    if dtype == pl.Boolean:
        return tuple(Truths(*both) for both in _TRUTHS if words.is_in(both).all())
    return _moments(words) if dtype == pl.Datetime else _decimals(words)


def common(left: Notations, right: Notations) -> Notations:
    """The notations in which both parts of a column are written, the closest first."""
    if left is None or right is None:
        return right if left is None else left
    return tuple(notation for notation in left if notation in right)


def _decimals(words: pl.Series) -> tuple[Notation, ...]:
    longest = words.str.len_chars().max()
    if longest > _DIGITS or words.str.contains(r"^-0(\.0*)?$").any():  # type: ignore[operator]
        return ()
    digits = len(words[0].partition(".")[2])
    fixed = digits and words.str.contains(_FIXED % digits).all()
    bare = words.str.contains(_BARE).all()
    return (*([Decimals(digits)] if fixed else []), *([Decimals(None)] if bare else []))


def _moments(words: pl.Series) -> tuple[Notation, ...]:
    form = _MOMENT.fullmatch(words[0])
    if form is None:
        return ()
    separator, seconds, fraction, zone = form.groups(default="")
    digits = max(len(fraction) - 1, 0)
    finer = (r":\d\d" if seconds else "") + (rf"\.\d{{{digits}}}" if digits else "")
    if not words.str.contains(rf"^\d{{4}}-\d\d-\d\d{separator}\d\d:\d\d{finer}{re.escape(zone)}$").all():
        return ()
    return (Moments(separator, 16 + len(seconds), zone),)


def rewritten(column: pl.Series, notation: Notation) -> pl.Series:
    """A released column, of values or of cells with masks, with each value in this notation."""
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    cells = column.unique().drop_nulls()
    parts: dict[str, str] = {}

    def part(match: re.Match[str]) -> str:
        plain = match[0]
        if plain not in parts:
            parts[plain] = notation.written(plain) or plain
        return parts[plain]

    plain = cells if cells.dtype == pl.String else plain_text(cells)
    texts = pl.Series([_PART.sub(part, cell) for cell in plain], dtype=pl.String)
    return column.replace_strict(cells, texts, default=None, return_dtype=pl.String)


# ---- all of it


def respelled(
    table: pl.DataFrame, source: pl.DataFrame, attributes: Sequence[Attribute], masked: Sequence[str],
    texts: Callable[[Mapping[str, pl.DataType]], pl.DataFrame], rows: pl.Series, forms: Forms,
) -> tuple[pl.DataFrame, list[str]]:  # fmt: skip
    """The released table as text written like the `source`, and which of its columns are copied from there.

    `rows` are the records of the source that are shown, in their order; `texts` gives the source's columns as text,
    `forms` how some of them write their values.
    """
    types, columns = table.schema, set(masked)
    released = [attribute for attribute in attributes if attribute.name in types]
    copied = [a.name for a in released if a.name not in columns and lost(source[a.name])]
    shown = [a for a in released if a.name in columns]
    in_form = [a.name for a in shown if a.name in forms.columns and a.hierarchy is None]
    table = table.with_columns(rewritten(table[name], forms.columns[name]) for name in in_form)
    noted = [a.name for a in shown if a.name not in forms.columns and has_notation(source[a.name].dtype, a)]
    if not copied and not noted:
        return table, []
    written = texts({name: source[name].dtype for name in (*copied, *noted)})
    pointed = written.with_columns(pl.col([n for n in noted if source[n].dtype.is_float()]).str.replace(",", "."))
    notations = {name: notations_of(forms.known(pointed[name]), source[name].dtype) for name in noted}
    texts_shown = [written[name].gather(rows) for name in copied]
    texts_shown += [rewritten(table[name], fitting[0]) for name, fitting in notations.items() if fitting]
    return table.with_columns(texts_shown), copied
