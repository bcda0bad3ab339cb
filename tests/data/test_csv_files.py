"""Delimited text: layout, types, speed-path equality, and one clear sentence for every broken file."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import string
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shoal.data import csv_files
from shoal.data.csv_files import assumed, read_delimited
from shoal.data.files import read_table, write_table
from shoal.data.forms import Forms
from shoal.data.reading import AS_IT_SEEMS
from shoal.data.released import read_released
from shoal.data.schema import Kind
from shoal.errors import InputError


@pytest.fixture
def read(tmp_path: Path):
    """Write text or bytes to a file and read it as a table."""

    def reader(content: str | bytes, name: str = "data.csv", **options: object) -> pl.DataFrame:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **options)

    return reader


def error_of(read, content: str | bytes, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read(content, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "Traceback" not in message
    return message


# Layout


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_detected(read, delimiter: str) -> None:
    frame = read(f"age{delimiter}name\n34{delimiter}Ann\n27{delimiter}Bob\n")
    assert frame.rows() == [(34, "Ann"), (27, "Bob")]


def test_masked_ranges_do_not_pass_for_semicolon_delimiters(read) -> None:
    frame = read("age,zip\n[24;28],937**\n[24;28],937**\n")
    assert frame.rows() == [("[24;28]", "937**")] * 2


def test_text_with_commas_does_not_pass_for_comma_delimiters(read) -> None:
    frame = read('name;note\nAnn;"a, b, c"\nBob;d, e, f\n')
    assert frame.columns == ["name", "note"]
    assert frame["note"].to_list() == ["a, b, c", "d, e, f"]


def test_a_given_delimiter_wins(read) -> None:
    assert read("a;b,c\n1;2,3\n", delimiter=",").columns == ["a;b", "c"]
    assert read("a\tb,c\n1\t2,3\n", delimiter="\\t").columns == ["a", "b,c"]
    assert "one character" in error_of(read, "a,b\n1,2\n", delimiter="::")
    assert "decimal mark" in error_of(read, "a,b\n1,2\n", decimal="_")


def test_names_may_hold_delimiters_quotes_and_line_breaks(read) -> None:
    frame = read('"a, b","say ""hi""","two\nlines"\n1,2,3\n')
    assert frame.columns == ["a, b", 'say "hi"', "two\nlines"]
    assert frame.rows() == [(1, 2, 3)]


def test_names_that_look_like_the_start_of_a_compressed_file(read) -> None:
    assert read("x^2,y\n4,1\n").rows() == [(4, 1)]


def test_file_without_header(read) -> None:
    frame = read("1,x\n2,y\n", header=False)
    assert frame.columns == ["column_1", "column_2"]
    assert frame.height == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_encodings_are_detected(read, encoding: str) -> None:
    frame = read("größe,名\n1,Ærø\n".encode(encoding))
    assert frame.columns == ["größe", "名"]
    assert frame.rows() == [(1, "Ærø")]


def test_an_encoding_that_is_stated_is_held_to(read) -> None:
    content = "name,n\nAnn,1\nRenée,2\n".encode("latin-1")
    assert read(content, encoding="latin-1")["name"].to_list() == ["Ann", "Renée"]
    assert "'nonsense'" in error_of(read, content, encoding="nonsense")
    assert "line 3" in error_of(read, content, encoding="utf-8")
    assert "line 3" in error_of(read, content.replace(b"\xe9", b"\x81"), encoding="cp1252")


def test_bad_bytes_far_below_the_head_are_found(read) -> None:
    content = b"name,n\n" + b"Ann,1\n" * 50_000 + b"Ren\xe9e,2\n"
    assert "line 50002" in error_of(read, content, encoding="utf-8")


def test_gzip_is_read(read, tmp_path: Path) -> None:
    packed = gzip.compress("a,b\n1,é\n".encode())
    assert read(packed, "data.csv.gz").rows() == [(1, "é")]
    assert "gzip" in error_of(read, packed[:-9], name="data.csv.gz")
    assert "gzip" in error_of(read, b"a,b\n1,2\n", name="data.csv.gz")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems(read, newline: str) -> None:
    assert read(f"a,b{newline}1,x{newline}2,y{newline}").rows() == [(1, "x"), (2, "y")]


