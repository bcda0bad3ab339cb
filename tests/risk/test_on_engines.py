"""The risk of a table on an engine is the one found in memory, whatever way its records come in batches and parts."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import shoal
from shoal.assess import released_schema
from shoal.data.discharges import discharges
from shoal.engines.disk import Disk
from shoal.engines.table import Batch, Table
from shoal.errors import InputError
from shoal.privacy.classes import CLASS, _InBatch
from shoal.risk import uniques
from shoal.risk.disclosure import Asked, _Satisfied
from shoal.risk.measure import Risk, assess_risk, confidential_values
from shoal.risk.scenarios import Scenarios, scenarios
from shoal.risk.uniques import FITTING

QUASI = ["age_yrs", "sex", "patzip"]
WHEN = ["charge > 20000", "diag_p in ('V3000', '4280') and sex = 1", "charge < 0"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.table.CHUNK", 300)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 170)


def policy(**choices: object) -> shoal.Policy:
    stated = {"quasi_identifiers": QUASI, "confidential": ["charge", "diag_p"]}
    return shoal.Policy(**{**stated, **choices})


def assess(table: Table, chosen: shoal.Policy, when: Sequence[str] = ()) -> Risk:
    return assess_risk(table, released_schema(table, chosen), when=when, groups=chosen.groups)


def intruders(table: Table, chosen: shoal.Policy, **known: Any) -> Scenarios:
    return scenarios(table, released_schema(table, chosen), **known)


def same_risk(table: pl.DataFrame, chosen: shoal.Policy, when: list[str]) -> Risk:
    with Disk() as disk:
        found = assess(disk.table(table.lazy()), chosen, when=when)
    expected = shoal.risk(table, chosen, when=when)
    for name, value in expected.to_dict().items():
        assert found.to_dict()[name] == value, name
    for ours, theirs in zip(found.disclosure_by_value, expected.disclosure_by_value, strict=True):
        assert ours.family.equals(theirs.family)
    assert found.sizes.tolist() == expected.sizes.tolist()
    assert np.asarray(found.of_each).tolist() == np.asarray(expected.of_each).tolist()
    return found


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return discharges(2000, seed=5)


def test_an_original_table(table: pl.DataFrame) -> None:
    groups = {"birth": ("age_yrs",), "place": ("patzip",), "sex": ("sex",)}
    found = same_risk(table, policy(groups=groups), WHEN)
    assert found.left_out == {}
    assert found.engine == "disk"
    assert 0 < found.uniques < len(table)
    assert len(found.attributes_known) == 7


def test_a_release_whose_masked_cells_fit_each_other(table: pl.DataFrame) -> None:
    chosen = policy(groups={"birth": ("age_yrs",), "place": ("patzip", "sex")})
    masked = shoal.anonymize(table, policy(models=[shoal.KAnonymity(2)])).table
    some = pl.concat([masked.unique(QUASI, maintain_order=True), masked.head(100)])  # many are single now
    assert same_risk(masked, chosen, WHEN[:1]).uniques == 0
    assert same_risk(some, chosen, []).uniques_rule == FITTING


def test_classes_beyond_the_list_are_counted_and_masks_bounded(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = policy(groups={"birth": ("age_yrs",), "place": ("patzip", "sex")})
    masked = shoal.anonymize(table, policy(models=[shoal.KAnonymity(2)])).table
    masked = pl.concat([masked.unique(QUASI, maintain_order=True), masked.head(100)])
    monkeypatch.setattr(uniques, "LISTED", 3)
    assert same_risk(table, chosen, []).left_out == {}
    with Disk() as disk:
        found = assess(disk.table(masked.lazy()), chosen)
    exact = shoal.risk(masked, chosen)
    assert found.uniques == np.repeat(exact.sizes, exact.of_each).tolist().count(1) > exact.uniques
    assert not found.uniques_proven
    assert "worst-case uniques" in found.left_out
    pairs = zip(found.attributes_known, exact.attributes_known, strict=True)
    assert all(ours.uniques >= theirs.uniques for ours, theirs in pairs)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, 1.5, 2.0, float("nan")]),
            st.sampled_from([None, "a", "b"]),
            st.sampled_from([None, "x", "y", "it's"]),
            st.one_of(st.none(), st.integers(-3, 30)),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_any_small_table(rows: list[tuple[float | None, str | None, str | None, int | None]]) -> None:
    schema = {"a": pl.Float64, "b c": pl.String, "d": pl.String, "e": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    chosen = shoal.Policy(
        quasi_identifiers=("a", "b c"), confidential=("d", "e"), groups={"one": ("a",), "two": ("b c",)}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.engines.disk.BATCH", 7)
        patch.setattr("shoal.engines.table.CHUNK", 10)
        same_risk(frame, chosen, ["e > 3", "d = 'x' or e is null"])


def test_a_confidential_attribute_of_too_many_values_is_left_out_by_name(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.engines.whole.LISTED", 1000)
    with Disk() as disk:
        found = assess(disk.table(table.lazy()), policy(), when=WHEN)
    assert list(found.left_out) == ["disclosure_by_value of charge"]
    assert [one.attribute for one in found.disclosure_by_value] == ["diag_p"]
    console = Console(record=True, width=80)
    console.print(found)
    assert "Left out" in console.export_text()


@pytest.mark.parametrize(
    ("condition", "message"),
    [("charge > avg(charge)", "compares records"), ("charg > 3", "Did you mean"), ("charge", "does not say")],
)
def test_conditions_that_cannot_be_asked_are_refused_before_any_work(condition: str, message: str) -> None:
    with Disk() as disk:
        never = disk.table(pl.LazyFrame(schema=dict.fromkeys([*QUASI, "charge", "diag_p"], pl.Int64)))
        with pytest.raises(InputError, match=message):
            assess(never, policy(), when=[condition])


def test_a_table_without_records_has_no_risk(table: pl.DataFrame) -> None:
    with Disk() as disk:
        found = assess(disk.table(table.clear().lazy()), policy(), when=WHEN)
        assert (found.records, found.uniques, found.classes.classes) == (0, 0, 0)
        assert intruders(disk.table(table.clear().lazy()), policy()).prosecutor.highest == 0.0


# ---- intruders


@pytest.mark.parametrize("known", [{}, {"fraction": 0.1}, {"fraction": 0.01, "alpha": 0.05}, {"weights": "weight"}])
def test_intruders_by_sizes_fraction_and_weights(table: pl.DataFrame, known: dict[str, object]) -> None:
    weighted = table.with_columns(weight=pl.int_range(pl.len()) % 7 + 1.5)
    chosen = policy()
    expected = scenarios(weighted, chosen.schema(weighted, released=True), **known).to_dict()  # type: ignore[arg-type]
    with Disk() as disk:
        found = intruders(disk.table(weighted.lazy()), chosen, **known).to_dict()  # type: ignore[arg-type]
    assert flat(found) == pytest.approx(flat(expected), rel=1e-9)


@pytest.mark.parametrize("masked", [False, True])
def test_the_journalist_counts_people_in_a_table_of_the_population(table: pl.DataFrame, masked: bool) -> None:
    people = pl.concat([table.head(1500), discharges(3000, seed=8)]).select(QUASI)
    shown = shoal.anonymize(table, policy(models=[shoal.KAnonymity(3)])).table if masked else table
    expected = scenarios(shown, policy().schema(shown, released=True), population=people).to_dict()
    with Disk() as disk:
        found = intruders(disk.table(shown.lazy()), policy(), population=disk.table(people.lazy())).to_dict()
    assert found["basis"] == "population"
    assert flat(found) == pytest.approx(flat(expected), rel=1e-9)


def test_classes_that_cannot_be_listed_are_not_matched(table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.privacy.classes.LISTED", 3)
    with Disk() as disk:
        source = disk.table(table.lazy())
        with pytest.raises(InputError, match="sampling fraction instead"):
            intruders(source, policy(), population=source)
        with pytest.raises(InputError, match="only one of them"):
            intruders(source, policy(), population=source, fraction=0.1)


def test_all_works_travel(table: pl.DataFrame) -> None:
    chosen = policy()
    schema = chosen.schema(table, released=True)
    with Disk() as disk:
        values = confidential_values(disk.table(table.lazy()), schema, ["charge", "diag_p"]).values
    work = _InBatch(tuple(QUASI), _Satisfied((*map(Asked, WHEN), *values.values())), nan_is_missing=True)
    batch = Batch(table, 0)
    again = pickle.loads(pickle.dumps(work))(batch)
    assert again.schema == work.schema
    assert again.sort(CLASS).equals(work(batch).sort(CLASS))


def flat(found: dict[str, object], under: str = "") -> dict[str, object]:
    """All numbers under one name each."""
    rows: dict[str, object] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            rows |= flat(value, f"{under}{name}.")
        elif isinstance(value, int | float) and value is not None:
            rows[under + name] = value
    return rows
