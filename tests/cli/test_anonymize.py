"""`shoal anonymize`: what is released, what beside it, and that nothing else is ever left or changed."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from shoal import __version__
from shoal.data.files import read_table
from tests.cli.conftest import CODES, QUASI, ROLES, ROWS, Shoal
from tests.oracles.released import admits, class_sizes, farthest, information_loss, rows_of
from tests.processes import run_script

KEYS = {"records", "suppressed", "classes", "smallest_class", "models", "information_loss"}
LEFT_OUT = "No role names 'diag_p': left out of the release"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("order", [(), ("--write", "keep-order")], ids=["shuffled", "kept"])
@pytest.mark.parametrize(
    "asked",
    [("--k", "5", "--method", "sorted"), ("--k", "5", "--t", "0.1", "--method", "stratified"), ("--k", "5")],
    ids=["sorted", "stratified", "default"],
)
def test_the_release_keeps_what_is_printed(
    shoal: Shoal, discharges: Path, tmp_path: Path, asked: tuple[str, ...], order: tuple[str, ...]
) -> None:
    result = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, *asked, *order, "--json")
    assert result.code == 0
    assert LEFT_OUT in result.err
    facts = result.json
    assert facts.keys() >= KEYS
    assert files(tmp_path) == ["r.csv"]

    original, released = rows_of(discharges), rows_of(tmp_path / "r.csv")
    assert list(released[0]) == [*QUASI, "charge"]
    sizes = class_sizes(released, QUASI)
    assert (len(released), facts["records"], facts["suppressed"]) == (ROWS, ROWS, 0)
    assert (len(sizes), sizes[0]) == (facts["classes"], facts["smallest_class"])
    assert sizes[0] >= 5
    models = {model["name"]: model for model in facts["models"]}
    assert models["k-anonymity"] == {"name": "k-anonymity", "asked": 5, "achieved": sizes[0], "holds": True}
    assert ("t-closeness" in models) == ("--t" in asked)
    if "--t" in asked:
        distance = farthest(released, QUASI, "charge")
        assert distance <= 0.1
        assert models["t-closeness"] == {
            "name": "t-closeness", "attribute": "charge", "asked": 0.1, "achieved": pytest.approx(distance),
            "holds": True,
        }  # fmt: skip
    before, after = ([row["charge"] for row in rows] for rows in (original, released))
    assert Counter(before) == Counter(after)
    assert (before == after) == bool(order)
    if order:
        pairs = zip(original, released, strict=True)
        assert all(admits(after[q], before[q]) for before, after in pairs for q in QUASI)
        assert facts["information_loss"] == pytest.approx(information_loss(original, released, QUASI, CODES))


def test_the_default_method_loses_less_than_the_papers(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    def loss(*method: str) -> float:
        facts = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, *method, "--overwrite", "--json").json
        return float(facts["information_loss"])

    assert loss() < loss("--method", "kd") < loss("--method", "sorted")


def test_a_table_for_people_fits_the_terminal(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a [red]b[/red] " + "long" * 20 + ",c\n" + "1,2\n" * 5)
    name = "a [red]b[/red] " + "long" * 20
    result = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / "r.csv", "--quasi", "c", "--confidential", name,
                   "--t", "0.5")  # fmt: skip
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 80
    shown = "".join(result.out.split())
    for words in ("records5", "smallestclass5", "k-anonymity55holds", "[red]b[/red]"):
        assert words in shown


def test_a_seed_makes_a_run_repeatable_and_without_one_the_order_differs(
    shoal: Shoal, discharges: Path, tmp_path: Path
) -> None:
    for name, seed in {"a": ["--seed", "1"], "b": ["--seed", "1"], "c": [], "d": []}.items():
        shoal("anonymize", discharges, "-o", tmp_path / f"{name}.csv", *ROLES, *seed)
    a, b, c, d = ((tmp_path / f"{name}.csv").read_bytes() for name in "abcd")
    assert a == b
    assert len({a, c, d}) == 3


@pytest.mark.parametrize("name", ["r.parquet", "r.arrow", "r.tsv", "r.csv.gz"])
def test_other_formats_show_the_same(shoal: Shoal, discharges: Path, tmp_path: Path, name: str) -> None:
    for output in ("r.csv", name):
        run = shoal("anonymize", discharges, "-o", tmp_path / output, *ROLES, "--write", "keep-order", "--certificate",
                    tmp_path / f"{output}.json")  # fmt: skip
        assert run.code == 0
    assert read_table(tmp_path / name).equals(read_table(tmp_path / "r.csv"))
    assert shoal("check", tmp_path / name, "--certificate", tmp_path / f"{name}.json").code == 0


def test_a_database_table_in_and_out(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    place = f"duckdb:///{tmp_path}/d.db"
    with duckdb.connect(str(tmp_path / "d.db")) as database:
        database.execute(f"CREATE TABLE d AS SELECT * FROM '{discharges}'")
    assert shoal("anonymize", f"{place}#d", "-o", f"{place}#r", *ROLES).code == 0
    assert shoal("check", f"{place}#r", *ROLES).code == 0
    assert "would replace" in shoal("anonymize", f"{place}#d", "-o", f"{place}#d", *ROLES).sentence
    refused = shoal("anonymize", f"{place}#d", "-o", f"{place}#s", *ROLES, "--certificate", tmp_path / "c.json")
    assert refused.code == 2
    assert "certificate names a file" in refused.err
    assert files(tmp_path) == ["d.db"]


# ---- what is left out


def test_only_columns_with_a_role_get_out(shoal: Shoal, tmp_path: Path) -> None:
    source, target = tmp_path / "d.csv", tmp_path / "r.csv"
    source.write_text("name,age,note,code,charge\n" + "".join(f"n{i},{i},x,{i},{i}\n" for i in range(20)))

    def columns(*options: str) -> tuple[list[str], str]:
        run = shoal("anonymize", source, "-o", target, "--quasi", "age", "--confidential", "charge",
                    "--identifiers", "name", "--overwrite", "--json", *options)  # fmt: skip
        assert run.code == 0
        assert run.json["notes"] == run.err.splitlines()
        return list(rows_of(target)[0]), run.err

    shown, notice = columns()
    assert shown == ["age", "charge"]
    assert "'note', 'code': left out" in notice
    shown, notice = columns("--insensitive", "note")
    assert shown == ["age", "note", "charge"]
    assert "'code': left out" in notice
    assert columns("--rest", "insensitive") == (["age", "note", "code", "charge"], "")


# ---- certificate and report


def test_the_certificate_shows_nothing_but_the_release(shoal: Shoal, tmp_path: Path) -> None:
    source = tmp_path / "secret-source.csv"
    source.write_text("patient,age,charge\n" + "".join(f"name{i},{i // 4},{i % 3}\n" for i in range(40)) + "z,99,7\n")
    target, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    run = shoal("anonymize", source, "-o", target, "--identifiers", "patient", "--quasi", "age", "--confidential",
                "charge", "--k", "3", "--method", "coarsen:resolution=100", "--suppress", "0.1", "--seed",
                "98765", "--certificate", certificate, "--json")  # fmt: skip
    assert run.json["suppressed"] == 1
    released, text = rows_of(target), certificate.read_text()
    for secret in ("98765", "secret", "patient", "name", "suppress", "coarsen", str(tmp_path)):
        assert secret not in text.replace('"name"', "")
    stated = json.loads(text)
    assert "at least 3 records" in stated["models"][0].pop("means")
    assert stated == {
        "made_by": f"shoal {__version__}",
        "records": len(released),
        "columns": ["age", "charge"],
        "quasi_identifiers": ["age"],
        "confidential": ["charge"],
        "insensitive": [],
        "counts": "records, not people: who has several records is counted once for each",
        "attributes": {"charge": {"kind": "numeric"}},
        "classes": len(class_sizes(released, ["age"])),
        "smallest_class": class_sizes(released, ["age"])[0],
        "models": [{"name": "k-anonymity", "k": 3, "asked": 3, "achieved": 4, "holds": True}],
        "record_order": "shuffled",
        "sha256": _sha256(target),
    }


def _sha256(path: Path) -> str:
    return subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]


def test_the_certificate_says_when_the_order_was_kept(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    shoal(
        "anonymize",
        discharges,
        "-o",
        tmp_path / "r.csv",
        *ROLES,
        "--write",
        "keep-order",
        "--certificate",
        tmp_path / "c",
    )
    assert json.loads((tmp_path / "c").read_text())["record_order"] == "as in the source"


def test_a_broken_promise_leaves_nothing(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("what stood here before")
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, "--method", "coarsen", "--json",
                "--overwrite", "--certificate", tmp_path / "c.json", "--report", tmp_path / "p.html")  # fmt: skip
    assert run.code == 1
    assert "does not keep k-anonymity: 5 was asked for, 1 is reached" in run.sentence
    assert files(tmp_path) == ["r.csv"]
    assert (tmp_path / "r.csv").read_text() == "what stood here before"


def test_a_promise_broken_in_the_written_file_leaves_nothing(
    shoal: Shoal, discharges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The written bytes are judged, not what was meant to be written."""
    write = pl.DataFrame.write_csv

    def falsify(frame: pl.DataFrame, path: Path, **options: object) -> None:
        stay = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("0")).otherwise(pl.col("los").cast(pl.String))
        write(frame.with_columns(stay.alias("los")), path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pl.DataFrame, "write_csv", falsify)
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, "--certificate", tmp_path / "c.json",
                "--report", tmp_path / "p.html")  # fmt: skip
    assert run.code == 1
    assert "does not keep k-anonymity" in run.sentence
    assert files(tmp_path) == []


