"""The pooled audit on an engine counts what the audit in memory counts."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.data.discharges import discharges
from shoal.engines.disk import Disk
from shoal.engines.table import Batch, Table
from shoal.errors import InputError
from shoal.privacy.classes import in_classes
from shoal.releases import audit_tables as tables_audit
from shoal.releases import signed_subjects
from shoal.releases.audit import WORST, Audit
from shoal.releases.audit import audit as audit_in_memory
from shoal.releases.published import published

QUASI = ("age_yrs", "sex")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.table.CHUNK", 150)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 110)


def policy(**choices: object) -> shoal.Policy:
    return shoal.Policy(**{"quasi_identifiers": QUASI, **choices})


def audit(
    tables: Mapping[str, Table], chosen: shoal.Policy | Mapping[str, shoal.Policy], subject: str, k: int
) -> Audit:
    policies = {name: chosen if isinstance(chosen, shoal.Policy) else chosen[name] for name in tables}
    [confidential] = {each.confidential for each in policies.values()}
    quasi = {name: each.quasi_identifiers for name, each in policies.items()}
    return tables_audit.audit_tables(tables, quasi, subject, k, confidential=confidential)


def same_audit(tables: dict[str, pl.DataFrame], chosen: shoal.Policy, k: int) -> Audit:
    with Disk() as disk:
        found = audit({name: disk.table(table.lazy()) for name, table in tables.items()}, chosen, "id", k)
    quasi, own = chosen.quasi_identifiers, chosen.confidential
    stated = [published(name, table, "id", quasi, own) for name, table in tables.items()]
    expected, ours = audit_in_memory(stated, k, own).to_dict(), found.to_dict()
    for ours_of_pair, theirs in zip(ours["pairs"], expected["pairs"], strict=True):
        for part in ("differencing", "changed"):
            assert len(ours_of_pair[part]) == len(theirs[part])
            for attack, known in zip(ours_of_pair.pop(part), theirs.pop(part), strict=True):
                assert attack == pytest.approx(known, nan_ok=True)
    assert found.left_out == {}
    worst, those = ours.pop("worst"), expected.pop("worst")
    assert [atom["subjects"] for atom in worst] == [atom["subjects"] for atom in those]
    assert {name: ours[name] for name in expected} == expected
    return found


def released(rows: int, seed: int, of: slice = slice(None)) -> pl.DataFrame:
    """Some of the people, masked anew."""
    people = discharges(rows, seed=1).with_columns(id=pl.int_range(rows).cast(pl.String) + "-x")[of]
    shown = people.sample(fraction=1.0, shuffle=True, seed=seed).select("id", *QUASI)
    return shown.with_columns(pl.col("age_yrs") // (seed + 3), pl.col("sex").cast(pl.String))


def test_two_and_three_releases_over_overlapping_people() -> None:
    tables = {
        "one": released(900, 4),
        "two": released(900, 6, slice(100, 700)),
        "three": released(900, 9, slice(650, 900)),
    }
    found = same_audit(tables, policy(), 5)
    assert found.subjects == 900
    assert 0 < found.subjects_below_k < 900
    assert len(found.pairs) == 3
    assert len(found.worst) == WORST
    same_audit({name: tables[name] for name in ("one", "two")}, policy(), 7)
    same_audit({"one": tables["one"]}, policy(), 2)
    same_audit({"one": tables["one"], "again": tables["one"]}, policy(), 5)


def test_releases_of_different_people_are_as_safe_as_each() -> None:
    tables = {"one": released(600, 40, slice(0, 300)), "two": released(600, 40, slice(300, 600))}
    found = same_audit(tables, policy(), 2)
    assert found.pairs[0].common_subjects == 0
    assert found.pairs[0].smallest_common is None


def test_the_worst_atoms_are_shown_as_the_releases_show_them() -> None:
    one = pl.DataFrame({"id": [1, 2, 3, 4, 5], "age_yrs": ["[1;5]"] * 5, "sex": [1, 1, 1, 1, 1]})
    two = pl.DataFrame({"id": ["1", "2", "3"], "age_yrs": ["3", "3", "[3;4]"], "sex": [1, 1, 1]})
    found = same_audit({"one": one, "two": two}, policy(), 3)
    shown = {"age_yrs": "[1;5]", "sex": "1"}
    assert found.worst[0] == {"subjects": 1, "shown": {"one": shown, "two": {"age_yrs": "[3;4]", "sex": "1"}}}
    assert {"subjects": 2, "shown": {"one": shown, "two": None}} in found.worst
    assert found.histogram == {1: 1, 2: 4}
    assert not found.holds


people = st.dictionaries(
    st.integers(0, 30),
    st.tuples(st.sampled_from("abc"), st.sampled_from([None, "u", "v"]), st.sampled_from([None, 1, 2, 5])),
)


@given(st.lists(people.filter(bool), min_size=1, max_size=3), st.integers(1, 6))
def test_any_small_releases(members: list[dict[int, tuple[str, str | None, int | None]]], k: int) -> None:
    tables = {
        f"release {i}": pl.DataFrame(
            [(who, *shows) for who, shows in one.items()],
            schema={"id": pl.Int64, "age_yrs": pl.String, "sex": pl.String, "charge": pl.Int64},
            orient="row",
        )
        for i, one in enumerate(members)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.engines.disk.BATCH", 5)
        patch.setattr("shoal.engines.table.CHUNK", 8)
        same_audit(tables, policy(), k)
        same_audit(tables, policy(confidential=["charge"]), k)


def test_each_release_may_have_quasi_identifiers_of_its_own() -> None:
    one, two = released(300, 4), released(300, 6)
    with Disk() as disk:
        tables = {"one": disk.table(one.lazy()), "two": disk.table(two.lazy())}
        found = audit(tables, {"one": policy(), "two": policy(quasi_identifiers=["age_yrs"])}, "id", 5)
    alone = published("one", one, "id", QUASI), published("two", two, "id", ["age_yrs"])
    assert found.histogram == audit_in_memory(alone, 5).histogram


def moved(table: pl.DataFrame, seed: int, share: float) -> pl.DataFrame:
    """Some stand elsewhere, have other values, or are gone."""
    drawn = np.random.default_rng(seed).random((4, table.height))
    return table.with_columns(
        age_yrs=pl.when(pl.Series(drawn[0] < share)).then(pl.col("age_yrs") + 1).otherwise("age_yrs"),
        charge=pl.when(pl.Series(drawn[1] < share)).then(pl.col("charge") + 7).otherwise("charge"),
        ward=pl.when(pl.Series(drawn[2] < share)).then(None).otherwise("ward"),
    ).filter(pl.Series(drawn[3] > share))


def test_values_are_differenced_and_compared_class_by_class() -> None:
    ids = pl.int_range(600)
    chosen = policy(confidential=["charge", "ward"])
    one = pl.DataFrame({"id": range(600)}).select(
        "id", age_yrs=ids // 6, sex=ids % 2, charge=(ids * 37 % 101).cast(pl.Float64), ward=(ids % 7).cast(pl.String)
    )
    tables = {"one": one, "two": moved(one, 1, 0.05), "three": moved(one, 2, 0.1).with_columns(sex=pl.lit(0))}
    found = same_audit(tables, chosen, 3)
    attacked = [attack for pair in found.pairs for attack in pair.differencing]
    assert {attack.attribute for attack in attacked} == {"charge"}  # wards are no numbers
    ranges = [attack for attack in attacked if attack.published == "range"]
    assert sum(each.victims for each in ranges) > sum(each.revealed for each in ranges) > 0
    assert all(each.read_off > 0 for pair in found.pairs for each in pair.changed)
    assert any("Changed values" in sheet.title for sheet in found.sheets())
    same_audit({"one": one.with_columns(charge=None), "two": one}, policy(confidential=["charge"]), 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pl.DataFrame({"id": [1, 2, 1], "age_yrs": [1, 2, 3], "sex": [1, 1, 1]}),
            "two names a subject in 'id' more than",
        ),
        (pl.DataFrame({"id": [1, None], "age_yrs": [1, 2], "sex": [1, 1]}), "two does not say in 'id'"),
        (pl.DataFrame({"idd": [1, 2], "age_yrs": [1, 2], "sex": [1, 1]}), "two has no column 'id' .* 'idd'"),
        (pl.DataFrame({"id": [1, 2], "age": [1, 2], "sex": [1, 1]}), "two has no column 'age_yrs'"),
    ],
)
def test_what_cannot_be_audited_is_refused(table: pl.DataFrame, message: str) -> None:
    with Disk() as disk:
        tables = {"one": disk.table(released(50, 4).lazy()), "two": disk.table(table.lazy())}
        with pytest.raises(InputError, match=message):
            audit(tables, policy(), "id", 5)


def test_all_works_travel() -> None:
    batch = Batch(released(50, 4), 0)
    for work in (
        signed_subjects.Signed("one", "id", QUASI, (), 0, (1, 2)),
        tables_audit._Show(QUASI, in_classes(batch.frame, QUASI)["@class"].head(3)),
    ):
        found = pickle.loads(pickle.dumps(work))(batch)
        assert found.sort(found.columns).equals(work(batch).sort(found.columns))


def test_subjects_are_hashed_by_a_key_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    signed = signed_subjects.Signed.__call__

    def watched(self: signed_subjects.Signed, batch: Batch) -> pl.DataFrame:
        found = signed(self, batch)
        seen.append(np.sort(found["@who"].to_numpy()))
        return found

    monkeypatch.setattr(signed_subjects.Signed, "__call__", watched)
    with Disk() as disk:
        source = disk.table(released(50, 4).lazy())
        first, second = (audit({"one": source}, policy(), "id", 5) for _ in range(2))
    assert first.histogram == second.histogram
    assert not np.isin(seen[0], seen[1]).any()
