"""How a file writes its dates and amounts, and what it writes where nothing is known: as stated, and as recognised.

A column of text is read by its form, worked on as plain dates and numbers, and written in its form again
(docs/spec.md#value-forms; `shoal.data.date_forms`, `shoal.data.amount_forms`). Whatever was assumed of a column is
noted; what cannot be decided from its texts is asked for.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from shoal.choices import EVERY, quoted_item
from shoal.data import amount_forms, date_forms
from shoal.data.amount_forms import AmountForm
from shoal.data.attribute_choice import AttributeChoice
from shoal.data.date_forms import YEARS
from shoal.data.kinds import stays_codes
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.data.schema import Kind
from shoal.data.text_types import (
    MISSING,
    MixedColumnError,
    as_numbers,
    count_zero_led,
    has_masked,
    known_words,
    likely_type,
    trimmed,
    typed,
    values_as,
    with_empty_missing,
)
from shoal.errors import InputError, did_you_mean

_PART = re.compile(r"[^\[\]{};]+")  # of a masked cell: a value that stands in it
_OF_DATES = re.compile(
    r"dat(e|um|a)|dob|birth|born|geb|naiss|nac|nasc|fech|jour|day|giorn|admi|discharg|entlass|visit|death|decease"
)


class Form(Protocol):
    """A way in which a column writes its values."""

    def plain(self, words: pl.Series) -> pl.Series:
        """The texts as plain ones, null where one is not written so."""
        ...

    def written(self, plain: str) -> str | None:
        """A value, given by its plain text, in this form; None where that cannot be or would not be exact."""
        ...

    @property
    def sentence(self) -> str:
        """How the column is read, in words."""
        ...

    @property
    def order(self) -> str:
        """The format that shows whether day or month comes first, where that matters."""
        ...


class DoubtError(Exception):
    """A column of dates or amounts that cannot be read without a word from the custodian; the text says why and how."""


@dataclass
class Forms:
    """The forms of a table's columns, as they are recognised while it is read; `notes` say what was assumed.

    `reading` states what is not to be found out, `kinds` what a policy declares of columns.
    """

    reading: Reading = AS_IT_SEEMS
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    lenient: bool = False  # what is in doubt is noted and stays text: nothing is to be released
    released: bool = False  # the file shows masks, and may lack columns that the original had
    may_lack: bool = False  # the file may be a release or not
    needed: frozenset[str] | None = None  # the others may stay text
    compared: frozenset[str] = frozenset()  # compared as texts: in doubt, they stay that
    columns: dict[str, Form] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)  # columns of mostly numbers that stay text, by their names
    notes: list[str] = field(default_factory=list)

    @classmethod
    def under(cls, reading: Reading, attributes: Mapping[str, AttributeChoice], *, released: bool = False) -> Forms:
        """Those of a file that is read under a policy: what it declares to be categories is left alone."""
        kinds = {name: choice.kind for name, choice in attributes.items() if choice.kind is not None}
        listed = {name: Kind.NOMINAL for name, choice in attributes.items() if _lists_texts(choice)}
        return cls(reading, {**listed, **kinds}, released=released)

    def refuse_unknown(self, columns: Collection[str], label: str) -> None:
        """Refuses what is stated of a column that the table does not have, unless it may lack some."""
        if not (self.released or self.may_lack):
            self.reading.refuse_unknown(columns, label)

    def held(self, text: Collection[str], columns: Collection[str], label: str) -> tuple[str, ...]:
        """Those of the columns stated to be `text` that the table has; refused where it lacks one and may not."""
        unknown = [name for name in text if name not in columns]
        if unknown and not (self.released or self.may_lack):
            hint = did_you_mean(unknown[0], list(columns))
            raise InputError(f"{label} has no column {unknown[0]!r} to read as text.{hint}")
        return tuple(name for name in text if name in columns)

    def settled(self, reading: Reading) -> Reading:
        """The reading with what was recognised of columns, so that what is released is read alike."""
        orders = {name: text for name, form in self.columns.items() if (text := form.order)}
        marks = {name: form.decimal for name, form in self.columns.items() if isinstance(form, AmountForm)}
        seen = {"date_format": orders, "decimal": marks}
        return Reading(
            **(reading.chosen() | {key: reading.with_columns(key, each) for key, each in seen.items() if each})
        )

    def read(self, column: pl.Series, decimal: str) -> pl.Series:
        """A column of text as what it holds; DoubtError or MixedColumnError where that cannot be said."""
        if self._is_category(column.name) or (self.needed is not None and column.name not in self.needed):
            return with_empty_missing(column)
        kind = likely_type(column, decimal)
        if kind == pl.Float64 and (codes := self.as_codes(column, decimal)) is not None:
            return codes
        if kind not in (pl.String, pl.Datetime):
            return self._numbers(column, kind, decimal)
        if has_masked(column):
            return self.cells(with_empty_missing(column))
        form = self._form(column.name, known_words(column).unique(maintain_order=True).drop_nulls())
        return typed(column, decimal) if form is None else self._values(column, form)

    def _numbers(self, column: pl.Series, kind: type[pl.DataType], decimal: str) -> pl.Series:
        """Plain numbers, of which some may be written as amounts; or runs of digits that are dates."""
        try:
            values = typed(column, decimal)
        except MixedColumnError:
            form = self._form(column.name, known_words(column).unique(maintain_order=True).drop_nulls())
            if not isinstance(form, AmountForm):
                raise
            return self._values(column, form)
        return self.runs(values) if kind == pl.Int64 else values

    def known(self, column: pl.Series) -> pl.Series:
        """A column of text with null where a word stands that is stated to say that nothing is known."""
        words = [*self.reading.missing_words(column.name), *(MISSING if column.name in self.codes else ())]
        return column.set(trimmed(column).is_in(words), None) if words else column

    def values(self, text: pl.Series, dtype: pl.DataType) -> pl.Series:
        """A column of text as values of a type that is known, by its form where it has one; null where one is none."""
        if dtype in (pl.String, pl.Null):
            return self.known(text)
        words, form = known_words(self.known(text)), self.columns.get(text.name)
        if form is None:
            return values_as(words, dtype)
        distinct = words.unique().drop_nulls()
        return words.replace_strict(distinct, values_as(form.plain(distinct), dtype), default=None, return_dtype=dtype)

    def as_codes(self, column: pl.Series, decimal: str) -> pl.Series | None:
        """Numbers that stay text because their name says codes; None of others, and where a kind is declared."""
        if column.name in self.kinds or not stays_codes(column, as_numbers(known_words(column), decimal)):
            return None
        self.codes.add(column.name)
        return with_empty_missing(self.known(column))

    def _is_category(self, name: str) -> bool:
        return self.kinds.get(name, Kind.DATE) not in (Kind.DATE, Kind.NUMERIC)

    def _form(self, name: str, words: pl.Series) -> Form | None:
        """The form of these distinct texts, None where they are text, or dates by ISO 8601 alone."""
        formats = str(self.reading.of_column("date_format", name) or "").split("|")
        dates = date_forms.recognised(
            words, [text for text in formats if text], pivot=self.reading.year_from, speaks=self._speaks_of_dates(name)
        )
        if dates is not None and dates.doubt and not dates.forms:
            formats = re.findall(r"\b(?:dd|mm)\S+", dates.doubt)
            self._doubt(name, dates.doubt, "dates", quoted_item(f"date-format.{name}={formats[0]}") if formats else "")
            return None
        if dates is None or (not _is_plain(dates) and 2 * dates.plain(words).count() < len(words)):
            return self._amounts(name, words)
        return None if _is_plain(dates) else dates

    def _amounts(self, name: str, words: pl.Series) -> Form | None:
        """The form of these distinct texts where they are amounts and not plain numbers."""
        marks = self.reading.decimal
        sure = self.kinds.get(name) is Kind.NUMERIC or (isinstance(marks, Mapping) and name in marks)
        amounts = amount_forms.recognised(words, self.reading.of_column("decimal", name), sure=sure)
        if isinstance(amounts, amount_forms.Doubt):
            option = quoted_item(f"decimal.{name}={amounts.decimal}") if amounts.decimal else ""
            self._doubt(name, amounts.doubt, "amounts", option)
            return None
        return None if amounts is None or amounts.is_plain else amounts

    def _doubt(self, name: str, why: str, what: str, option: str) -> None:
        text = quoted_item(f"text={name}")
        say = f"say it, as in --read {shlex.quote(option)}" if option else "write all alike"
        how = f"{say}, or have the column read as text (--read {shlex.quote(text)})"
        if name in self.compared:
            return
        if not self.lenient:
            raise DoubtError(f"Column {name!r} holds {what}, and {why}: {how}.")
        self.notes.append(f"Column {name!r} seems to hold {what}, and {why}. It is looked at as text here: {how}.")

    def date_formats(self, column: pl.Series) -> list[str]:
        """What could be stated to read a column of text as dates: one format, two in doubt, none where it has none."""
        if self._is_category(column.name):
            return []
        words = known_words(column).unique(maintain_order=True).drop_nulls()
        dates = date_forms.recognised(words, pivot=self.reading.year_from, speaks=self._speaks_of_dates(column.name))
        if dates is None or not len(words):
            return []
        if not dates.forms:
            return re.findall(r"\b(?:dd|mm)[./-]\S+", dates.doubt)
        formats = "|".join(form.format for form in dates.forms)
        return [formats] if 2 * dates.plain(words).count() >= len(words) else []

    def _speaks_of_dates(self, name: str) -> bool:
        return self.kinds.get(name) is Kind.DATE or _OF_DATES.search(name.lower()) is not None

    def _values(self, column: pl.Series, form: Form) -> pl.Series:
        """The column by this form, whose distinct texts alone are parsed."""
        words = known_words(column)
        distinct = words.unique().drop_nulls()
        plain = form.plain(distinct)
        stray = plain.is_null()
        if stray.any():
            row = int(words.is_in(distinct.filter(stray).implode()).arg_true()[0])
            raise MixedColumnError("dates" if isinstance(form, date_forms.DateForms) else "numbers", row)
        values = typed(plain)
        self._note(column.name, form)
        return words.replace_strict(distinct, values, default=None, return_dtype=values.dtype)

    def _note(self, name: str, form: Form) -> None:
        self.columns[name] = form
        self.notes.append(f"Column {name!r} is read as {form.sentence}.")

    def runs(self, column: pl.Series) -> pl.Series:
        """Whole numbers such as 19480727 as dates, where all of them are and the name or the spread says so."""
        first, last = YEARS[0] * 10_000, (YEARS[1] + 1) * 10_000
        formats = str(self.reading.of_column("date_format", column.name) or "").split("|")
        stated = any(text and re.search(r"[./ -]", text) is None for text in formats)
        if self._is_category(column.name) or not len(column.drop_nulls()):
            return column
        likely = column.min() > first and column.max() < last  # type: ignore[operator]
        if not likely and not (stated and self._speaks_of_dates(column.name)):
            return column
        texts = column.cast(pl.String)
        words = texts.unique(maintain_order=True).drop_nulls()
        form = self._form(column.name, words)
        if form is None or form.plain(words).null_count():
            if likely and words.str.to_date("%Y%m%d", strict=False).null_count() == 0:
                self.notes.append(
                    f"Column {column.name!r} holds numbers such as {words[0]}, which may be dates. They are read as "
                    f"numbers; --kind {column.name}=date reads them as dates."
                )
            return column
        return self._values(texts, form)

    def cells(self, column: pl.Series) -> pl.Series:
        """A released column of values and masks, with each value that is written in a form as plain text."""
        if self._is_category(column.name):
            return column
        parts = column.unique().drop_nulls().str.extract_all(_PART.pattern).explode().unique().drop_nulls()
        parts = parts.filter(~parts.is_in([EVERY, ""]))
        if (form := self._form_in_cells(column.name, parts)) is None:
            return column
        self.columns[column.name] = form
        return plain_cells(column, form)

    def _form_in_cells(self, name: str, parts: pl.Series) -> Form | None:
        """The form of the values in cells; those that are plain numbers may be dates, and are no amounts."""
        if not len(parts):
            return None
        plain = (self.reading.of_column("decimal", name) or ".") == "." and as_numbers(parts, ".").count() == len(parts)
        if not plain or count_zero_led(parts):
            return self._form(name, parts)
        if parts.str.contains(r"^\d{8}$").all():
            self.runs(parts.cast(pl.Int64).alias(name))
        return self.columns.get(name)

    def with_comma(self, column: pl.Series) -> None:
        """Puts down how numbers of a column of which a decimal comma is stated are written, where all are alike."""
        words = known_words(column).unique(maintain_order=True).drop_nulls()
        form = self._amounts(column.name, words)
        if form is not None and not form.plain(words).null_count():
            self.columns[column.name] = form


def _lists_texts(choice: AttributeChoice) -> bool:
    """Whether a policy names the column's values as they stand in the file."""
    if isinstance(choice.hierarchy, str | tuple):
        return True
    return choice.domain is not None and all(isinstance(value, str) for value in choice.domain)


def _is_plain(dates: date_forms.DateForms) -> bool:
    """Whether all of it is ISO 8601, which is read without a form."""
    return all(re.fullmatch(r"yyyy-mm-dd([ T]hh:mm(:ss(\.f+)?)?)?", form.format) for form in dates.forms)


def in_plain(frame: pl.DataFrame, forms: Mapping[str, Form]) -> pl.DataFrame:
    """A released table with the cells that are written in these forms as plain text."""
    return frame.with_columns(plain_cells(frame[name], form) for name, form in forms.items() if name in frame.columns)


def plain_cells(column: pl.Series, form: Form) -> pl.Series:
    """Values and masks in a column's form as plain text; what is in no form stays as it is."""
    cells = column.unique().drop_nulls()
    parts = cells.str.extract_all(_PART.pattern).explode().unique().drop_nulls()
    known = {part: text for part, text in zip(parts, form.plain(parts), strict=True) if text is not None}
    plain = pl.Series([_PART.sub(lambda part: known.get(part[0], part[0]), cell) for cell in cells], dtype=pl.String)
    return column.replace_strict(cells, plain, default=None, return_dtype=pl.String)
