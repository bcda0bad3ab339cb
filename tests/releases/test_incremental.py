"""Incremental releases: whatever comes, goes or changes, everybody stays one of k over all releases."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.discharges import discharges
from shoal.data.parse_cells import read_cells
from shoal.draft import draft
from shoal.errors import InputError, PromiseError
from shoal.masking.grouping.mdav import Mdav
from shoal.policy import Policy
from shoal.privacy import KAnonymity, LDiversity, TCloseness
from shoal.release import Release, judged, write
from shoal.releases.atoms import Pool
from shoal.releases.audit import audit
from shoal.releases.ledger import Ledger, entries
from shoal.releases.published import published
from tests.oracles.releases import anonymity

K = 3
POLICY = Policy(identifiers=["id"], quasi_identifiers=["age", "city"], confidential=["charge"], models=[KAnonymity(K)])


def person(i: int, age: int | None = None, city: str | None = None) -> dict[str, Any]:
    return {
        "id": i,
        "age": 20 + i * 7 % 40 if age is None else age,
        "city": "abc"[i % 3] if city is None else city,
        "charge": 10 * i,
    }


def table(people: dict[int, dict[str, Any]]) -> pl.DataFrame:
    schema = {"id": pl.Int64, "age": pl.Int64, "city": pl.String, "charge": pl.Int64}
    return pl.DataFrame([people[i] for i in sorted(people)], schema=schema)


def release(frame: pl.DataFrame, ledger: Ledger, policy: Policy = POLICY) -> Release:
    """Made to go on from the ledger, and judged by it: the refusal is the proof."""
    made = draft(frame, policy, after=ledger)
    return write(made, ledger.path.parent / "r.csv", ledger=ledger, keep_order=True, overwrite=True)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db", b"k" * 32, "id")


def pooled(ledger: Ledger) -> dict[Any, int]:
    """By the oracle, from what each release showed."""
    return anonymity([
        dict(entry.published.members.select("subject", "class").iter_rows())
        for entry in entries(ledger.path)
    ])  # fmt: skip


steps = st.lists(
    st.tuples(
        st.integers(0, 8),  # come
        st.lists(st.integers(0, 40), max_size=4),  # go
        st.lists(st.tuples(st.integers(0, 40), st.integers(15, 70), st.sampled_from("abcd")), max_size=3),  # change
    ),
    min_size=2,
    max_size=5,
)


@given(steps)
def test_any_sequence_of_changes_leaves_everybody_one_of_k(
    steps: list[tuple[int, list[int], list[tuple[int, int, str]]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db", b"k" * 32, "id")
        people: dict[int, dict[str, Any]] = {}
        known = 0
        releases = 0
        boxes: dict[int, list[tuple[set[Any], ...]]] = {}
        for come, go, change in [(9, [], []), *steps]:
            people |= {i: person(i) for i in range(known, known + come)}
            known += come
            for i in go:
                people.pop(i, None)
            for i, age, city in change:
                if i in people:
                    people[i] = person(i, age, city)
            try:
                made = release(table(people), ledger)
            except InputError:
                assert len(people) < K
                continue
            except PromiseError as refused:
                if "Nobody" not in str(refused):  # all would have to be withheld; nothing else is a reason
                    raise
                continue
            releases += 1
            kept = table(people) if made.masked.kept is None else table(people)[made.masked.kept]
            check_boxes(made, kept, boxes)
            assert len(entries(ledger.path)) == releases
            assert min(pooled(ledger).values()) >= K


def check_boxes(made: Release, kept: pl.DataFrame, boxes: dict[int, list[tuple[set[Any], ...]]]) -> None:
    """Each shows the value of today and all that was ever shown of her."""
    for row, before in zip(made.table.iter_rows(named=True), kept.iter_rows(named=True), strict=True):
        low, _, high = row["age"].strip("[]").partition(";")
        box = set(range(int(low), int(high or low) + 1)), set(row["city"].strip("{}").split(";"))
        assert before["age"] in box[0]
        assert before["city"] in box[1]
        for earlier in boxes.setdefault(before["id"], []):
            assert earlier[0] <= box[0]
            assert earlier[1] <= box[1]
        boxes[before["id"]].append(box)


def test_a_table_that_did_not_change_is_shown_as_before(ledger: Ledger) -> None:
    people = {i: person(i) for i in range(30)}
    first, second = release(table(people), ledger), release(table(people), ledger)
    assert second.table.equals(first.table)
    assert second.masked.facts == {"classes_kept": len(first.sizes), "classes_new": 0, "withheld": 0}


def test_new_people_stand_in_classes_of_new_ones_only(ledger: Ledger) -> None:
    people = {i: person(i) for i in range(30)}
    first = release(table(people), ledger)
    people |= {i: person(i) for i in range(30, 40)}
    second = release(table(people), ledger)
    assert second.table[:30].equals(first.table)
    assert second.masked.facts["classes_new"] == 3
    assert second.masked.facts["withheld"] == 0


def test_fewer_than_k_new_people_wait(ledger: Ledger) -> None:
    people = {i: person(i) for i in range(30)}
    release(table(people), ledger)
    people |= {30: person(30), 31: person(31)}
    second = release(table(people), ledger)
    assert second.records == 30
    assert any("2 new records wait" in note for note in second.notes)
    people |= {32: person(32)}
    assert release(table(people), ledger).records == 33


def test_people_who_leave_take_so_many_with_them_that_they_are_k(ledger: Ledger) -> None:
    people = {i: person(i, age=30, city="a") for i in range(8)}
    release(table(people), ledger)  # all alike: a class of eight
    del people[0]
    second = release(table(people), ledger)
    assert second.records == 5
    assert any("2 records are withheld" in note for note in second.notes)
    assert sorted(pooled(ledger).values()) == [3] * 3 + [5] * 5


def test_a_smaller_k_than_was_promised_before_is_refused(ledger: Ledger) -> None:
    people = {i: person(i) for i in range(30)}
    release(table(people), ledger, POLICY.model_copy(update={"models": (KAnonymity(8),)}))
    with pytest.raises(PromiseError, match=r"promised k = 8, this one only 3: ask for at least 8"):
        release(table(people), ledger)


@pytest.mark.parametrize(
    ("first", "second"), [(LDiversity(2), None), (LDiversity(3), LDiversity(2)), (TCloseness(0.5), TCloseness(0.6))]
)
def test_what_was_promised_of_an_attribute_is_promised_again(ledger: Ledger, first: Any, second: Any) -> None:
    people = {i: person(i) for i in range(30)}

    def promising(*models: Any) -> Policy:
        return POLICY.model_copy(update={"models": (KAnonymity(3), *(model for model in models if model))})

    release(table(people), ledger, promising(first))
    with pytest.raises(PromiseError, match=f"promised {first.name} of .* at {first.asked:g}: promise at least that"):
        release(table(people), ledger, promising(second))
    release(table(people), ledger, promising(first))


def test_a_class_that_somebody_left_is_withheld_where_it_is_small(ledger: Ledger) -> None:
    people = {i: person(i) for i in range(30)}
    first = release(table(people), ledger)
    del people[4]
    second = release(table(people), ledger)
    shown = first.table.select("age", "city")
    assert (
        second.records
        == 30 - shown.filter(*(pl.col(name) == text for name, text in shown.row(4, named=True).items())).height
    )
    people[4] = person(4)
    assert release(table(people), ledger).records == 30  # all of them are back


def test_a_change_is_covered_together_with_what_was_shown(ledger: Ledger) -> None:
    people = {i: person(i, age=30 + i % 3, city="a") for i in range(9)}
    first = release(table(people), ledger)
    alike = first.table["age"] == first.table["age"][0]
    people |= {i: person(i, age=50, city="b") for i in alike.arg_true().to_list()}
    second = release(table(people), ledger)
    shown = second.table.row(0, named=True)
    low = first.table["age"][0].strip("[]").partition(";")[0]
    assert shown["age"] == f"[{low};50]"
    assert shown["city"] == "{a;b}"


def test_other_kinds_and_missing_values(ledger: Ledger) -> None:
    policy = Policy(
        identifiers=["id"],
        quasi_identifiers=["day", "grade", "zip", "x", "smoker"],
        models=[KAnonymity(2)],
        attributes={
            "grade": {"kind": "ordinal", "domain": ["low", "mid", "high"]},
            "zip": {"hierarchy": [["90001", "900", "*"], ["90002", "900", "*"], ["91001", "910", "*"]]},
        },
    )
    frame = pl.DataFrame(
        {
            "id": range(4),
            "day": [dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(2021, 5, 5), None],
            "grade": ["low", "mid", "high", "high"],
            "zip": ["90001", "90002", "91001", "91001"],
            "x": [0.5, 1.5, 9.25, None],
            "smoker": [True, False, None, None],
        }
    )
    first = release(frame, ledger, policy)
    assert first.table.rows()[0] == ("[2020-01-01;2020-01-03]", "[low;mid]", "900", "[0.5;1.5]", "{false;true}")
    changed = frame.with_columns(
        day=pl.Series([dt.date(2020, 1, 2), dt.date(2020, 1, 2), dt.date(2021, 5, 4), dt.date(2021, 5, 6)]),
        grade=pl.Series(["mid", "low", "low", "mid"]),
        zip=pl.Series(["90002", "90001", "90001", "90002"]),
        x=pl.Series([1.0, 1.0, 9.0, 9.5]),
        smoker=pl.Series([False, True, True, True]),
    )
    second = release(changed, ledger, policy)
    assert second.table.rows()[0] == first.table.rows()[0]
    assert second.table.rows()[2] == ("*", "[low;high]", "*", "*", "*")
    attribute = second.schema["day"]
    assert read_cells(second.table["day"], attribute).runs is not None  # what is shown can be read back


def test_attributes_shown_for_the_first_time(ledger: Ledger) -> None:
    people = table({i: person(i) for i in range(12)})
    release(people, ledger, POLICY.model_copy(update={"quasi_identifiers": ("age",)}))
    second = release(people, ledger)
    assert second.records == 12
    assert min(pooled(ledger).values()) >= K


def test_other_models_are_kept_by_merging_whole_classes(ledger: Ledger) -> None:
    people = table({i: person(i) for i in range(30)}).with_columns(charge=pl.col("id") // 10)
    release(people, ledger)
    diverse = POLICY.model_copy(update={"models": (KAnonymity(K), LDiversity(2))})
    second = release(people, ledger, diverse)
    assert all(verdict.holds for verdict in second.verdicts)
    assert min(pooled(ledger).values()) >= K


def test_only_ranges_can_go_on(ledger: Ledger) -> None:
    people = table({i: person(i) for i in range(12)})
    with pytest.raises(InputError, match="shows classes by ranges"):
        release(people, ledger, POLICY.model_copy(update={"method": Mdav()}))


def test_independent_releases_lose_what_the_ledger_keeps(tmp_path: Path) -> None:
    """Two releases of generated discharges that share 60 % of the people."""
    everyone = discharges(2_800, 3).with_row_index("id")
    halves = everyone[:2_000], everyone[800:]
    quasi = ("age_yrs", "sex", "patzip", "los")
    policy = Policy(identifiers=["id"], quasi_identifiers=quasi, confidential=["charge"], models=[KAnonymity(5)])
    apart = [Ledger(tmp_path / f"{n}.db", b"k" * 32, "id") for n in range(2)]
    for half, alone in zip(halves, apart, strict=True):
        write(draft(half, policy), tmp_path / "r.csv", ledger=alone, overwrite=True)
    found = audit([alone.releases()[0] for alone in apart], 5)
    assert found.pairs[0].common_subjects == 1_200
    assert found.smallest_pooled_class == 1
    assert found.subjects_below_k > 2_000

    together = Ledger(tmp_path / "together.db", b"k" * 32, "id")
    write(draft(halves[0], policy), tmp_path / "a.csv", ledger=together)
    with pytest.raises(PromiseError, match="with fewer than 5"):
        write(draft(halves[1], policy), tmp_path / "b.csv", ledger=together)
    assert not (tmp_path / "b.csv").exists()
    release = write(draft(halves[1], policy, after=together), tmp_path / "b.csv", ledger=together)
    assert release.records >= 800  # the new ones at least
    assert audit(together.releases(), 5).holds
    assert np.all(Pool.of(together.releases()).anonymity >= 5)


def changes(nights: tuple[int, ...], seed: int = 4) -> list[dict[int, dict[str, Any]]]:
    """The same 600 people night after night; so many of them have another charge each time."""
    random = np.random.default_rng(seed)
    people = {i: {**person(i), "charge": int(random.integers(1_000_000))} for i in range(600)}
    found = [people]
    for number in nights:
        again = random.choice(600, number, replace=False).tolist()
        found.append(found[-1] | {i: {**found[-1][i], "charge": int(random.integers(1_000_000))} for i in again})
    return found


def read_off(first: Release, second: Release) -> int:
    """What an intruder does who knows of nothing but the two files: values that a class shows in one of them only."""

    def values(made: Release) -> dict[tuple[str, str], Counter[int]]:
        found: dict[tuple[str, str], Counter[int]] = {}
        for age, city, charge in made.table.select("age", "city", "charge").iter_rows():
            found.setdefault((age, city), Counter())[charge] += 1
        return found

    before, after = values(first), values(second)
    gone = [(before[box] - after[box]).total() for box in before.keys() & after.keys()]
    return sum(number for number in gone if 0 < number < K)


def test_changed_values_of_few_cannot_be_read_off(ledger: Ledger) -> None:
    first, second = changes((12,))
    one = release(table(first), ledger)
    apart = judged(draft(table(second), POLICY))
    assert read_off(one, apart) == 12  # the same classes, grouped anew, for nobody came or went
    two = release(table(second), ledger)
    assert read_off(one, two) == 0
    assert two.records > 500
    assert any("values changed of fewer than 3" in note for note in two.notes)
    found = audit(ledger.releases(), K)
    assert found.holds
    (charge,) = (each for each in found.pairs[0].changed if each.outcome.target == "charge")
    assert charge.read_off == 0


def test_a_plain_release_with_changed_values_of_few_is_refused(ledger: Ledger) -> None:
    first, second = changes((12,))
    release(table(first), ledger)
    with pytest.raises(PromiseError, match=r"Of these, \d+ because values changed of fewer than 3 people of a class"):
        write(draft(table(second), POLICY), ledger.path.parent / "b.csv", ledger=ledger)
    assert not (ledger.path.parent / "b.csv").exists()


def test_the_audit_counts_whose_changed_values_are_read_off() -> None:
    first, second = (table(people) for people in changes((12,)))
    shown = judged(draft(first, POLICY)).table.select("age", "city")
    keyed = [published(name, shown.hstack(night.select("id", "charge")), "id", ["age", "city"], ["charge"])
             for name, night in (("1", first), ("2", second))]  # fmt: skip
    found = audit(keyed, K, ["charge"])
    (charge,) = found.pairs[0].changed
    assert (charge.outcome.people, charge.read_off) == (12, 12)
    assert charge.outcome.interval[0] > charge.outcome.baseline
    assert not found.holds


def test_what_changed_stays_hidden_over_many_nights(ledger: Ledger) -> None:
    made = [release(table(people), ledger) for people in changes((300, 200, 12, 0))]
    assert [read_off(one, other) for one, other in combinations(made, 2)] == [0] * 10
    assert audit(ledger.releases(), K).holds


def test_a_withheld_record_is_never_shown_with_its_old_value(ledger: Ledger) -> None:
    first, second = changes((12,))
    release(table(first), ledger)
    two = release(table(second), ledger)
    kept = table(second) if two.masked.kept is None else table(second)[two.masked.kept]
    assert two.table["charge"].equals(kept["charge"])


def test_a_changed_quasi_identifier_of_few_is_withheld(ledger: Ledger) -> None:
    people = {i: person(i) for i in range(60)}
    first = release(table(people), ledger)
    people[7] = person(7, age=69)
    second = release(table(people), ledger)
    assert second.records == 60 - withheld(first, 7)
    assert "69" not in "".join(second.table["age"].to_list())


def withheld(made: Release, record: int) -> int:
    """How many stand in the class of a record, which is too small to lose anybody."""
    box = made.table.select("age", "city").row(record)
    return sum(each == box for each in made.table.select("age", "city").iter_rows())
