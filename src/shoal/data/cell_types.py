"""What a column of a workbook holds, by the types of its cells.

A column whose cells are of one type is of that type. In one that mixes them, most cells decide: numbers, dates and
truths beside as many texts are text, and so are numbers beside codes (V31, 01067). Otherwise a text beside them is odd,
and so is an error (#DIV/0!), which readers pass over (`shoal.data.odd_cells`). There the words of text files for
missing are missing.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.forms import Forms
from shoal.data.odd_cells import read_as
from shoal.data.statistical_files import EXACT
from shoal.data.text_types import MISSING, MixedColumnError, as_dates, as_numbers, count_zero_led, has_codes, has_masked
from shoal.errors import extra_package

_TYPE = re.compile(r"but got '(\w+)(?:\((\w+)\))?")  # of a cell that is not of the type asked for
_TYPES = {"Float": "numbers", "Int": "numbers", "Bool": "truths", "Error": "error", "String": "text"}
_ERRORS = {
    "Div0": "#DIV/0!", "NA": "#N/A", "Name": "#NAME?", "Null": "#NULL!", "Num": "#NUM!", "Ref": "#REF!",
    "Value": "#VALUE!", "GettingData": "#GETTING_DATA",
}  # fmt: skip
_FILLED = re.compile(rb'<(?:\w+:)?c r="[A-Z]+(\d+)"[^>]*[^/]>')


@dataclass(frozen=True)
class Page:
    """A sheet of a workbook, its column names, and how what it holds is read."""

    workbook: Any  # fastexcel's
    sheet: str
    names: tuple[str, ...]
    path: Path
    forms: Forms
    first_column: int = 0  # of those that hold anything; A is 0
    first_row: int | None = None  # as Excel counts them, where that is known

    def read(self, text: Collection[str]) -> pl.DataFrame:
        """The records that hold anything; columns in `text` may mix types of cells, and are text where they do."""
        mixed = self._mixed(list(range(len(self.names))))
        frame, errors = self._load(dict.fromkeys(mixed, "string"))
        frame.columns = list(self.names)
        doubtful = sorted({*mixed, *(error.position[1] for error in errors)})
        blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series() if frame.width else pl.Series()
        if doubtful:
            cells = {self.names[at]: cells for at, cells in self._cells(doubtful).items()}
            frame = frame.with_columns(self._settled(*both, text) for both in cells.values())
            blank &= pl.select(pl.all_horizontal(words.is_null() for words, _ in cells.values())).to_series()
        return frame.filter(~blank).with_columns(map(_plainest, frame.filter(~blank)))

    def _load(self, types: dict[int, str], columns: list[int] | None = None) -> tuple[pl.DataFrame, list[Any]]:
        """These columns, and the cells that are not of their types; those without a type here must not mix any."""
        page = self.workbook.load_sheet(
            self.sheet,
            schema_sample_rows=None,
            dtype_coercion="strict",
            dtypes={self.first_column + at: word for at, word in types.items()} or None,
            use_columns=None if columns is None else [self.first_column + at for at in columns],
        )
        batch, errors = page.to_arrow_with_errors()
        return pl.DataFrame(pl.from_arrow(batch)), list(errors.errors) if errors else []

    def _mixed(self, columns: list[int]) -> list[int]:
        """Those of the columns whose cells are of several types."""
        fastexcel = extra_package("fastexcel", "Reading Excel files", "files")
        try:
            self._load({}, columns)
        except fastexcel.UnsupportedColumnTypeCombinationError:
            half = len(columns) // 2
            return [*self._mixed(columns[:half]), *self._mixed(columns[half:])] if half else columns
        return []

    def _cells(self, columns: list[int]) -> dict[int, tuple[pl.Series, pl.Series]]:
        """Each column as text, errors included, and the types of its cells."""
        texts, _ = self._load(dict.fromkeys(columns, "string"), columns)
        numbers, _ = self._load(dict.fromkeys(columns, "float"), columns)  # as text they would be rounded
        _, others = self._load(dict.fromkeys(columns, "duration"), columns)  # all but dates are named
        cells = {}
        for place, at in enumerate(columns):
            words = texts.to_series(place).to_list()
            types = [None if word is None else "dates" for word in words]
            for error in others:
                row, column = error.offset_position
                if column == at and (match := _TYPE.search(error.detail)):
                    types[row] = _TYPES.get(match[1], "dates")
                    words[row] = _ERRORS.get(match[2], "#ERROR!") if match[1] == "Error" else words[row]
            text, kinds = (pl.Series(self.names[at], each, dtype=pl.String) for each in (words, types))
            cells[at] = (
                text.zip_with((kinds != "numbers").fill_null(value=True), _exact(numbers.to_series(place))),
                kinds,
            )
        return cells

    def _settled(self, words: pl.Series, types: pl.Series, text: Collection[str]) -> pl.Series:
        """The column as most of its cells are; of a release as text, for whoever judges it to see all of it."""
        known = self.forms.known(words)
        missing = (types == "text") & known.str.strip_chars(" ").is_in(MISSING)
        types = types.set((missing | known.is_null()).fill_null(value=False), None)
        main = _commonest(types)
        as_text = has_masked(known) or (main == "numbers" and (has_codes(known) or count_zero_led(known)))
        if self.forms.released or words.name in text or main == "text" or as_text:
            return known
        erring = bool((types == "error").any())
        if main == "numbers" and not erring and (codes := self.forms.as_codes(known, ".")) is not None:
            return codes

        def read(column: pl.Series) -> pl.Series:
            odd = column.is_not_null() & (types != main)
            values = _values(column.set((odd | types.is_null()).fill_null(value=False), None), main)
            odd |= values.is_null() & types.is_not_null() & column.is_not_null()
            if odd.any():
                raise MixedColumnError(main, int(odd.arg_true()[0]))
            return values

        column = self.names.index(words.name)
        return read_as(known, read, lambda row: self._place(row, column), self.forms, str(self.path))

    def _place(self, row: int, column: int) -> str:
        """The cell of a record and a column; the record's number where the file does not say where its cells stand."""
        if self.first_row is None:
            return f"record {row + 1}"
        return f"cell {_letters(self.first_column + column)}{self.first_row + row + 1}"


