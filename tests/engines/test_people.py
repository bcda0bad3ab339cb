"""People on every engine: a person's records may stand in several chunks, and she is counted once in each class."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.check import check_table
from shoal.chunked_release import anonymize_in_chunks, anonymize_to
from shoal.data.outputs import CERTIFICATE
from shoal.data.people import BY_CUSTODIAN, BY_FILE
from shoal.data.schema import Person
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.privacy.classes import frame_of
from shoal.privacy.people_in_chunks import people_having

Engine = Callable[[pl.DataFrame], Table]

DICE = np.random.default_rng(5)
VISITS = pl.DataFrame(
    {
        "row": range(600),
        "pid": [f"p{who}" for who in np.sort(DICE.integers(0, 200, 600))],
        "age": DICE.integers(0, 60, 600),
        "sex": DICE.choice(["f", "m"], 600),
        "charge": DICE.integers(0, 6, 600),
    }
).sample(fraction=1, shuffle=True, seed=1)
TREES = {
    "age": {"hierarchy": tuple((str(age), f"{age // 10}.", "*") for age in range(60))},
    "sex": {"hierarchy": (("f", "*"), ("m", "*"))},
}

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK", "masking.chunks.RANDOM_CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 150)


def policy(**choices: Any) -> shoal.Policy:
    chosen = {"quasi_identifiers": ["age", "sex"], "confidential": ["charge"], "insensitive": ["row"], "person": "pid"}
    return shoal.Policy(**{**chosen, "models": [shoal.KAnonymity(5)], **choices})


def collected(table: Table) -> pl.DataFrame:
    frame = table.fold(frame_of, lambda left, right: pl.concat([left, right]))
    assert frame is not None
    return frame


def fewest(shown: pl.DataFrame) -> int:
    """People of the class that has fewest, by the records' own numbers."""
    own = dict(zip(VISITS["row"], VISITS["pid"], strict=True))
    classes: dict[object, set[str]] = {}
    for age, sex, row in shown.select("age", "sex", "row").rows():
        classes.setdefault((age, sex), set()).add(own[row])
    return min(map(len, classes.values()))


METHODS = {
    "hilbert": {},
    "kd": {"method": {"name": "kd"}},
    "kd-median": {"method": {"name": "kd-median"}},
    "sorted": {"method": {"name": "sorted"}},
    "mdav": {"method": {"name": "mdav"}},
    "mdav+": {"method": {"name": "mdav+"}},
    "stratified, with l": {"method": {"name": "stratified"}, "models": [shoal.KAnonymity(5), shoal.LDiversity(2)]},
    "with l": {"models": [shoal.KAnonymity(5), shoal.LDiversity(3)]},
    "with t": {"models": [shoal.KAnonymity(5), shoal.TCloseness(0.4)]},
    "shown alike": {"show": {"charge": "mean"}},
    "recode": {"method": {"name": "recode"}, "attributes": TREES},
    "recode, suppressing": {"method": {"name": "recode"}, "attributes": TREES, "suppression": 0.2},
    "local": {"method": {"name": "recode", "local": True}, "attributes": TREES},
    "cut-points": {"method": {"name": "cut-points", "seconds": 1}},
    "cut-points, suppressing": {"method": {"name": "cut-points", "seconds": 1}, "suppression": 0.2},
    "coarsen, suppressing": {"method": {"name": "coarsen", "resolution": 12}, "suppression": 0.5},
}


@pytest.mark.parametrize("choices", METHODS.values(), ids=METHODS)
def test_every_class_has_k_people(engine: Engine, choices: dict[str, Any]) -> None:
    release = anonymize_in_chunks(engine(VISITS), policy(**choices), seed=1)
    shown = collected(release.table)
    assert "pid" not in shown.columns
    assert fewest(shown) >= 5
    persons = release.verdicts[0]
    assert (persons.model, persons.achieved) == ("persons", fewest(shown))
    assert all(verdict.holds for verdict in release.verdicts)