@pytest.mark.parametrize("beside", ["--certificate", "--report"])
def test_what_cannot_stand_beside_the_release_stops_it(
    shoal: Shoal, discharges: Path, tmp_path: Path, beside: str
) -> None:
    (tmp_path / "taken").mkdir()
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, beside, tmp_path / "taken")
    assert (run.code, "it is a folder" in run.sentence) == (2, True)
    assert files(tmp_path) == ["taken"]


def test_the_report_comes_with_the_release(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, "--report", tmp_path / "p.html")
    assert run.code == 0
    assert files(tmp_path) == ["p.html", "r.csv"]
    assert (tmp_path / "p.html").read_text().startswith("<!DOCTYPE html>")


# ---- the input is never changed


@pytest.mark.parametrize("option", ["-o", "--certificate", "--report"])
@pytest.mark.parametrize("way", ["the same path", "another spelling", "a symbolic link", "a hard link"])
def test_the_input_is_never_written_over(shoal: Shoal, tmp_path: Path, option: str, way: str) -> None:
    source, other = tmp_path / "d.csv", tmp_path / "link.csv"
    source.write_text("a,b\n" + "1,2\n" * 9)
    if way == "a symbolic link":
        other.symlink_to(source)
    elif way == "a hard link":
        other.hardlink_to(source)
    else:
        other = source if way == "the same path" else tmp_path / ".." / tmp_path.name / "d.csv"
    there = files(tmp_path)
    output = [] if option == "-o" else ["-o", tmp_path / "r.csv"]
    run = shoal("anonymize", source, *output, option, other, "--quasi", "a")
    assert (run.code, "choose another name" in run.sentence) == (2, True)
    assert source.read_text() == "a,b\n" + "1,2\n" * 9
    assert files(tmp_path) == there