def first_row(part: bytes) -> int | None:
    """The first row that holds anything in the part of a workbook that is a sheet, if it says so."""
    filled = _FILLED.search(part)
    return int(filled[1]) if filled else None


def _letters(number: int) -> str:
    return (_letters(number // 26 - 1) if number > 25 else "") + chr(65 + number % 26)


def _commonest(types: pl.Series) -> str:
    """What most cells are; text where half of them are, or errors."""
    counts = dict(types.drop_nulls().value_counts().iter_rows())
    texts = counts.pop("text", 0) + counts.pop("error", 0)
    return "text" if texts >= sum(counts.values()) or not counts else max(sorted(counts), key=counts.__getitem__)


def _values(words: pl.Series, main: str) -> pl.Series:
    if main == "truths":
        return words == "true"
    return as_numbers(words, ".") if main == "numbers" else as_dates(words)


def _exact(numbers: pl.Series) -> pl.Series:
    """Each number as text that reads back as the same, whole ones without decimals."""
    whole = (numbers == numbers.round()) & (numbers.abs() <= EXACT)
    plain = numbers.cast(pl.Int64, strict=False).cast(pl.String)
    return plain.zip_with(whole.fill_null(value=False), numbers.cast(pl.String))


def _plainest(column: pl.Series) -> pl.Series:
    """Numbers without decimals as integers, moments that are all midnights as days."""
    if column.dtype.is_float() and (column == column.round()).all() and (column.abs() <= EXACT).all():
        return column.cast(pl.Int64)
    if isinstance(column.dtype, pl.Datetime) and (column.dt.time() == dt.time()).all():
        return column.cast(pl.Date)
    return column
