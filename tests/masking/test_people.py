"""People, whatever masks them: every class of every method has k of them, counted by hand."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.kernels.people_cuts import people_blocks, people_cuts, people_runs
from shoal.masking import METHODS
from shoal.masking.grouped import Grouping
from shoal.masking.grouping.ordered import optimal
from tests.oracles.grouping import loss as corner_loss

GROUPINGS = [method.name for method in METHODS if issubclass(method, Grouping)]
TREES = {
    "age": tuple((str(age), f"{age // 3}.", f"{age // 9}..", "*") for age in range(30)),
    "sex": (("f", "*"), ("m", "*")),
}


def fewest(release: shoal.Release[Any], who: str = "pid") -> int:
    """People of the class that has fewest: by the records' own numbers, which are released."""
    own = dict(zip(release.original.frame["row"], release.original.frame[who], strict=True))
    classes: dict[object, set[object]] = {}
    for *shown, row in release.table.select(*release.schema.quasi_identifiers, "row").rows():
        classes.setdefault(tuple(shown), set()).add(own[row])
    return min(map(len, classes.values()))


@st.composite
def visits(draw: st.DrawFn) -> pl.DataFrame:
    """Records of at least six people, some of whom have many, next to each other or far apart."""
    n = draw(st.integers(12, 60))
    people = draw(st.lists(st.sampled_from([0, 0, 0, 1, 1, *range(2, 9)]), min_size=n, max_size=n))
    people[:6] = range(3, 9)
    return pl.DataFrame(
        {
            "row": range(n),
            "pid": people,
            "age": draw(st.lists(st.integers(0, 29), min_size=n, max_size=n)),
            "sex": draw(st.lists(st.sampled_from("fm"), min_size=n, max_size=n)),
            "charge": draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)),
        }
    )


def policy(method: str, **choices: Any) -> shoal.Policy:
    name, _, local = method.partition(":")
    trees = {column: {"hierarchy": tree} for column, tree in TREES.items()} if name == "recode" else {}
    return shoal.Policy(
        quasi_identifiers=["age", "sex"], confidential=["charge"], insensitive=["row"], person="pid", attributes=trees,
        method={"name": name, **({"local": True} if local else {}), **({"seconds": 1} if name == "cut-points" else {})},
        **{"models": [shoal.KAnonymity(4)], **choices},
    )  # fmt: skip


@pytest.mark.parametrize("method", [*GROUPINGS, "recode", "recode:local", "cut-points"])
@settings(max_examples=6)
@given(table=visits(), k=st.integers(2, 5), suppression=st.sampled_from([0.0, 0.3]))
def test_every_class_of_every_method_has_k_people(method: str, table: pl.DataFrame, k: int, suppression: float) -> None:
    chosen = policy(method, models=[shoal.KAnonymity(k)], suppression=suppression)
    release = shoal.anonymize(table, chosen, seed=1)
    assert fewest(release) >= k
    assert release.verdicts[0].achieved == fewest(release)
    assert release.suppressed <= suppression * table.height


@pytest.mark.parametrize("method", ["hilbert", "kd", "recode"])
@settings(max_examples=4)
@given(table=visits())
def test_what_classes_hold_is_counted_by_people_too(method: str, table: pl.DataFrame) -> None:
    few = table["charge"].value_counts()["count"].len() < 3
    chosen = policy(method, models=[shoal.KAnonymity(2), shoal.LDiversity(1 if few else 2)])
    release = shoal.anonymize(table, chosen, seed=1)
    assert [verdict.holds for verdict in release.verdicts] == [True, True]


# ---- cuts

_lines = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 12), min_size=n, max_size=n), st.lists(st.integers(0, 5), min_size=n, max_size=n)
    )
)


def _people(line: tuple[list[int], list[int]]) -> tuple[np.ndarray, np.ndarray]:
    places, whose = line
    order = np.argsort(places, kind="stable")
    return np.array(places, np.float32)[order, None], np.unique(np.array(whose)[order], return_inverse=True)[1]


@given(_lines, st.integers(1, 4))
def test_cuts_are_the_best_of_all_that_divide_nobodys_run(line: tuple[list[int], list[int]], k: int) -> None:
    rows, people = _people(line)
    if len(set(people.tolist())) < k:
        return
    starts = people_cuts(rows, people, k)
    held = [len(set(people[a:b].tolist())) for a, b in pairwise(starts)]
    assert starts[0] == 0
    assert starts[-1] == len(people)
    assert min(held) >= k
    assert max(held) <= 2 * k - 1
    if len(people) <= 4 * k:  # where every loss is exact
        loss = sum(corner_loss(rows[a:b]) for a, b in pairwise(starts))
        assert loss == pytest.approx(_least_loss(rows, people, k), abs=1e-4)


def _least_loss(rows: np.ndarray, people: np.ndarray, k: int) -> float:
    """By every way to cut the line between the runs of one person."""
    ends = [i for i in range(1, len(people)) if people[i] != people[i - 1]] + [len(people)]
    best = {0: 0.0}
    for b in ends:
        for a in list(best):
            if a < b and k <= len(set(people[a:b].tolist())) <= 2 * k - 1:
                best[b] = min(best.get(b, np.inf), best[a] + corner_loss(rows[a:b]))
    return best[len(people)]


@given(_lines, st.integers(1, 3))
def test_runs_and_blocks_reach_their_people(line: tuple[list[int], list[int]], k: int) -> None:
    people = _people(line)[1]
    for starts, least in ((people_runs(people, k), k), (people_blocks(people, k, 4), 2 * k)):
        held = [len(set(people[a:b].tolist())) for a, b in pairwise(starts)]
        assert (starts[0], starts[-1]) == (0, len(people))
        assert len(held) == 1 or min(held) >= least


def test_one_who_has_most_records_neither_delays_nor_hides_the_others() -> None:
    n = 30_000
    people = np.where(np.arange(n) % 100 == 0, np.arange(n) // 100 + 1, 0)
    rows = np.random.default_rng(1).random((n, 2), np.float32)
    partition = optimal(rows, np.argsort(rows[:, 0]), 3, people)
    held = [len(set(people[partition.order[a:b]].tolist())) for a, b in pairwise(partition.starts)]
    assert min(held) >= 3
    assert sorted(partition.order.tolist()) == list(range(n))


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="needs the data sets (SHOAL_DATA)")
def test_five_patients_in_every_class_of_encounters_lose_little() -> None:
    table = pl.read_parquet(Path(os.environ["SHOAL_DATA"], "encounters", "diabetes130.parquet"))
    quasi = ["race", "gender", "age", "admission_type_id", "time_in_hospital", "medical_specialty"]
    chosen = shoal.Policy(quasi_identifiers=quasi, person="patient_nbr", models=[shoal.KAnonymity(5)])
    release = shoal.anonymize(table.select("patient_nbr", *quasi), chosen, seed=1)
    classes = release.table.with_columns(who=table["patient_nbr"]).group_by(quasi).agg(pl.col("who").n_unique())
    assert classes["who"].min() == 5
    assert release.information_loss <= 0.0127
