"""`shoal check`: 0 where every promise holds, 1 where one does not, 2 where nothing can be said."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas
import polars as pl
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from shoal.data.digests import digest
from shoal.data.files import write_table
from shoal.data.people import COUNTED
from shoal.errors import InputError
from shoal.report.inspection import checksums, inspect_released
from tests.cli.conftest import ROLES, Run, Shoal, run_command
from tests.engines.sessions import ON_SPARK

PEOPLE = "age,sex,charge\n" + "[20;29],M,1\n" * 2 + "[20;29],M,2\n" * 2 + "[30;39],F,1\n" * 3


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "r.csv").write_text(PEOPLE)
    return tmp_path / "r.csv"


@pytest.fixture(scope="module")
def certified_once(discharges: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certified")
    asked = [*ROLES, "--k", "4", "--t", "0.2", "--insensitive", "diag_p", "--certificate", folder / "c.json"]
    assert run_command("anonymize", discharges, "-o", folder / "r.csv", *asked, "--quiet") == 0
    return folder


@pytest.fixture
def certified(certified_once: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A release and its certificate, to be spoilt."""
    shutil.copytree(certified_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "r.csv", tmp_path / "c.json"


def test_a_promise_that_holds(shoal: Shoal, people: Path) -> None:
    run = shoal("check", people, "--quasi", "age,sex", "--confidential", "charge", "--k", "3", "--json")
    model = {"name": "k-anonymity", "asked": 3, "achieved": 3, "holds": True}
    assert (run.code, run.err) == (0, "")
    assert run.json == {"records": 7, "holds": True, "models": [model]}


@pytest.mark.parametrize(
    ("asked", "reached"), [(["--k", "4"], 3), (["--k", "3", "--l", "2"], 1), (["--k", "2", "--t", "0.1"], 2 / 7)]
)
def test_a_promise_that_does_not_hold(shoal: Shoal, people: Path, asked: list[str], reached: float) -> None:
    run = shoal("check", people, "--quasi", "age,sex", "--confidential", "charge", *asked, "--json")
    assert run.code == 1
    assert not run.json["holds"]
    assert run.json["models"][-1]["achieved"] == pytest.approx(reached)
    shown = shoal("check", people, "--quasi", "age,sex", "--confidential", "charge", *asked)
    assert (shown.code, "does not hold" in shown.out) == (1, True)


def test_what_no_role_names_is_told(shoal: Shoal, people: Path) -> None:
    run = shoal("check", people, "--quasi", "age", "--k", "3")
    assert (run.code, "'sex', 'charge'" in run.err) == (0, True)


def test_a_policy_with_identifiers_fits_a_release_without_them(shoal: Shoal, people: Path) -> None:
    policy = people.parent / "shoal.toml"
    policy.write_text(
        'identifiers = ["name"]\nquasi_identifiers = ["age", "sex"]\nconfidential = ["charge"]\n'
        'models = [{name = "k-anonymity", k = 3}]\n[attributes]\nname.kind = "nominal"\nage.kind = "numeric"\n'
    )
    assert shoal("check", people, "--policy", policy).code == 0
    assert shoal("check", people, "--policy", policy, "--k", "4").code == 1
    assert shoal("risk", people, "--policy", policy).code == 0


def test_an_identifier_that_is_shown_breaks_the_promise(shoal: Shoal, people: Path) -> None:
    run = shoal("check", people, "--identifiers", "sex", "--quasi", "age", "--k", "2")
    assert (run.code, "'sex'" in run.sentence) == (1, True)


def test_input_that_cannot_be_judged(shoal: Shoal, people: Path) -> None:
    assert "'agee'" in shoal("check", people, "--quasi", "agee").sentence
    assert "quasi-identifier" in shoal("check", people).sentence
    assert "no file" in shoal("check", people.with_name("other.csv"), "--quasi", "age").sentence


# ---- by certificate


def test_a_certificate_is_enough(shoal: Shoal, certified: tuple[Path, Path]) -> None:
    release, certificate = certified
    run = shoal("check", release, "--certificate", certificate, "--json")
    assert (run.code, run.err) == (0, "Released as they are, as insensitive: 'diag_p'.\n")
    assert [(m["name"], m["asked"], m["holds"]) for m in run.json["models"]] == [
        ("k-anonymity", 4, True),
        ("t-closeness", 0.2, True),
    ]


@pytest.mark.parametrize(
    "option", ["--quasi=sex", "--k=100", "--l=2", "--t=0.5", "--policy=p.toml", "--kind=sex=nominal"]
)
def test_a_certificate_says_itself_what_was_promised(shoal: Shoal, certified: tuple[Path, Path], option: str) -> None:
    run = shoal("check", certified[0], "--certificate", certified[1], option)
    assert (run.code, f"Give {option.partition('=')[0]} or --certificate" in run.sentence) == (2, True)


@pytest.mark.parametrize("change", ["one value", "a record less", "broken"])
def test_a_file_that_was_changed_is_refused(shoal: Shoal, certified: tuple[Path, Path], change: str) -> None:
    release, certificate = certified
    lines = release.read_text().splitlines(keepends=True)
    lines[5:6] = {"one value": [lines[5].replace("1", "2")], "a record less": [], "broken": ['"\n']}[change]
    release.write_text("".join(lines))
    run = shoal("check", release, "--certificate", certificate)
    assert (run.code, "its digest differs" in run.sentence) == (1, True)


def forged(shoal: Shoal, certified: tuple[Path, Path], change: dict[str, Any]) -> Run:
    release, certificate = certified
    content = json.loads(certificate.read_text())
    for path, value in change.items():
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        part = content
        for parent in parents:
            part = part[parent]
        part[last] = value
    certificate.write_text(json.dumps(content))
    return shoal("check", release, "--certificate", certificate)


@pytest.mark.parametrize(
    "change",
    [
        {"records": 4000},
        {"classes": 1},
        {"smallest_class": 100},
        {"columns": ["age_yrs"]},
        {"models.0.achieved": 100},
        {"models.1.achieved": 0.0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_certificate_that_states_what_is_not_so_is_refused(
    shoal: Shoal, certified: tuple[Path, Path], change: dict[str, Any]
) -> None:
    run = forged(shoal, certified, change)
    assert (run.code, "but the file shows" in run.err) == (1, True)


def test_a_certificate_that_promises_more_than_holds_is_refused(shoal: Shoal, certified: tuple[Path, Path]) -> None:
    assert forged(shoal, certified, {"models.0.k": 100}).code == 1


# ---- a certificate is data from elsewhere


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module in the current folder that leaves a file behind when it is imported."""
    (tmp_path / "helper.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path / "ran"
    sys.modules.pop("helper", None)


RUNS_CODE = [{"name": "measured-risk", "level": 1.0, "measure": "helper:x", "asked": 1.0, "holds": True}]
SECRET = "hushed;x;0;0\n"


def test_a_certificate_cannot_run_code(shoal: Shoal, certified: tuple[Path, Path], planted: Path) -> None:
    run = forged(shoal, certified, {"models": RUNS_CODE})
    assert (run.code, "'helper:x', which is code" in run.sentence, planted.exists()) == (2, True, False)
    run = forged(shoal, certified, {"models": RUNS_CODE, "sha256": "0" * 64})
    assert (run.code, "digest differs" in run.sentence, planted.exists()) == (1, True, False)


@pytest.mark.parametrize(
    "change",
    [
        {"attributes.charge.hierarchy": "secret.csv"},
        {"attributes.charge.hierarchy": {"type": "order"}},
        {"models.0": {"name": "k-map", "k": 5, "population": "secret.csv", "asked": 5, "achieved": 5, "holds": True}},
    ],
    ids=["hierarchy", "hierarchy by rule", "population"],
)
def test_a_certificate_cannot_have_a_file_read(
    shoal: Shoal, certified: tuple[Path, Path], change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(certified[0].parent)
    Path("secret.csv").write_text(SECRET)
    run = forged(shoal, certified, change)
    assert (run.code, "is not a certificate that Shoal wrote" in run.sentence, "hushed" in run.err) == (2, True, False)


@pytest.mark.parametrize("what", ["models", "attributes", "columns", "quasi_identifiers", "confidential"])
@pytest.mark.parametrize("content", [None, 5, "x", [[]], {"x": "y"}, [None], {"charge": {"kind": {}}}])
def test_nothing_of_a_certificate_is_looked_at_before_the_digest(
    shoal: Shoal, certified: tuple[Path, Path], what: str, content: Any
) -> None:
    run = forged(shoal, certified, {what: content, "sha256": "0" * 64})
    assert (run.code, "its digest differs" in run.sentence) == (1, True)


def test_a_certificate_nested_beyond_all_measure_is_none(shoal: Shoal, people: Path) -> None:
    certificate = people.with_name("c.json")
    certificate.write_text("[" * 100_000)
    run = shoal("check", people, "--certificate", certificate)
    assert (run.code, "is not a certificate that Shoal wrote" in run.sentence) == (2, True)


def test_a_k_map_counted_in_a_population_is_checked_in_the_readers_own(shoal: Shoal, tmp_path: Path) -> None:
    source, release, certificate = (tmp_path / name for name in ("d.csv", "r.csv", "c.json"))
    source.write_text("age,charge\n" + "".join(f"{20 + i % 5},{i}\n" for i in range(30)))
    asked = ("--k-map", f"5,population={source}")
    run = shoal("anonymize", source, "-o", release, "--quasi", "age", "--confidential", "charge", *asked,
                "--certificate", certificate)  # fmt: skip
    assert (run.code, "d.csv" in certificate.read_text()) == (0, False)
    assert "needs to know the population" in shoal("check", release, "--certificate", certificate).sentence
    assert shoal("check", release, "--certificate", certificate, "--population", source).code == 0


def test_a_population_is_for_a_k_map(shoal: Shoal, certified: tuple[Path, Path]) -> None:
    run = shoal("check", certified[0], "--certificate", certified[1], "--population", certified[0])
    assert (run.code, "promises no k-map in a population" in run.sentence) == (2, True)


STATED = ["models", "columns", "quasi_identifiers", "made_by", "counts", "record_order", "records", "attributes"]


@pytest.mark.parametrize("value", [None, 1.5, "3", 10**400, ["x", "x"]], ids=lambda value: repr(value)[:9])
@pytest.mark.parametrize("what", [*STATED, "models.0.achieved", "models.0.k", "models.0.asked", "a_word_more"])
def test_a_certificate_of_another_shape_is_refused_in_one_sentence(
    shoal: Shoal, tmp_path: Path, what: str, value: Any
) -> None:
    release, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    release.write_text("q,c\n" + "5,1\n" * 3)
    certificate.write_text(json.dumps(stating(release)))
    if what == "models.0.achieved" and value is None:
        return  # a figure found beside the original is not stated
    run = forged(shoal, (release, certificate), {what: value})
    assert run.code in (1, 2)
    assert run.sentence


def stating(path: Path) -> dict[str, Any]:
    """The certificate of three records of one class."""
    return {
        "made_by": "shoal 0.1.0", "sha256": digest(path), "records": 3, "counts": COUNTED, "columns": ["q", "c"],
        "quasi_identifiers": ["q"], "confidential": ["c"], "insensitive": [], "attributes": {"c": {"kind": "numeric"}},
        "classes": 1, "smallest_class": 3, "record_order": "shuffled",
        "models": [{"name": "k-anonymity", "k": 3, "asked": 3, "achieved": 3, "holds": True}],
    }  # fmt: skip


def test_a_certificate_of_the_right_shape_is_read(shoal: Shoal, tmp_path: Path) -> None:
    release, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    release.write_text("q,c\n" + "5,1\n" * 3)
    certificate.write_text(json.dumps(stating(release)))
    assert shoal("check", release, "--certificate", certificate).code == 0


def test_a_certificate_states_each_model_for_each_column(shoal: Shoal, tmp_path: Path) -> None:
    release, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    release.write_text("q,c,d\n" + "5,1,1\n5,2,2\n" * 2)
    both = {"columns": ["q", "c", "d"], "records": 4, "smallest_class": 4, "confidential": ["c", "d"],
            "attributes": {"c": {"kind": "numeric"}, "d": {"kind": "numeric"}},
            "models": [{"name": "l-diversity", "l": 2, "asked": 2, "achieved": 2, "holds": True}]}  # fmt: skip
    certificate.write_text(json.dumps({**stating(release), **both}))
    run = shoal("check", release, "--certificate", certificate)
    assert (run.code, "is not a certificate that Shoal wrote" in run.sentence) == (2, True)


def test_a_column_named_twice_is_told(shoal: Shoal, people: Path) -> None:
    policy = people.with_name("shoal.toml")
    policy.write_text('quasi_identifiers = ["age", "age"]\n')
    for asked in (("--quasi", "age,age"), ("--policy", policy)):
        for engine in ("memory", "disk"):
            run = shoal("check", people, *asked, "--engine", engine)
            assert (run.code, "'age' is named twice as quasi-identifier" in run.sentence) == (2, True)


def test_a_number_beyond_all_counting_is_told(shoal: Shoal, people: Path) -> None:
    policy = people.with_name("shoal.toml")
    for digits in (400, 5000):
        policy.write_text(f'quasi_identifiers = ["age"]\nmodels = [{{name = "k-anonymity", k = 1{"0" * digits}}}]\n')
        assert shoal("check", people, "--policy", policy).sentence
    assert "at most 63 bits" in shoal("check", people, "--quasi", "age", "--k", "1" + "0" * 400).sentence


def test_a_policy_file_cannot_run_code_from_the_command_line(shoal: Shoal, people: Path, planted: Path) -> None:
    policy = people.with_name("shoal.toml")
    policy.write_text(
        'quasi_identifiers = ["age"]\nmodels = [{name = "measured-risk", level = 1, measure = "helper:x"}]\n'
    )
    for command in ("check", "risk"):
        run = shoal(command, people, "--policy", policy)
        assert (run.code, "'helper:x', which is code" in run.sentence, planted.exists()) == (2, True, False)


def test_a_certificate_that_is_not_there_is_told(shoal: Shoal, people: Path) -> None:
    run = shoal("check", people, "--certificate", people.with_name("c.json"))
    assert (run.code, "cannot be read: No such file" in run.sentence) == (2, True)


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"sha256": 1}', '{"quasi_identifiers": 1}', "\xff"])
def test_what_is_no_certificate_is_told(shoal: Shoal, people: Path, content: str) -> None:
    certificate = people.with_name("c.json")
    certificate.write_bytes(content.encode("latin-1"))
    run = shoal("check", people, "--certificate", certificate)
    assert (run.code, "is not a certificate that Shoal wrote" in run.sentence) == (2, True)


def test_models_are_certified_with_all_they_mean(shoal: Shoal, tmp_path: Path) -> None:
    """Variant, distance and declared order: judged otherwise, the figures would not be these."""
    source, release, certificate = (tmp_path / name for name in ("d.csv", "r.csv", "c.json"))
    words = ("low", "mid", "high", "mid", "low", "low")
    source.write_text("age,word\n" + "".join(f"{i % 9},{words[i % 6]}\n" for i in range(60)))
    policy = tmp_path / "shoal.toml"
    policy.write_text(
        'quasi_identifiers = ["age"]\nconfidential = ["word"]\n'
        'models = [{name = "l-diversity", l = 2, variant = "entropy"}, {name = "t-closeness", t = 0.2}]\n'
        '[attributes]\nword = {kind = "ordinal", domain = ["none", "low", "mid", "high", "unheard-of"]}\n'
    )
    run = shoal("anonymize", source, "-o", release, "--policy", policy, "--certificate", certificate, "--json")
    assert run.code == 0
    content = json.loads(certificate.read_text())
    assert content["attributes"] == {"word": {"kind": "ordinal", "domain": ["low", "mid", "high"]}}
    again = shoal("check", release, "--certificate", certificate, "--json")
    assert (again.code, again.json["models"]) == (0, run.json["models"])


def test_the_command_asks_how_cells_came_about_and_a_certificate_says_it(
    shoal: Shoal, discharges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h").mkdir()
    shoal("hierarchy", "build", discharges, "age_yrs", "-o", "h/age_yrs.csv", "--steps", "5,10,20")
    shoal("hierarchy", "build", discharges, "patzip", "-o", "h/patzip.csv", "--mask")
    quasi = ("--quasi", "age_yrs,patzip", "--k-map", "5,fraction=0.02")
    made = shoal("anonymize", discharges, "-o", "r.csv", *quasi, "--method", "recode", "--hierarchies", "h",
                 "--suppress", "1", "--certificate", "r.json")  # fmt: skip
    assert made.code == 0
    assert "k-map is inferred, not counted" in " ".join(made.err.split())
    unsure = shoal("check", "r.csv", *quasi)
    assert (unsure.code, "--cells-fixed" in unsure.sentence) == (2, True)
    judged = shoal("check", "r.csv", *quasi, "--cells-fixed", "--json")
    assert (judged.code, judged.json["holds"]) == (0, True)
    assert "not about the share of classes" in judged.json["models"][0]["note"]
    assert shoal("check", "r.csv", "--certificate", "r.json").code == 0
    assert "--cells-fixed is about k-map" in shoal("check", "r.csv", "--quasi", "patzip", "--cells-fixed").sentence


# ---- what nobody protects


def test_a_column_that_the_policy_would_not_release_breaks_the_promise(shoal: Shoal, people: Path) -> None:
    policy = people.parent / "shoal.toml"
    policy.write_text('quasi_identifiers = ["age", "sex"]\nmodels = [{name = "k-anonymity", k = 3}]\n')
    for engine in ("memory", "disk"):
        run = shoal("check", people, "--policy", policy, "--engine", engine)
        assert (run.code, "shows 'charge', which the policy names no role for" in run.sentence) == (1, True)
        assert shoal("check", people, "--policy", policy, "--confidential", "charge", "--engine", engine).code == 0
    policy.write_text('rest = "insensitive"\n' + policy.read_text())
    run = shoal("check", people, "--policy", policy)
    assert (run.code, run.err) == (0, "Released as they are, as insensitive: 'charge'.\n")


def test_where_nothing_is_promised_nothing_holds(
    shoal: Shoal, people: Path, certified: tuple[Path, Path], tmp_path: Path
) -> None:
    run = forged(shoal, certified, {"models": []})
    assert (run.code, "names no model: nothing is promised" in run.sentence) == (2, True)
    (tmp_path / "shoal.toml").write_text('quasi_identifiers = ["age"]\nmodels = []\nrest = "insensitive"\n')
    for engine in ("memory", "disk"):
        run = shoal("check", people, "--policy", tmp_path / "shoal.toml", "--engine", engine)
        assert (run.code, "Nothing is promised: name a model" in run.sentence) == (2, True)


def test_a_certificate_that_leaves_out_a_column_of_the_file_does_not_hold(
    shoal: Shoal, certified: tuple[Path, Path]
) -> None:
    run = forged(shoal, certified, {"insensitive": []})
    assert (run.code, "names no role for 'diag_p', which the file shows: nobody protects" in run.sentence) == (1, True)
    quasi = json.loads(certified[1].read_text())["quasi_identifiers"]
    run = forged(shoal, certified, {"quasi_identifiers": quasi[1:], "insensitive": ["diag_p"]})
    assert (run.code, f"names no role for {quasi[0]!r}" in run.sentence) == (1, True)


# ---- the text that stands there

SEEN_APART = {
    "numbers": ["5", "5.0", "5.00", "+5", "05", " 5", "5 "],
    "missing": ["", '""', "NA", "null", "NaN", "."],
    "dates": ["2021-01-05", "2021-1-5", "2021-01-05T00:00", "2021-01-05 00:00:00"],
    "truths": ["true", "True", "TRUE"],
    "marks": ["1234.5", '"1,234.5"', "1234.50", "1.2345e3"],
}


@pytest.mark.parametrize("engine", ["memory", "disk", pytest.param("spark", marks=[*ON_SPARK, pytest.mark.slow])])
@pytest.mark.parametrize("kind", SEEN_APART)
def test_texts_that_a_reader_can_tell_apart_are_different_values(
    shoal: Shoal, tmp_path: Path, engine: str, kind: str
) -> None:
    texts = SEEN_APART[kind]
    (tmp_path / "r.csv").write_text("q,c\n" + "".join(f"{text},1\n" for text in texts))
    options = ("--quasi", "q", "--confidential", "c", "--k", "2", "--json", "--engine", engine)
    run = shoal("check", tmp_path / "r.csv", *options)
    assert (run.code, run.json["models"][0]["achieved"]) == (1, 1)
    (tmp_path / "r.csv").write_text("q,c\n" + "".join(f"{text},1\n" for text in texts * 2))
    assert shoal("check", tmp_path / "r.csv", *options).code == 0


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt", "csv.gz"])
def test_every_format_of_text_is_judged_as_text(shoal: Shoal, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"r.{suffix}"
    lines = b"q\tc\n5\t1\n5.0\t1\n"
    path.write_bytes(gzip.compress(lines) if suffix.endswith("gz") else lines)
    assert shoal("check", path, "--quasi", "q", "--confidential", "c", "--k", "2").code == 1


def test_a_quasi_identifier_is_text_by_certificate_and_policy_too(shoal: Shoal, tmp_path: Path) -> None:
    path, policy = tmp_path / "r.csv", tmp_path / "shoal.toml"
    path.write_text("q,c\n5,1\n5.0,1\n")
    policy.write_text('quasi_identifiers = ["q"]\nconfidential = ["c"]\nmodels = [{name = "k-anonymity", k = 2}]\n')
    assert shoal("check", path, "--policy", policy).code == 1
    certificate = stating(path) | {"records": 2, "smallest_class": 2}
    certificate["models"] = [{"name": "k-anonymity", "k": 2, "asked": 2, "achieved": 2, "holds": True}]
    (tmp_path / "c.json").write_text(json.dumps(certificate))
    run = shoal("check", path, "--certificate", tmp_path / "c.json")
    assert (run.code, "states classes as 1, but the file shows 2" in run.sentence) == (1, True)


def test_typed_cells_that_a_reader_can_tell_apart_are_different_values(shoal: Shoal, tmp_path: Path) -> None:
    floats = pl.DataFrame({"q": [0.0, -0.0, float("nan"), None], "c": [1, 2, 3, 4]})
    for suffix in ("parquet", "arrow"):
        write_table(floats, tmp_path / f"r.{suffix}")
        for engine in ("memory", "disk"):
            run = shoal("check", tmp_path / f"r.{suffix}", "--quasi", "q", "--confidential", "c", "--engine", engine,
                        "--k", "2", "--json")  # fmt: skip
            assert (run.code, run.json["models"][0]["achieved"]) == (1, 1)


def test_kinds_of_missing_that_a_statistical_file_declares_are_different_values(shoal: Shoal, tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    coded = pl.DataFrame({"q": [8.0, 9.0, 1.0, 1.0], "c": [1.0] * 4})
    pyreadstat.write_sav(coded, tmp_path / "r.sav", missing_ranges={"q": [8, 9]})
    lettered = {"q": ["a", "b", 1.0, 1.0], "c": [1.0] * 4}
    pyreadstat.write_dta(pandas.DataFrame(lettered), tmp_path / "r.dta", missing_user_values={"q": ["a", "b"]})
    for path in (tmp_path / "r.sav", tmp_path / "r.dta"):
        assert shoal("check", path, "--quasi", "q", "--confidential", "c", "--k", "2").code == 1


def test_cells_of_several_kinds_in_a_column_of_excel_are_refused(shoal: Shoal, tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "r.xlsx") as book:
        sheet = book.add_worksheet()
        for row, cells in enumerate([("q", "c"), (5, 1), ("5", 1)]):
            sheet.write_row(row, 0, cells, book.add_format({"num_format": "@"}) if row else None)
    run = shoal("check", tmp_path / "r.xlsx", "--quasi", "q", "--confidential", "c", "--k", "2")
    assert (run.code, "mixes kinds of cells" in run.sentence) == (2, True)


# ---- what stands there besides the rows

TABLE = pl.DataFrame({"q": ["a", "b"] * 3, "c": [1, 2] * 3})
ASKED = ("--quasi", "q", "--confidential", "c", "--k", "3")


def a_further_sheet(book: Any, sheet: Any) -> None:
    book.add_worksheet("names").write(0, 0, "Ann")


def an_author(book: Any, sheet: Any) -> None:
    book.set_properties({"author": "Ann"})


def an_error(book: Any, sheet: Any) -> None:
    sheet.write_formula(1, 1, "=1/0", None, "#DIV/0!")


BESIDE_CELLS = {
    "a further sheet": a_further_sheet,
    "comments": lambda book, sheet: sheet.write_comment(1, 1, "Ann"),
    "formulas": lambda book, sheet: sheet.write_formula(1, 1, '=IF(1,1,"Ann")', None, 1),
    "an error": an_error,
    "Ann": an_author,
    "'hyperlink'": lambda book, sheet: sheet.write_url(1, 0, "https://a.example/ann", string="a"),
    "a header or footer": lambda book, sheet: sheet.set_header("Ann"),
    "'definedNames'": lambda book, sheet: book.define_name("Ann", "=1"),
    "'dataValidations'": lambda book, sheet: sheet.data_validation(1, 0, 1, 0, {"validate": "list", "source": ["Ann"]}),
    "cells of several formats": lambda book, sheet: sheet.write(1, 1, 1, book.add_format({"bold": True})),
    "rows of several looks": lambda book, sheet: sheet.set_row(1, 44),
}


@pytest.mark.parametrize("what", BESIDE_CELLS)
def test_what_a_workbook_holds_besides_its_rows_is_found(shoal: Shoal, tmp_path: Path, what: str) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    for change in (lambda book, sheet: None, BESIDE_CELLS[what]):
        with xlsxwriter.Workbook(tmp_path / "r.xlsx") as book:
            sheet = book.add_worksheet()
            for row, cells in enumerate([("q", "c"), *TABLE.rows()]):
                sheet.write_row(row, 0, cells)
            change(book, sheet)
        run = shoal("check", tmp_path / "r.xlsx", *ASKED, "--read", "sheet=Sheet1")
        if change is not BESIDE_CELLS[what]:
            assert run.code == 0
    assert run.code == 1
    assert what in run.sentence or "'xl/worksheets/_rels/sheet1.xml.rels'" in run.sentence or "links" in run.sentence


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "xlsx", "dta", "sav", "xpt", "csv.gz"])
def test_what_shoal_writes_passes(shoal: Shoal, tmp_path: Path, suffix: str) -> None:
    write_table(TABLE, tmp_path / f"r.{suffix}")
    assert shoal("check", tmp_path / f"r.{suffix}", *ASKED).code == 0


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_what_a_file_of_columns_holds_besides_its_rows_is_found(shoal: Shoal, tmp_path: Path, engine: str) -> None:
    path = tmp_path / "r.parquet"
    TABLE.write_parquet(path, metadata={"by": "Ann"})
    run = shoal("check", path, *ASKED, "--engine", engine)
    assert (run.code, "r.parquet holds a note 'by', which no row shows" in run.sentence) == (1, True)
    TABLE.with_columns(pl.col("q").cast(pl.Enum(["a", "b", "Ann"]))).write_parquet(path)
    run = shoal("check", path, *ASKED, "--engine", engine)
    assert (run.code, "holds categories of 'q'" in run.sentence) == (1, True)
    TABLE.to_pandas().to_parquet(path)
    run = shoal("check", path, *ASKED, "--engine", engine)
    assert (run.code, "'pandas'" in run.sentence) == (1, True)
    pq.write_table(TABLE.to_arrow(compat_level=pl.CompatLevel.oldest()), path)
    assert shoal("check", path, *ASKED, "--engine", engine).code == 0
    feather.write_feather(TABLE.to_arrow(compat_level=pl.CompatLevel.oldest()), path.with_suffix(".arrow"))
    assert shoal("check", path.with_suffix(".arrow"), *ASKED, "--engine", engine).code == 0


@pytest.mark.parametrize(
    "notes",
    [
        {"file_label": "Ann"},
        {"variable_value_labels": {"c": {4711: "Ann"}}},
        {"note": "Ann"},
    ],
    ids=lambda notes: next(iter(notes)),
)
def test_what_a_statistical_file_holds_besides_its_rows_is_found(shoal: Shoal, tmp_path: Path, notes: Any) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_sav(TABLE, tmp_path / "r.sav", **notes)
    run = shoal("check", tmp_path / "r.sav", *ASKED)
    assert (run.code, "holds labels or notes" in run.sentence) == (1, True)


def test_labels_of_columns_are_shown_to_the_reader(shoal: Shoal, tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_sav(TABLE, tmp_path / "r.sav", column_labels=[f"about {name}, Ann" for name in TABLE.columns])
    run = shoal("check", tmp_path / "r.sav", *ASKED)
    assert (run.code, "'c' ('about c, Ann')" in " ".join(run.err.split()), "no promise is about" in run.err) == (
        0,
        True,
        True,
    )


def test_of_files_that_cannot_be_looked_into_nothing_is_said(tmp_path: Path) -> None:
    for name in ("r.ods", "r.xls"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(InputError, match="it cannot be said what stands there besides the rows"):
            inspect_released(tmp_path / name)


# ---- a folder is published whole


@pytest.fixture
def folder(shoal: Shoal, tmp_path: Path) -> Path:
    (tmp_path / "d").mkdir()
    pl.concat([TABLE] * 5).write_csv(tmp_path / "d" / "d.csv")
    run = shoal("anonymize", tmp_path / "d", "-o", tmp_path / "r", *ASKED, "--certificate", tmp_path / "c.json")
    assert run.code == 0
    return tmp_path / "r"


@pytest.mark.parametrize(
    "name",
    ["_names.csv", ".x", "names.txt", "part-9.csv.bak", ".names.crc", "sex=F/part-0.csv", "sex=F/.x", "_SUCCESS"],
)
@pytest.mark.parametrize("by", ["options", "certificate"])
def test_a_folder_that_holds_another_file_does_not_hold(shoal: Shoal, folder: Path, name: str, by: str) -> None:
    asked = ASKED if by == "options" else ("--certificate", folder.parent / "c.json")
    assert shoal("check", folder, *asked).code == 0
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("q,c\na,1\n" if name.endswith("0.csv") else "Ann")
    run = shoal("check", folder, *asked)
    assert run.code == 1
    told = repr(name.partition("/")[0])
    assert told in run.sentence or (by == "certificate" and "digest differs" in run.sentence)


def test_checksums_of_a_folder_are_those_of_its_files(shoal: Shoal, folder: Path) -> None:
    part = next(folder.glob("part-*"))
    crc = folder / f".{part.name}.crc"
    crc.write_bytes(checksums(part))
    assert shoal("check", folder, *ASKED).code == 0
    crc.write_bytes(checksums(part) + b"Ann")
    run = shoal("check", folder, *ASKED)
    assert (run.code, repr(crc.name) in run.sentence) == (1, True)


def test_the_certificate_in_a_folder_is_one(shoal: Shoal, folder: Path) -> None:
    own = folder / "_certificate.json"
    content = json.loads(own.read_text())
    own.write_text(json.dumps({**content, "names": ["Ann"]}))
    run = shoal("check", folder, *ASKED)
    assert (run.code, "is not a certificate that Shoal wrote" in run.sentence) == (2, True)


@pytest.mark.parametrize("engine", [pytest.param("spark", marks=[*ON_SPARK, pytest.mark.slow])])
def test_a_folder_of_spark_is_looked_at_too(shoal: Shoal, folder: Path, tmp_path: Path, engine: str) -> None:
    run = shoal("anonymize", tmp_path / "d", "-o", tmp_path / "s", *ASKED, "--engine", engine)
    assert run.code == 0
    assert shoal("check", tmp_path / "s", *ASKED, "--engine", engine).code == 0
    (tmp_path / "s" / "_names.csv").write_text("Ann")
    run = shoal("check", tmp_path / "s", *ASKED, "--engine", engine)
    assert (run.code, "'_names.csv'" in run.sentence) == (1, True)


# ---- spellings


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("pair", [("hiv", "hiv "), ("5", "5.0"), ("5", "05"), ("0", "-0"), ("hiv", " hiv")])
def test_spellings_of_one_value_do_not_make_a_class_diverse(
    shoal: Shoal, tmp_path: Path, engine: str, pair: tuple[str, str]
) -> None:
    (tmp_path / "r.csv").write_text("q,c\n" + "".join(f"a,{text}\n" for text in pair) + "b,flu\nb,cold\n" * 2)
    options = ("--quasi", "q", "--confidential", "c", "--l", "2", "--json", "--engine", engine)
    run = shoal("check", tmp_path / "r.csv", *options)
    assert (run.code, run.json["models"][-1]["achieved"]) == (1, 1)


@pytest.mark.parametrize("column", ["q", "c"])
@pytest.mark.parametrize("cells", [(5, "5"), (5, 5.0), (5.0, "5.0"), ("5", b"5")])
def test_cells_of_several_kinds_in_a_column_of_sqlite_are_refused(
    shoal: Shoal, tmp_path: Path, column: str, cells: tuple[Any, Any]
) -> None:
    pytest.importorskip("adbc_driver_sqlite")
    with closing(sqlite3.connect(tmp_path / "r.db")) as database:
        database.execute("CREATE TABLE r (q, c)")
        for cell in (*cells, None):
            database.execute("INSERT INTO r VALUES (?, ?)", (cell, 1) if column == "q" else (1, cell))
        database.commit()
    run = shoal("check", f"sqlite:///{tmp_path / 'r.db'}#r", "--quasi", "q", "--confidential", "c", "--k", "2")
    assert (run.code, f"Column {column!r}" in run.sentence and "kinds of cells" in run.sentence) == (2, True)


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("cells", [(5, "5"), (True, 1), (True, "TRUE")])
def test_no_column_of_excel_mixes_kinds_of_cells(shoal: Shoal, tmp_path: Path, column: int, cells: Any) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "r.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["q", "c"])
        for row, cell in enumerate(cells, 1):
            sheet.write(row, column, cell)
            sheet.write(row, 1 - column, 7)
    run = shoal("check", tmp_path / "r.xlsx", "--quasi", "q", "--confidential", "c", "--k", "2")
    assert (run.code, "mixes kinds of cells" in run.sentence) == (2, True)


@pytest.mark.parametrize(
    "encoding",
    ["unicode_escape", "utf-7", "rot13", "base64", "idna", "punycode", "undefined", "hz", "a\0b", "none-such"],
)
def test_an_encoding_is_a_character_set(shoal: Shoal, people: Path, encoding: str) -> None:
    run = shoal("check", people, "--quasi", "age", "--k", "2", "--read", f"encoding={encoding}")
    assert (run.code, "There is no encoding" in run.sentence) == (2, True)


@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "utf-16", "utf_8", "mac-roman", "shift_jis", "UTF-8-SIG", "gbk"]
)
def test_character_sets_are_encodings(shoal: Shoal, people: Path, encoding: str) -> None:
    people.write_bytes(people.read_text().encode(encoding))
    assert shoal("check", people, "--quasi", "age", "--k", "2", "--read", f"encoding={encoding}").code == 0


def test_a_text_is_spelled_by_one_sequence_of_bytes(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes(b"q,c\n\x81\xca,1\n\xfa\x54,1\n")  # the same sign twice
    run = shoal("check", tmp_path / "r.csv", "--quasi", "q", "--k", "2", "--read", "encoding=cp932")
    assert (run.code, "spells the same text by different bytes" in run.sentence) == (2, True)
