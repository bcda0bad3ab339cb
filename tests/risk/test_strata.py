"""Strata tell nothing of who has what, and the attack would find it if they did."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.masking.grouping.stratified import divided, stratified
from shoal.masking.method import Strata
from shoal.masking.partition import Partition
from shoal.report.attacked import attacked as attacked_in_report
from shoal.risk.attack import Outcome
from shoal.risk.dealing import Line
from shoal.risk.strata import walk
from tests.oracles import strata as oracle

Grouping = Callable[..., Partition]
T2 = (shoal.KAnonymity(5), shoal.TCloseness(0.2))


def table(quasi: np.ndarray, values: np.ndarray | list[int]) -> Microdata:
    known = frozenset({Role.QUASI_IDENTIFIER})
    frame = pl.DataFrame({"x": quasi[:, 0], "y": quasi[:, 1], "c": values})
    hidden = Attribute("c", frozenset({Role.CONFIDENTIAL}), Kind.NUMERIC)
    return Microdata(frame, Schema((Attribute("x", known, Kind.NUMERIC), Attribute("y", known, Kind.NUMERIC), hidden)))


def classes_of(partition: Partition) -> list[list[int]]:
    return [sorted(part.tolist()) for part in np.split(partition.order, partition.starts[1:-1])]


def shares(classes: list[list[int]], values: np.ndarray) -> np.ndarray:
    found = np.zeros((len(values), values.max() + 1))
    for members in classes:
        found[members] = np.bincount(values[members], minlength=values.max() + 1) / len(members)
    return found


def grouped_by(quasi: np.ndarray, grouping: Grouping, k: int) -> oracle.Group:
    return lambda values: frozenset(map(frozenset, classes_of(grouping(table(quasi, values), k, None, "c"))))


# ---- all tables of a few records


@pytest.mark.parametrize("grouping", [stratified, divided])
@pytest.mark.parametrize(("n", "k", "values", "places"), [(9, 3, 9, 90), (9, 3, 2, 4), (8, 4, 3, 3), (10, 2, 3, 90)])
def test_who_tries_all_tables_finds_class_frequencies(
    grouping: Grouping, n: int, k: int, values: int, places: int
) -> None:
    for seed in range(2):
        dice = np.random.default_rng(seed)
        quasi, held = dice.integers(0, places, (n, 2)), dice.permutation(np.arange(n) % values)
        classes = classes_of(grouping(table(quasi, held), k, None, "c", dice.permutation(n)))
        believed = oracle.by_lots(classes, held.tolist(), grouped_by(quasi, grouping, k))
        assert believed == pytest.approx(shares(classes, held))


def test_ties_in_the_order_of_the_table_would_tell_and_the_walk_finds_as_much() -> None:
    """Of twelve records: who tries all of them is right more often than frequencies are, and so is the walk."""
    exact, walked, frequency, apart = [], [], [], []
    for seed in range(3):
        dice = np.random.default_rng(seed)
        quasi, held = dice.integers(0, 90, (12, 2)), dice.integers(0, 3, 12)
        microdata = table(quasi, held)
        classes = classes_of(stratified(microdata, 3, None, "c"))
        known = oracle.by_values(classes, held.tolist(), grouped_by(quasi, stratified, 3))
        in_order = Strata("c", lambda again, lots: stratified(again, 3, None, "c"))
        believed = walked_through(microdata, classes, in_order)
        apart.append(np.abs(believed - known).mean())
        exact.append(right(known, held))
        walked.append(right(believed, held))
        frequency.append(shares(classes, held).max(axis=1).mean())
    assert np.mean(exact) > np.mean(frequency) + 0.05
    assert np.mean(walked) > np.mean(frequency) + 0.05
    assert np.mean(apart) < 0.05


def right(believed: np.ndarray, held: np.ndarray) -> float:
    """The share of people whose value is the likeliest, ties by lot."""
    likeliest = np.isclose(believed, believed.max(axis=1, keepdims=True), atol=0.1)
    return float((likeliest[np.arange(len(held)), held] / likeliest.sum(axis=1)).mean())


def walked_through(microdata: Microdata, classes: list[list[int]], strata: Strata) -> np.ndarray:
    label, values = np.zeros(len(microdata), np.int64), microdata["c"].codes
    for c, members in enumerate(classes):
        label[members] = c
    line = Line.of(label, np.arange(len(label)))
    seen = np.zeros((len(label), values.max() + 1))

    def visit(held: np.ndarray) -> None:
        seen[line.record, values[line.record[held]]] += 1

    return seen / walk(microdata, line, strata, [], visit, np.random.default_rng(0))


# ---- releases


def people(n: int = 300) -> pl.DataFrame:
    dice = np.random.default_rng(5)
    age = dice.integers(18, 90, n)
    ill = dice.random(n) < 0.25
    return pl.DataFrame({"age": age, "zip": dice.integers(0, 400, n), "ill": np.where(ill, "yes", "no")})


def asked(grouping: str = "stratified") -> shoal.Policy:
    method = shoal.METHODS.find(grouping)()  # type: ignore[arg-type]
    return shoal.Policy(quasi_identifiers=["age", "zip"], confidential=["ill"], models=list(T2), method=method)


def attacked(table: pl.DataFrame, policy: shoal.Policy, seed: int = 0) -> list[Outcome]:
    released = shoal.anonymize(table, policy, seed=seed).table.sample(fraction=1, shuffle=True, seed=1)
    return list(shoal.attack(table, released, policy, ["minimality"]).outcomes)


def test_a_release_of_strata_tells_no_more_than_class_frequencies() -> None:
    named, everybody = attacked(people(), asked())
    assert named.interval[0] <= named.baseline
    assert everybody.interval[0] <= everybody.baseline
    assert everybody.guessed == 300
    assert everybody.notes == ()


def test_strata_whose_ties_fall_as_the_table_stands_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    by_lot = shoal.Stratified.strata

    def in_order(self: shoal.Stratified, *about: object) -> Strata | None:
        made = by_lot(self, *about)  # type: ignore[arg-type]
        return made and Strata(made.attribute, lambda table, lots: made.grouping(table, np.arange(len(table))))

    monkeypatch.setattr(shoal.Stratified, "strata", in_order)
    named, _ = attacked(people(), asked())
    assert named.guessed >= 30
    assert named.interval[0] > named.baseline


def test_the_default_is_attacked_where_it_took_strata() -> None:
    dice = np.random.default_rng(2)
    old = people(200)["age"].to_numpy() > 60
    frame = people(200).with_columns(ill=pl.Series(np.where(dice.random(200) < 0.05 + 0.6 * old, "yes", "no")))
    release = shoal.anonymize(frame, asked("hilbert"), seed=0)
    assert any("strata" in note for note in release.notes)
    found = shoal.attack(frame, release.table, asked("hilbert"), ["minimality"])
    assert [each.guessed for each in found.outcomes][1] == 200
    assert found.left_out == {}


def test_a_release_whose_lots_are_not_known_is_attacked_by_one_like_it() -> None:
    for outcome in attacked(people(100), asked(), seed=7):
        assert "another one of the same people" in outcome.notes[0]
    released = shoal.anonymize(people(100), asked(), seed=7)
    (_, everybody) = shoal.attack(people(100), released.table, asked(), ["minimality"], seed=7).outcomes
    assert everybody.notes == ()
    found = shoal.attack(people(100), people(100), asked(), ["minimality"])
    assert "of strata the seed may be needed" in found.left_out["minimality"]


def test_what_is_known_to_her_is_not_guessed() -> None:
    policy = asked().changed(quasi_identifiers=("age", "zip", "ill"))
    released = shoal.anonymize(people(100), policy, seed=0).table
    found = shoal.attack(people(100), released, policy, ["minimality"])
    assert "'ill' is a quasi-identifier, too" in found.left_out["minimality"]


def test_ties_are_drawn_anew_in_each_run_unless_a_seed_is_given() -> None:
    once, again = (shoal.anonymize(people(), asked()).table for _ in range(2))
    assert not once.equals(again)
    once, again = (shoal.anonymize(people(), asked(), seed=3).table for _ in range(2))
    assert once.equals(again)


def test_the_order_of_a_written_release_does_not_tell_the_lots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One seed draws both; had they the same numbers, the file would list who came first to which stratum."""
    drawn: list[np.ndarray] = []
    by_lot = shoal.Stratified.strata

    def watched(self: shoal.Stratified, *about: object) -> Strata | None:
        made = by_lot(self, *about)  # type: ignore[arg-type]
        return made and Strata(made.attribute, lambda t, lots: drawn.append(lots) or made.grouping(t, lots))  # type: ignore[func-returns-value]

    monkeypatch.setattr(shoal.Stratified, "strata", watched)
    shoal.anonymize(people(), asked(), seed=3)
    assert (drawn[0] == np.random.default_rng(3).permutation(300)).mean() < 0.1


@pytest.mark.slow
def test_on_adult_too_strata_do_not_tell_the_salary() -> None:
    path = Path(os.environ.get("SHOAL_DATA", ""), "adult", "adult.csv")
    if not path.exists():
        pytest.skip("SHOAL_DATA names no folder with adult/adult.csv")
    frame = pl.read_csv(path, separator=";").head(1000)
    policy = shoal.Policy(
        quasi_identifiers=frame.columns[:-1],
        confidential=frame.columns[-1:],
        models=list(T2),
        method=shoal.Stratified(),
    )
    assert all(outcome.interval[0] <= outcome.baseline for outcome in attacked(frame, policy))


def test_the_report_attacks_the_very_release_whatever_its_lots_were() -> None:
    release = shoal.anonymize(people(60), asked())
    found = attacked_in_report(release, int(release.sizes.min()))
    outcomes = [each for each in found.outcomes if each.attack == "minimality"]
    assert [each.people for each in outcomes] == [60, 60]
    assert all(each.notes == () for each in outcomes)