def test_two_outputs_do_not_share_a_file(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, "--certificate", tmp_path / "r.csv")
    assert (run.code, "choose another name" in run.sentence) == (2, True)


def test_the_policy_is_never_written_over(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('quasi_identifiers = ["age_yrs"]\n')
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", "--policy", tmp_path / "p.toml", "--report",
                tmp_path / "p.toml")  # fmt: skip
    assert (run.code, "choose another name" in run.sentence) == (2, True)
    assert (tmp_path / "p.toml").read_text() == 'quasi_identifiers = ["age_yrs"]\n'


# ---- no space, and killed


def test_no_space_left_leaves_nothing(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    arguments = ("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, "--overwrite")
    assert shoal(*arguments).code == 0  # compiled kernels are stored now, not under the limit
    whole = (tmp_path / "r.csv").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2, hard))
    try:
        run = shoal(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (run.code, f"{tmp_path / 'r.csv'} cannot be written" in run.sentence) == (2, True)
    assert files(tmp_path) == ["r.csv"]
    assert (tmp_path / "r.csv").read_bytes() == whole


def test_a_full_disk_leaves_nothing(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], capture_output=True)
    if mount.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, "--certificate", tmp_path / "c.json")
        assert (run.code, "no space is left" in run.sentence) == (2, True)
        assert files(tmp_path) == []
    finally:
        subprocess.run(["umount", tmp_path], check=True)


# Kills itself when an event of that name happens for the n-th time after the first temporary folder was asked for, or
# at whatever happens next.
KILLED = """
import os, signal, sys
folder, event, count, after = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "after"
how = signal.Signals[sys.argv[5]]
del sys.argv[1:6]
seen, working = 0, False
def watch(name, arguments):
    global seen, working
    working = working or name == "tempfile.mkdtemp"
    hit = working and name == event and any(isinstance(a, str) and folder in a for a in arguments)
    seen += hit
    if seen == count and hit != after and name != "os.kill":
        os.kill(os.getpid(), how)
sys.addaudithook(watch)
from shoal.cli.main import run
run()
"""


