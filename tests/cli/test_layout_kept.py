"""A release of a text file is laid out as the file was: what parts its fields, its encoding, its decimal mark."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import polars as pl
import pytest

from shoal import Policy
from shoal.data.dialects import Dialect, write_text, written_like
from shoal.data.reading import Reading
from shoal.errors import InputError
from tests.cli.conftest import Run, Shoal

TOWNS = ("Köln", "Münster", "Nürnberg")
HEAD = ("name", "alter", "größe", "betrag", "ort")
ASKED = ("--quasi", "alter,größe,ort", "--confidential", "betrag", "--k", "3")


def export(path: Path, encoding: str = "cp1252", delimiter: str = ";", decimal: str = ",") -> Path:
    """Sixty people, with amounts that are all different."""
    rows = [
        (f"Jäger {i}", f"{20 + i % 30}", f"{150 + i % 7}{decimal}{i % 10}", f"{i}{decimal}{i % 10}0", TOWNS[i % 3])
        for i in range(60)
    ]
    text = "".join(delimiter.join(row) + "\n" for row in (HEAD, *rows)).encode(encoding)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def fields(path: Path, encoding: str, delimiter: str) -> list[list[str]]:
    """The lines of a file, by hand; a masked cell in quotes is one field."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = content.decode(encoding).splitlines()
    return [re.findall(rf'(?:^|{re.escape(delimiter)})("[^"]*"|[^{re.escape(delimiter)}]*)', line) for line in lines]


@pytest.mark.parametrize(
    ("name", "encoding", "delimiter", "decimal"),
    [
        ("d.csv", "cp1252", ";", ","),
        ("d.txt", "utf-8", "|", "."),
        ("d.csv", "utf-16", "\t", ","),
        ("d.csv", "mac-roman", ",", "."),
        ("d.tsv", "utf-8-sig", "\t", ","),
        ("d.csv.gz", "cp1252", ";", ","),
    ],
)
def test_a_release_keeps_delimiter_encoding_and_decimal_mark(
    shoal: Shoal, tmp_path: Path, name: str, encoding: str, delimiter: str, decimal: str
) -> None:
    source = export(tmp_path / name, encoding, delimiter, decimal)
    target, paper = tmp_path / f"r{name[1:]}", tmp_path / "r.json"
    run = shoal("anonymize", source, "-o", target, *ASKED, "--certificate", paper, "--read", f"encoding={encoding}")
    assert run.code == 0
    original, released = fields(source, encoding, delimiter), fields(target, encoding, delimiter)
    assert released[0] == ["alter", "größe", "betrag", "ort"]
    assert sorted(row[2] for row in released[1:]) == sorted(row[3] for row in original[1:])  # byte for byte
    other = "." if decimal == "," else ","
    assert not any(other in row[1] for row in released[1:])
    assert any(decimal in row[1] for row in released[1:])
    mark = "utf-8" if encoding == "utf-8-sig" else encoding
    assert target.read_bytes().startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    stated = json.loads(paper.read_text()).get("read", {})
    assert stated.get("encoding", "utf-8") == mark
    assert stated.get("decimal", ".") == decimal
    assert shoal("check", target, "--certificate", paper).code == 0


def released_as(shoal: Shoal, folder: Path, *words: str, source: str = "d.csv", target: str = "r.csv") -> Run:
    return shoal("anonymize", export(folder / source), "-o", folder / target, *ASKED, *words)


def test_the_layout_that_was_kept_is_said(shoal: Shoal, tmp_path: Path) -> None:
    run = released_as(shoal, tmp_path)
    assert (
        "r.csv is written with ';' between fields, Windows-1252, decimal commas, as the file that was read" in run.err
    )


def test_write_says_another_layout(shoal: Shoal, tmp_path: Path) -> None:
    run = released_as(shoal, tmp_path, "--write", "delimiter=comma,encoding=utf-8")
    assert run.code == 0
    assert "Decimal commas are points in r.csv." in run.err
    released = fields(tmp_path / "r.csv", "utf-8", ",")
    assert released[0] == ["alter", "größe", "betrag", "ort"]
    assert all("," not in row[2] and "." in row[2] for row in released[1:])


