"""Whole histories on every engine: all rows of an owner are masked in one chunk and judged by what the files show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.check import check_table
from shoal.chunked_release import anonymize_in_chunks, anonymize_to
from shoal.chunked_split import split_to
from shoal.data.outputs import CERTIFICATE
from shoal.data.people import BY_FILE
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.privacy.histories_in_chunks import fewest_alike
from shoal.releases.ledger import Ledger

Engine = Callable[[pl.DataFrame], Table]

DICE = np.random.default_rng(11)
STAYS = DICE.integers(1, 4, 300)
VISITS = pl.DataFrame(
    {
        "row": range(int(STAYS.sum())),
        "pid": [f" p{who}" if who % 7 == 0 else f"p{who}" for who in np.repeat(np.arange(300), STAYS)],
        "sex": DICE.choice(["f", "m"], 300)[np.repeat(np.arange(300), STAYS)],
        "age": DICE.integers(20, 80, int(STAYS.sum())),
        "day": DICE.integers(0, 365, int(STAYS.sum())),
        "charge": DICE.integers(0, 9, int(STAYS.sum())),
    }
).sample(fraction=1, shuffle=True, seed=2)
SIZES = DICE.integers(1, 4, 300)
HOME = np.repeat(np.arange(300), SIZES)
PEOPLE = pl.DataFrame(
    {
        "row": range(len(HOME)),
        "hid": HOME,
        "region": DICE.choice(["east", "west"], 300)[HOME],
        "age": DICE.integers(0, 80, len(HOME)),
    }
).sample(fraction=1, shuffle=True, seed=3)

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK", "masking.chunks.RANDOM_CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 250)


def linked(**choices: Any) -> shoal.Policy:
    chosen = {"quasi_identifiers": ["sex", "age"], "confidential": ["charge"], "insensitive": ["row"], "person": "pid"}
    return shoal.Policy(**{**chosen, "models": [shoal.Linked(4)], **choices})


def households(**choices: Any) -> shoal.Policy:
    chosen = {"quasi_identifiers": ["region", "age"], "insensitive": ["row"]}
    return shoal.Policy(**{**chosen, "models": [shoal.Households(4, column="hid")], **choices})


def alike(rows: pl.DataFrame, owner: str, quasi: list[str]) -> list[int]:
    """Of each owner how many show the same rows: lists, sorted and compared as they are."""
    histories: dict[object, list[tuple[object, ...]]] = {}
    for whose, *shown in rows.select(owner, *quasi).rows():
        histories.setdefault(whose, []).append(tuple(shown))
    signs = [tuple(sorted(history)) for history in histories.values()]
    counts = Counter(signs)
    return [counts[sign] for sign in signs]


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "*.parquet")


@pytest.mark.each_engine(spark="slow")
def test_the_rows_of_everybody_are_those_of_k_people(engine: Engine, tmp_path: Path) -> None:
    release = anonymize_to(engine(VISITS), linked(), str(tmp_path / "r"), seed=1)
    shown = read(tmp_path / "r")
    assert release.facts["chunks"] > 1
    assert min(alike(shown, "pid", ["sex", "age"])) == release.verdicts[0].achieved >= 4
    own = VISITS.select("row", who=pl.col("pid").str.strip_chars(), own_charge="charge")
    both = shown.join(own, on="row")
    assert (both["charge"] == both["own_charge"]).all()
    pairs = both.select("pid", "who").unique()
    assert pairs.height == pairs["pid"].n_unique() == pairs["who"].n_unique() == release.facts["people"]
    assert release.facts["people"] + release.facts["people_withheld"] == 300
    assert release.facts["rows_withheld"] == VISITS.height - shown.height
    stated = json.loads((tmp_path / "r" / CERTIFICATE).read_text())
    assert (stated["counts"], stated["person"], stated["models"][0]["name"]) == (BY_FILE, "pid", "linked")
    assert "pid" in stated["insensitive"]


def test_households_are_those_of_k_and_none_is_shown_in_part(engine: Engine, tmp_path: Path) -> None:
    release = anonymize_to(engine(PEOPLE), households(), str(tmp_path / "r"), seed=1)
    shown = read(tmp_path / "r")
    assert min(alike(shown, "hid", ["region", "age"])) == release.verdicts[0].achieved >= 4
    both = shown.join(PEOPLE.select("row", home="hid"), on="row")
    sizes = dict(zip(*np.unique(HOME, return_counts=True), strict=True))
    for (home,), members in both.group_by("home"):
        assert members["hid"].n_unique() == 1
        assert members.height == sizes[home]


def test_a_table_of_one_chunk_is_shown_as_in_memory(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 1 << 19)
    for frame, policy, quasi in (
        (VISITS, linked(models=[shoal.Linked(4, time="day"), shoal.LDiversity(2)]), ["sex", "age"]),
        (PEOPLE, households(models=[shoal.Households(4, column="hid", order=("-age",))]), ["region", "age"]),
    ):
        memory = shoal.anonymize(frame, policy, seed=1)
        release = anonymize_in_chunks(engine(frame), policy, seed=1)
        shown = pl.DataFrame([row for part in release.table.frames() for row in part.to_dicts()])
        assert sorted(shown.select("row", *quasi).rows()) == sorted(memory.table.select("row", *quasi).rows())
        assert [(v.model, v.achieved) for v in release.verdicts] == [(v.model, v.achieved) for v in memory.verdicts]
        assert {name: release.facts[name] for name in memory.masked.facts} == memory.masked.facts


def test_a_check_judges_by_the_numbers_that_a_file_shows(engine: Engine) -> None:
    told = shoal.anonymize(VISITS, linked(), seed=1).table
    assert check_table(engine(told), None, linked()).verdicts[0].achieved == min(alike(told, "pid", ["sex", "age"]))
    fewer = told.filter(pl.col("pid") != told["pid"][0])
    assert check_table(engine(fewer), None, linked()).verdicts[0].achieved == min(alike(fewer, "pid", ["sex", "age"]))
    with pytest.raises(InputError, match="linked is judged from the pseudonyms that a file shows"):
        check_table(engine(told.drop("pid")), None, linked())
    gap = told.with_columns(pid=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("pid"))
    with pytest.raises(InputError, match="is empty in record"):
        check_table(engine(gap), None, linked())


def test_histories_are_told_apart_by_how_often_a_row_is_shown(engine: Engine) -> None:
    unlike = [("1", "a"), ("1", "b"), ("2", "a"), ("2", "a"), ("3", "a"), ("3", "b"), ("4", "b")]
    same = [("1", "a"), ("1", "b"), ("2", "b"), ("2", "a"), ("3", "a"), ("4", "a")]
    for rows, fewest in ((unlike, 1), (same, 2)):
        table = pl.DataFrame(rows, schema=["who", "shown"], orient="row")
        assert fewest_alike(engine(table), ["shown"], "who", len(rows)) == fewest


def _gap(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return frame.with_columns(pl.when(pl.int_range(pl.len()) == 40).then(None).otherwise(column).alias(column))


@pytest.mark.parametrize(
    ("frame", "policy", "sentence"),
    [
        (_gap(VISITS, "pid"), linked(), "Column 'pid' says whom a record is about and is empty in record 41 "),
        (_gap(PEOPLE, "hid"), households(), "Column 'hid' says who lives together and is empty in record 41 "),
        (
            PEOPLE.with_columns(region=pl.when(pl.col("row") == 1).then(pl.lit("north")).otherwise("region")),
            households(models=[shoal.Households(4, column="hid", shared=("region",))]),
            "shows both",
        ),
        (VISITS, linked(models=[shoal.Linked(301)]), "k = 301 is larger than the table's 300 people"),
        (VISITS, linked(models=[shoal.Linked(4, time="dya")]), "has no column 'dya', named as time"),
        (VISITS, linked(method={"name": "noise"}), "choose one that groups records"),
        (VISITS, linked(consistent={"r": "row = row"}), "checks no rules of consistency"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    engine: Engine, frame: pl.DataFrame, policy: shoal.Policy, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=sentence):
        anonymize_to(engine(frame), policy, str(tmp_path / "r"), seed=1)
    assert not list(tmp_path.iterdir())


def test_what_is_made_otherwise_is_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"linked shows all rows of one person alike, and this is split"):
        split_to(engine(VISITS), linked(), str(tmp_path / "r"))
    ledger = Ledger(tmp_path / "l.db", b"a key of sixteen bytes", "pid")
    with pytest.raises(InputError, match=r"and this goes on from earlier releases class by class \(--incremental\)"):
        anonymize_to(engine(VISITS), linked(), str(tmp_path / "r"), ledger=ledger, incremental=True)
    assert not list(tmp_path.iterdir())