def test_names_with_wildcards_are_one_file(read, tmp_path: Path) -> None:
    (tmp_path / "data1.csv").write_text("a\n7\n")
    assert read("a\n1\n", "data[1].csv").rows() == [(1,)]


# Decimal marks


def test_decimal_commas_are_detected_and_given(read) -> None:
    assert read("x;y\n1,5;2\n-0,25;3\n").rows() == [(1.5, 2), (-0.25, 3)]
    assert read('x,y\n"1,5",2\n', decimal=",").rows() == [(1.5, 2)]
    assert read("x;y\n1,50;1.25\n", decimal=".").rows() == [("1,50", 1.25)]


def test_points_beside_a_decimal_comma_that_is_stated_part_thousands(read) -> None:
    frame = read("x;y\n1,5;1.234\n2,5;2.345\n", decimal=",")
    assert frame["x"].to_list() == [1.5, 2.5]
    assert frame["y"].to_list() == [1234, 2345]


def test_what_may_be_thousands_is_no_evidence_of_decimal_commas(read) -> None:
    assert "nothing shows whether '1,234' is a thousand or a fraction" in error_of(read, "x;y\n1,234;a\n5,678;b\n")


# Types


def test_types_of_clean_columns(read) -> None:
    frame = read(
        "i,f,b,d,t,z,s\n"
        "1,1.5,true,2020-01-31,2020-01-31T10:20:30,2020-01-31T10:20:30+01:00,x\n"
        "-2,2e3,false,1999-12-01,2020-01-31 10:20:30.250,2020-01-31T09:20:30Z,y\n"
    )
    assert frame.schema == {
        "i": pl.Int64,
        "f": pl.Float64,
        "b": pl.Boolean,
        "d": pl.Date,
        "t": pl.Datetime("us"),
        "z": pl.Datetime("us", "UTC"),
        "s": pl.String,
    }
    assert frame["t"].to_list() == [
        dt.datetime(2020, 1, 31, 10, 20, 30),
        dt.datetime(2020, 1, 31, 10, 20, 30, 250000),
    ]
    assert frame["z"].n_unique() == 1


def test_times_without_a_day_and_days_without_a_year_stay_text(read) -> None:
    frame = read("a,b,c\n01/02,10:20:30,2020/1/2\n02/02,08:00:00,2020/1/3\n")
    assert frame.dtypes == [pl.String, pl.String, pl.Date]


def test_codes_with_leading_zeros_stay_text(read) -> None:
    assert read("zip,n\n01234,1\n90210,2\n")["zip"].to_list() == ["01234", "90210"]
    assert read('zip,n\n"01234",1\n"90210",2\n')["zip"].to_list() == ["01234", "90210"]


def test_zero_itself_and_fractions_are_numbers(read) -> None:
    assert read("a,b\n0,0.5\n10,-0.25\n").rows() == [(0, 0.5), (10, -0.25)]


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("quote", ["", '"'])
def test_leading_zeros_far_below_the_head_are_kept(read, position: int, quote: str) -> None:
    rows = [("90210", "5")] * 20_000 + [("01234", "6")]
    lines = [",".join(quote + value + quote for value in (row if position == 0 else row[::-1])) for row in rows]
    frame = read("a,b\n" + "\n".join(lines) + "\n")
    code, number = ("a", "b") if position == 0 else ("b", "a")
    assert frame[code][-1] == "01234"
    assert frame[code].dtype == pl.String
    assert frame[number].dtype == pl.Int64