@pytest.mark.each_engine(spark="slow")
def test_of_written_files_each_person_counts_once_for_k_l_and_t(engine: Engine, tmp_path: Path) -> None:
    models = [shoal.KAnonymity(5), shoal.LDiversity(3), shoal.TCloseness(0.4)]
    release = anonymize_to(engine(VISITS), policy(models=models), str(tmp_path / "r"), seed=1)
    stated = json.loads((tmp_path / "r" / CERTIFICATE).read_text())
    assert (stated["counts"], "achieved" in stated["models"][0]) == (BY_CUSTODIAN, False)
    own = VISITS.select("row", "pid")
    shown = pl.read_parquet(tmp_path / "r/*.parquet").join(own, on="row")
    classes: dict[object, dict[int, set[str]]] = {}
    everybody: dict[int, set[str]] = {charge: set() for charge in range(6)}
    for age, sex, charge, who in shown.select("age", "sex", "charge", "pid").rows():
        held = classes.setdefault((age, sex), {charge: set() for charge in range(6)})
        held[charge].add(who)
        everybody[charge].add(who)
    whole = np.cumsum([len(everybody[charge]) for charge in range(6)])
    farthest = 0.0
    for held in classes.values():
        here = np.cumsum([len(held[charge]) for charge in range(6)])
        farthest = max(farthest, float(np.abs(here / here[-1] - whole / whole[-1]).sum()) / 5)
    people = min(len(set().union(*held.values())) for held in classes.values())
    diverse = min(sum(map(bool, held.values())) for held in classes.values())
    assert [verdict.achieved for verdict in release.verdicts] == [people, diverse, pytest.approx(farthest)]
    assert people >= 5
    assert diverse >= 3
    assert farthest <= 0.4


@pytest.mark.each_engine(spark="slow")
def test_people_of_one_chunk_are_shown_and_judged_as_in_memory(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK", "masking.chunks.RANDOM_CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 1 << 19)
    chosen = policy(models=[shoal.KAnonymity(5), shoal.LDiversity(3), shoal.TCloseness(0.4)])
    in_memory = shoal.anonymize(VISITS, chosen, seed=1)
    release = anonymize_in_chunks(engine(VISITS), chosen, seed=1)
    assert_frame_equal(collected(release.table).sort("row"), in_memory.table.sort("row"))
    assert [(v.model, v.achieved) for v in release.verdicts] == [
        (v.model, pytest.approx(v.achieved)) for v in in_memory.verdicts
    ]


def test_a_check_counts_the_pseudonyms_that_a_file_shows(engine: Engine) -> None:
    release = shoal.anonymize(VISITS, policy(), seed=1)
    told = release.table.join(VISITS.select("row", "pid"), on="row", maintain_order="left")
    models = [shoal.KAnonymity(5), shoal.LDiversity(1), shoal.TCloseness(1)]
    in_memory = check_table(told, None, policy(models=models))
    in_chunks = check_table(engine(told), None, policy(models=models))
    assert [v.to_dict() for v in in_chunks.verdicts] == [
        {**v.to_dict(), "achieved": pytest.approx(v.achieved)} for v in in_memory.verdicts
    ]
    with pytest.raises(InputError, match="can only be judged beside the original"):
        check_table(engine(told.drop("pid")), None, policy())


def test_people_who_have_a_value_are_counted_once_over_all_chunks(engine: Engine) -> None:
    counts = people_having(engine(VISITS), "charge", Person("pid"))
    expected = VISITS.group_by("charge").agg(pl.col("pid").n_unique())
    assert dict(counts.rows()) == dict(expected.rows())


def test_a_record_about_nobody_is_refused_with_its_place(engine: Engine) -> None:
    gaps = VISITS.with_columns(pid=pl.when(pl.int_range(600).is_in([411, 500])).then(None).otherwise("pid"))
    with pytest.raises(InputError, match=r"is empty in record .* and in 1 more"):
        anonymize_in_chunks(engine(gaps), policy(), seed=1)
    release = anonymize_in_chunks(engine(gaps), policy(missing_person="one-each"), seed=1)
    assert release.verdicts[0].holds


