"""linked and households: whole histories are shown alike, judged from the file, and refused where they are not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError, PromiseError
from shoal.privacy.histories import alike
from tests.oracles.histories import least_alike

DATA = Path(os.environ.get("SHOAL_DATA", ""))
VECTORS = DATA.parent / "vectors" / "spec3" / "vectors_D.json"

dice = np.random.default_rng(3)
STAYS = dice.integers(1, 5, 400)
VISITS = pl.DataFrame(
    {
        "pid": np.repeat([f"p{i:03}" for i in range(400)], STAYS),
        "sex": np.repeat(dice.choice(["f", "m"], 400), STAYS),
        "age": dice.integers(20, 90, STAYS.sum()),
        "ward": dice.choice(["a", "b", "c"], STAYS.sum()),
        "day": dice.permutation(int(STAYS.sum())),
        "charge": dice.integers(100, 9_000, STAYS.sum()),
    }
)
SIZES = dice.integers(1, 5, 300)
PEOPLE = pl.DataFrame(
    {
        "hid": np.repeat([f"h{i:03}" for i in range(300)], SIZES),
        "region": np.repeat(dice.choice(["east", "north", "west"], 300), SIZES),
        "hsize": np.repeat(SIZES, SIZES),
        "age": dice.integers(0, 9, SIZES.sum()),
        "sex": dice.choice(["f", "m"], SIZES.sum()),
        "income": dice.integers(0, 90_000, SIZES.sum()),
    }
)


def linked(**choices: Any) -> shoal.Policy:
    chosen = {
        "quasi_identifiers": ["sex", "age", "ward"],
        "confidential": ["charge"],
        "person": "pid",
        "models": [shoal.Linked(4)],
    }
    return shoal.Policy(**{**chosen, **choices})


def households(**choices: Any) -> shoal.Policy:
    chosen = {
        "quasi_identifiers": ["region", "hsize", "age", "sex"],
        "confidential": ["income"],
        "household": "hid",
        "models": [shoal.Households(4)],
    }
    return shoal.Policy(**{**chosen, **choices})


def least(table: pl.DataFrame, who: str, quasi: list[str]) -> int:
    return least_alike([zip(table[who], table.select(quasi).rows(), strict=True)])


# ---- the judge


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=25),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=12),
)
def test_who_is_alike_is_what_counting_multisets_says(first: Any, second: Any) -> None:
    tables = [rows for rows in (first, second) if rows]
    arrays = [(np.array([c for _, c in rows]), np.array([o for o, _ in rows])) for rows in tables]
    present = sorted({owner for rows in tables for owner, _ in rows})
    counts = alike(arrays, 7)[present] if tables else np.zeros(0)
    assert (int(counts.min()) if len(counts) else 0) == least_alike(tables)


def judged(rows: list[list[Any]], k: int) -> Any:
    frame = pl.DataFrame(rows, schema=["pid", "q"], orient="row")
    policy = shoal.Policy(quasi_identifiers=["q"], person="pid", models=[shoal.Persons(2), shoal.Linked(k)])
    return shoal.check(frame, policy)


@pytest.mark.skipif(not VECTORS.is_file(), reason="needs the published vectors")
def test_the_vectors() -> None:
    vectors = json.loads(VECTORS.read_text())
    people, history = judged(vectors["linked"]["rows"], 2)
    assert history.achieved == vectors["linked"]["linked_k"]
    assert history.holds
    people, history = judged(vectors["linked_breaks"]["rows"], 2)
    assert (people.achieved, history.achieved) == (3, vectors["linked_breaks"]["linked_k"])
    assert (people.holds, history.holds) == (True, False)
    people, _ = judged(vectors["persons_per_class"]["rows"], 2)
    assert people.achieved == vectors["persons_per_class"]["persons_k"]
    members = pl.DataFrame(vectors["household"]["members"], schema=["hid", "age", "sex"], orient="row")
    policy = shoal.Policy(quasi_identifiers=["age", "sex"], models=[shoal.Households(2, column="hid")])
    assert shoal.check(members, policy)[0].achieved == vectors["household"]["household_k"]
    first = members.filter(pl.col("hid") != "H3")
    assert shoal.check(first, policy)[0].achieved == vectors["household"]["household_k_of_H1"]


# ---- linked


@pytest.mark.parametrize("method", [shoal.Hilbert(), shoal.Kd(), shoal.Mdav()])
def test_whole_histories_are_alike_by_any_grouping(method: Any) -> None:
    release = shoal.anonymize(VISITS, linked(method=method), seed=1)
    assert least(release.table, "pid", ["sex", "age", "ward"]) == release.verdicts[0].achieved >= 4
    assert release.records == VISITS.height
    assert sorted(set(release.table["pid"])) == list(range(1, 401))


def test_linked_people_are_people_and_records_too() -> None:
    models = [shoal.Linked(4), shoal.Persons(4), shoal.LDiversity(2, attribute="charge")]
    release = shoal.anonymize(VISITS, linked(models=models), seed=1)
    assert all(verdict.holds for verdict in release.verdicts)
    assert release.sizes.min() >= 4
    assert shoal.check(release.table, linked(models=[shoal.Linked(4), shoal.Persons(4)]))[0].holds


def test_rows_go_with_their_people_and_numbers_tell_nothing() -> None:
    release = shoal.anonymize(VISITS, linked(), seed=1)
    beside = pl.DataFrame({"number": release.table["pid"], "pid": VISITS["pid"], "charge": VISITS["charge"]})
    assert beside.select("number", "pid").unique().height == 400
    assert release.table["charge"].to_list() == VISITS["charge"].to_list()
    again = shoal.anonymize(VISITS, linked(), seed=2)
    assert again.table["pid"].to_list() != release.table["pid"].to_list()
    numbers = beside.unique("pid", maintain_order=True)["number"].to_list()
    assert numbers != sorted(numbers)


def test_rows_of_the_few_who_have_many_are_withheld_the_last_ones_and_told() -> None:
    many = VISITS.head(1).select(pl.all().repeat_by(12).explode())
    table = pl.concat([many.with_columns(pid=pl.lit("one"), day=pl.Series(range(100_000, 100_012))), VISITS])
    release = shoal.anonymize(table, linked(models=[shoal.Linked(4, time="day")]), seed=1)
    assert release.masked.facts["rows_withheld"] == release.suppressed == 8
    assert any("Withheld: 8 of" in note and "1 people" in note for note in release.notes)
    assert release.masked.kept is not None
    assert sorted(release.masked.kept[:4].tolist()) == [0, 1, 2, 3]
    assert "time" not in str(release.certificate["models"])


def test_a_promise_about_classes_of_rows_alone_breaks_where_pseudonyms_are_kept() -> None:
    release = shoal.anonymize(VISITS, linked(models=[shoal.Persons(4)]), seed=1)
    kept = release.table.with_columns(pid=VISITS["pid"])
    people, history = shoal.check(kept, linked(models=[shoal.Persons(4), shoal.Linked(4)]))
    assert people.holds
    assert not history.holds
    assert history.achieved == 1


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"person": None}, "linked counts people: name the column that tells them apart (--person COLUMN)."),
        ({"method": shoal.Noise(0.1)}, "linked puts all rows of one person side by side and groups these"),
        ({"models": [shoal.Linked(500)]}, "k = 500 is larger than the table's 400 people"),
        ({"models": [shoal.Linked(4, time="dy")]}, "The table has no column 'dy', named as time."),
        (
            {"models": [shoal.Linked(4), shoal.TCloseness(0.3, attribute="charge")]},
            "t-closeness compares classes of rows with the whole table, and linked shows whole histories",
        ),
        (
            {"models": [shoal.Linked(4), shoal.Households(4, column="ward")], "quasi_identifiers": ["sex", "age"]},
            "linked and households are two ways to put rows together",
        ),
    ],
)
def test_what_linked_cannot_do_is_refused_in_a_sentence(choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        shoal.anonymize(VISITS, linked(**choices))
    assert str(refused.value).startswith(sentence)


def test_a_split_release_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"linked shows all rows of one person alike, and this is split"):
        shoal.split(VISITS, linked())


# ---- households


def test_households_are_alike_by_all_of_their_members() -> None:
    release = shoal.anonymize(PEOPLE, households(), seed=1)
    quasi = ["region", "hsize", "age", "sex"]
    assert least(release.table, "hid", quasi) == release.verdicts[0].achieved >= 4
    assert release.records == PEOPLE.height
    alike_at_home = release.table.group_by("hid").agg(pl.col("region", "hsize").n_unique(), pl.len().alias("members"))
    assert alike_at_home["region"].max() == 1
    shown = release.table.group_by("hid").agg(pl.len(), pl.col("hsize").first())
    assert (shown["len"].cast(pl.String) == shown["hsize"]).all()


def test_a_rare_size_is_withheld_whole() -> None:
    large = PEOPLE.head(1).select(pl.all().repeat_by(11).explode()).with_columns(hid=pl.lit("many"), hsize=11)
    release = shoal.anonymize(pl.concat([PEOPLE, large], how="vertical_relaxed"), households(), seed=1)
    assert (release.masked.facts["households_withheld"], release.suppressed) == (1, 11)
    assert any("Withheld: 1 of 301 households with all of their 11 rows" in note for note in release.notes)


def test_a_household_in_two_regions_is_refused_by_name() -> None:
    row = PEOPLE.with_row_index().filter(pl.col("hsize") > 1)["index"][0]
    moved = PEOPLE.with_columns(region=pl.when(pl.int_range(pl.len()) == row).then(pl.lit("moon")).otherwise("region"))
    sentence = rf"Household '{PEOPLE['hid'][row]}' shows both 'moon' and '.*' in 'region'"
    with pytest.raises(InputError, match=sentence):
        shoal.anonymize(moved, households())
    with pytest.raises(InputError, match=sentence):
        shoal.anonymize(moved, households(models=[shoal.Households(4, shared=("region",))]))
    own = shoal.anonymize(moved, households(models=[shoal.Households(4, shared=("none",))]), seed=1)
    assert own.verdicts[0].holds


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"household": None}, "households needs the column that says who lives together: name it"),
        ({"models": [shoal.Households(4, column="sex")]}, "Who lives together is said to stand in 'hid' and 'sex'"),
        ({"insensitive": ["hid"]}, "Column 'hid' says who lives together (household) and is named as insensitive"),
        ({"household": "hdi"}, "The table has no column 'hdi', named as household. Did you mean 'hid'?"),
        (
            {"models": [shoal.Households(4, shared=("income",))]},
            "'income' is named as shared by a household, but is no",
        ),
        ({"models": [shoal.Households(4, order=("-agee",))]}, "The table has no column 'agee', named as order."),
    ],
)
def test_what_households_cannot_do_is_refused_in_a_sentence(choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        shoal.anonymize(PEOPLE, households(**choices))
    assert str(refused.value).startswith(sentence)


def test_a_gap_in_the_household_is_named_by_its_line() -> None:
    gap = PEOPLE.with_columns(hid=pl.when(pl.int_range(pl.len()) == 6).then(None).otherwise("hid"))
    with pytest.raises(InputError, match=r"'hid' says who lives together and is empty in record 7 \(line 8"):
        shoal.anonymize(gap, households())


# ---- rules


def test_rules_are_checked_on_the_input_and_on_what_is_released() -> None:
    rules = {"hsize": "count(household)", "place": "household.region = person.region"}
    assert shoal.anonymize(PEOPLE, households(consistent=rules), seed=1).verdicts[0].holds
    lies = PEOPLE.with_columns(hsize=pl.when(pl.col("hid") == "h007").then(9).otherwise("hsize"))
    with pytest.raises(
        InputError, match=r"'hsize' \(hsize = count\(household\)\) is broken by the input 1 times, .*h007"
    ):
        shoal.anonymize(lies, households(consistent=rules))
    ages = {"oldest": "age = 3"}
    alike_in = PEOPLE.with_columns(age=3)
    assert shoal.anonymize(alike_in, households(consistent=ages), seed=1).verdicts[0].holds
    many = VISITS.with_columns(stays=pl.len().over("pid"))
    extra = (
        many.head(1).select(pl.all().repeat_by(9).explode()).with_columns(pid=pl.lit("one"), stays=pl.lit(9, pl.UInt32))
    )
    rule = linked(quasi_identifiers=["sex", "age", "stays"], consistent={"stays": "count(person)"})
    with pytest.raises(PromiseError, match=r"'stays' .* is broken by what would be released"):
        shoal.anonymize(pl.concat([many, extra], how="vertical_relaxed"), rule, seed=1)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("count(household", "cannot be read: a side is COLUMN"),
        ("a = b = c", "cannot be read: it has more than one ="),
        ("__import__('os')", "cannot be read: a side is COLUMN"),
        ("a + b", "cannot be read: '+' is no name"),
        ("", "cannot be read: a side is COLUMN"),
        ("visit.region = person.region", "names the table 'visit', which there is none of"),
        ("count(home)", "names the table 'home', which there is none of"),
        ("household.size", "there is no column 'size'"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(rule: str, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        shoal.anonymize(PEOPLE, households(consistent={"hsize": rule}))
    assert sentence in str(refused.value)


# ---- real data


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "encounters").is_dir(), reason="needs the encounters")
def test_encounters_of_people() -> None:
    table = pl.read_parquet(DATA / "encounters" / "diabetes130.parquet")
    quasi = ["race", "gender", "age", "admission_type_id", "time_in_hospital", "medical_specialty"]
    policy = shoal.Policy(quasi_identifiers=quasi, person="patient_nbr", models=[shoal.Linked(5)])
    release = shoal.anonymize(table, policy, seed=1)
    assert release.suppressed <= 150
    assert least(release.table, "patient_nbr", quasi) >= 5


@pytest.mark.skipif(not (DATA / "households").is_dir(), reason="needs the households")
def test_households_of_a_survey() -> None:
    table = pl.read_csv(DATA / "households" / "eusilcS.csv").with_columns(decade=(pl.col("age") // 10).clip(0, 8))
    quasi = ["db040", "decade", "rb090"]
    policy = shoal.Policy(quasi_identifiers=quasi, household="db030", models=[shoal.Households(5)])

    def below(frame: pl.DataFrame) -> float:
        key = frame.select(pl.struct(quasi).rank("dense").cast(pl.Int64)).to_series().to_numpy()
        home = (frame["db030"].rank("dense").cast(pl.Int64) - 1).to_numpy()
        return float((alike([(key, home)], int(home.max()) + 1) < 5).mean())

    assert below(table) == pytest.approx(0.435, abs=0.0005)
    release = shoal.anonymize(table, policy, seed=1)
    assert below(release.table) == 0
    assert release.masked.facts["households_withheld"] <= 2