def test_leading_zeros_across_the_edge_of_a_block(read, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "a,zip\n" + "".join(f"{i},9{i:04d}\n" for i in range(10, 30)) + "7,01234\n"
    monkeypatch.setattr(csv_files, "SAMPLE", 5)
    for block in range(3, 40):
        monkeypatch.setattr(csv_files, "BLOCK", block)
        assert read(content)["zip"][-1] == "01234"


def test_64_bits_are_exact_and_more_become_text(read) -> None:
    largest = 2**63 - 1
    assert read(f"a\n{largest}\n{-(2**63)}\n")["a"].to_list() == [largest, -(2**63)]
    assert read(f"a\n1\n{2**63}\n")["a"].to_list() == ["1", str(2**63)]
    late = read("a\n" + "5\n" * 20_000 + f"{10**30}\n")["a"]
    assert late[-1] == str(10**30)


def test_columns_declared_as_text_stay_text(read) -> None:
    frame = read("a,b\n1,2\n,NA\n", text=["a", "b"])
    assert frame.rows() == [("1", "2"), (None, "NA")]
    assert "Did you mean 'age'" in error_of(read, "age,b\n1,2\n", text=["agee"])


@pytest.mark.parametrize("masked", ["[1;2]", "{a;b}", "937**", "*", "85+"])
def test_masked_values_make_a_column_text(read, masked: str) -> None:
    assert read(f"a,b\n1,1\n2,2\n{masked},3\n")["a"].to_list() == ["1", "2", masked]
    late = read("a,b\n" + "1,1\n" * 20_000 + f"{masked},3\n")
    assert late["a"][-1] == masked
    assert late["b"].dtype == pl.Int64


def test_missing_words_are_missing_in_numbers_and_values_in_text(read) -> None:
    frame = read("n,f,d,s\n1,1.5,2020-01-01,DE\nNA,NaN,null,NA\n,,,\n3,nan,NA,null\n")
    assert frame["n"].to_list() == [1, None, None, 3]
    assert frame["f"].to_list() == [1.5, None, None, None]
    assert frame["d"].to_list() == [dt.date(2020, 1, 1), None, None, None]
    assert frame["s"].to_list() == ["DE", "NA", None, "null"]


def test_missing_words_far_below_the_head(read) -> None:
    frame = read("n,f\n" + "1,1.5\n" * 20_000 + "NA,NaN\n")
    assert frame.rows()[-1] == (None, None)
    assert frame.dtypes == [pl.Int64, pl.Float64]


def test_quoted_and_unquoted_empty_cells_are_missing(read) -> None:
    assert read('a,b\nx,1\n"",""\n,\n').rows() == [("x", 1), (None, None), (None, None)]


def test_column_missing_everywhere_is_null(read) -> None:
    frame = read("a,b,c\n1,,NA\n2,,NA\n")
    assert frame["b"].null_count() == 2
    assert frame["c"].null_count() == 2


def test_spaces_around_numbers_are_ignored_and_within_text_kept(read) -> None:
    frame = read("a, b,s\n1, 2, x\n3 , 4,y \n")
    assert frame.rows() == [(1, 2, " x"), (3, 4, "y ")]


def test_integers_that_turn_into_floats_below_the_head(read) -> None:
    frame = read("a,b\n" + "1,x\n" * 20_000 + "1.5,x\n")
    assert frame["a"].dtype == pl.Float64
    assert frame["a"][-1] == 1.5


# Mixed columns, infinities


def test_numbers_mixed_with_words_name_column_line_and_value(read) -> None:
    message = error_of(read, "age,s\n" + "31,x\n" * 5 + "abc,x\n32,x\n")
    assert message == (
        "Column 'age' mixes numbers and text: line 7 holds 'abc'. "
        "Correct it, say that it means missing (--read missing.age=abc), or "
        "declare the column as text (--read text=age)."
    )
    assert read("age,s\n31,x\n32,x\nabc,x\n", text=["age"])["age"].dtype == pl.String


def test_lines_are_counted_with_line_breaks_in_values_and_blank_lines(read) -> None:
    content = 'age,note\n31,"two\nlines"\n\n32,"three\n\nlines"\nabc,x\n33,x\n34,x\n'
    assert "line 8 holds 'abc'" in error_of(read, content)


def test_mixture_below_the_head(read) -> None:
    assert "line 20002 holds 'abc'" in error_of(read, "age,s\n" + "31,x\n" * 20_000 + "abc,y\n")


def test_dates_mixed_with_words(read) -> None:
    message = error_of(read, "born\n2020-01-01\n2020-02-30\n2020-03-01\n")
    assert "mixes dates and text: line 3 holds '2020-02-30'" in message


@pytest.mark.parametrize("code", ["V31", "E812.9", "C50-1"])
def test_one_code_among_numbers_makes_a_column_of_codes(read, code: str) -> None:
    frame = read("diagnosis,s\n" + "250,x\n" * 5 + f"{code},x\n")
    assert frame["diagnosis"].to_list() == ["250"] * 5 + [code]
    below = read("diagnosis,s\n" + "250,x\n" * 20_000 + f"{code},x\n")
    assert below["diagnosis"].dtype == pl.String


@pytest.mark.parametrize("word", ["3O", "abc", "12 kg", "unknown"])
def test_a_slip_among_numbers_makes_no_column_of_codes(read, word: str) -> None:
    assert f"holds {word!r}" in error_of(read, "age,s\n" + "31,x\n" * 5 + f"{word},x\n")


def test_mostly_text_is_text(read) -> None:
    assert read("code\nA1\nB2\n33\n")["code"].dtype == pl.String


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e999"])
@pytest.mark.parametrize("rows", [2, 20_000])
def test_infinities_are_refused_with_column_and_line(read, value: str, rows: int) -> None:
    message = error_of(read, "x,y\n" + "1,2.5\n" * rows + f"3,{value}\n")
    assert "'y'" in message
    assert f"line {rows + 2}" in message


# Broken files


def test_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"no file .*Did you mean 'patients.csv'"):
        read_table(tmp_path / "patient.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="no file"):
        read_table(tmp_path / "nowhere" / "x.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_file_that_may_not_be_read(read, tmp_path: Path) -> None:
    (tmp_path / "data.csv").touch(mode=0o000)
    with pytest.raises(InputError, match="may not be read"):
        read_table(tmp_path / "data.csv")


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "\ufeff\n"])
def test_empty_file(read, content: str) -> None:
    assert "is empty" in error_of(read, content)


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "\ufeffa,b\r\n", "a,b\n\n\n", "a\n"])
def test_header_only(read, content: str) -> None:
    assert "no records" in error_of(read, content)


