"""The independent look at a workbook: what its XML may hold, part by part, and nothing else.

A workbook of one sheet with one table needs few elements. Those are listed here; whatever else stands in a part is
refused by its name: further sheets, comments, formulas, links, headers, names of cells, notes of who made it. Within
a column the cells have one format, and the rows one look, for by these a reader could tell records apart.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from shoal.data.hidden_content import cut_short, refuse
from shoal.errors import PromiseError

SHEET, BOOK, TEXTS = "xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/sharedStrings.xml"
CORE, APP = "docProps/core.xml", "docProps/app.xml"
MEMBERS = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(app|core)\.xml|xl/(workbook|styles|sharedStrings|theme/theme1"
    r"|worksheets/sheet1|tables/table1)\.xml|xl/(worksheets/)?_rels/(workbook|sheet1)\.xml\.rels"
)
KNOWN_PARTS = {"worksheets/sheet": "a further sheet", "comments": "comments", "Comments": "comments"}

# Part -> the elements that a table needs. What is not listed is refused.
ELEMENTS = {
    BOOK: "workbook fileVersion workbookPr bookViews workbookView sheets sheet calcPr workbookProtection",
    SHEET: "worksheet sheetPr outlinePr pageSetUpPr dimension sheetViews sheetView pane selection sheetFormatPr cols "
    "col sheetData row c v is t pageMargins pageSetup printOptions tableParts tablePart phoneticPr ignoredErrors "
    "ignoredError",
    TEXTS: "sst si t phoneticPr",
    CORE: "coreProperties created modified creator lastModifiedBy title subject description keywords category",
    APP: "Properties Application DocSecurity ScaleCrop HeadingPairs TitlesOfParts vector variant lpstr i4 Company "
    "Manager LinksUpToDate SharedDoc HyperlinksChanged AppVersion TotalTime Template",
    "xl/tables/table1.xml": "table autoFilter tableColumns tableColumn tableStyleInfo",
}
_WORDS = {"f": "formulas", "definedName": "names of cells", "hyperlinks": "links", "headerFooter": "a header or footer"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?")
_APPLICATION = re.compile(
    r"(Microsoft|LibreOffice|openpyxl)[\w ./$-]{0,100}|true|false|[\d.]{1,12}|Worksheets|Normal.dotm"
)


def inspect_excel(path: Path) -> None:
    """A workbook: its parts, who made it, its cells and the list of its texts."""
    with zipfile.ZipFile(path) as book:
        names = book.namelist()
        if extra := [name for name in names if not MEMBERS.fullmatch(name)]:
            part = max(extra, key=lambda name: bool(_what(name)))
            raise refuse(f"a part {part!r}{_what(part)}", path)
        if book.comment or len(names) != len(set(names)) or any(info.comment for info in book.infolist()):
            raise refuse("comments or doubled parts of its archive", path)
        parts = {name: _parsed(book.read(name), name, path) for name in names}
    _refuse_errors(parts[SHEET], path)
    for name, allowed in ELEMENTS.items():
        if name in parts:
            _check_elements(parts[name], allowed.split(), path)
    sheets = [sheet.get("name", "") for sheet in _all(parts[BOOK], "sheet")]
    if len(sheets) != 1:
        raise refuse("a further sheet", path)
    _check_properties(parts.get(CORE), parts.get(APP), sheets[0], path)
    _check_texts(parts.get(TEXTS), _check_cells(parts[SHEET], path), path)


def _what(part: str) -> str:
    return next((f" ({word})" for known, word in KNOWN_PARTS.items() if known in part), "")


def _parsed(content: bytes, name: str, path: Path) -> Element:
    if b"<!" in content or content.count(b"<?") > content.startswith((b"<?xml", b"\xef\xbb\xbf<?xml")):
        raise refuse(f"comments in the text of its part {name!r}", path)
    return ElementTree.fromstring(content)  # noqa: S314 (a document with declarations was refused above)


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _all(part: Element, name: str) -> Iterator[Element]:
    return (element for element in part.iter() if _local(element) == name)


def _check_elements(part: Element, allowed: list[str], path: Path) -> None:
    """Listed ones only, with text in those that have no others in them."""
    for element in part.iter():
        name = _local(element)
        if name not in allowed:
            raise refuse(_WORDS.get(name, f"an element {name!r}"), path)
        if (len(element) and (element.text or "").strip()) or (element.tail or "").strip():
            raise refuse("text between its elements", path)


def _check_properties(core: Element | None, app: Element | None, sheet: str, path: Path) -> None:
    """Times of writing are told of no record; names of people and titles are of somebody."""
    for element in core.iter() if core is not None else ():
        text = (element.text or "").strip()
        if text and not (_local(element) in ("created", "modified") and _TIME.fullmatch(text)):
            raise refuse(f"the name of somebody, or a title ({_local(element)}: {cut_short(text)})", path)
    for element in app.iter() if app is not None else ():
        text = (element.text or "").strip()
        if text and text != sheet and not _APPLICATION.fullmatch(text):
            raise refuse(f"the name of somebody, or a title ({_local(element)}: {cut_short(text)})", path)


def _refuse_errors(sheet: Element, path: Path) -> None:
    for cell in _all(sheet, "c"):
        if cell.get("t") == "e":
            raise PromiseError(
                f"The cell {cell.get('r')} of {path.name} holds an error ({cut_short(cell.findtext('{*}v') or '')}), "
                "which readers take for an empty cell or for something else: put values or nothing there."
            )


def _check_cells(sheet: Element, path: Path) -> set[int]:
    """Values of one format a column; gives which of the texts they show."""
    used: set[int] = set()
    looks: dict[str, str | None] = {}
    rows = list(_all(sheet, "row"))
    if len({_look(row) for row in rows[1:]}) > 1:
        raise refuse("rows of several looks, by which a reader could tell records apart and", path)
    for number, row in enumerate(rows):
        for cell in row:
            kind, held = cell.get("t", "n"), [_local(child) for child in cell]
            column = re.sub(r"\d", "", cell.get("r", ""))
            if held not in ([], ["is"] if kind == "inlineStr" else ["v"]):
                raise refuse("cells of several values", path)
            if kind == "s" and held:
                used.add(int(cell[0].text or 0))
            if number and held and looks.setdefault(column, cell.get("s")) != cell.get("s"):
                raise refuse(
                    f"cells of several formats in column {column}, by which a reader could tell records apart and", path
                )
    return used


def _look(row: Element) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in row.attrib.items() if name not in ("r", "spans")))


def _check_texts(texts: Element | None, used: set[int], path: Path) -> None:
    count = sum(1 for _ in _all(texts, "si")) if texts is not None else 0
    if used != set(range(count)):
        raise refuse("texts", path)
