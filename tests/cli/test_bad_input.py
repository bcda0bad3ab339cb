"""Whatever is wrong with the input ends in one sentence that names it, exit code 2, and no file."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import ROLES, Shoal
from tests.oracles.released import class_sizes, rows_of

PEOPLE = "name,age,sex,zip,charge\n" + "".join(
    f"n{i},{20 + i % 7},{'MF'[i % 2]},{93700 + i % 5},{1000 * i}\n" for i in range(40)
)
USUAL = "--quasi age,sex,zip --confidential charge"


@dataclass(frozen=True)
class Case:
    """A file, the options it is anonymized with, and words that the sentence must hold."""

    what: str
    words: tuple[str, ...]
    options: str = USUAL
    content: str | bytes = PEOPLE
    name: str = "d.csv"
    output: str = "r.csv"
    code: int = 2


def column(*values: object) -> str:
    return "age,charge\n" + "".join(f"{value},{i}\n" for i, value in enumerate(values))


ONE = "--quasi age --confidential charge"
FIXED = "--quasi sex --confidential charge --method coarsen"  # merges nothing
CASES = [
    # the file
    Case("empty", ("d.csv", "empty"), content=""),
    Case("blank lines", ("d.csv", "empty"), content="\n\n\n"),
    Case("header only", ("d.csv", "no records"), content="age,sex,zip,charge\n"),
    Case("one record", ("k = 5", "1 record"), content="age,sex,zip,charge\n1,M,3,4\n"),
    Case("doubled column", ("'age'", "more than once"), content="age,sex,age\n1,2,3\n"),
    Case("column without a name", ("column 2", "no name"), content="age,,zip\n1,2,3\n"),
    Case("too few fields", ("Line 3", "2 fields instead of 3"), content="age,sex,zip\n1,2,3\n1,2\n"),
    Case("mixed types", ("'age'", "line 22", "'old'", "--read text=age"), ONE, column(*range(20), "old")),
    Case("mixed dates", ("'age'", "dates", "line 3", "'soon'"), ONE, column("2020-01-02", "soon", "2020-01-03")),
    Case("open quote", ("Line 2", "quoting"), ONE, 'age,charge\n"1,2\n3,4\n'),
    Case("stray quote", ("Line 3", "quoting"), ONE, 'age,charge\n1,2\n3,4"5\n'),
    Case("not UTF-8", ("line 2", "0x81", "--read encoding="), ONE, b"age,charge\n1,\x81\x8d\x90\n"),
    Case("not text", ("line 3", "NUL"), ONE, b"age,charge\n1,2\n\x00,3\n"),
    Case("infinite", ("'age'", "infinite", "line 5"), ONE, column(1, 2, 3, "inf")),
    Case("infinite, confidential", ("'charge'", "infinite", "line 4"), ONE, "age,charge\n1,1\n2,2\n3,-inf\n"),
    Case("confidential, missing everywhere", ("'charge'", "missing"), ONE, "age,charge\n1,\n2,NA\n3,\n"),
    Case("steers the terminal", ("'age'", r"'o\x1b[2Jld'"), ONE, column(*range(20), "o\x1b[2Jld")),
    Case("no such file", ("'dd.csv'", "'d.csv'"), name="dd.csv"),
    Case("a damaged file", ("d.parquet", "cannot be read"), content="not Parquet", name="d.parquet"),
    Case("an unknown format", ("d.docx", ".csv"), name="d.docx"),
    Case("an unknown database", ("mysql://",), name="mysql://host/d#t"),
    # columns and roles
    Case("no quasi-identifier", ("quasi-identifier", "--quasi"), "--confidential charge"),
    Case("unknown column", ("'agee'", "'age'"), "--quasi agee,sex"),
    Case("unknown column, nothing like it", ("'xyz'", "'name', 'age', 'sex'"), "--quasi xyz"),
    Case("unknown confidential column", ("'chrge'", "'charge'"), "--quasi age --confidential chrge"),
    Case("unknown identifier", ("'nam'", "'name'"), "--quasi age --identifiers nam"),
    Case("a column named twice", ("'age'", "twice"), "--quasi age,age"),
    Case("two roles", ("'age'", "insensitive", "quasi_identifier"), "--quasi age --insensitive age"),
    Case("kind of no column", ("'agee'", "'age'"), f"{USUAL} --kind agee=numeric"),
    Case("unknown kind", ("'age=nominl'", "'nominal'"), f"{USUAL} --kind age=nominl"),
    Case("no kind", ("'age'", "COLUMN=KIND"), f"{USUAL} --kind age"),
    Case("text called numbers", ("'sex'", "numeric"), f"{USUAL} --kind sex=numeric"),
    Case("unknown rest", ("'rest'", "'drop' or 'insensitive'", "'foo'"), f"{USUAL} --rest foo"),
    # models
    Case("k larger than n", ("k = 41", "40 records"), f"{USUAL} --k 41"),
    Case("k larger than n, coarsened", ("k = 41", "40 records"), f"{USUAL} --k 41 --method coarsen"),
    Case("k below 2", ("'k'", "at least 2", "1"), f"{USUAL} --k 1"),
    Case("k no number", ("'k'", "whole number"), f"{USUAL} --k abc"),
    Case("k no whole number", ("'k'", "whole number"), f"{USUAL} --k 2.5"),
    Case("t above 1", ("'t'", "from 0 to 1", "2"), f"{USUAL} --t 2"),
    Case("t below 0", ("'t'", "from 0 to 1", "-1"), f"{USUAL} --t -1"),
    Case("t no number", ("'t'", "nan"), f"{USUAL} --t nan"),
    Case("t out of reach", ("t-closeness of 'charge'", "0.001"), f"{FIXED} --t 0.001", code=1),
    Case("t of nothing", ("t-closeness", "confidential"), "--quasi age --t 0.1"),
    Case("nothing to group by", ("none is left",), "--quasi charge --confidential charge --show charge=mean"),
    Case("l below 1", ("'l'", "at least 1"), f"{USUAL} --l 0"),
    Case("l out of reach", ("l-diversity of 'charge'", "41", "40"), f"{USUAL} --l 41"),
    Case("unknown variant", ("'variant'", "distinct, entropy, recursive", "'x'"), f"{USUAL} --l 2,variant=x"),
    Case("an option that rides with its model now", ("--l-variant", "--promise"), f"{USUAL} --l-variant entropy"),
    Case("an option that rides with its method now", ("--gamma", "--method noise:gamma"), f"{USUAL} --gamma 1"),
    # methods
    Case("unknown method", ("'hilber'", "'hilbert'"), f"{USUAL} --method hilber"),
    Case("unknown method, nothing like it", ("'magic'", "sorted"), f"{USUAL} --method magic"),
    Case("nothing to stratify by", ("'stratified'", "confidential"), "--quasi age --method stratified"),
    Case("resolution of another method", ("'resolution'", "'kd'"), f"{USUAL} --method kd:resolution=4"),
    Case("remainder of another method", ("'remainder'", "'sorted'"), f"{USUAL} --method sorted:remainder=last"),
    Case("unknown remainder", ("'remainder'", "central, last", "'x'"), f"{USUAL} --method stratified:remainder=x"),
    Case("resolution no number", ("'resolution'", "'x'"), f"{USUAL} --method coarsen:resolution.age=x"),
    Case("resolution 0", ("'resolution'", "at least 1"), f"{USUAL} --method coarsen:resolution=0"),
    Case("two ways of resolution", ("resolution",), f"{USUAL} --method coarsen:resolution=8,resolution.age=4"),
    Case("resolution of no column", ("'agee'", "'age'"), f"{USUAL} --method coarsen:resolution.agee=4"),
    Case("nothing for the ladder", ("charge", "--as age=COLUMN"), "--quasi charge --method safe-harbor"),
    Case("a sort of another method", ("--as", "--method safe-harbor"), f"{USUAL} --as age=age"),
    Case("a sort without a column", ("'age'", "SORT=COLUMN"), f"{USUAL} --method safe-harbor --as age"),
    Case("a sort of no column", ("'agee'", "'age'"), f"{USUAL} --method safe-harbor --as age=agee"),
    Case("a sort twice", ("'columns.age'", "twice"), f"{USUAL} --method safe-harbor --as age=age,age=sex"),
    Case("too much suppressed", ("'suppression'", "1", "2"), f"{USUAL} --suppress 2"),
    Case("a method that keeps no promise", ("k-anonymity", "5", "1"), f"{USUAL} --method coarsen", code=1),
    Case("a seed below 0", ("--seed",), f"{USUAL} --seed -1"),
    # files beside it
    Case("no such policy", ("'no.toml'",), "--policy no.toml"),
    Case("no policy", ("'d.csv'", "TOML", "line 1"), "--policy d.csv"),
    Case("no such folder of hierarchies", ("--hierarchies", "'no'"), f"{USUAL} --hierarchies no"),
    Case("text of no column", ("'agee'", "'age'"), f"{USUAL} --read text=agee"),
    Case("unknown encoding", ("'utf-9'",), f"{USUAL} --read encoding=utf-9"),
    Case("two delimiters", ("';;'",), f"{USUAL} --read delimiter=;;"),
    Case("no decimal mark", ("'x'",), f"{USUAL} --read decimal=x"),
    # the output
    Case("output is the input", ("'d.csv'", "another name"), output="d.csv"),
    Case("no such folder", ("'no/r.csv'", "'no'", "does not exist"), output="no/r.csv"),
    Case("output in a file", ("'d.csv/r.csv'",), output="d.csv/r.csv"),
    Case("output is a folder", ("taken.csv", "folder"), output="taken.csv"),
    Case("output of an unknown format", ("r.docx", ".csv"), output="r.docx"),
    Case("output of a format that is only read", ("sas7bdat",), output="r.sas7bdat"),
    Case("a certificate of a table", ("certificate", "file"), f"{USUAL} --certificate c", output="sqlite:///r.db#r"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_bad_input_ends_in_one_sentence(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    monkeypatch.chdir(tmp_path)
    content = case.content.encode() if isinstance(case.content, str) else case.content
    source = Path("d.csv" if case.name == "dd.csv" or "://" in case.name else case.name)
    source.write_bytes(content)
    Path("taken.csv").mkdir()
    run = shoal("anonymize", case.name, "-o", case.output, *case.options.split())
    assert run.code == case.code
    sentence = run.sentence
    assert [word for word in case.words if word not in sentence] == [], sentence
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted([source.name, "taken.csv"])
    assert source.read_bytes() == content


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["risk", "d.csv", "--quasi", "age", "--when", "chrge > 1"], ("chrge", "'charge'")),
        (["risk", "d.csv", "--quasi", "age", "--when", "charge >"], ("charge >",)),
        (["risk", "d.csv", "--quasi", "age", "--when", "charge"], ("charge",)),
        (["risk", "d.csv", "--quasi", "age", "--group", "census"], ("'census'", "NAME=")),
        (["risk", "d.csv", "--quasi", "age", "--group", "census=agee"], ("'census'", "'agee'", "'age'")),
        (["risk", "d.csv"], ("quasi-identifier",)),
        (["risk", "d.csv", "--quasi", "agee"], ("'agee'", "'age'")),
        (["risk", "no.csv", "--quasi", "age"], ("'no.csv'",)),
        (["utility", "d.csv", "d.csv"], ("quasi-identifier",)),
        (["utility", "d.csv", "other.csv", "--quasi", "age"], ("masked", "'age'", "'agee'")),
        (["utility", "d.csv", "no.csv", "--quasi", "age"], ("'no.csv'",)),
        (["utility", "d.csv", "--quasi", "age"], ("MASKED",)),
        (["utility", ".", "d.csv", "--quasi", "age"], ("'.'", "csv")),
        (["profile", "no.csv"], ("'no.csv'",)),
        (["profile", "d.csv", "--write-policy", "no/p.toml"], ("'no/p.toml'",)),
        (["sample", "discharges", "-o", "no/d.csv"], ("'no/d.csv'",)),
        (["sample", "discharges"], ("--output",)),
        (["regenerate", "d.csv", "-o", "r.csv", "--counts", "no.csv"], ("no.csv",)),
        (["anonymize", "d.csv"], ("--output",)),
        (["anonymize", "d.csv", "-o", "r.csv", "--quazi", "age"], ("--quazi", "--quasi")),
        (["anonimize", "d.csv"], ("'anonimize'", "'anonymize'")),
        (["study", "proper-anonymisation"], ("proper-anonymization",)),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_other_commands_say_what_is_wrong(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], named: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(PEOPLE)
    Path("other.csv").write_text("agee\n1\n")
    run = shoal(*words)
    assert run.code == 2
    assert [word for word in named if word not in run.sentence] == [], run.sentence
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "other.csv"]


def test_a_folder_that_may_not_be_written_to(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    """Also root, who may write anywhere else, can make no file in /proc."""
    folder = Path("/proc") if os.geteuid() == 0 else tmp_path / "locked"
    if os.geteuid():
        folder.mkdir(mode=0o500)
    run = shoal("anonymize", discharges, "-o", folder / "r.csv", *ROLES)
    assert (run.code, str(folder) in run.sentence) == (2, True)


def test_the_true_command_ends_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(PEOPLE)
    command = [Path(sys.executable).parent / "shoal", "anonymize", "d.csv", "-o", "r.csv", "--quasi", "agee"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    *stages, sentence = run.stderr.splitlines()
    assert all(line.startswith("[anonymize ") for line in stages)
    assert sentence.startswith("shoal: The table has no column 'agee'")
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


# ---- what looks bad and is not


def test_a_fault_of_our_own_is_owned_up_to(
    shoal: Shoal, discharges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.release.judge", lambda classes, models: 1 / 0)
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES)
    assert (run.code, "inside Shoal (ZeroDivisionError" in run.err) == (2, True)
    assert "Traceback" not in run.err
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES)


METHODS = ["hilbert", "sorted", "stratified", "kd", "kd-median"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(column(*[7] * 20), id="one value"),
        pytest.param(column(*[""] * 20), id="missing everywhere"),
        pytest.param(column(*[""] * 9, *range(11)), id="partly missing"),
        pytest.param("age,charge\n" + "".join(f"{i},5\n" for i in range(20)), id="one confidential value"),
        pytest.param(column(*(2**62 + i for i in range(20))), id="64-bit integers"),
        pytest.param(column(*(2**64 + i for i in range(20))), id="longer integers"),
        pytest.param(column(*("0.1", "1e300", "-1e300", *range(17))), id="huge numbers"),
        pytest.param(column(*(f"2020-01-{i:02}" for i in range(1, 21))), id="dates"),
    ],
)
def test_unusual_columns_work(shoal: Shoal, tmp_path: Path, content: str, method: str) -> None:
    (tmp_path / "d.csv").write_text(content)
    run = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / "r.csv", *ONE.split(), "--k", "3", "--t", "0.4",
                "--method", method, "--json")  # fmt: skip
    assert run.code == 0, run.err
    assert all(model["holds"] for model in run.json["models"])
    assert class_sizes(rows_of(tmp_path / "r.csv"), ["age"])[0] >= 3
    assert run.json["information_loss"] >= 0


def test_64_bit_integers_are_exact(shoal: Shoal, tmp_path: Path) -> None:
    """As floats these would all be one number."""
    numbers = [2**62 + i for i in range(20)]
    (tmp_path / "d.csv").write_text("id,secret\n" + "".join(f"{n},{2**63 - 1 - n % 7}\n" for n in numbers))
    run = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / "r.csv", "--quasi", "id", "--confidential", "secret",
                "--k", "4", "--kind", "id=numeric", "--write", "keep-order")  # fmt: skip
    assert run.code == 0
    for n, row in zip(numbers, rows_of(tmp_path / "r.csv"), strict=True):
        low, high = map(int, row["id"].strip("[]").split(";"))
        assert low <= n <= high
        assert high - low <= 6
        assert int(row["secret"]) == 2**63 - 1 - n % 7


def test_t_of_0_makes_one_class(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(PEOPLE)
    run = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / "r.csv", *USUAL.split(), "--t", "0", "--json")
    assert (run.code, run.json["classes"]) == (0, 1)


@pytest.mark.parametrize(
    "words",
    [
        ("--confidential", "charge", "--report", "x" * 300 + ".html"),
        ("--confidential", "charge", "--certificate", "x" * 300 + ".json"),
        ("--confidential", "x" * 300, "--split", "confidential"),
    ],
)
def test_a_name_too_long_for_a_file_is_refused_before_any_work(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(f"age,charge,{'x' * 300}\n" + "1,2,3\n" * 9)
    refused = shoal("anonymize", "d.csv", "-o", "r.csv", "--quasi", "age", *words)
    assert (refused.code, "file name too long" in refused.sentence) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]