def test_rows_of_other_lengths(read) -> None:
    assert "Line 3" in error_of(read, "a,b\n1,2\n3\n4,5\n")
    assert "Line 3" in error_of(read, "a,b\n1,2\n3,4,5\n")
    assert "3 fields instead of 2" in error_of(read, "a,b\n1,2\n3,4,5\n")
    assert "Line 4" in error_of(read, 'a,b,c\n1,"x,\ny",\n3\n')
    assert "Line 20002" in error_of(read, "a,b\n" + "1,2\n" * 20_000 + "3\n")
    assert "Line 20002" in error_of(read, "a,b\n" + "1,2\n" * 20_000 + "3,4,5\n")
    assert "Line 2" in error_of(read, "1,2\n3\n", header=False)


def test_nulls_in_the_last_column_are_no_short_rows(read) -> None:
    assert read('a,b\nw,\n"x,y",\n,"p,q"\n').rows() == [("w", None), ("x,y", None), (None, "p,q")]
    assert read('"a,b",c\n1,\n2,3\n').rows() == [(1, None), (2, 3)]


def test_blank_lines_are_no_records_in_tables_of_several_columns(read) -> None:
    assert read("\n\na,b\n1,2\n\n3,\n\n,\n\n\n").rows() == [(1, 2), (3, None), (None, None)]
    assert read("a,b\r\n1,2\r\n\r\n3,4\r\n\r\n").rows() == [(1, 2), (3, 4)]


def test_blank_lines_are_missing_values_in_a_single_column(read) -> None:
    assert read("a\n1\n\n3\n").rows() == [(1,), (None,), (3,)]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('a,b\n1,2\n3,"x\n4,5\n', 3),  # never closed
        ('a,b\n1,2\n3,"x"y\n4,5\n', 3),  # goes on behind the closing quote
        ('a,b\n1,2\n3,5" pipe\n4,5\n', 3),  # a quote in the midst
        ('"a,b\n1,2\n', 1),
    ],
)
def test_broken_quoting(read, content: str, line: int) -> None:
    message = error_of(read, content)
    assert f"Line {line} " in message
    assert "quot" in message


