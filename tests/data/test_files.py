"""The one door for tables: every format there and back, written whole or not at all."""

from __future__ import annotations

import datetime as dt
import errno
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.data import scratch, statistical_files
from shoal.data.files import read_table, same_file, write_table
from shoal.data.paths import atomic_write
from shoal.data.sheets import part_of
from shoal.errors import InputError, PromiseError

NASTY = pl.DataFrame(
    {
        "a b": [1, None, 2**63 - 1],
        'say "hi"': ["", "é\n,;\"'", None],
        "two\nlines": ["01234", "[24;28]", "=1+1"],
        "amount": [1.5, None, -3.25],
        "truth": [True, None, False],
        "day": [dt.date(2020, 1, 2), None, dt.date(1980, 1, 1)],
        "moment": [dt.datetime(2020, 1, 2, 3, 4, 5), None, dt.datetime(1999, 1, 1)],
    }
)
EMPTY_IS_MISSING = NASTY.with_columns(pl.col('say "hi"').replace("", None))


@pytest.mark.parametrize("suffix", [".parquet", ".pq", ".arrow", ".feather", ".ipc"])
def test_binary_formats_keep_everything(tmp_path: Path, suffix: str) -> None:
    write_table(NASTY, tmp_path / f"t{suffix}")
    assert_frame_equal(read_table(tmp_path / f"t{suffix}"), NASTY)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".csv.gz", ".CSV", ".tsv.gz"])
def test_text_formats_keep_everything_but_empty_strings(tmp_path: Path, suffix: str) -> None:
    write_table(NASTY, tmp_path / f"t{suffix}")
    assert_frame_equal(read_table(tmp_path / f"t{suffix}"), EMPTY_IS_MISSING)


