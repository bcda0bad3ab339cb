"""Workbooks in: which sheet is meant, and whether its first row is one of names.

A workbook of several sheets that hold anything is refused unless one is named. Cells that are merged belong to several
columns or records at once, which a reader takes for one value and several missing ones: they are refused by place.
Cells know their types, which are believed where all of a column are of one type; what a column holds otherwise is
settled by `shoal.data.cell_types`.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from shoal.data.cell_types import Page, first_row
from shoal.data.forms import Forms
from shoal.data.frames import check_names, numbered
from shoal.data.headings import HEAD, refuse_record
from shoal.data.paths import is_sql
from shoal.data.reading import AS_IT_SEEMS, NUMBER_THEM, Reading
from shoal.errors import InputError, did_you_mean, extra_package

_MERGED = re.compile(rb'<(?:\w+:)?mergeCell [^>]*?ref="([A-Z0-9:]+)"')


def read_excel(
    path: Path,
    reading: Reading = AS_IT_SEEMS,
    *,
    forms: Forms | None = None,
    text: Collection[str] = (),
    needed: Collection[str] | None = None,
) -> pl.DataFrame:
    """The sheet of a workbook that is named, or the only one that holds anything.

    Columns in `text` may mix types of cells, and so may those that are not `needed`: there they are text.
    """
    workbook = extra_package("fastexcel", "Reading Excel files", "files").read_excel(path)
    sheet = chosen_sheet(workbook, path, reading)
    part = part_of(path, sheet)
    refuse_merged(path, sheet, part)
    head = workbook.load_sheet(sheet, header_row=None, n_rows=HEAD, dtypes="string")
    names, *below = [[cell or "" for cell in row] for row in head.to_polars().rows()] or [[]]
    if reading.names is None:
        refuse_record(names, below, str(path))
    names = numbered(names) if reading.names == "numbered" else names
    check_names(names, str(path), NUMBER_THEM)  # Polars would rename
    if not names:
        return pl.DataFrame()
    stays = {*text, *(name for name in names if needed is not None and name not in needed)}
    left = head.available_columns()[0].absolute_index
    top = None if part is None else first_row(part)
    return Page(workbook, sheet, tuple(names), path, forms or Forms(reading), left, top).read(stays)


def chosen_sheet(workbook: Any, path: Path, reading: Reading = AS_IT_SEEMS) -> str:
    """The name of the sheet to read; refused with the list of them where that is not clear."""
    sheets: list[str] = workbook.sheet_names
    listed = ", ".join(map(repr, sheets))
    if reading.sheet is not None:
        if reading.sheet not in sheets:
            hint = did_you_mean(reading.sheet, sheets) or f" It has {listed}."
            raise InputError(f"{path} has no sheet {reading.sheet!r}.{hint}")
        return reading.sheet
    filled = [name for name in sheets if workbook.load_sheet(name, header_row=None, n_rows=1, dtypes="string").height]
    if len(filled) > 1:
        raise InputError(
            f"{path} has {len(filled)} sheets, {', '.join(map(repr, filled))}: say which is the table, for example "
            f"--read sheet={filled[0]}."
        )
    return (filled or sheets)[0]


def refuse_merged(path: Path, sheet: str, part: bytes | None) -> None:
    """Refuses merged cells by their place, which the `part` of the workbook that is the sheet names."""
    merged = None if part is None else _MERGED.search(part)
    if merged is not None:
        raise InputError(
            f"In the sheet {sheet!r} of {path} the cells {merged[1].decode()} are merged, so that it is not clear "
            "which column or record they belong to: split them, and give one row of names, a name in each cell."
        )


def has_sheet(source: str | Path, sheet: str) -> bool:
    """Whether the source is a workbook with a sheet of this name."""
    path = Path(source)
    if is_sql(source) or path.suffix.lower() not in (".xlsx", ".xls", ".ods") or not path.is_file():
        return False
    return sheet in extra_package("fastexcel", "Reading Excel files", "files").read_excel(path).sheet_names


def part_of(path: Path, sheet: str) -> bytes | None:
    """The file within the workbook that holds the sheet; of the older formats it is not looked at."""
    if path.suffix.lower() != ".xlsx":
        return None
    with zipfile.ZipFile(path) as book:
        name = _name_of(book, sheet)
        return None if name is None else book.read(name)


def _name_of(book: zipfile.ZipFile, sheet: str) -> str | None:
    """The file within the workbook that holds the sheet."""
    linked = {each.get("Id"): each.get("Target", "") for each in _parsed(book, "xl/_rels/workbook.xml.rels")}
    for each in _parsed(book, "xl/workbook.xml").iter():
        if each.tag.endswith("}sheet") and each.get("name") == sheet:
            target = next((linked.get(value) for key, value in each.attrib.items() if key.endswith("}id")), None)
            if target is not None:
                return target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return None


def _parsed(book: zipfile.ZipFile, part: str) -> ElementTree.Element:
    content = book.read(part)
    if b"<!" in content:
        raise InputError(f"The part {part!r} of {book.filename} declares entities, as no workbook needs: save it anew.")
    return ElementTree.fromstring(content)  # noqa: S314 (a document with declarations was refused above)
