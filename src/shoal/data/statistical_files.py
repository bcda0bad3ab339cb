"""SPSS, Stata and SAS files in and out, with their codebook (`shoal.data.codebook`)."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data import hidden_content
from shoal.data.codebook import Code, Codebook, coded, labelled, variables_of
from shoal.errors import extra_package

STATISTICAL = {
    ".dta": "dta",
    ".sav": "sav",
    ".zsav": "sav",
    ".xpt": "xport",
    ".sas7bdat": "sas7bdat",
}  # as pyreadstat calls them
EXACT = 2**53  # integers up to here are exact as floats


def is_statistical(path: str | Path) -> bool:
    """Whether the file is one of SPSS, Stata or SAS, by its name."""
    return Path(path).suffix.lower() in STATISTICAL


def read_statistical(path: Path) -> pl.DataFrame:
    """The table: categories by their labels; whole numbers, which these formats keep as floats, as integers."""
    codes, about = _read(path)
    return labelled(codes, variables_of(codes, about))


def codebook_of(path: str | Path) -> Codebook | None:
    """What the file says of its columns and codes; None of files that have no codebook."""
    if not is_statistical(path):
        return None
    codes, about = _read(Path(path))
    variables = variables_of(codes, about)
    missing = _missing_codes(Path(path), codes, about)
    for name, held in missing.items():
        known = {_whole(code): "" for code in held.drop_nulls().unique().sort()}
        variables[name] = _with_missing(variables[name], known)
    return Codebook(variables, missing)


def _missing_codes(path: Path, codes: pl.DataFrame, about: Any) -> dict[str, pl.Series]:
    """The code or letter for missing of each record, of the columns that have any."""
    kind = STATISTICAL[path.suffix.lower()]
    declared = list(about.missing_ranges or {})
    lettered = [column.name for column in codes if column.dtype.is_numeric() and column.null_count()]
    names = declared if kind == "sav" else [] if kind == "xport" else lettered
    if not names:
        return {}
    raw = _package(kind)(path, usecols=names, user_missing=True, output_format="polars")[0]
    if kind == "sav":
        return {name: _held(raw[name], codes[name]) for name in names}
    return {name: _letters(raw[name]) for name in names if raw[name].dtype == pl.Object}


def _with_missing(variable: Any, known: dict[Code, str]) -> Any:
    from dataclasses import replace

    return replace(variable, missing={**known, **variable.missing})


def _held(raw: pl.Series, codes: pl.Series) -> pl.Series:
    """The code for missing of each record that has one."""
    known = raw.cast(pl.Float64).fill_nan(None) if raw.dtype.is_numeric() else raw.replace("", None)
    return known.set(codes.is_not_null(), None)


def _letters(raw: pl.Series) -> pl.Series:
    """The letter for missing of each record that has one, in Stata's lower case."""
    return pl.Series(raw.name, [cell.lower() if isinstance(cell, str) else None for cell in raw], dtype=pl.String)


def _whole(code: float | str) -> Code:
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _package(kind: str = "sav") -> Any:
    return getattr(extra_package("pyreadstat", "Reading Stata, SPSS and SAS files", "files"), f"read_{kind}")


def _read(path: Path) -> tuple[pl.DataFrame, Any]:
    """The codes, missing where the file declares it, and the metadata."""
    kind = STATISTICAL[path.suffix.lower()]
    frame, about = _package(kind)(path, output_format="polars")
    if kind != "xport":  # codes for missing are told to those alone who ask for them
        about = _package(kind)(path, metadataonly=True, user_missing=True)[1]
    floats = [column for column in frame if column.dtype.is_float()]
    whole = [c.name for c in floats if ((c == c.round()) & (c.abs() <= EXACT)).all()]
    return frame.with_columns(pl.col(whole).cast(pl.Int64), pl.col(pl.String).replace("", None)), about


def write_statistical(frame: pl.DataFrame, path: Path, book: Codebook | None = None) -> None:
    """A Stata, SPSS or SAS file, with the part of the codebook that its rows show; refused where it is cut short."""
    pyreadstat = extra_package("pyreadstat", "Writing Stata, SPSS and SAS files", "files")
    kind = STATISTICAL[path.suffix.lower()]
    options: dict[str, Any] = {"compress": True} if path.suffix.lower() == ".zsav" else {}
    if book is not None:
        shown = book if kind == "sav" else book.with_whole_codes()
        content = coded(frame, shown, letters=kind == "dta") if kind != "xport" else None
        options["column_labels"] = _labels(frame, book)
        if content is not None:
            frame, options["variable_value_labels"] = content.table, content.value_labels
        if content is not None and kind == "sav":
            options |= {"variable_measure": content.measures, "missing_ranges": content.missing}
        if content is not None and kind == "dta":
            options["missing_user_values"] = content.missing
    frame = long_integers_as_text(frame).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    getattr(pyreadstat, f"write_{kind}")(frame, path, **options)
    if read_statistical(path).height != frame.height:  # pyreadstat does not tell when the disk is full
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _labels(frame: pl.DataFrame, book: Codebook) -> list[str | None]:
    return [book.variables[name].label or None if name in book.variables else None for name in frame.columns]


def inspect_statistical(path: Path) -> None:
    """Refuses a Stata, SPSS or SAS file that holds notes, or labels of codes that no row shows."""
    kind = STATISTICAL[path.suffix.lower()]
    about = _package(kind)(path, metadataonly=True)[1]
    named = list(about.variable_value_labels or {})
    options = {} if kind == "xport" else {"user_missing": True}
    shown = _package(kind)(path, usecols=named, output_format="dict", **options)[0] if named else {}
    hidden_content.inspect_statistical(about, path, {name: set(cells) for name, cells in shown.items()})


def long_integers_as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with integers beyond 53 bits as text, for formats that keep every number as a float."""
    long = [c.name for c in frame if c.dtype.is_integer() and not c.is_between(-EXACT, EXACT).all()]
    return frame.with_columns(pl.col(long).cast(pl.String))
