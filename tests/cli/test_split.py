"""`shoal anonymize --show` and `--split confidential`: files, what is said beforehand, what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Shoal

ROLES = ("--quasi", "age_yrs,sex,charge", "--confidential", "charge,diag_p", "--kind", "sex=nominal")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "shoal.toml"
    path.write_text(
        'quasi_identifiers = ["age_yrs", "sex"]\nconfidential = ["charge"]\nepsilon = 1.0\n'
        'show = {charge = "private-mean"}\nattributes.charge.domain = [0, 100000]\n',
        encoding="utf-8",
    )
    return path


def test_one_file_a_confidential_column(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.csv"
    run = shoal("anonymize", discharges, "-o", out, *ROLES, "--split", "confidential:merge", "--json")
    assert run.code == 0
    assert set(run.json["tables"]) == {"charge", "diag_p"}
    assert run.json["dependence"]["share_a_partition"] == [["charge", "diag_p"]]
    for name, columns in (("r", "age_yrs,sex,charge,diag_p"), ("r.charge", "age_yrs,sex,charge")):
        path = tmp_path / f"{name}.csv"
        assert path.read_text().splitlines()[0] == columns
        assert shoal("check", path, "--quasi", columns, "--k", 5).code == 0
    assert (tmp_path / "r.diag_p.csv").exists()


def test_an_aggregate_in_one_table(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES[:3], "charge", "--show", "charge=median")
    assert run.code == 0
    assert "somebody's exact value" in run.err
    assert pl.read_csv(tmp_path / "r.csv", infer_schema=False)["charge"].cast(pl.Float64).null_count() == 0


def test_cost_and_error_are_said_before_any_record_is_read(shoal: Shoal, policy: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    run = shoal("anonymize", tmp_path / "empty.csv", "-o", tmp_path / "r.csv", "--policy", policy)
    assert run.code == 2
    assert "28,284.27" in run.err
    assert "epsilon 1" in run.err


def test_private_means_by_policy(shoal: Shoal, discharges: Path, policy: Path, tmp_path: Path) -> None:
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", "--policy", policy)
    assert run.code == 0
    assert run.err.count("28,284.27") == 1  # said once
    assert "lie outside its domain" in run.err
    shown = pl.read_csv(tmp_path / "r.csv", infer_schema=False)["charge"].cast(pl.Float64)
    assert shown.is_between(0, 100_000).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--split", "columns"), "'confidential'"),
        (("--split", "confidential:merged"), "'merge'"),
        (("--split", "confidential:independent=maybe"), "true or false"),
        (("--show", "charge"), "COLUMN=HOW"),
        (("--show", "charge=privatemean:epsilon=1"), "Did you mean 'private-mean'"),
        (("--show", "charge=private-mean"), "epsilon"),
        (("--show", "charge=private-mean:epsilon=1"), "not taken from the data"),
        (("--show", "charge=private-mean:epsilom=1"), "'epsilon'"),
        (("--show", "charge=private-mean:epsilon=-1"), "above 0"),
        (("--show", "charge=private-mean:epsilon=1,age=private-mean"), "equal shares of one budget"),
        (("--split", "confidential", "--incremental"), "one table"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(
    shoal: Shoal, discharges: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    run = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES, *options)
    assert run.code == 2
    assert words in run.sentence
    assert not list(tmp_path.glob("r*"))


def test_a_split_release_does_not_replace_what_it_reads(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    source = tmp_path / "d.charge.csv"
    source.write_bytes(discharges.read_bytes())
    run = shoal("anonymize", source, "-o", tmp_path / "d.csv", *ROLES, "--split", "confidential")
    assert run.code == 2
    assert "would replace" in run.sentence


def test_a_ledger_counts_what_all_files_cost(shoal: Shoal, tmp_path: Path) -> None:
    rows = "".join(f"{i},{20 + i % 40},{i * 37 % 1000},{i * 11 % 50}\n" for i in range(60))
    (tmp_path / "d.csv").write_text("id,age,charge,stay\n" + rows)
    (tmp_path / "p.toml").write_text("[attributes.charge]\ndomain = [0, 1000]\n[attributes.stay]\ndomain = [0, 50]\n")
    run = shoal(
        "anonymize", tmp_path / "d.csv", "-o", tmp_path / "r.csv", "--policy", tmp_path / "p.toml", "--quasi", "age",
        "--confidential", "charge,stay", "--k", "5", "--split", "confidential", "--show",
        "charge=private-mean:epsilon=0.5", "--show", "stay=private-mean:epsilon=0.5", "--subject", "id",
        "--ledger", f"{tmp_path / 'l.db'},key={tmp_path / 'key'}",
    )  # fmt: skip
    assert run.code == 0, run.err
    listed = shoal("releases", "list", "--ledger", tmp_path / "l.db", "--json").json
    assert listed["epsilon_spent"] == 1.0