def test_masked_ranges_need_no_quotes(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"age": ["[24;28]"], "zip": ["937**"]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "age,zip\n[24;28],937**\n"


def test_excel_keeps_everything_but_long_integers(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    write_table(NASTY, tmp_path / "t.xlsx")
    back = read_table(tmp_path / "t.xlsx")
    assert back["a b"].to_list() == ["1", None, str(2**63 - 1)]  # as text, for Excel would round it
    assert_frame_equal(back.drop("a b"), EMPTY_IS_MISSING.drop("a b"), check_dtypes=False)


def test_sheets_are_read_by_name(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name, rows in {"2023": [["a"], [1]], "Über & 2024": [["a", "b", "a"], [2, 3, 4]], "none": []}.items():
            page = book.add_worksheet(name)
            for i, row in enumerate(rows):
                page.write_row(i, 0, row)
    with pytest.raises(InputError, match=r"2 sheets, '2023', 'Über & 2024': say which .* --read sheet=2023"):
        read_table(path)
    assert read_table(path, sheet="2023").rows() == [(1,)]
    with pytest.raises(InputError, match=r"'a' occurs more than once, as columns 1 and 3; .*--read names=numbered"):
        read_table(path, sheet="Über & 2024")
    assert read_table(path, sheet="Über & 2024", names="numbered").columns == ["a", "b", "a_2"]
    with pytest.raises(InputError, match=r"no sheet '2032'. Did you mean '2023'"):
        read_table(path, sheet="2032")
    with pytest.raises(InputError, match="no records"):
        read_table(path, sheet="none")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="Sheets are of workbooks"):
        read_table(tmp_path / "t.csv", sheet="2023")
    with pytest.raises(InputError, match="Sheets are of workbooks"):
        read_table(f"sqlite:///{tmp_path}/t.db#t", sheet="2023")


def test_empty_sheets_leave_no_doubt(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        book.add_worksheet("Sheet1")
        book.add_worksheet("Sheet2").write_column(0, 0, ["a", 1])
    assert read_table(tmp_path / "t.xlsx").rows() == [(1,)]


def test_merged_cells_are_refused_by_their_place(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        book.add_worksheet("notes").merge_range("A1:B1", "to whom it may concern")
        page = book.add_worksheet("people")
        page.write_row(0, 0, ["id"])
        page.merge_range("B1:D1", "blood pressure")
        page.write_row(1, 0, [1, 2, 3, 4])
    with pytest.raises(InputError, match=r"the sheet 'people' of .* the cells B1:D1 are merged"):
        read_table(tmp_path / "t.xlsx", sheet="people")


def test_a_workbook_that_declares_entities_is_refused(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        book.add_worksheet().write_column(0, 0, ["a", 1])
    with zipfile.ZipFile(tmp_path / "t.xlsx") as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace(
        b"<workbook", b'<!DOCTYPE a [<!ENTITY b "c">]><workbook', 1
    )
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as whole:
        for name, content in parts.items():
            whole.writestr(name, content)
    with pytest.raises(InputError, match="declares entities"):
        part_of(tmp_path / "t.xlsx", "Sheet1")


def test_excel_faults(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")

    def sheet(*rows: list[object]) -> Path:
        with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
            page = book.add_worksheet()
            for i, row in enumerate(rows):
                page.write_row(i, 0, row)
        return tmp_path / "t.xlsx"

    with pytest.raises(InputError, match="'a' occurs more than once"):
        read_table(sheet(["a", "b", "a"], [1, 2, 3]))
    with pytest.raises(InputError, match="column 2 has no name"):
        read_table(sheet(["a", "", "c"], [1, 2, 3]))
    with pytest.raises(InputError, match="no records"):
        read_table(sheet(["a", "b"]))
    with pytest.raises(InputError):
        read_table(sheet())


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".xpt"])
def test_statistical_formats(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("pyreadstat")
    frame = EMPTY_IS_MISSING.rename({"a b": "id", 'say "hi"': "said", "two\nlines": "code"})
    write_table(frame, tmp_path / f"t{suffix}")
    back = read_table(tmp_path / f"t{suffix}")
    assert back["id"].to_list() == ["1", None, str(2**63 - 1)]  # as text, for a float would round it
    assert back["truth"].cast(pl.Boolean).to_list() == [True, None, False]
    rest = frame.drop("id", "truth")
    assert_frame_equal(back.drop("id", "truth"), rest)


def test_statistical_format_tells_what_it_cannot_name(tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    with pytest.raises(InputError, match="a b"):
        write_table(NASTY, tmp_path / "t.dta")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".xlsx", ".sav", ".dta", ".xpt", ".sas7bdat"])
def test_damaged_files_give_one_sentence(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"t{suffix}").write_bytes(b"this is no such file " * 100)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / f"t{suffix}")
    assert "\n" not in str(caught.value)


def test_tables_of_all_formats_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": [1.0, float("nan"), None]}).write_parquet(path)
    assert read_table(path)["x"].to_list() == [1.0, None, None]
    pl.DataFrame({"x": [1.0, float("-inf")]}).write_parquet(path)
    with pytest.raises(InputError, match=r"'x' holds an infinite number \(record 2\)"):
        read_table(path)
    pl.DataFrame({"x": pl.Series([], dtype=pl.Int64)}).write_parquet(path)
    with pytest.raises(InputError, match="no records"):
        read_table(path)
    pl.DataFrame({"zip": [90210]}).write_parquet(path)
    assert read_table(path, text=["zip"])["zip"].to_list() == ["90210"]
    with pytest.raises(InputError, match=r"no column .zap.*Did you mean 'zip'"):
        read_table(path, text=["zap"])


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.xlsx").touch()
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    expected = r"Reading Excel files needs an extra package: pip install 'shoal\[files\]'"
    with pytest.raises(InputError, match=expected):
        read_table(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(InputError, match=r"shoal\[files\]"):
        write_table(NASTY, tmp_path / "t.sav")


def test_unknown_formats_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.pdf").touch()
    with pytest.raises(InputError, match=r"\.csv.*\.parquet"):
        read_table(tmp_path / "t.pdf")
    with pytest.raises(InputError, match="not written"):
        write_table(NASTY, tmp_path / "t.xls")


# Whole or not at all


def test_a_write_leaves_the_file_and_nothing_else(tmp_path: Path) -> None:
    write_table(NASTY, tmp_path / "t.csv")
    write_table(NASTY.head(1), tmp_path / "t.csv", overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
    assert read_table(tmp_path / "t.csv").height == 1
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "t.csv").stat().st_mode & 0o777 == 0o666 & ~umask


def test_existing_files_are_kept_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        write_table(NASTY, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "mine"
    write_table(NASTY, tmp_path / "t.csv", overwrite=True)
    assert read_table(tmp_path / "t.csv").height == NASTY.height


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".csv.gz", ".arrow"])
def test_what_was_written_is_checked_before_it_counts(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"t{suffix}"
    seen: list[pl.DataFrame] = []

    def check(path: Path) -> None:
        assert not target.exists()
        assert path.suffix == target.suffix
        seen.append(read_table(path))

    write_table(NASTY, target, before_commit=check)
    assert_frame_equal(seen[0], read_table(target))


@pytest.mark.parametrize("error", [PromiseError("no"), KeyboardInterrupt(), RuntimeError("bug")])
def test_a_failed_check_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    def check(path: Path) -> None:
        raise error

    with pytest.raises(type(error)):
        write_table(NASTY, tmp_path / "new.csv", before_commit=check)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.csv").write_text("old")
    with pytest.raises(type(error)):
        write_table(NASTY, tmp_path / "old.csv", overwrite=True, before_commit=check)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_nested_columns_give_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nested"):
        write_table(pl.DataFrame({"a": [[1, 2]]}), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_no_space_left_while_polars_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    """The partial file is a link to a device that is always full, so that the write itself fails."""
    mkdtemp = scratch.tempfile.mkdtemp

    def with_full_disk(**options: object) -> str:
        folder = mkdtemp(**options)
        os.symlink("/dev/full", Path(folder) / f"t{suffix}")
        return folder

    monkeypatch.setattr(scratch.tempfile, "mkdtemp", with_full_disk)
    with pytest.raises(InputError, match="no space is left on the device"):
        write_table(pl.DataFrame({"a": range(200_000)}), tmp_path / f"t{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_no_space_left_when_the_disk_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="no space is left on the device"):
        write_table(NASTY, tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_statistical_format_that_was_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyreadstat")
    monkeypatch.setattr(statistical_files, "read_statistical", lambda path: pl.DataFrame())
    with pytest.raises(InputError, match="no space is left"):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / "t.sav")
    assert list(tmp_path.iterdir()) == []


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        write_table(NASTY, tmp_path / "nowhere" / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_table(NASTY, tmp_path / "folder.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="not a plain file"):
        write_table(NASTY, tmp_path / "pipe.csv")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="not a directory"):
        write_table(NASTY, tmp_path / "file" / "t.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="permission denied"):
            write_table(NASTY, tmp_path / "t.csv")
    finally:
        tmp_path.chmod(0o700)


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "t.csv")
    write_table(NASTY, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real" / "t.csv").is_file()


def test_atomic_write_of_any_file(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "report.html", private=True) as path:
        path.write_text("whole")
        assert path.stat().st_dev == tmp_path.stat().st_dev
        hidden = [p.name for p in tmp_path.iterdir()]
        assert all(name.startswith(".") and name.endswith(".partial") for name in hidden)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "whole"


@pytest.mark.parametrize("moment", ["during the write", "during the check"])
def test_a_killed_process_leaves_no_target(tmp_path: Path, moment: str) -> None:
    script = """
import sys, time
from pathlib import Path
import polars as pl
from shoal.data.files import write_table
from shoal.data.paths import atomic_write

target, ready, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def wait(path):
    ready.touch()
    time.sleep(60)

if moment == "during the check":
    write_table(pl.DataFrame({"a": range(1000)}), target, before_commit=wait)
else:
    with atomic_write(target, private=False) as path, path.open("w") as stream:
        stream.write("half of it")
        stream.flush()
        wait(path)
"""
    folder = tmp_path / "out"
    folder.mkdir()
    ready = tmp_path / "ready"
    process = subprocess.Popen([sys.executable, "-c", script, str(folder / "t.csv"), str(ready), moment])
    try:
        deadline = time.monotonic() + 60
        while not ready.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert ready.exists()
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    left = list(folder.iterdir())
    assert not (folder / "t.csv").exists()
    assert all(p.name.startswith(".shoal-") and p.name.endswith(".partial") for p in left)
    write_table(NASTY, folder / "t.csv")
    assert list(folder.iterdir()) == [folder / "t.csv"]  # whoever writes there next clears up
    assert read_table(folder / "t.csv").height == 3


def test_same_file_sees_through_links(tmp_path: Path) -> None:
    original = tmp_path / "a.csv"
    original.write_text("a\n1\n")
    (tmp_path / "soft.csv").symlink_to(original)
    os.link(original, tmp_path / "hard.csv")
    (tmp_path / "other.csv").write_text("a\n1\n")
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "new.csv")
    assert same_file(original, tmp_path / "soft.csv")
    assert same_file(original, tmp_path / "hard.csv")
    assert same_file(original, f"{tmp_path}/../{tmp_path.name}/a.csv")
    assert not same_file(original, tmp_path / "other.csv")
    assert not same_file(original, tmp_path / "new.csv")
    assert same_file(tmp_path / "new.csv", tmp_path / "dangling.csv")
    assert same_file(original, f"sqlite:///{original}#a")  # its database
    assert not same_file(original, f"sqlite:///{tmp_path}/other.csv#a")
    assert not same_file(original, "postgresql://localhost/db#a")


def test_a_text_too_long_for_a_cell_of_excel_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "r.xlsx"
    write_table(pl.DataFrame({"note": ["x" * 32_767, "\U0001f40b" * 16_383]}), target)
    assert read_table(target)["note"].str.len_chars().to_list() == [32_767, 16_383]
    for long in ("x" * 32_768, "\U0001f40b" * 16_384):
        with pytest.raises(
            InputError, match=r"'note' has a text of .* characters in row 3: a cell of Excel holds 32,767"
        ):
            write_table(pl.DataFrame({"note": ["x", long]}), target, overwrite=True)


def test_texts_stay_texts_in_excel_whatever_they_look_like(tmp_path: Path) -> None:
    frame = pl.DataFrame({"=1+1": ["=1+1", "{=1}", "https://example.org/a", "mailto:a@b", "@x", "+5", "-5", "'x"]})
    write_table(frame, tmp_path / "r.xlsx")
    assert_frame_equal(read_table(tmp_path / "r.xlsx"), frame)
    with zipfile.ZipFile(tmp_path / "r.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in sheet
    assert b"hyperlink" not in sheet


def test_a_damaged_file_that_makes_polars_panic_is_told(tmp_path: Path) -> None:
    path = tmp_path / "d.arrow"
    pl.DataFrame({"a": ["x" * 20, "y" * 20] * 30, "b": range(60)}).write_ipc(path)
    whole = path.read_bytes()
    told = 0
    for place in range(0, len(whole) - 8, 24):
        path.write_bytes(whole[:place] + b"\xff" * 4 + whole[place + 4 :])
        try:
            read_table(path)
        except InputError as error:
            told += "cannot be read" in str(error)
    assert told


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is not a plain file: write what it gives to one first"):
        read_table(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="cannot be written: it is not a plain file"):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / "pipe.csv")


def test_a_name_that_no_file_can_have_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_table(tmp_path / f"{'x' * 300}.csv")
    with pytest.raises(InputError, match="cannot be written: file name too long"):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / f"{'x' * 300}.csv")