def test_doubled_and_blank_names(read) -> None:
    assert "'a'" in error_of(read, "a,b,a\n1,2,3\n")
    assert "column 2 has no name" in error_of(read, "a,,c\n1,2,3\n")


@pytest.mark.parametrize("name", ["*", "^a$", "^.*$"])
def test_names_that_polars_takes_for_patterns(read, name: str) -> None:
    assert "rename it" in error_of(read, f"{name},a\n1,2\n")


def test_nul_bytes(read) -> None:
    assert "line 3 holds a NUL byte" in error_of(read, b"a,b\n1,x\n2,\x00y\n")


# Round trips

NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1).filter(
        lambda name: name.strip() and name != "*" and not (name[0] == "^" and name[-1] == "$")
    ),
    min_size=1,
    max_size=4,
    unique=True,
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
COLUMNS = {
    pl.String: TEXTS,
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.Float64: st.floats(allow_nan=False, allow_infinity=False),
    pl.Boolean: st.booleans(),
    pl.Date: st.dates(),
    pl.Datetime("us"): st.datetimes(),
}


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(1, 5))
    series = []
    for name in draw(NAMES):
        kind = draw(st.sampled_from(list(COLUMNS)))
        values = st.lists(st.none() | COLUMNS[kind], min_size=rows, max_size=rows)
        series.append(pl.Series(name, draw(values.filter(lambda v: any(x is not None for x in v))), dtype=kind))
    return pl.DataFrame(series)


