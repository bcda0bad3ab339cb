"""Files read bit by bit hold whole records: what a parser would fill up or count as a person is refused by its line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shoal.data import csv_records
from shoal.data.csv_files import as_written
from shoal.data.csv_records import WholeFile, scan_text, whole_file
from shoal.data.reading import Reading
from shoal.errors import InputError

EXAMPLES = settings().max_examples  # a file takes a millisecond: many of them
PIECES = ["a", "1", " ", "é", "x^", ",", ",", "\n", "\n", "\r\n", "\r", '"', '""', '"a"', '"\n"', '",\r\n"']
WHOLE = ["1,2\n", "1,\n", ",\n", '"",""\r\n', "3,4\r\n", '"x\ny",5\n', 'z,"a""b"\n', '"p,q","\r\n"\n']
BROKEN = ["\n", "\r\n", "1\n", "1,2,3\n", 'x"y,2\n', '"1,2\n', "1\r,2\n", " \n"]
LINES = st.lists(st.sampled_from(WHOLE), max_size=8)
TEXTS = st.builds(
    lambda *parts: "".join(parts),
    st.sampled_from(["a", "a,b", "a,b", "a,b,c", '"a,"', '"a""b",c', "x^2,b", "\ufeffa,b", '"a\n",b']),
    st.sampled_from(["\n", "\r\n"]),
    LINES.map("".join),
    st.one_of(st.just(""), st.sampled_from(BROKEN), st.lists(st.sampled_from(PIECES)).map("".join)),
    LINES.map("".join),
    st.sampled_from(["", "", "\n", "\r\n\n", "7,8", '7,"8"', "7,"]),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


def put(place: Path, text: str) -> Path:
    path = place / "t.csv"
    path.write_bytes(text.encode())
    return path


def found_in(path: Path) -> tuple[WholeFile, pl.DataFrame] | None:
    """What is read bit by bit; None where it is refused."""
    try:
        file = whole_file(path)
    except InputError:
        return None
    copies = path.with_name("copies")
    copies.mkdir(exist_ok=True)
    return file, scan_text([file], lambda: copies).collect()


@settings(max_examples=16 * EXAMPLES)
@given(text=TEXTS)
def test_a_file_is_refused_or_read_as_it_is_into_memory(place: Path, text: str) -> None:
    path = put(place, text)
    found = found_in(path)
    if found is None:
        return
    file, frame = found
    assert file.records == frame.height
    assert_frame_equal(frame, as_written(path, file.names, Reading(delimiter=",")))


@settings(max_examples=6 * EXAMPLES)
@given(
    rows=st.lists(st.lists(st.text('ab1 ,"\n\r;é', max_size=3), min_size=2, max_size=2), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    blank=st.integers(0, 2),
)
def test_whole_records_are_read_as_they_were_written(place: Path, rows: list[list[str]], end: str, blank: int) -> None:
    target = io.StringIO()
    csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator=end).writerows([["a", "b"], *rows])
    found = found_in(put(place, target.getvalue() + end * blank))
    assert found is not None
    assert found[1].rows() == [tuple(row) for row in rows]
    assert found[0].blank_end is (blank > 0)
    assert not found[0].mixed_ends


@settings(max_examples=6 * EXAMPLES)
@given(text=TEXTS, block=st.integers(1, 9))
def test_where_blocks_end_makes_no_difference(place: Path, text: str, block: int) -> None:
    path = put(place, text)

    def outcome() -> WholeFile | str:
        try:
            return whole_file(path)
        except InputError as error:
            return str(error)

    expected = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "BLOCK", block)
        by_small_blocks = outcome()
    if isinstance(expected, WholeFile):
        assert by_small_blocks == expected
    else:
        assert isinstance(by_small_blocks, str)  # of two faults the other may be found first


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty: give a line of column names"),
        (b"\na,b\n1,2\n", "Line 1 .*t.csv is blank. Take it out"),
        (b"a,b\n1,2\n\n3,4\n", "Line 3 .*t.csv is blank. Take it out: it is no record"),
        (b'a,b\r\n"\n",2\r\n\r\n3,4\r\n', "Line 4 .*t.csv is blank"),
        (b"a,b,c\n1,2\n", "Line 2 .*t.csv has 2 fields instead of 3. Correct it"),
        (b"a,b\n1,2\n1,2,3", "Line 3 .*t.csv has 3 fields instead of 2"),
        (b"a,b\n \n1,2\n", "Line 2 .*t.csv has 1 fields instead of 2"),
        (b'a,b\n1,x"y\n', "Line 2 .*a quote stands within a field that does not begin with one.*double the quotes"),
        (b'a,b\n1,"x"y\n', "Line 2 .*has broken quoting: a quote stands before the field ends"),
        (b'a,b\n1,2\n1,"x\n3,4\n', "Line 3 .*a quote is opened and never closed"),
        (b"a,b\n1,2\r3,4\n", "Line 2 .*holds a carriage return, outside of quotes, without a line feed. Take it out"),
        (b"a,b\n1,2\r", "Line 2 .*holds a carriage return"),
        (b"a,b\n1,\x002\n", "Line 2 .*holds a NUL byte: it is not plain text. Take it out"),
        (b"a,b\n1,\xe92\n", "is not UTF-8: line 2 holds the byte 0xe9. Write it as UTF-8"),
        (b"a,b\n1,2\xc3", "is not UTF-8: line 2 holds the byte 0xc3"),
        (b"a;b\n1;2\n", "has its fields parted by ';'.* read commas: write it with commas, or as Parquet"),
    ],
)
def test_what_is_no_whole_record_is_refused_by_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        whole_file(path)


def test_blank_lines_at_the_end_are_no_records(tmp_path: Path) -> None:
    file = whole_file(put(tmp_path, "a,b\r\n1,2\r\n\r\n\n"))
    assert (file.records, file.blank_end) == (1, True)
    assert scan_text([file, file], lambda: tmp_path).collect().rows() == [("1", "2")] * 2


def test_blank_lines_of_one_column_are_missing_values(tmp_path: Path) -> None:
    file = whole_file(put(tmp_path, "a\n\n1\n\n"))
    assert (file.records, file.blank_records, file.blank_end) == (3, True, False)
    assert scan_text([file], lambda: tmp_path).collect()["a"].to_list() == [None, "1", None]


@pytest.mark.parametrize(
    ("text", "mixed"), [("a,b\r\n1,2\n", True), ("a,b\n1,2\r\n", True), ("a,b\r\n1,2", False), ("a\r\n1\r\n", False)]
)
def test_mixed_line_ends_are_seen(tmp_path: Path, text: str, mixed: bool) -> None:
    assert whole_file(put(tmp_path, text)).mixed_ends is mixed


def test_a_file_that_passes_for_a_compressed_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    for name in ("x^2", "x\x01"):
        file = whole_file(put(tmp_path, f"{name},b\n1,2\n"))
        assert scan_text([file], lambda: tmp_path / "copies").collect().to_dicts() == [{name: "1", "b": "2"}]