def test_chunks_of_too_few_people_are_put_together(engine: Engine) -> None:
    few = VISITS.sort("age").with_columns(pid=pl.when(pl.int_range(600) < 480).then(pl.lit("q")).otherwise("pid"))
    release = anonymize_in_chunks(engine(few), policy(), seed=1)
    own = dict(zip(few["row"], few["pid"], strict=True))
    shown = collected(release.table).with_columns(who=pl.col("row").replace_strict(own))
    assert shown.group_by("age", "sex").agg(pl.col("who").n_unique())["who"].min() >= 5  # type: ignore[operator]


@pytest.mark.parametrize("most", [1 << 19, 10], ids=["all rows", "a sample"])
def test_cuts_leave_k_people_in_every_class(engine: Engine, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.masking.recoding.frequencies.LIMIT", most)
    same = VISITS.with_row_index("i").with_columns(pid=pl.col("i") // 6, age=pl.col("i") // 6, sex=pl.lit("f"))
    cut = policy(method={"name": "cut-points", "seconds": 1}, models=[shoal.KAnonymity(3)])
    shown = collected(anonymize_in_chunks(engine(same.drop("i")), cut, seed=1).table)
    people = shown.join(same.select("row", "pid"), on="row").group_by("age", "sex").agg(pl.col("pid").n_unique())
    assert people.height > 1
    assert people["pid"].min() >= 3  # type: ignore[operator]


@pytest.mark.parametrize("choices", [METHODS["hilbert"], METHODS["recode"]], ids=["hilbert", "recode"])
def test_the_people_of_each_class_are_numbered_where_it_is_asked(
    engine: Engine, choices: dict[str, Any], tmp_path: Path
) -> None:
    anonymize_to(engine(VISITS), policy(**choices), str(tmp_path / "r"), seed=1, number_people=True)
    stated = json.loads((tmp_path / "r" / CERTIFICATE).read_text())
    assert (stated["counts"], stated["person"]) == (BY_FILE, "person_in_class")
    own = VISITS.select("row", "pid")
    shown = pl.read_parquet(tmp_path / "r/*.parquet").join(own, on="row")
    assert shown.height == 600
    for _, members in shown.group_by("age", "sex"):
        pairs = members.select("pid", "person_in_class").unique()
        assert sorted(pairs["person_in_class"]) == list(range(1, members["pid"].n_unique() + 1))
    checked = check_table(engine(shown.drop("pid")), None, policy())
    assert checked.verdicts[0].achieved == fewest(shown)


def test_numbers_within_classes_do_not_say_how_many_people_have_a_value(engine: Engine, tmp_path: Path) -> None:
    models = [shoal.KAnonymity(5), shoal.TCloseness(0.4)]
    with pytest.raises(InputError, match="tells apart only within a class"):
        anonymize_to(engine(VISITS), policy(models=models), str(tmp_path / "r"), number_people=True)
    shown = VISITS.with_columns(person_in_class=pl.int_range(pl.len()).over("age", "sex")).drop("pid")
    with pytest.raises(InputError, match="tells apart only within a class"):
        check_table(engine(shown), None, policy(models=models))


@pytest.mark.parametrize("whose", ["person", "household"])
def test_a_column_by_whose_type_nobody_is_known_again_is_refused_before_anything_is_done(
    engine: Engine, whose: str
) -> None:
    table = VISITS.with_columns(pl.col("pid").cast(pl.Binary))
    models = [shoal.Households(3)] if whose == "household" else [shoal.KAnonymity(3)]
    chosen = shoal.Policy(quasi_identifiers=["age"], models=models, **{whose: "pid"})
    with pytest.raises(InputError, match="Column 'pid' holds values of type Binary"):
        anonymize_in_chunks(engine(table), chosen)
