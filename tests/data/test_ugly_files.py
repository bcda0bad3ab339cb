"""Files as they come: each is read right (names, kinds, values, missing) or refused with the place."""

from __future__ import annotations

import codecs
import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from shoal.data.files import read_table
from shoal.data.forms import Forms
from shoal.engines.opening import open_table
from shoal.errors import InputError
from shoal.jobs import Anonymize, Check
from shoal.policy import Policy
from shoal.privacy import KAnonymity

TEXT = "Name;Größe;Alter\nMüller;1,75;34\nJäger;1,8;\nWeiß;1,62;27\n"
ROWS = [("Müller", 1.75, 34), ("Jäger", 1.8, None), ("Weiß", 1.62, 27)]
JAPANESE = "氏名;年齢\n山田太郎;34\n鈴木花子;27\n"

READ: dict[str, tuple[bytes, list[tuple[object, ...]]]] = {
    "UTF-8": (TEXT.encode(), ROWS),
    "UTF-8 with a mark": (TEXT.encode("utf-8-sig"), ROWS),
    "UTF-16, little end first": (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), ROWS),
    "UTF-16, big end first": (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), ROWS),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), ROWS),
    "Windows-1252": (TEXT.encode("cp1252"), ROWS),
    "Mac Roman with old line ends": (TEXT.replace("\n", "\r").encode("mac-roman"), ROWS),
    "Shift-JIS": (JAPANESE.encode("shift_jis"), [("山田太郎", 34), ("鈴木花子", 27)]),
    "line ends of Windows": (TEXT.replace("\n", "\r\n").encode("cp1252"), ROWS),
    "tabs": (TEXT.replace(";", "\t").encode("cp1252"), ROWS),
    "bars": (TEXT.replace(";", "|").encode(), ROWS),
    "blank lines at the end": (TEXT.encode() + b"\n\n\r\n", ROWS),
    "no line end at the end": (TEXT.encode().rstrip(), ROWS),
    "blanks behind delimiters": (TEXT.replace(";", "; ").encode("cp1252"), ROWS),
    "quotes around everything": (
        "\n".join(";".join(f'"{field}"' for field in line.split(";")) for line in TEXT.splitlines()).encode(), ROWS,
    ),
    "a quoted line break": (b'a;b\n1;"x\ny"\n2;z\n', [(1, "x\ny"), (2, "z")]),
    "codes with zeros in front": (b"plz;n\n01067;1\n80331;2\n", [("01067", 1), ("80331", 2)]),
}  # fmt: skip

REFUSED: dict[str, tuple[bytes, str]] = {
    "a ragged row": (b"a;b\n1;x\n2\n", "Line 3 .* has 1 fields instead of 2"),
    "a row that is too long": (b"a;b\n1;x\n2;y;z\n", "Line 3 .* has 3 fields instead of 2"),
    "a trailing delimiter": (b"a;b;\n1;x;\n2;y;\n", "column 3 has no name"),
    "a first line of Excel's": (b"sep=;\na;b\n1;x\n2;y\n", "column 2 has no name"),
    "a dash for missing": (b"a;b\n1;12,5\n2;-\n3;8,0\n", "Column 'b' mixes numbers and text: line 3 holds '-'"),
    "doubled names": (b"a;b;a\n1;2;3\n", "'a' occurs more than once, as columns 1 and 3"),
    "a quote that is never closed": (b'a;b\n1;x\n2;"y\n', "Line 3 .* broken quoting"),
    "bytes of no encoding": (b"a;b\n1;x\n2;\x81\x8d\x90\n", "line 3 holds the byte 0x81"),
}


@pytest.mark.parametrize("ugly", READ)
def test_an_ugly_file_is_read_right(ugly: str, tmp_path: Path) -> None:
    content, rows = READ[ugly]
    (tmp_path / "d.csv").write_bytes(content)
    assert read_table(tmp_path / "d.csv").rows() == rows


@pytest.mark.parametrize("ugly", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(ugly: str, tmp_path: Path) -> None:
    content, message = REFUSED[ugly]
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "d.csv")