def test_a_name_that_ends_in_tsv_gets_tabs_and_hands_on_none() -> None:
    tabs, semicolons = Dialect("\t"), Dialect(";", "cp1252", ",")
    assert written_like(Path("d.tsv"), tabs, Path("r.csv"), Reading()).delimiter == ","
    assert written_like(Path("d.csv"), tabs, Path("r.csv"), Reading()).delimiter == "\t"
    assert written_like(Path("d.csv"), semicolons, Path("r.tsv.gz"), Reading()) == Dialect("\t", "cp1252", ",")
    assert written_like(Path("d.csv"), semicolons, Path("r.csv"), Reading(delimiter="comma")).decimal == "."


def test_what_the_encoding_cannot_hold_is_refused_with_value_and_column(shoal: Shoal, tmp_path: Path) -> None:
    run = released_as(shoal, tmp_path, "--write", "encoding=cp1251")
    assert "The column name 'größe' has characters that Windows-1251 does not have" in run.sentence
    assert not (tmp_path / "r.csv").exists()
    frame = pl.DataFrame({"a": ["x", None], "town": ["Bonn", "Łódź"]})
    with pytest.raises(InputError, match="Column 'town' holds 'Łódź', which has characters that Windows-1252 does"):
        write_text(frame, tmp_path / "w.csv", Dialect(";", "cp1252"))
    assert not (tmp_path / "w.csv").exists()


@pytest.mark.parametrize(
    ("words", "target", "sentence"),
    [
        (["--write", 'delimiter=comma,decimal=","'], "r.csv", "Commas part the fields, so decimals have points"),
        (["--write", "encoding=rot13"], "r.csv", "There is no encoding 'rot13'"),
        (["--write", "delimiter=;"], "r.parquet", "--write delimiter is of text files"),
        (
            ["--write", "encoding=cp1252", "--engine", "disk"],
            "r.csv",
            "--write encoding needs the whole table in memory",
        ),
    ],
)
def test_a_layout_that_cannot_be_is_refused(
    shoal: Shoal, tmp_path: Path, words: list[str], target: str, sentence: str
) -> None:
    words = [word.replace('decimal=","', '"decimal=,"') for word in words]
    assert sentence in released_as(shoal, tmp_path, *words, target=target).sentence
    assert not (tmp_path / target).exists()


def test_split_tables_keep_the_layout(shoal: Shoal, tmp_path: Path) -> None:
    assert released_as(shoal, tmp_path, "--split", "confidential").code == 0
    released = fields(tmp_path / "r.betrag.csv", "cp1252", ";")
    assert released[0] == ["alter", "größe", "ort", "betrag"] or "betrag" in released[0]
    place = released[0].index("betrag")
    assert any("," in row[place] for row in released[1:])
    assert not any("." in row[place] for row in released[1:])


def test_the_policy_of_the_report_reproduces_the_release_and_checks_it(shoal: Shoal, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert released_as(shoal, tmp_path, "--report", str(report)).code == 0
    from html import unescape

    texts = [unescape(part) for part in re.findall(r"<pre[^>]*>(.*?)</pre>", report.read_text(), re.DOTALL)]
    text = next(text for text in texts if "quasi_identifiers" in text)
    (tmp_path / "shoal.toml").write_text(text)
    assert Policy.read(tmp_path / "shoal.toml").reading.chosen()["delimiter"] == ";"
    again, policy = tmp_path / "again.csv", ("--policy", tmp_path / "shoal.toml")
    assert shoal("anonymize", tmp_path / "d.csv", "-o", again, *policy).code == 0
    assert fields(again, "cp1252", ";")[0] == ["alter", "größe", "betrag", "ort"]
    assert shoal("check", again, *policy).code == 0
    plain = tmp_path / "plain.csv"  # laid out otherwise than the policy says: it shows that itself
    words = ("--write", "delimiter=comma,encoding=utf-8")
    assert shoal("anonymize", tmp_path / "d.csv", "-o", plain, *policy, *words).code == 0
    assert shoal("check", plain, *policy).code == 0


def test_codes_that_look_like_amounts_are_checked_as_the_texts_they_are(shoal: Shoal, tmp_path: Path) -> None:
    source, target, paper = tmp_path / "d.csv", tmp_path / "r.csv", tmp_path / "r.json"
    source.write_text("age;code\n" + "".join(f"{20 + i % 5};{1 + i % 2},234\n" for i in range(60)))
    words = ("--quasi", "age,code", "--kind", "code=nominal", "--k", "3", "--certificate", paper)
    assert shoal("anonymize", source, "-o", target, *words).code == 0
    assert shoal("check", target, "--certificate", paper).code == 0
    assert shoal("check", target, "--quasi", "age", "--confidential", "code", "--k", "3").code == 2  # in doubt