@pytest.mark.parametrize(
    ("moment", "released", "certified"),
    [
        pytest.param("at os.mkdir 1", False, False, marks=pytest.mark.slow),
        ("after os.mkdir 1", False, False),  # the release is written, not judged
        pytest.param("after os.mkdir 2", False, False, marks=pytest.mark.slow),  # judged
        ("at os.rename 1", False, False),
        ("after os.rename 1", True, False),
        pytest.param("at os.rename 2", True, False, marks=pytest.mark.slow),  # the folder it was written in goes
        pytest.param("at os.rename 3", True, False, marks=pytest.mark.slow),
        ("after os.rename 3", True, True),
    ],
)
def test_killed_at_any_moment_it_leaves_the_whole_release_or_none(
    shoal: Shoal, discharges: Path, tmp_path: Path, moment: str, released: bool, certified: bool
) -> None:
    (tmp_path / "r.csv").write_text("what stood here before")
    when, event, count = moment.split()
    words = ["anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, "--certificate", tmp_path / "c.json"]
    words += ["--overwrite"]
    assert run_script(KILLED, tmp_path, event, count, when, "SIGKILL", *words) == -signal.SIGKILL
    if released:
        assert len(rows_of(tmp_path / "r.csv")) == ROWS
        assert shoal("check", tmp_path / "r.csv", *ROLES).code == 0
    else:
        assert (tmp_path / "r.csv").read_text() == "what stood here before"
    assert (tmp_path / "c.json").exists() == certified
    if certified:
        assert shoal("check", tmp_path / "r.csv", "--certificate", tmp_path / "c.json").code == 0
    assert all(name.endswith(".partial") for name in files(tmp_path) if name not in ("r.csv", "c.json"))


def test_told_to_stop_it_clears_its_unfinished_files_away(discharges: Path, tmp_path: Path) -> None:
    words = ["anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, "--report", tmp_path / "p.html"]
    assert run_script(KILLED, tmp_path, "os.rename", "1", "at", "SIGTERM", *words) == 128 + signal.SIGTERM
    assert files(tmp_path) == []


def test_a_database_as_source_leaves_the_messages_clean(tmp_path: Path) -> None:
    """In a process of its own: what libraries say at its end would reach the user too."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "d.db") as database:
        database.execute("CREATE TABLE t AS SELECT range % 7 AS age, range AS charge FROM range(70)")
    command = [sys.executable, "-m", "shoal", "anonymize", f"duckdb:///{tmp_path}/d.db#t", "-o", tmp_path / "r.csv"]
    run = subprocess.run(
        [*command, "--quasi", "age", "--confidential", "charge", "--json"], capture_output=True, text=True, check=True
    )
    assert run.stderr == ""


def test_formulas_are_disarmed_in_one_table_only(shoal: Shoal, tmp_path: Path) -> None:
    source, target = tmp_path / "t.csv", tmp_path / "r.csv"
    source.write_text("age,note\n" + "1,=1+1\n" * 5)
    asked = ["anonymize", source, "--quasi", "age", "--k", "5", "--write", "disarm-formulas", "-o", target]
    assert shoal(*asked, "--insensitive", "note").code == 0
    assert target.read_text() == "age,note\n" + "1,'=1+1\n" * 5
    told = shoal(*asked, "--confidential", "note", "--split", "confidential")
    assert told.code == 2
    assert "--write disarm-formulas is for one table" in " ".join(told.err.split())


def test_the_form_of_dates_has_an_option_of_its_own(shoal: Shoal, tmp_path: Path) -> None:
    source = tmp_path / "d.csv"
    source.write_text("born,ill\n" + "".join(f"0{1 + i % 4}/{1 + i % 9:02d}/2021,{i % 3}\n" for i in range(36)))
    options = ("anonymize", source, "--quasi", "born", "--confidential", "ill", "--k", "4")
    for engine in ("memory", "disk"):
        target = tmp_path / f"{engine}.csv"
        words = (*options, "-o", target, "--engine", engine)
        assert "is dd/mm/yyyy or mm/dd/yyyy" in shoal(*words).err
        assert shoal(*words, "--date-format", "mm/dd/yyyy").code == 0
        (file,) = target.glob("*.csv") if target.is_dir() else [target]
        assert all("/2021" in row["born"] for row in rows_of(file))