@given(frame=frames())
def test_what_is_written_is_read_back(frame: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.csv"
    write_table(frame, path, overwrite=True)
    texts = [column.name for column in frame if column.dtype == pl.String]
    back = read_table(path, delimiter=",", text=texts)
    expected = frame.with_columns(pl.col(pl.String).replace("", None))  # CSV knows one kind of nothing
    whole = [c.name for c in back if c.dtype == pl.Int64 and expected[c.name].dtype == pl.Float64]
    assert_frame_equal(back, expected.with_columns(pl.col(whole).cast(pl.Int64)))


WORDS = st.sampled_from(
    [
        "",
        "1",
        "-2",
        " 4",
        "5 ",
        "+6",
        "007",
        "3.5",
        "1e3",
        "9" * 25,
        "NA",
        "nan",
        "inf",
        "abc",
        "[1;2]",
        "85+",
        ".",
    ]
) | st.sampled_from(["true", "False", "2020-01-02", "2020-01-02 03:04", "2020-01-02T03:04:05", "2020-02-31", '"q"'])


@given(
    head=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=3),
    tail=st.lists(st.tuples(WORDS, WORDS), max_size=3),
)
def test_the_fast_path_types_like_the_slow_one(
    head: list[tuple[str, str]], tail: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What the head of a file shows decides only how fast it is read."""
    path = tmp_path_factory.getbasetemp() / "paths.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in head + tail))

    def outcome(sample: int) -> pl.DataFrame | str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_files, "SAMPLE", sample)
            try:
                return read_table(path, delimiter=",")
            except InputError as error:
                return str(error)

    short, whole = outcome(len(head)), outcome(100)
    if isinstance(whole, str) or isinstance(short, str):
        assert short == whole
    else:
        assert_frame_equal(short, whole)


@given(
    delimiter=st.sampled_from(",;\t|"),
    rows=st.lists(
        st.tuples(*[st.text(string.ascii_letters + " ,;|\t\n\"'*[]", min_size=1, max_size=6)] * 3),
        min_size=3,
        max_size=6,
    ),
)
def test_any_delimiter_reads_back_when_given(
    delimiter: str, rows: list[tuple[str, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "delimiters.txt"
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    frame.write_csv(path, separator=delimiter)
    assert_frame_equal(read_table(path, delimiter=delimiter, text=["a", "b", "c"]), frame)


PIECES = st.sampled_from(
    [b",", b";", b"\n", b"\r\n", b'"', b'""', b"a", b"1", b"0", b"-", b".", b" ", b"\xe9", b"\x00"]
)


@given(content=st.lists(PIECES, max_size=25).map(b"".join) | st.binary(max_size=30))
def test_any_bytes_give_a_table_or_one_sentence(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(content)
    message = ""
    frame = pl.DataFrame()
    try:
        frame = read_table(path)
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    assert bool(message) != (frame.height > 0)
    assert all(kind in (pl.String, pl.Int64, pl.Float64, pl.Boolean) for kind in frame.dtypes)


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="SHOAL_DATA names no folder of real data")
def test_real_files() -> None:
    data = Path(os.environ["SHOAL_DATA"])
    adult = read_table(data / "adult" / "adult.csv")
    assert adult.columns[:2] == ["sex", "age"]
    assert adult["age"].dtype == pl.Int64
    census = read_table(data / "casc" / "census.csv")
    assert census.shape == (1080, 13)
    assert all(kind.is_numeric() for kind in census.dtypes)
    customers = read_table(data / "purchases" / "customers_400.csv", header=False)
    assert customers.shape == (400, 4)


def test_a_column_that_is_not_needed_need_not_make_sense(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b,c\n" + "".join(f"{i},{i},{'2020-01-02' if i < 60 else 'soon'}\n" for i in range(100)))
    with pytest.raises(InputError, match="Column 'c' mixes dates and text"):
        read_table(file)
    table = read_table(file, needed=["a"])
    assert table.dtypes == [pl.Int64, pl.Int64, pl.String]
    assert table["a"].sum() == 4950


# Blanks behind delimiters, names that are doubled


def test_a_blank_behind_each_delimiter_is_no_part_of_the_values(read, tmp_path: Path) -> None:
    frame = read('age, name, note\n34, Ann, "x, y"\n 27, Bob,\n')
    assert frame.columns == ["age", "name", "note"]
    assert frame.rows() == [(34, "Ann", "x, y"), (27, "Bob", None)]
    assert assumed(tmp_path / "data.csv", AS_IT_SEEMS) == (
        "In data.csv a blank follows each ',': it is no part of the values.",
    )


def test_a_blank_behind_some_delimiters_is_a_value(read) -> None:
    assert read("a,b\nx,y\nx, y\n")["b"].to_list() == ["y", " y"]
    assert read("a b\nx y\n", delimiter="space").columns == ["a", "b"]


def test_who_checks_a_release_sees_the_blanks(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("a, b\n1, 5\n1,  5\n")
    assert read_released(path, ["b"]).written["b"].to_list() == [" 5", "  5"]


def test_doubled_names_are_refused_with_their_places_or_numbered(read) -> None:
    content = "age;a_2;a;a;a\n1;2;3;4;5\n"
    assert "'a' occurs more than once, as columns 3, 4 and 5" in error_of(read, content)
    assert "--read names=numbered" in error_of(read, content)
    assert read(content, names="numbered").columns == ["age", "a_2", "a", "a_3", "a_4"]


# Codes by name


def test_codes_stay_text_where_some_are_no_numbers_or_have_a_point(read) -> None:
    content = "postcode,icd9,sex,dose\n90210,250.00,1,2.50\n3625 KM,401.9,2,0.5\nNA,,1,1\n10115,NA,2,1\n"
    frame = read(content)
    assert frame["postcode"].to_list() == ["90210", "3625 KM", None, "10115"]
    assert frame["icd9"].to_list() == ["250.00", "401.9", None, None]
    assert frame.dtypes[2:] == [pl.Int64, pl.Float64]


def test_a_stray_word_among_numbers_without_a_name_for_codes_is_refused(read) -> None:
    assert "mixes numbers and text" in error_of(read, "income,x\n90210,a\n3625 KM,b\n10115,c\n")


def test_numbers_that_a_policy_declares_stay_numbers_whatever_their_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("nace,x\n46.3,1\n1.1,2\n")
    forms = Forms(kinds={"nace": Kind.NUMERIC})
    assert read_delimited(tmp_path / "t.csv", forms=forms)["nace"].to_list() == [46.3, 1.1]