@pytest.mark.parametrize("name", ["d.xlsx", "d.sav", "d.dta"])
def test_other_formats_hold_the_same(name: str, tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("pyreadstat")
    path = tmp_path / name
    if name == "d.xlsx":
        with xlsxwriter.Workbook(path) as book:
            page = book.add_worksheet("Übersicht")
            for at, row in enumerate([("name", "height", "age"), *ROWS]):
                page.write_row(at, 0, row)
    else:
        from shoal.data.files import write_table

        write_table(pl.DataFrame(ROWS, schema=["name", "height", "age"], orient="row"), path)
    assert [tuple(row) for row in read_table(path).rows()] == ROWS


# ---- workbooks whose columns mix types of cells

AMONG_NUMBERS = {
    "a dash": ("-", "cell C5 holds '-'"),
    "a word that text files take for missing": ("n/a", "cell C5 holds 'n/a'"),
    "a number as text": ("1.234", "cell C5 holds '1.234'"),
    "an error": ("=1/0", "cell C5 holds '#DIV/0!'"),
}


def _workbook(path: Path, column: list[object], name: str = "x") -> Path:
    """Columns of text, and one more, from cell B3 on."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(path) as book:
        page, day = book.add_worksheet(), book.add_format({"num_format": "dd.mm.yyyy"})
        page.write_column("B3", ["zip", *(f"0{number}000" for number in range(len(column)))])
        page.write("C3", name)
        for row, cell in enumerate(column, 3):
            if isinstance(cell, dt.date):
                page.write_datetime(row, 2, cell, day)
            elif cell == "=1/0":
                page.write_formula(row, 2, cell, None, "#DIV/0!")
            else:
                page.write(row, 2, cell)
    return path


@pytest.mark.parametrize("ugly", AMONG_NUMBERS)
def test_a_cell_that_is_no_number_among_numbers_of_a_workbook_is_named_or_stated(ugly: str, tmp_path: Path) -> None:
    cell, message = AMONG_NUMBERS[ugly]
    path = _workbook(tmp_path / "d.xlsx", [1, cell, 3, 0.123456789012])
    with pytest.raises(InputError, match=f"^Column 'x' mixes numbers and text: {message}. Correct it, .*--read "):
        read_table(path)
    word = "#DIV/0!" if cell == "=1/0" else cell
    assert read_table(path, missing={"x": [word]})["x"].to_list() == [1, None, 3, 0.123456789012]
    assert read_table(path, text=["x"])["x"].to_list() == ["1", word, "3", "0.123456789012"]
    seen = Forms(lenient=True)
    assert read_table(path, forms=seen)["x"].to_list() == [1, None, 3, 0.123456789012]
    assert seen.notes[0].startswith(f"Column 'x' mixes numbers and text: {message}. It is looked at as missing here.")


def test_codes_in_a_workbook_stay_text_beside_numbers_where_their_name_says_codes(tmp_path: Path) -> None:
    path = _workbook(tmp_path / "d.xlsx", [90210, "3625 KM", "NA", 10115, 10117], "postcode")
    assert read_table(path)["postcode"].to_list() == ["90210", "3625 KM", None, "10115", "10117"]
    with pytest.raises(InputError, match="mixes numbers and text"):
        read_table(_workbook(tmp_path / "e.xlsx", [90210, "=1/0", 10115], "postcode"))


def test_a_day_that_a_workbook_holds_as_text_is_named_and_words_of_every_file_are_missing(tmp_path: Path) -> None:
    days: list[object] = [dt.date(2020, 2, 3), dt.date(2020, 4, 3), "NA", dt.date(2020, 5, 3)]
    assert read_table(_workbook(tmp_path / "d.xlsx", days))["x"].to_list() == [*days[:2], None, days[3]]
    path = _workbook(tmp_path / "e.xlsx", [*days, "13/04/2021"])  # what a program with months first left as it was
    with pytest.raises(InputError, match="Column 'x' mixes dates and text: cell C8 holds '13/04/2021'"):
        read_table(path)


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        (["V31", 250, "E81", 401], ["V31", "250", "E81", "401"]),
        (["DE", "NA", "=1/0"], ["DE", "NA", "#DIV/0!"]),
        (["[20;30]", 25, 26, 27], ["[20;30]", "25", "26", "27"]),
    ],
)
def test_numbers_among_texts_of_a_workbook_are_text(cells: list[object], texts: list[str], tmp_path: Path) -> None:
    assert read_table(_workbook(tmp_path / "d.xlsx", cells))["x"].to_list() == texts


HEADLESS = {
    "a person": "Anna Vogel,1950-03-02,F,92103\n" + "Jo Xu,1961-01-09,F,92104\nEd Ek,1970-11-30,M,92103\n" * 5,
    "numbers": "1,2.5,3\n4,5,6\n",
    "categories": "f,north,single\nm,south,single\nf,north,widowed\nm,north,single\nf,south,single\n",
}


@pytest.mark.parametrize("case", HEADLESS)
def test_a_record_does_not_become_the_names_of_columns(case: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HEADLESS[case])
    with pytest.raises(InputError, match=r"first line of .* looks like a record.*--read names=first-line"):
        read_table(path)
    with pytest.raises(InputError, match="looks like a record"), open_table(path, "disk"):
        pass
    assert read_table(path, names="first-line").columns == HEADLESS[case].splitlines()[0].split(",")
    rows = [line.split(",") for line in HEADLESS[case].splitlines()]
    pl.DataFrame(rows, orient="row").write_excel(tmp_path / "t.xlsx", include_header=False)
    with pytest.raises(InputError, match="looks like a record"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    "text",
    ["country,2019,2020\nChad,1,2\n", "x\nx\ny\n", "a,b\na,\n", "id,1/22/20\n1,7\n", "sex,n\nf,1\n"],
)
def test_names_that_say_something_are_names_though_some_are_numbers(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert read_table(tmp_path / "t.csv").height


def test_names_that_are_numbers_are_released_and_checked_where_that_is_stated(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("2019,2020\n" + "".join(f"{i % 4},{i % 3}\n" for i in range(24)))
    policy = Policy(quasi_identifiers=["2019", "2020"], models=[KAnonymity(2)], read={"names": "first-line"})
    for engine, target in {"memory": tmp_path / "r.csv", "disk": tmp_path / "r"}.items():
        Anonymize(path, policy, target, engine=engine).run()
        assert Check(target, policy, engine=engine).run().holds
