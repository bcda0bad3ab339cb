"""Words that say that nothing is known: stated for a file or a column, never assumed."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from shoal.choices import settings
from shoal.data.files import read_table
from shoal.data.missing_marks import marks_in
from shoal.errors import InputError
from shoal.jobs import Anonymize, Check, Layout, Profile
from shoal.policy import Policy
from shoal.privacy import KAnonymity

WORDS = ["-", "n/a", ".", "unknown", "?", "-9", "999"]
POLICY = Policy(quasi_identifiers=["age"], confidential=["pay"], insensitive=["city"], models=[KAnonymity(3)])


def people(folder: Path, word: str) -> Path:
    """Twelve people, of whom the fourth's age, the fifth's pay and the sixth's city are this word."""
    rows = [[str(30 + place), f"{1000 + place}.50", f"town {place % 2}"] for place in range(12)]
    rows[3][0] = rows[4][1] = rows[5][2] = word
    (folder / "people.csv").write_text("age,pay,city\n" + "\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
    return folder / "people.csv"


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_is_stated_is_missing_in_every_column_and_stays_where_nothing_is_masked(
    word: str, tmp_path: Path
) -> None:
    source, target, paper = people(tmp_path, word), tmp_path / "r.csv", tmp_path / "c.json"
    table = read_table(source, missing=[word])
    assert table.dtypes == [pl.Int64, pl.Float64, pl.String]
    assert [column.is_null().arg_true().to_list() for column in table] == [[3], [4], [5]]
    policy = POLICY.changed(reading={"missing": [word]})
    Anonymize(source, policy, target, certificate=paper).run()
    shown = pl.read_csv(target, infer_schema=False)
    assert shown["pay"].to_list().count(word) == shown["city"].to_list().count(word) == 1
    assert word not in shown["age"].to_list()
    assert json.loads(paper.read_text())["read"] == {"missing": [word]}
    assert Check(target, certificate=paper).run().holds
    assert Check(target, policy).run().holds


def test_a_word_may_be_stated_of_one_column(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,pay\n999,999\n41,5\n-9,7\n")
    assert read_table(path)["age"].to_list() == [999, 41, -9]
    read = read_table(path, missing={"age": ["999", "-9"]})
    assert (read["age"].to_list(), read["pay"].to_list()) == ([None, 41, None], [999, 5, 7])


def test_options_state_words_for_all_columns_and_for_some() -> None:
    stated = settings(["missing=-", "n/a", "missing.age=999", "-9", "text=zip"], Layout)
    assert stated.missing == {"*": ("-", "n/a"), "age": ("999", "-9")}
    assert stated.missing_words("age") == ("-", "n/a", "999", "-9")
    assert (stated.missing_words("pay"), stated.text) == (("-", "n/a"), ("zip",))
    assert settings(["missing.age=999", "missing=?"], Layout).missing == {"age": ("999",), "*": ("?",)}
    assert settings(["missing=-", "n/a"], Layout).missing == ("-", "n/a")


def test_an_odd_cell_is_named_with_its_line_and_what_can_be_done(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_table(people(tmp_path, "?"))
    assert str(refused.value) == (
        "Column 'age' mixes numbers and text: line 5 holds '?'. Correct it, say that it means missing "
        "(--read 'missing.age=?'), or declare the column as text (--read text=age)."
    )


@pytest.mark.parametrize("missing", [[""], [5], {"age": "999"}, {"age": [9]}, "x"])
def test_words_that_are_none_are_refused(missing: object) -> None:
    with pytest.raises(InputError, match="a list"):
        Policy(reading={"missing": missing})


def test_words_of_a_column_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no column 'aeg', of which missing is stated\. Did you mean 'age'\?"):
        read_table(people(tmp_path, "?"), missing={"aeg": ["?"]})


def test_a_profile_names_odd_cells_and_offers_marks_and_assumes_none(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{20 + place % 60},{place % 7},{'unknown' if place % 9 == 0 else 'x'},{place % 40}" for place in range(90)]
    rows[3], rows[5], rows[6], rows[8] = "?,1,?,3", "abc,1,x,3", "40,1,x,-9", "41,1,x,999"
    path.write_text("age,days,city,visits\n" + "\n".join(rows) + "\n")
    profiled = Profile(path).run()
    notes = "\n".join(profiled.notes)
    assert "Column 'age' mixes numbers and text: line 5 holds '?'. It is looked at as missing here." in notes
    assert "line 7 holds 'abc'" in notes
    assert "Column 'city' holds '?' (1 time) and 'unknown' (10 times), which may mean that nothing is known." in notes
    assert "say --read 'missing.city=?,unknown'; until then it is a value like any other." in notes
    assert "Column 'visits' holds '-9' (1 time) and '999' (1 time)" in notes
    assert "Column 'days'" not in notes
    assert profiled.reading.missing == ()
    kinds = {attribute.name: (attribute.kind, attribute.missing) for attribute in profiled.attributes}
    assert (kinds["age"], kinds["city"][1], kinds["visits"]) == (("numeric", 2), 0, ("numeric", 0))


def test_a_profile_offers_marks_of_files_that_know_their_types(tmp_path: Path) -> None:
    ages = [*range(20, 60), 999]
    pl.DataFrame({"age": ages, "town": ["?", *["x"] * 20, *["y"] * 20]}).write_parquet(tmp_path / "t.parquet")
    notes = "\n".join(Profile(tmp_path / "t.parquet").run().notes)
    assert "Column 'age' holds '999' (1 time), which may mean that nothing is known" in notes
    assert "--read 'missing.town=?'" in notes


@pytest.mark.parametrize("values", [[99, 5, 7], list(range(100)), [-9, -3, *range(30)], [9.5, 10.5, 11.5]])
def test_numbers_that_lie_among_others_are_no_marks(values: list[float]) -> None:
    assert marks_in(pl.Series("x", values)) == {}


@pytest.mark.parametrize("mark", [9, -9, 99, 999, -1])
@pytest.mark.parametrize("scale", [[1, 2, 3, 4, 5], [1, 2]])
def test_a_number_apart_from_the_answers_of_a_scale_may_say_that_nothing_is_known(mark: int, scale: list[int]) -> None:
    for kind in (pl.Int64, pl.Float64):
        assert marks_in(pl.Series("x", [*scale, mark, mark, None], dtype=kind)) == {str(mark): 2}


@pytest.mark.parametrize("values", [[0, 1, -1], [*range(1, 10)], [1, 2, 5, 9], [7, 8, 9], [1, 9], [0.5, 1, 9]])
def test_numbers_that_go_on_with_a_scale_or_stand_beside_none_are_no_marks(values: list[float]) -> None:
    assert marks_in(pl.Series("x", values)) == {}


def test_north_dakota_among_states_is_no_mark() -> None:
    assert marks_in(pl.Series("state", ["ND", "CA", "TX", "OH", "?"])) == {"?": 1}
    assert marks_in(pl.Series("level", ["ND", "12", "7.5"])) == {"ND": 1}
