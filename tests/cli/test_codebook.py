"""The codebook of SPSS and Stata files: labels, levels, codes for missing, in and out, and no more than rows show."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import shoal
from shoal import PromiseError
from shoal.data.codebook import Codebook, Variable, coded, labelled, variables_of
from shoal.data.files import read_table, write_table
from shoal.data.statistical_files import codebook_of, inspect_statistical
from shoal.policy import Policy
from tests.cli.conftest import Shoal
from tests.sas_files import write_sas7bdat

pyreadstat = pytest.importorskip("pyreadstat")

N = 120
CODES = pl.DataFrame(
    {
        "sex": [1.0 + i % 2 for i in range(N)],
        "edu": [1.0 + i % 3 for i in range(N)],
        "inc": [-9.0 if i % 10 == 0 else -8.0 if i % 10 == 1 else 100.0 + i % 5 for i in range(N)],
        "ill": [1.0 + i % 2 for i in range(N)],
        "who": [7.0, *[1.0] * (N - 1)],
        "hours": [97.0 if i == 3 else float(i % 9) for i in range(N)],
    }
)
LABELS: dict[str, Any] = {
    "column_labels": {
        "sex": "Sex",
        "edu": "School",
        "inc": "Income",
        "ill": "Illness",
        "who": "Known as",
        "hours": "Hours",
    },
    "variable_value_labels": {
        "sex": {1: "male", 2: "female", 3: "diverse"},
        "edu": {1: "none", 2: "primary", 3: "tertiary"},
        "inc": {-9: "refused", -8: "unknown"},
        "ill": {1: "flu", 2: "flu"},
        "who": {1: "nobody", 7: "the mayor"},
        "hours": {97: "more"},
    },
}


@pytest.fixture
def sav(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    measure = {"sex": "nominal", "edu": "ordinal", "inc": "scale", "hours": "scale"}
    pyreadstat.write_sav(CODES, "d.sav", variable_measure=measure, missing_ranges={"inc": [-9, -8]}, **LABELS)
    pyreadstat.write_sav(CODES, "d.zsav", compress=True, variable_measure=measure, **LABELS)
    pyreadstat.write_dta(CODES.cast(pl.Int32), "d.dta", **LABELS)
    return tmp_path / "d.sav"


def test_labelled_codes_are_categories_and_codes_for_missing_are_missing(sav: Path) -> None:
    table = read_table(sav)
    assert table["sex"].head(2).to_list() == ["male", "female"]
    assert table["edu"].dtype == pl.Enum(["none", "primary", "tertiary"])
    assert table["ill"].head(2).to_list() == ["flu (1)", "flu (2)"]  # two codes of one label
    assert table["inc"].null_count() == N // 5
    assert table["hours"].dtype == pl.Int64  # other numbers stand beside the labelled one
    book = codebook_of(sav)
    assert book is not None
    assert book.variables["inc"].missing == {-9: "refused", -8: "unknown"}
    assert [note.partition(":")[0] for note in book.notes(table.columns)] == [
        "Labelled codes are read as categories, by their labels",
        "Some codes of 'hours' have labels and others none",
        "Codes for missing are read as missing",
    ]
    assert codebook_of("d.csv") is None


@pytest.mark.parametrize("suffix", ["zsav", "dta"])
def test_other_files_read_alike(sav: Path, suffix: str) -> None:
    table = read_table(sav.with_suffix(f".{suffix}"))
    assert table["sex"].to_list() == read_table(sav)["sex"].to_list()
    assert table["edu"].cast(pl.String).to_list() == read_table(sav)["edu"].cast(pl.String).to_list()


ROLES = ("--quasi", "sex,edu", "--confidential", "ill", "--insensitive", "inc", "--k", "5")


@pytest.mark.parametrize("output", ["r.sav", "r.zsav", "r.dta"])
def test_labels_make_the_round_trip_and_none_that_nobody_shows(shoal: Shoal, sav: Path, output: str) -> None:
    run = shoal("anonymize", sav, "-o", output, *ROLES, "--certificate", "c.json")
    assert run.code == 0, run.err
    read = pyreadstat.read_dta if output.endswith("dta") else pyreadstat.read_sav
    table, about = read(output, user_missing=True, output_format="polars")
    assert about.variable_value_labels["sex"] == {1: "male", 2: "female"}  # nobody is diverse
    assert about.column_names_to_labels["sex"] == "Sex"
    assert set(table["sex"]) == {1.0, 2.0}
    content = Path(output).read_bytes()
    assert all(word not in content for word in (b"mayor", b"Known as", b"diverse", b"Hours"))
    if output.endswith("sav"):
        assert about.variable_measure["edu"] == "ordinal"
        assert about.variable_value_labels["inc"] == {-9: "refused", -8: "unknown"}
        assert table["inc"].filter(table["inc"] < 0).n_unique() == 2
    assert read_table(output)["inc"].null_count() == N // 5
    checked = shoal("check", output, "--certificate", "c.json")
    assert checked.code == 0, checked.err


@pytest.mark.parametrize("output", ["r.sav", "r.dta"])
def test_texts_are_labelled_and_missing_by_codes_too_where_the_format_has_it(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame(
        {"age": [20.0 + i % 4 for i in range(N)], "town": [("A", "B", "X", "")[i % 4] for i in range(N)]}
    )
    labels = {"A": "Aachen", "B": "Bonn", "X": "refused"}
    pyreadstat.write_sav(table, "d.sav", variable_value_labels={"town": labels}, missing_ranges={"town": ["X"]})
    options = ("--quasi", "age", "--insensitive", "town", "--k", "5", "--certificate", "c.json")
    run = shoal("anonymize", "d.sav", "-o", output, *options)
    assert run.code == 0, run.err
    assert sorted(read_table(output)["town"].drop_nulls().unique()) == ["Aachen", "Bonn"]
    assert shoal("check", output, "--certificate", "c.json").code == 0
    if output == "r.sav":
        released, about = pyreadstat.read_sav(output, user_missing=True, output_format="polars")
        assert released["town"].value_counts().sort("town").rows() == [("", 30), ("A", 30), ("B", 30), ("X", 30)]
        assert about.variable_value_labels["town"] == labels
        assert about.missing_ranges["town"] == [{"lo": "X", "hi": "X"}]


def test_a_starting_policy_states_the_order_that_only_the_type_knows(shoal: Shoal, sav: Path) -> None:
    assert shoal("profile", sav, "--write-policy", "shoal.toml").code == 0
    assert Policy.read(Path("shoal.toml")).attributes["edu"].domain == ("none", "primary", "tertiary")
    policy = ("--policy", "shoal.toml")
    assert shoal("anonymize", sav, "-o", "r.csv", *policy).code == 0
    for command in (("risk", "r.csv"), ("check", "r.csv"), ("utility", sav, "r.csv")):
        assert shoal(*command, *policy).code == 0


def test_the_tables_of_a_split_are_labelled(shoal: Shoal, sav: Path) -> None:
    run = shoal("anonymize", sav, "-o", "r.sav", *ROLES[:4], "--k", "5", "--split", "confidential:merge")
    assert run.code == 0, run.err
    for output in ("r.sav", "r.ill.sav"):
        about = pyreadstat.read_sav(output, metadataonly=True)[1]
        assert about.variable_value_labels["sex"] == {1: "male", 2: "female"}
        assert about.column_names_to_labels == {"sex": "Sex", "edu": "School", "ill": "Illness"}


def test_labels_of_a_sas_data_set_leave_with_it(shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    columns: dict[str, list[float | str]] = {"age": [20.0 + i % 4 for i in range(N)], "sex": ["f", "m"] * (N // 2)}
    labels = {"age": "Age in years", "sex": "Sex"}
    write_sas7bdat(tmp_path / "d.sas7bdat", columns, labels)
    assert read_table(tmp_path / "d.sas7bdat").to_dict(as_series=False) == columns
    run = shoal("anonymize", "d.sas7bdat", "-o", "r.sav", "--quasi", "age,sex", "--k", "5")
    assert run.code == 0, run.err
    assert pyreadstat.read_sav("r.sav", metadataonly=True)[1].column_names_to_labels == labels


def test_masked_categories_are_text(sav: Path) -> None:
    book = codebook_of(sav)
    assert book is not None
    shown = pl.DataFrame({"sex": ["male", "{female;male}"], "edu": ["[none;primary]", "*"]})
    written = coded(shown, book)
    assert written.table.equals(shown)
    assert written.value_labels == {}
    write_table(shown, "m.sav", book=book)
    assert read_table("m.sav").equals(shown)


def test_a_label_of_a_code_that_no_row_shows_is_refused(sav: Path) -> None:
    with pytest.raises(PromiseError, match="of a value of the column 'sex', 'diverse'"):
        inspect_statistical(sav)


def test_codes_of_confidential_missing_are_not_told_apart() -> None:
    book = Codebook({"a": Variable(missing={9: "refused"})}, {"a": pl.Series([None, 9.0, 9.0])})
    rows = pl.Series([2, 0]).to_numpy()
    assert book.of(rows, []).missing == {}
    assert book.of(rows, ["a"]).missing["a"].to_list() == [9.0, None]


def test_ordinal_labels_are_published_as_ranges(sav: Path) -> None:
    policy = shoal.Policy(quasi_identifiers=["edu"], models=shoal.KAnonymity(50))
    release = shoal.anonymize(read_table(sav), policy, seed=1)
    assert release.schema["edu"].kind == "ordinal"
    assert set(release.table["edu"]) <= {"[none;primary]", "tertiary", "[primary;tertiary]", "none", "[none;tertiary]"}


def test_letters_of_stata_are_missing() -> None:
    about = SimpleNamespace(
        column_names_to_labels={"q": "Q"},
        variable_measure={"q": "unknown"},
        variable_value_labels={"q": {1: "yes", 2: "no", "a": "refused"}},
        missing_ranges={},
        missing_user_values={"q": ["a"]},
    )
    codes = pl.DataFrame({"q": [1, None, 2]})
    variables = variables_of(codes, about)
    assert variables["q"].missing == {"a": "refused"}
    assert labelled(codes, variables)["q"].to_list() == ["yes", None, "no"]


@pytest.mark.parametrize("source", ["d.dta", "d.sas7bdat"])
def test_letters_for_missing_reach_stata_files_in_columns_that_leave_as_they_are(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ages, asked = [["b", 20.0, 21.0, 22.0][i % 4] for i in range(40)], ["a", None, 1.0, 2.0, "z"] * 8
    if source == "d.dta":
        table = pl.DataFrame({name: pl.Series(cells, dtype=pl.Object) for name, cells in (("age", ages), ("q", asked))})
        labels = {"age": {"b": "unborn"}, "q": {1: "yes", 2: "no", "a": "refused", "c": "nobody"}}
        pyreadstat.write_dta(
            table, source, variable_value_labels=labels, missing_user_values={"age": ["b"], "q": ["a", "c", "z"]}
        )
    else:
        write_sas7bdat(tmp_path / source, {"age": _sas(ages), "q": _sas(asked)}, {"age": "", "q": ""})
    options = ("--quasi", "age", "--insensitive", "q", "--k", "5", "--certificate", "c.json")
    run = shoal("anonymize", source, "-o", "r.dta", *options)
    assert run.code == 0, run.err
    assert "'age' (b); 'q' (a, z" in " ".join((run.out + run.err).split())
    released, about = pyreadstat.read_dta("r.dta", user_missing=True, output_format="dict")
    assert Counter(released["q"]) == dict.fromkeys(["a", "z", None, 1.0, 2.0], 8)
    assert about.missing_user_values == {"q": ["a", "z"]}  # a quasi-identifier shows one kind of missing
    assert about.variable_value_labels == ({"q": {1: "yes", 2: "no", "a": "refused"}} if source == "d.dta" else {})
    assert shoal("check", "r.dta", "--certificate", "c.json").code == 0
    assert shoal("anonymize", source, "-o", "r.sav", *options[:-2]).code == 0  # SPSS has no letters
    assert pyreadstat.read_sav("r.sav", user_missing=True, output_format="polars")[0]["q"].null_count() == 24


def _sas(cells: list[Any]) -> list[float | str]:
    """Numbers as SAS has them: a letter for missing stands in the bits of a number that is none."""
    return [
        cell if isinstance(cell, float) else struct.unpack("<d", struct.pack("<Q", _bits(cell or ".")))[0]
        for cell in cells
    ]


def _bits(letter: str) -> int:
    return 0xFFFF << 48 | (~ord(letter.upper()) & 0xFF) << 40


def test_categories_of_broken_codes_stay_labels_in_stata_files(tmp_path: Path) -> None:
    book = Codebook({"q": Variable(categories={0.5: "half", 1: "whole"})})
    write_table(pl.DataFrame({"q": ["half", "whole"]}), tmp_path / "r.dta", book=book)
    assert read_table(tmp_path / "r.dta")["q"].to_list() == ["half", "whole"]
