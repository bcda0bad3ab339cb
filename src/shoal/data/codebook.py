"""The codebook of an SPSS, Stata or SAS file: labels of columns and of codes, levels of measurement, codes for missing.

A labelled code is a category, shown by its label: nominal, or ordinal where the file says so. A column in which other
numbers stand beside the labelled ones (0 = none, 1, 2, 3, ... 97 = more) is no list of categories and stays as it is.

What leaves with a release is made anew and says no more than its rows do. A column whose cells are categories of the
codebook, and no masks of them, is written as codes again, with the labels of those codes that are shown; one with
masked cells ({single;widowed}, [low;middle]) is written as text. Codes for missing are told apart in columns that are
released as they are: those of SPSS in SPSS files, the letters of Stata and SAS in Stata files. Elsewhere they are just
missing, as every promise counts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.hidden_content import cut_short

Code = int | float | str


@dataclass(frozen=True)
class Variable:
    """What the codebook says of one column."""

    label: str = ""
    measure: str = "unknown"  # nominal, ordinal, scale
    categories: Mapping[Code, str] = field(default_factory=dict)  # code -> what its cells show, in the order of codes
    missing: Mapping[Code, str] = field(default_factory=dict)  # code for missing -> its label, or empty
    partly: int = 0  # labelled codes in a column that is none of categories

    @property
    def ordinal(self) -> bool:
        """Whether its categories have an order."""
        return self.measure == "ordinal"


@dataclass(frozen=True)
class Codebook:
    """The variables of a file, and which code for missing each of its records has."""

    variables: Mapping[str, Variable]
    missing: Mapping[str, pl.Series] = field(default_factory=dict)  # column -> record -> code, null where there is none

    def of(self, rows: npt.NDArray[np.int64], told_apart: Sequence[str]) -> Codebook:
        """The codebook of these records, with the codes for missing of the columns that tell them apart."""
        kept = {name: codes.gather(rows) for name, codes in self.missing.items() if name in told_apart}
        return replace(self, missing=kept)

    def with_whole_codes(self) -> Codebook:
        """The same for a format that labels whole numbers alone: categories of other codes stay as they are shown."""
        plain = {n: v for n, v in self.variables.items() if all(isinstance(c, int) for c in v.categories)}
        others = {n: replace(v, categories={}, missing={}) for n, v in self.variables.items() if n not in plain}
        return replace(self, variables=plain | others)

    def labels(self, columns: Sequence[str]) -> Iterator[str]:
        """What is written about these columns, for a reader to judge: no row shows it."""
        labels = {name: self.variables[name].label for name in columns if name in self.variables}
        if written := [f"{name!r} ({cut_short(label)})" for name, label in labels.items() if label]:
            shown = ", ".join(written[:20]) + (f" and {len(written) - 20} more" if len(written) > 20 else "")
            yield f"Columns are labelled, and no promise is about that: {shown}. Read whether a label names somebody."

    def notes(self, columns: Sequence[str]) -> Iterator[str]:
        """What was made of the codes of these columns."""
        known = {name: self.variables[name] for name in columns if name in self.variables}
        nominal = [name for name, variable in known.items() if variable.categories and not variable.ordinal]
        ordinal = [name for name, variable in known.items() if variable.categories and variable.ordinal]
        if nominal or ordinal:
            levels = [
                f"{_listed(names)} as {kind}" for names, kind in ((nominal, "nominal"), (ordinal, "ordinal")) if names
            ]
            yield f"Labelled codes are read as categories, by their labels: {'; '.join(levels)}."
        if partly := [name for name, variable in known.items() if variable.partly]:
            yield f"Some codes of {_listed(partly)} have labels and others none: read as numbers."
        if missing := {name: variable.missing for name, variable in known.items() if variable.missing}:
            codes = "; ".join(
                f"{name!r} ({', '.join(f'{code:g}' if not isinstance(code, str) else code for code in held)})"
                for name, held in missing.items()
            )
            yield f"Codes for missing are read as missing: {codes}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


# ---- reading


def variables_of(codes: pl.DataFrame, about: Any) -> dict[str, Variable]:
    """What a file says of its columns; `codes` is its table, without what is declared missing, `about` its metadata."""
    labels: Mapping[str, str | None] = about.column_names_to_labels or {}
    levels = about.variable_measure or {}
    declared = {**(about.missing_ranges or {}), **(about.missing_user_values or {})}
    variables = {}
    for column in codes:
        name = column.name
        valued = {_plain(code): label for code, label in (about.variable_value_labels or {}).get(name, {}).items()}
        missing = {code: label for code, label in valued.items() if _is_missing(code, column, declared.get(name, []))}
        variable = Variable(labels.get(name) or "", levels.get(name) or "unknown", missing=missing)
        variables[name] = _with_categories(variable, column, {c: t for c, t in valued.items() if c not in missing})
    return variables


def _plain(code: Any) -> Code:
    """A whole number as an integer: these formats keep every number as a float."""
    return int(code) if isinstance(code, float) and code.is_integer() and abs(code) < 2**53 else code


def _is_missing(code: Code, column: pl.Series, declared: Sequence[Any]) -> bool:
    if isinstance(code, str) and column.dtype.is_numeric():
        return True  # a letter of Stata or SAS
    return any(
        (
            range_["lo"] <= code <= range_["hi"]
            if type(range_["lo"]) is type(code) or not isinstance(code, str)
            else False
        )
        if isinstance(range_, dict)
        else range_ == code
        for range_ in declared
    )


def _with_categories(variable: Variable, column: pl.Series, labels: Mapping[Code, str]) -> Variable:
    if not labels:
        return variable
    held = [_plain(code) for code in column.drop_nulls().unique()]
    named = [code for code in held if code in labels]
    bare = [code for code in held if code not in labels]
    if bare and (variable.measure == "scale" or len(bare) >= len(named)):
        return replace(variable, partly=len(labels))
    every: list[Any] = sorted({*labels, *bare})
    texts = {code: (labels.get(code) or "").strip() or str(code) for code in every}
    times = [*texts.values()]
    shown = {code: text if times.count(text) == 1 else f"{text} ({code})" for code, text in texts.items()}
    return replace(variable, categories=shown)


def labelled(codes: pl.DataFrame, variables: Mapping[str, Variable]) -> pl.DataFrame:
    """The table with the labels of categories in the place of their codes; of ordinal ones in the order of codes."""
    return codes.with_columns(
        _categories(codes[name], variable) for name, variable in variables.items() if variable.categories
    )


def _categories(column: pl.Series, variable: Variable) -> pl.Series:
    codes, labels = list(variable.categories), list(variable.categories.values())
    texts = column.replace_strict(codes, labels, default=None, return_dtype=pl.String)
    return texts.cast(pl.Enum(labels)) if variable.ordinal else texts


# ---- writing


@dataclass(frozen=True)
class Coded:
    """A table as codes, and the part of the codebook that it shows."""

    table: pl.DataFrame
    column_labels: dict[str, str]
    value_labels: dict[str, dict[Code, str]]
    measures: dict[str, str]
    missing: dict[str, list[Code]]


def coded(table: pl.DataFrame, book: Codebook, *, letters: bool = False) -> Coded:
    """The released table as codes again, with the labels of what it shows and no others; `letters` are for missing."""
    known = {name: book.variables[name] for name in table.columns if name in book.variables}
    columns, values, measures, missing = [], {}, {}, {}
    for name, variable in known.items():
        column, shown = table[name], {}
        if variable.categories and (codes := _codes(column, variable)) is not None:
            occurring = set(codes.drop_nulls())
            column, shown = codes, {code: text for code, text in variable.categories.items() if code in occurring}
        lacked = book.missing.get(name)
        column, lacking = _with_letters(column, lacked) if letters else _with_missing(column, lacked)
        if lacking:
            missing[name] = lacking
        if named := shown | {code: variable.missing[code] for code in lacking if variable.missing.get(code)}:
            values[name] = named
        columns.append(column)
        if variable.measure != "unknown":
            measures[name] = variable.measure if shown or column.dtype.is_numeric() else "nominal"
    labels = {name: variable.label for name, variable in known.items() if variable.label}
    return Coded(table.with_columns(columns), labels, values, measures, missing)


def _codes(column: pl.Series, variable: Variable) -> pl.Series | None:
    """The codes of a column of categories; None where a cell is a mask."""
    texts = column.cast(pl.String)
    code_of = {text: code for code, text in variable.categories.items()}
    if not texts.drop_nulls().is_in(list(code_of)).all():
        return None
    kind = pl.String if any(isinstance(code, str) for code in code_of.values()) else pl.Float64
    return texts.replace_strict(list(code_of), list(code_of.values()), default=None, return_dtype=kind).alias(
        column.name
    )


def _with_missing(column: pl.Series, codes: pl.Series | None) -> tuple[pl.Series, list[Code]]:
    """The column with codes for missing where its cells are missing, and those that it shows; SPSS declares three."""
    if codes is not None and column.dtype == codes.dtype == pl.String:
        held = codes.filter(column.is_null()).drop_nulls().unique().sort().to_list()
        if not 0 < len(held) <= _DECLARED or column.is_in(held).any():
            return column, []
        return pl.select(pl.coalesce(column, codes).alias(column.name)).to_series(), held
    if codes is None or not (column.dtype.is_numeric() and codes.dtype.is_numeric()):
        return column, []
    held = codes.filter(column.is_null()).drop_nulls().unique().sort().to_list()
    if not 0 < len(held) <= _DECLARED or column.cast(pl.Float64).is_in(held).any():
        return column, []
    filled = pl.select(pl.coalesce(column.cast(pl.Float64), codes.cast(pl.Float64))).to_series()
    return filled.alias(column.name), [_plain(code) for code in held]


def _with_letters(column: pl.Series, codes: pl.Series | None) -> tuple[pl.Series, list[Code]]:
    """The numbers with letters for missing where they are missing, and the letters that it shows; Stata has a to z."""
    if codes is None or codes.dtype != pl.String or not column.dtype.is_numeric():
        return column, []
    held = codes.filter(column.is_null()).drop_nulls().unique().sort().to_list()
    if not held or not set(held) <= set(ascii_lowercase):
        return column, []
    cells = [code if cell is None else cell for cell, code in zip(column.cast(pl.Float64), codes, strict=True)]
    return pl.Series(column.name, cells, dtype=pl.Object), held


_DECLARED = 3  # single codes for missing that an SPSS file can declare of a column
