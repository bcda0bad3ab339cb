"""Options: what they say beside a policy file, and how the commands explain themselves."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.choices import quoted_item
from shoal.cli import console
from shoal.cli.method import promises_of
from shoal.cli.options import layout, make_policy, split
from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.jobs.layout import Layout
from shoal.masking.grouping.sorted import Sorted
from shoal.policy import AttributeChoice, Policy
from shoal.privacy import KAnonymity, LDiversity, TCloseness
from tests.cli.conftest import COMMANDS, Shoal


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "shoal.toml"
    path.write_text(
        """
identifiers = ["name"]
quasi_identifiers = ["age", "sex"]
confidential = ["charge"]
suppression = 0.1
models = [{ name = "k-anonymity", k = 7 }, { name = "t-closeness", t = 0.3, attribute = "charge" }]
method = { name = "kd" }
[attributes]
age = { kind = "numeric", weight = 2.0 }
"""
    )
    return path


def test_without_options_the_file_says_it_all(policy: Path) -> None:
    assert make_policy(policy) == Policy.read(policy)


def test_options_win_and_leave_the_rest(policy: Path) -> None:
    chosen = make_policy(
        policy, ["age"], models=promises_of(k="3"), kinds=["age=ordinal", "sex=nominal"], method={"name": "sorted"}
    )
    before = Policy.read(policy)
    assert chosen.quasi_identifiers == ("age",)
    assert chosen.models == (TCloseness(0.3, "charge"), KAnonymity(3))
    assert chosen.method == Sorted()
    assert chosen.attributes == {
        "age": AttributeChoice(kind=Kind.ORDINAL, weight=2.0),
        "sex": AttributeChoice(kind=Kind.NOMINAL),
    }
    kept = {"identifiers", "confidential", "suppression", "rest", "insensitive", "groups"}
    assert chosen.model_dump(include=kept) == before.model_dump(include=kept)


def test_a_policy_names_files_of_its_own_folder_or_the_user_does(tmp_path: Path) -> None:
    (home := tmp_path / "policies").mkdir()
    (beside := tmp_path / "beside").mkdir()
    for folder in (home, beside):
        (folder / "job.csv").write_text("nurse;care\ncook;kitchen\n")
        (folder / "people.csv").write_text("job\nnurse\n")
    (home / "link.csv").symlink_to(beside / "job.csv")

    def written(hierarchy: str, population: str) -> Path:
        model = f'{{name = "k-map", k = 2, population = "{population}"}}'
        attributes = f'[attributes]\njob.hierarchy = "{hierarchy}"\n'
        (home / "p.toml").write_text(f'quasi_identifiers = ["job"]\nmodels = [{model}]\n{attributes}')
        return home / "p.toml"

    assert make_policy(written("job.csv", "people.csv")).attributes["job"].hierarchy == str(home / "job.csv")
    for elsewhere in ("/etc/passwd", "../beside/job.csv", "link.csv"):
        with pytest.raises(InputError, match=r"does not lie in .*: put it there, or name it yourself"):
            make_policy(written(elsewhere, "people.csv"))
        with pytest.raises(InputError, match=r"does not lie in .*: put it there, or name it yourself"):
            make_policy(written("job.csv", elsewhere))
    population = str(beside / "people.csv")
    own = make_policy(
        written("/etc/passwd", "/etc/passwd"),
        hierarchies=beside,
        models=promises_of(k_map=f"2,population={population}"),
    )
    assert own.attributes["job"].hierarchy == str(beside / "job.csv")
    assert own.models[0].population == population


def test_without_a_file_5_anonymity_stays_promised() -> None:
    assert make_policy(None, ["a"]).models == (KAnonymity(5),)
    assert make_policy(None, ["a"], models=promises_of(t="0.1")).models == (KAnonymity(5), TCloseness(0.1))
    assert make_policy(None, ["a"], models=promises_of(k="2", l="3,variant=entropy")).models == (
        KAnonymity(2),
        LDiversity(3, variant="entropy"),
    )


def test_lists_may_be_split_and_repeated() -> None:
    assert split(["a, b", "c", ",d,"]) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("name", ["age, years", 'say "so"', 'a"', "it's", "x=1,2"])
def test_a_name_with_a_comma_is_quoted_as_in_csv(name: str) -> None:
    assert split([f"{quoted_item(name)},sex", quoted_item(name)]) == [name, "sex", name]


def test_quoted_names_work_in_every_option(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(
        '"age, years",sex,"cost, all"\n' + "".join(f"{i % 3},{i % 2},{i}\n" for i in range(20))
    )
    options = ("--quasi", '"age, years",sex', "--confidential", '"cost, all"', "--kind", '"age, years=nominal"')
    run = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / "r.csv", *options, "--show", '"cost, all=mean"')
    assert run.code == 0, run.err
    assert (tmp_path / "r.csv").read_text().startswith('"age, years",sex,"cost, all"')
    assert shoal("check", tmp_path / "r.csv", *options[:2], "--k", "5").code == 0
    assert "quote" in shoal("check", tmp_path / "r.csv", "--quasi", '"age, years,sex').sentence
    compared = shoal("compare", tmp_path / "d.csv", "--methods", "kd", "--at-utility", "0.1", "--no-cache", "--json")
    assert compared.json["attributes"] == ["age, years", "sex", "cost, all"]


def test_hierarchies_are_found_by_the_columns_name(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "job.csv").write_text("nurse;care;*\ncook;kitchen;*\nporter;care;*\n")
    (tmp_path / "d.csv").write_text("job,x\n" + "nurse,1\nporter,2\n" * 3 + "cook,3\n" * 4)
    run = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / "r.csv", "--quasi", "job", "--confidential", "x",
                "--k", "4", "--hierarchies", tmp_path / "h")  # fmt: skip
    assert run.code == 0
    released = (tmp_path / "r.csv").read_text()
    assert (released.count("care"), released.count("cook")) == (6, 4)


def test_an_override_changes_the_release(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text(
        'quasi_identifiers = ["age_yrs", "los"]\nconfidential = ["charge"]\n'
        'models = [{name = "k-anonymity", k = 3}]\nmethod = {name = "coarsen", resolution = 2}\nrest = "insensitive"\n'
    )
    words = ("anonymize", discharges, "-o", tmp_path / "r.csv", "--policy", policy, "--json", "--overwrite")
    assert shoal(*words).json["classes"] == 4
    assert shoal(*words, "--method", "coarsen:resolution=1").json["classes"] == 1
    assert shoal(*words, "--method", "hilbert", "--k", "50").json["smallest_class"] >= 50
    assert "diag_p" in shoal(*words, "--rest", "drop").err


# ---- help


def test_help_lists_every_command(shoal: Shoal) -> None:
    run = shoal("--help")
    assert (run.code, run.err) == (0, "")
    for command in COMMANDS:
        assert re.search(rf"^\W*{command.split()[0]} ", run.out, re.MULTILINE)
    assert "Exit code 0" in run.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_shows_two_examples_or_more(shoal: Shoal, command: str) -> None:
    run = shoal(*command.split(), "--help")
    assert (run.code, run.err) == (0, "")
    examples = run.out.partition("Examples:")[2]
    assert len(re.findall(rf"^\s*shoal {command}", examples, re.MULTILINE)) >= 2
    assert max(map(len, run.out.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command: str) -> None:
    assert [parameter.name for parameter in COMMANDS[command].params if not parameter.help] == []


@pytest.mark.parametrize("words", [(), ("sample",), ("study",)])
def test_a_command_without_words_shows_its_help(shoal: Shoal, words: tuple[str, ...]) -> None:
    run = shoal(*words)
    assert (run.code, run.err) == (2, "")
    assert "Usage: shoal" in run.out


def test_the_version(shoal: Shoal) -> None:
    from shoal import __version__

    run = shoal("--version")
    assert (run.code, run.out) == (0, f"shoal {__version__}\n")


# ---- colours


def test_colours_only_where_they_are_wanted() -> None:
    def shown(**wishes: str) -> str:
        plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        command = [Path(sys.executable).parent / "shoal", "--help"]
        run = subprocess.run(command, capture_output=True, text=True, env=plain | {"TERM": "xterm-256color"} | wishes)
        return run.stdout

    colour = re.compile(r"\x1b\[[\d;]*3\d")
    assert "\x1b" not in shown()  # not a terminal
    assert colour.search(shown(FORCE_COLOR="1"))
    assert not colour.search(shown(FORCE_COLOR="1", NO_COLOR="1"))


def test_our_own_console_respects_no_color(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    fresh = runpy.run_path(console.__file__)
    fresh["out"].print("[green]holds[/]")
    assert "holds" in (shown := capsys.readouterr().out)
    assert "[32m" not in shown


def test_a_kind_with_categories_makes_a_column_ordinal() -> None:
    kinds = [
        "education=ordinal:Preschool,Primary,Masters",
        'a=b=ordinal:"x, y",<5,>=5',
        '"cost, all"=ordinal:low,high',
        "sex=nominal,age group=ordinal: low, high",
    ]
    chosen = make_policy(None, kinds=kinds).attributes
    assert {name: choice.domain for name, choice in chosen.items()} == {
        "education": ("Preschool", "Primary", "Masters"),
        "a=b": ("x, y", "<5", ">=5"),
        "cost, all": ("low", "high"),
        "sex": None,
        "age group": ("low", "high"),
    }
    assert chosen.pop("sex").kind == Kind.NOMINAL
    assert {choice.kind for choice in chosen.values()} == {Kind.ORDINAL}


@pytest.mark.parametrize("kind", ["education=ordinal:", "education=ordinal:one", "=ordinal:low,high"])
def test_an_order_that_lists_nothing_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match="is not COLUMN=ordinal:A,B,C"):
        make_policy(None, kinds=[kind])


@pytest.mark.parametrize("other", ["sex=nominal", "sex=nominl", "town=ordinal"])
def test_a_kind_behind_categories_is_not_taken_for_one_of_them(other: str) -> None:
    with pytest.raises(InputError, match="reads as another column's kind"):
        make_policy(None, kinds=[f"education=ordinal:low,high,{other}"])


def test_the_command_asks_for_an_order_and_follows_it(shoal: Shoal, tmp_path: Path) -> None:
    source, target = tmp_path / "d.csv", tmp_path / "r.csv"
    source.write_text("grade\n" + "low\nmid\nmid\nhigh\nhigh\nlow\n")
    asked = ("anonymize", source, "-o", target, "--quasi", "grade", "--k", "3")
    assert "It holds high, low, mid." in shoal(*asked, "--kind", "grade=ordinal").sentence
    assert shoal(*asked, "--kind", "grade=ordinal:low,mid,high").code == 0
    assert set(target.read_text().split()[1:]) == {"[low;mid]", "[mid;high]"}


# ---- options that hold several choices


def test_what_is_read_comes_in_one_option_or_in_several() -> None:
    assert layout(["delimiter=;,text=zip,id", "encoding=latin-1"]) == Layout(";", "latin-1", None, ("zip", "id"))
    assert layout(['"delimiter=,",text=zip', '"text=age, years"']) == Layout(",", text=("zip", "age, years"))
    assert layout(None) == Layout()


@pytest.mark.parametrize(
    ("read", "words"),
    [
        ("delimeter=;", "--read has no parameter 'delimeter'. Did you mean 'delimiter'?"),
        (
            "zip",
            "--read has no parameter 'zip'. It takes delimiter, encoding, decimal, text, date-format, year-from, "
            "missing, names, sheet.",
        ),
        ("delimiter=,", "--read is given 'delimiter' without a value"),
        ("encoding", "which is not encoding=VALUE"),
        ("encoding=a,encoding=b", "--read is given 'encoding' twice"),
    ],
)
def test_what_cannot_be_read_so_is_refused_by_name(read: str, words: str) -> None:
    with pytest.raises(InputError) as refusal:
        layout([read])
    assert words in str(refusal.value)


def test_words_stand_for_delimiters_that_are_hard_to_type(shoal: Shoal, tmp_path: Path) -> None:
    for word, mark in {"tab": "\t", "space": " ", "comma": ","}.items():
        (tmp_path / "d.csv").write_text(f"a{mark}b\n1{mark}2\n1{mark}2\n")
        run = shoal("check", tmp_path / "d.csv", "--quasi", "a,b", "--k", "2", "--read", f"delimiter={word}")
        assert run.code == 0, run.err


def test_sheet_is_a_short_word_for_reading_a_sheet(shoal: Shoal, tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with xlsxwriter.Workbook(tmp_path / "d.xlsx") as book:
        book.add_worksheet("one").write_column(0, 0, ["a", 1, 2])
        book.add_worksheet("the other, two").write_column(0, 0, ["a", 1, 1])
    asked = ("risk", tmp_path / "d.xlsx", "--quasi", "a", "--json")
    assert "--read sheet=one" in shoal(*asked).sentence
    by_word, by_key = shoal(*asked, "--sheet", "the other, two"), shoal(*asked, "--read", '"sheet=the other, two"')
    assert (by_word.code, by_word.out) == (0, by_key.out)
    assert shoal(*asked, "--sheet=one").out != by_key.out
    assert "--sheet" not in shoal("risk", "--help").out


@pytest.mark.parametrize(
    "command", [("profile",), ("risk", "--quasi", "born"), ("check", "--quasi", "born", "--k", "2")]
)
def test_date_format_is_a_short_word_for_reading_dates(shoal: Shoal, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "d.csv").write_text("born\n" + "03/04/2021\n05/06/2021\n" * 2)
    asked = (*command, tmp_path / "d.csv", "--json")
    by_word = shoal(*asked, "--date-format", "dd/mm/yyyy")
    assert (by_word.code, by_word.out) == (0, shoal(*asked, "--read", "date-format=dd/mm/yyyy").out)
    assert "The date format 'ddmm' is none" in shoal(*asked, "--date-format=ddmm").sentence


FORMER = {
    "--delimiter ;": "--read delimiter=...",
    "--text zip": "--read text=...",
    "--order edu=a,b": "--kind COLUMN=ordinal:A,B,C",
    "--explain e": "--write explain=DIR",
    "--keep-order": "--write keep-order",
    "--disarm-formulas": "--write disarm-formulas",
    "--epsilon 1": "--show COLUMN=private-mean:epsilon=...",
    "--independent": "--split confidential:independent",
    "--merge": "--split confidential:merge",
    "--ledger-key k": "--ledger FILE,key=FILE",
    "--epsilon-limit 2": "--ledger FILE,key=FILE,limit=...",
    "--master local": "--engine spark:master=...",
}


@pytest.mark.parametrize("former", FORMER)
def test_a_former_option_is_refused_with_the_spelling_of_today(shoal: Shoal, former: str) -> None:
    run = shoal("anonymize", "d.csv", "-o", "r.csv", *former.split())
    assert run.code == 2
    assert run.sentence == f"No such option: {former.split()[0]}. Did you mean {FORMER[former]}?"


def test_nothing_is_advised_that_the_command_has_not(shoal: Shoal) -> None:
    assert "--read" not in shoal("sample", "discharges", "-o", "d.csv", "--delimiter", ";").sentence
    assert "--promise" not in shoal("profile", "d.csv", "--k-anonymity", "5").sentence


def test_the_help_of_anonymize_fits_a_screen_and_a_half(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shoal("anonymize", "--help")
    assert len(set(re.findall(r"^\W*(--[a-z-]+)", run.out, re.MULTILINE))) <= 35
    assert len(run.out.splitlines()) <= 100  # at 80 columns
