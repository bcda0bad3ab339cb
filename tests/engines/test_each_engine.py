"""One promise on every engine: what must not depend on the engine is what a table in memory gives, record by record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.check import check_table
from shoal.chunked_release import anonymize_in_chunks
from shoal.data.discharges import discharges
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.privacy.check import classes_of
from shoal.privacy.classes import class_sizes, frame_of
from shoal.releases.audit import audit as audit_in_memory
from shoal.releases.audit_tables import audit_tables
from shoal.releases.published import published
from shoal.risk.measure import assess_risk
from shoal.risk.scenarios import scenarios
from tests.privacy.test_classes import ALIKE_BY_HASH

Engine = Callable[[pl.DataFrame], Table]

QUASI = ["age_yrs", "sex", "patzip"]
TABLE = discharges(900, seed=3)
TREES = {
    "age_yrs": tuple((str(age), f"{age // 10}.", "*") for age in range(130)),
    "sex": tuple((str(sex), "*") for sex in range(10)),
    "patzip": tuple((str(zip_code), f"{str(zip_code)[:2]}...", "*") for zip_code in TABLE["patzip"].unique()),
}

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.table.CHUNK", 500)
    monkeypatch.setattr("shoal.masking.chunks.CHUNK", 500)
    monkeypatch.setattr("shoal.masking.chunks.RANDOM_CHUNK", 500)


def policy(**choices: Any) -> shoal.Policy:
    return shoal.Policy(**{"quasi_identifiers": QUASI, "confidential": ["charge"], **choices})


def collected(table: Table) -> pl.DataFrame:
    found = table.fold(frame_of, lambda one, other: pl.concat([one, other]))
    assert found is not None
    return found


SAME = {
    "zero-distance": {"method": shoal.Sorted()},
    "coarsening": {"method": shoal.Coarsen(3), "suppression": 0.5},
    "recoding": {
        "method": shoal.Recode(),
        "attributes": {name: {"hierarchy": tree} for name, tree in TREES.items()},
        "suppression": 0.05,
    },
}


@pytest.mark.parametrize("choices", SAME.values(), ids=SAME)
def test_runs_of_zero_distance_coarsening_and_recoding_are_those_in_memory(engine: Engine, choices: Any) -> None:
    chosen = policy(**choices)
    release, memory = anonymize_in_chunks(engine(TABLE), chosen, seed=1), shoal.anonymize(TABLE, chosen, seed=1)
    assert_frame_equal(collected(release.table), memory.table, check_row_order=False)
    assert release.verdicts == memory.verdicts
    assert release.information_loss == pytest.approx(memory.information_loss, rel=1e-12)
    assert release.separation_loss == pytest.approx(memory.separation_loss, rel=1e-12)


def test_closeness_is_kept_against_the_whole_table(engine: Engine) -> None:
    table = TABLE.with_columns(pl.col("charge") // 5000)
    chosen = policy(models=[shoal.KAnonymity(4), shoal.TCloseness(0.25)])
    release = anonymize_in_chunks(engine(table), chosen, seed=1)
    found = shoal.check(collected(release.table), chosen)
    assert [verdict.holds for verdict in found] == [True, True]
    assert [verdict.achieved for verdict in release.verdicts] == pytest.approx([verdict.achieved for verdict in found])


def test_all_risk_counts_are_those_in_memory(engine: Engine) -> None:
    chosen = policy(confidential=["charge", "diag_p"], groups={"birth": ("age_yrs",), "place": ("patzip", "sex")})
    when = ["charge > 20000"]
    table, schema = engine(TABLE), chosen.schema(TABLE, released=True)
    found, expected = assess_risk(table, schema, when=when, groups=chosen.groups), shoal.risk(TABLE, chosen, when=when)
    there = {} if found.engine == "memory" else {"engine": found.engine, "left_out": {}}
    assert found.to_dict() == expected.to_dict() | there
    here = scenarios(table, schema, fraction=0.1)
    memory = scenarios(TABLE, chosen.schema(TABLE, released=True), fraction=0.1)
    assert (here.records, here.classes, here.prosecutor) == (memory.records, memory.classes, memory.prosecutor)
    assert here.marketer == pytest.approx(memory.marketer, rel=1e-12)


def test_the_pooled_audit_is_that_in_memory(engine: Engine) -> None:
    keyed = TABLE.head(500).select(pl.int_range(500).alias("id"), pl.col("age_yrs") // 2, "sex", "charge")
    later = keyed.with_columns(charge=pl.col("charge") + (pl.col("id") % 9 == 0).cast(pl.Int64)).head(470)
    tables, own = {"one": keyed, "two": later}, ["charge"]
    found = audit_tables({name: engine(table) for name, table in tables.items()}, QUASI[:2], "id", 5, confidential=own)
    expected = audit_in_memory([published(name, table, "id", QUASI[:2], own) for name, table in tables.items()], 5, own)
    assert found.histogram == expected.histogram
    [ours], [theirs] = found.pairs, expected.pairs
    assert ours.differencing[0].victims > 0
    for attack, known in zip((*ours.differencing, *ours.changed), (*theirs.differencing, *theirs.changed), strict=True):
        assert attack.to_dict() == pytest.approx(known.to_dict())
    assert replace(ours, differencing=(), changed=()) == replace(theirs, differencing=(), changed=())


def test_texts_of_one_hash_are_two_classes(engine: Engine) -> None:
    one = pl.DataFrame({"q": ALIKE_BY_HASH, "c": ["flu", "cold"]})
    for table in (one, one.with_columns(age=pl.lit(40), zip=pl.lit("93721"))):
        quasi = [name for name in table.columns if name != "c"]
        models = (shoal.KAnonymity(2), shoal.LDiversity(2))
        chosen = shoal.Policy(quasi_identifiers=quasi, confidential=["c"], models=models)
        assert [(v.achieved, v.holds) for v in check_table(engine(table), None, chosen).verdicts] == [
            (1, False),
            (1, False),
        ]


@pytest.mark.each_engine
def test_classes_are_those_of_the_same_table_in_memory(engine: Engine) -> None:
    texts = [None, "", "a", "1:a", "a1:", "-"]
    floats = [None, 0.0, -0.0, float("nan")]
    moments = [None, datetime(2024, 1, 31, 12), datetime(2024, 1, 31, 12, microsecond=1)]
    rows = [row for row in product(texts, texts, floats, moments) for _ in range(1 + len(str(row)) % 3)]
    table = pl.DataFrame(
        rows, schema={"a": pl.String, "b": pl.String, "x": pl.Float64, "at": pl.Datetime("us")}, orient="row"
    )
    size, classes = np.unique(classes_of(table, table.columns, {}).sizes, return_counts=True)
    found = class_sizes(engine(table), table.columns, table.height, nan_is_missing=False)
    assert found.size.tolist() == size.tolist()
    assert found.classes.tolist() == classes.tolist()


def test_ordinal_text_without_an_order_is_refused(engine: Engine) -> None:
    table = pl.DataFrame({"education": ["Masters", "Preschool", "Primary"] * 20})
    ordinal = shoal.Policy(quasi_identifiers=["education"], attributes={"education": {"kind": "ordinal"}})
    with pytest.raises(InputError, match="It holds Masters, Preschool, Primary"):
        anonymize_in_chunks(engine(table), ordinal)
    told = {"education": {"kind": "ordinal", "domain": ["Preschool", "Primary", "Masters"]}}
    release = anonymize_in_chunks(engine(table), shoal.Policy(quasi_identifiers=["education"], attributes=told), seed=1)
    assert all(not shown.startswith("[Masters") for shown in collected(release.table)["education"])


def coded_visits() -> pl.DataFrame:
    dice = np.random.default_rng(4)
    bands = [f"{10 * i}-{10 * i + 9}" for i in range(12)]
    return pl.DataFrame(
        {
            "hospital_id": dice.integers(136_000, 136_040, 600),
            "county": dice.integers(1, 9, 600).astype(float),
            "age": [bands[i] for i in dice.integers(0, 12, 600)],
            "zip": dice.integers(92_000, 92_150, 600),
            "days": dice.integers(0, 40, 600),
            "charge": dice.integers(1, 9_999, 600),
        }
    )


def test_codes_and_bands_are_told_and_masked_as_in_memory(engine: Engine) -> None:
    table = coded_visits()
    chosen = shoal.Policy(quasi_identifiers=table.columns[:-1], confidential=["charge"])
    memory = shoal.anonymize(table, chosen, seed=1)
    release = anonymize_in_chunks(engine(table), chosen, seed=1)
    assert [note for note in release.notes if note.startswith("Taken as")] == [*memory.notes]
    for shown in (memory.table, collected(release.table)):
        assert not shown["hospital_id"].str.contains(r"^\[").any()
        assert not shown["county"].cast(pl.String).str.contains(r"^\[").any()
        assert shown["age"].str.contains(r"^\[\d+-\d+;\d+-\d+\]$").any()
        assert shown["days"].str.contains(r"^\[\d+;\d+\]$").any()
        assert shown["zip"].str.contains(r"^(\d{5}|92\d\d\*|92\d\*\*|\*)$").all()


def test_article_numbers_too_many_to_list_are_codes_too(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [10**11 + 7 * i for i in range(400)]
    table = pl.DataFrame({"ref": [10 * number + _check_digit(number) for number in numbers]})
    monkeypatch.setattr("shoal.engines.whole.LISTED", 300)
    with pytest.raises(InputError, match=r"'ref' has more than .* if they are numbers, say so \(--kind ref=numeric\)"):
        anonymize_in_chunks(engine(table), shoal.Policy(quasi_identifiers=["ref"]))
    numeric = shoal.Policy(quasi_identifiers=["ref"], attributes={"ref": {"kind": "numeric"}})
    assert anonymize_in_chunks(engine(table), numeric, seed=1).records == 400


def _check_digit(number: int) -> int:
    """That of an article number of 13 digits."""
    return -sum(int(digit) * (3, 1)[i % 2] for i, digit in enumerate(reversed(str(number)))) % 10
