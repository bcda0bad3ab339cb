"""Tables in parts at the command line: a folder goes to disk by itself, and numbers are those of a table in memory."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal as library
from shoal.data.discharges import discharges
from tests.cli.conftest import Shoal

ROLES = ("--quasi", "age_yrs,sex", "--confidential", "charge")
POLICY = library.Policy(quasi_identifiers=["age_yrs", "sex"], confidential=["charge"])
TABLE = discharges(600, seed=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """d: a table, r: a release of it, both as files (Parquet) and as folders; t: the release as a folder of text."""
    path = tmp_path_factory.mktemp("engines")
    released = library.anonymize(TABLE, POLICY, seed=1).table
    for name, table in (("d", TABLE), ("r", released)):
        table.write_parquet(path / f"{name}.parquet")
        (path / name).mkdir()
        for number, part in enumerate(table.iter_slices(250)):
            part.write_parquet(path / name / f"part-{number}.parquet")
    (path / "t").mkdir()
    released.write_csv(path / "t" / "part.csv")
    return path


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("shoal.masking.chunks.CHUNK", 200)


@pytest.mark.parametrize("words", [["r"], ["t"], ["r.parquet", "--engine", "disk"]], ids=" ".join)
def test_the_risk_of_a_table_in_parts_is_that_in_memory(shoal: Shoal, words: list[str]) -> None:
    asked = (*ROLES, "--when", "charge > 20000", "--group", "birth=age_yrs", "--fraction", "0.1", "--json")
    found, expected = shoal("risk", *words, *asked).json, shoal("risk", "r.parquet", *asked).json
    assert (found.pop("engine"), found.pop("left_out")) == ("disk", {})
    three, those = found.pop("scenarios"), expected.pop("scenarios")
    assert found == expected
    assert three["prosecutor"] == those["prosecutor"]
    assert three["marketer"]["average"] == pytest.approx(those["marketer"]["average"], rel=1e-12)


def test_a_condition_may_compare_a_number_that_an_intruder_knows(shoal: Shoal) -> None:
    Path("numbers").mkdir()
    TABLE.write_csv("numbers/part.csv")
    asked = ("--quasi", "age_yrs,sex", "--when", "age_yrs > 60", "--json")
    expected = shoal("risk", "d.parquet", *asked).json["attribute_disclosure"]
    assert shoal("risk", "numbers", *asked).json["attribute_disclosure"] == expected


def test_the_population_may_be_a_folder(shoal: Shoal) -> None:
    asked = ("--quasi", "age_yrs,sex", "--population")
    found = shoal("risk", "r.parquet", *asked, "d", "--json").json
    expected = shoal("risk", "r.parquet", *asked, "d.parquet", "--json").json
    assert found["engine"] == "disk"
    assert found["scenarios"]["journalist"] == pytest.approx(expected["scenarios"]["journalist"])
    assert "journalist" in shoal("risk", "r.parquet", *asked, "d").out


@pytest.mark.parametrize("masked", ["r", "t"])
def test_utility_is_that_of_unpaired_tables_in_memory(shoal: Shoal, masked: str) -> None:
    found = shoal("utility", "d.parquet", masked, *ROLES, "--measures", "mean_difference,sse", "--json").json
    memory = library.utility(TABLE, pl.read_parquet("r.parquet"), POLICY, paired=False)
    assert found["engine"] == "disk"
    assert found["discernibility"] == memory.discernibility
    assert found["mean_shift_by_attribute"] == pytest.approx(dict(memory.mean_shift), abs=1e-12)
    assert list(found["measures"]) == ["mean_difference"]
    assert {"sse", "information_loss"} <= set(found["left_out"])
    shown = shoal("utility", "d", masked, *ROLES)
    assert (shown.code, "discernibility" in shown.out.lower()) == (0, True)


def test_releases_in_folders_are_audited_by_key(shoal: Shoal) -> None:
    for name, by in (("one", 30), ("two", 40)):
        Path(name).mkdir()
        keyed = TABLE.select(pl.int_range(600).alias("id"), pl.col("age_yrs") // by, "sex")
        keyed.write_parquet(Path(name, "part.parquet"))
        keyed.write_parquet(f"{name}.parquet")
    asked = ("--key", "id", "--quasi", "age_yrs,sex", "--k", "5")
    found = shoal("releases", "audit", "one", "two", *asked, "--json")
    memory = shoal("releases", "audit", "one.parquet", "two.parquet", *asked, "--json")
    assert found.code == memory.code
    assert (found.json["engine"], found.json["left_out"]) == ("disk", {})
    for name in ("k", "subjects", "smallest_pooled_class", "subjects_below_k"):
        assert found.json[name] == memory.json[name]
    assert "two" in shoal("releases", "audit", "one", "two", *asked).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("risk r --read encoding=latin1", "--read encoding needs the whole table in memory"),
        ("risk r --read delimiter=;", "--read delimiter needs the whole table in memory"),
        ("risk r.parquet --engine dsik", "There is no engine 'dsik'. Did you mean 'disk'?"),
        ("utility d r --read names=numbered", "--read names needs the whole table in memory"),
        ("releases audit d r", "audits releases that still say whom a record is about: name that column (--key)"),
        ("releases audit d r --key charge --read encoding=latin1", "--read encoding needs the whole table in memory"),
        ("releases audit --ledger x.db --engine disk", "--ledger needs the whole table in memory"),
        ("anonymize d -o y --read missing=-", "reads text files alone as missing says, and 'd' is none"),
        ("check r --original d", "give both in the same order and say so (--paired)"),
        ("anonymize d -o r", "'r' is there already"),
    ],
)
def test_what_needs_the_whole_table_is_refused_by_name(shoal: Shoal, words: str, said: str) -> None:
    run = shoal(*words.split(), *ROLES)
    assert run.code == 2
    assert said in run.sentence
    assert not Path("x").exists()


def test_what_is_stated_of_values_is_carried_out_on_a_folder_of_text(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    rows = [f"{1 + n % 12:02}/{1 + n % 12:02}/2021,{'-' if n % 4 else n},{n % 3}" for n in range(24)]
    (tmp_path / "t" / "a.csv").write_text("\n".join(["seen,age,ill", *rows]) + "\n")
    words = ("anonymize", str(tmp_path / "t"), "-o", str(tmp_path / "y"), "--k", "4", "--quasi", "seen,age")
    assert "nothing shows whether" in shoal(*words, "--confidential", "ill", "--read", "missing=-").sentence
    stated = ("--read", "missing=-,date-format=dd/mm/yyyy")
    assert shoal(*words, "--confidential", "ill", *stated).code == 0
    shown = pl.concat(pl.read_csv(part, infer_schema=False) for part in (tmp_path / "y").glob("part-*"))
    assert "-" not in shown["age"]
    assert shown["seen"].str.contains(r"/2021").all()
    assert shoal("check", str(tmp_path / "y"), "--certificate", str(tmp_path / "y" / "_certificate.json")).code == 0


def test_from_python_frames_go_where_they_live_or_are_sent(folder: Path) -> None:
    found = library.risk(folder / "r", POLICY, when=["charge > 20000"])
    assert found.to_dict()["engine"] == "disk"
    assert library.risk(TABLE.lazy(), POLICY, engine="disk").uniques == library.risk(TABLE, POLICY).uniques
    kept = library.utility(folder / "d", pl.scan_parquet(folder / "r.parquet"), POLICY)
    assert kept.to_dict()["engine"] == "disk"
    assert kept.information_loss is None
    paired = library.utility(folder / "d", folder / "r", POLICY, paired=True)
    assert paired.information_loss is not None


def test_what_engines_can_do_is_printed(shoal: Shoal) -> None:
    shown = shoal("engines").out
    assert all(word in shown for word in ("cut-points", "same result", "disk and spark"))
    listed = shoal("engines", "--json").json
    assert listed["engines"] == ["memory", "disk", "spark"]
    by_name = {each["name"]: each for each in listed["capabilities"]}
    assert by_name["coarsen"] == {"sort": "method", "name": "coarsen", "in_parts": "same result"}
    assert by_name["audit by linking"]["in_parts"] is None
