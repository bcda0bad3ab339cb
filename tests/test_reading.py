"""How a file is read: stated by policy or options, kept where the policy is written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from shoal.data.csv_files import settled
from shoal.data.files import read_table
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.errors import InputError
from shoal.jobs import Anonymize, Attack, Audit, Check, Layout, Profile, Risk, Utility
from shoal.policy import Policy

ODD = "age|ward|pay\n" + "".join(f"{20 + i % 2}|0{i % 2}|{i},5\n" for i in range(20))


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    path = tmp_path / "odd.csv"
    path.write_bytes(ODD.encode("utf-16"))
    return path


def test_a_policy_says_how_its_file_is_read_and_round_trips() -> None:
    policy = Policy(quasi_identifiers=["age"], reading={"delimiter": ";", "text": ["ward"]})
    assert tomllib.loads(policy.to_toml())["read"] == {"delimiter": ";", "text": ["ward"]}
    again = Policy(**tomllib.loads(policy.to_toml()))
    assert again == policy
    assert again.reading == Reading(delimiter=";", text=("ward",))
    assert "read" not in tomllib.loads(Policy().to_toml())
    assert "delimiter" in Policy.model_json_schema()["properties"]["read"]["properties"]


def test_options_win_over_the_policy_key_by_key() -> None:
    stated = Layout(delimiter="|").over(Reading(delimiter=";", decimal=","))
    assert (stated.delimiter, stated.decimal, stated.encoding) == ("|", ",", None)


def test_what_is_seen_in_a_file_is_stated_where_it_is_not_plain(odd: Path, tmp_path: Path) -> None:
    assert settled(odd, AS_IT_SEEMS).chosen() == {"delimiter": "|", "encoding": "utf-16", "decimal": ","}
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2.5\n")
    assert settled(tmp_path / "t.tsv", AS_IT_SEEMS).chosen() == {"delimiter": "tab"}
    (tmp_path / "plain.csv").write_text("a,b\n1,2.5\n")
    assert settled(tmp_path / "plain.csv", AS_IT_SEEMS).chosen() == {}


def test_the_reports_policy_reads_the_file_as_it_was_read(odd: Path, tmp_path: Path) -> None:
    policy = Policy(quasi_identifiers=["age"], confidential=["pay"], insensitive=["ward"])
    stated = Layout(text=("ward", "pay"))
    release = Anonymize(odd, policy, tmp_path / "r.csv", layout=stated, report=tmp_path / "r.html").run()
    assert release.policy.reading.text == ("ward", "pay")
    assert "encoding = &#34;utf-16&#34;" in (tmp_path / "r.html").read_text(encoding="utf-8")
    (tmp_path / "shoal.toml").write_text(release.policy.to_toml(), encoding="utf-8")
    again = Anonymize(odd, Policy.read(tmp_path / "shoal.toml"), tmp_path / "again.csv").run()
    assert sorted(again.table["pay"]) == sorted(release.table["pay"])


UNDECIDED = "ward,born,pay,later\n" + "".join(
    f"0{i % 3},0{1 + i % 5}/0{1 + i % 7}/2021,{i % 4},0{1 + i % 6}/0{1 + i % 4}/2022\n" for i in range(60)
)  # nothing shows which number is the month's


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_whatever_measures_a_release_reads_it_by_the_policy_of_its_original(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / "d.csv", tmp_path / name
    source.write_text(UNDECIDED)
    stated = {"date-format": {"born": "dd/mm/yyyy"}, "text": ["pay"], "missing": {"pay": ["0"]}}
    policy = Policy(quasi_identifiers=["born", "ward"], reading=stated)  # and of `later` nothing is asked
    Anonymize(source, policy, target, written=Reading(encoding="utf-16") if name == "r.csv" else Reading()).run()
    assert Risk(target, policy).run().to_dict()["smallest_class"] >= 5
    assert Risk(source, policy).run().to_dict()["smallest_class"] < 5
    assert Risk(source, policy, engine="disk").run().to_dict()["smallest_class"] < 5
    assert Utility(source, target, policy).run().to_dict()["mean_shift_by_attribute"]["born"] < 0.1
    Attack(source, target, policy).run()
    Check(target, policy, original=source).run()
    Audit((str(target), str(target)), policy).run()


def test_a_release_has_a_sheet_of_its_own(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    source = tmp_path / "d.xlsx"
    with xlsxwriter.Workbook(source) as book:
        book.add_worksheet("legend").write(0, 0, "code")
        book.add_worksheet("people").write_column(0, 0, ["age", *range(20, 40)])
    policy = Policy(quasi_identifiers=["age"], reading={"sheet": "people"})
    for name in ("r.xlsx", "r.csv"):
        Anonymize(source, policy, tmp_path / name).run()
        assert Risk(tmp_path / name, policy).run().to_dict()["smallest_class"] >= 5
        Utility(source, tmp_path / name, policy).run()
    assert Risk(source, policy).run().to_dict()["smallest_class"] == 1


def test_the_starting_policy_reads_its_file(odd: Path, tmp_path: Path) -> None:
    profiled = Profile(odd, tmp_path / "shoal.toml").run()
    assert profiled.to_dict()["reading"] == {"delimiter": "|", "encoding": "utf-16", "decimal": ","}
    assert Policy.read(tmp_path / "shoal.toml").reading == profiled.reading


def test_python_takes_the_whole_or_its_keys(odd: Path) -> None:
    table = read_table(odd, Reading(text=("ward", "pay")), text=["pay"])
    assert (table["pay"][0], table["ward"].to_list()[:2]) == ("0,5", ["00", "01"])


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"delimeter": ";"}, r"The policy has no 'read.delimeter'. Did you mean 'delimiter'\?"),
        ({"text": [5]}, r"Columns to read as text are a list of names. Got \(5,\) instead."),
        ({"delimiter": 5}, "delimiter"),
        ({"decimal": "x"}, "A decimal mark is '.' or ','. Got 'x' instead."),
        (";", "How a file is read is a table of choices, such as delimiter. Got ';' instead."),
    ],
)
def test_what_cannot_be_meant_is_refused(stated: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Policy(reading=stated)  # type: ignore[arg-type]


def test_an_engine_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,pay\n" + "".join(f"{20 + i % 2},{i}\n" for i in range(20)))
    policy = Policy(quasi_identifiers=["age"], confidential=["pay"], reading={"encoding": "cp1252"})
    with pytest.raises(InputError, match=r"'read.encoding' needs the whole table in memory, which the engine 'disk'"):
        Anonymize(tmp_path / "d.csv", policy, tmp_path / "r", engine="disk").run()
    read = policy.changed(reading={"text": ["pay"]})
    release = Anonymize(tmp_path / "d.csv", read, tmp_path / "r", engine="disk").run()
    assert release.records == 20
