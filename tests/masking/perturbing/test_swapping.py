"""Rank swapping: the window, the odds of every partner, ties."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.swapping import shuffle_ties, swap_partners
from shoal.masking.perturbing.swapping import Swap
from tests.masking.perturbing.tables import normal, shown, table
from tests.oracles import perturbing as oracle


@given(st.integers(1, 400), st.integers(0, 120), st.integers(0, 120), st.booleans(), st.integers(0, 2**32))
def test_partners_change_places_within_the_window_and_none_is_left_over(
    n: int, down: int, up: int, ascending: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    down = up if not ascending else 0
    partner = swap_partners(np.arange(n) if ascending else rng.permutation(n), down, up, rng)
    assert np.array_equal(partner[partner], np.arange(n))
    assert np.abs(partner - np.arange(n)).max() <= up
    alone = np.flatnonzero(partner == np.arange(n))
    assert (np.diff(alone) > up).all()  # any two of them could have swapped


@pytest.mark.parametrize(("n", "w", "ascending"), [(5, 1, False), (6, 2, False), (5, 4, False), (6, 3, True)])
def test_every_outcome_is_as_likely_as_it_should_be(n: int, w: int, ascending: bool) -> None:
    runs = 20_000
    rng = np.random.default_rng(7)
    down = 0 if ascending else w
    found = Counter(
        tuple(swap_partners(np.arange(n) if ascending else rng.permutation(n), down, w, rng).tolist())
        for _ in range(runs)
    )
    odds = oracle.pairings(n, down, w, ascending=ascending)
    assert set(found) <= set(odds)
    squares = sum((found[outcome] - runs * float(p)) ** 2 / (runs * float(p)) for outcome, p in odds.items())
    assert squares < len(odds) - 1 + 5 * np.sqrt(2 * (len(odds) - 1))  # chi-square: its mean and five deviations


def test_partners_are_spread_evenly_over_a_wide_window() -> None:
    n, w = 60_000, 6_000
    rng = np.random.default_rng(1)
    away = np.abs(swap_partners(rng.permutation(n), w, w, rng) - np.arange(n))
    # Far from both ends the distance is uniform on 1..w.
    inside = away[w : n - w]
    counts, _ = np.histogram(inside[inside > 0], bins=10, range=(0.5, w + 0.5))
    assert counts == pytest.approx(counts.mean(), rel=0.05)


def test_the_window_is_a_share_of_the_records() -> None:
    assert [Swap(p).window(n) for p, n in ((0.2, 1080), (0.08, 4092), (0.2, 10))] == [216, 327, 2]


@pytest.mark.parametrize("order", ["random", "ascending"])
def test_values_move_within_the_window_independently_in_each_attribute(order: str) -> None:
    frame = normal(1000)
    after = shown(Swap(0.05, order), table(frame))  # type: ignore[arg-type]
    moved = [(after[name].rank() - frame[name].rank()).to_numpy() for name in frame.columns]
    assert all(0 < np.abs(m).max() <= 50 for m in moved)
    assert all((m != 0).mean() > 0.93 for m in moved)  # a second swap may undo the first
    assert not np.array_equal(moved[0], moved[1])
    for name in frame.columns:
        assert after[name].sort().equals(frame[name].sort())


def test_64_bit_integers_are_ranked_exactly() -> None:
    """As floats these would all be one number."""
    frame = pl.DataFrame({"x": [2**62 + i for i in range(50)]})
    after = shown(Swap(0.04), table(frame))["x"]
    assert (after - frame["x"]).abs().max() == 2
    negative = pl.DataFrame({"x": [-(2**63) + i for i in range(25)] + [2**63 - 1 - i for i in range(25)]})
    after = shown(Swap(0.04), table(negative))["x"]
    assert (after.rank() - negative["x"].rank()).abs().max() == 2


def test_equal_values_are_ranked_at_random() -> None:
    """Of 999 zeros and a one, any record may get the one: not only the zeros that stand last."""
    frame = pl.DataFrame({"x": [0] * 999 + [1]})
    got = {shown(Swap(0.001), table(frame), seed)["x"].arg_max() for seed in range(30)}
    assert len(got) > 10


def test_ties_are_shuffled_evenly() -> None:
    rng = np.random.default_rng(2)
    keys = np.array([1, 2, 2, 2, 3], np.uint64)
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(6_000):
        records = np.arange(5)
        shuffle_ties(keys, records, rng)
        assert (records[0], records[4]) == (0, 4)
        seen[tuple(records[1:4].tolist())] += 1
    assert len(seen) == 6
    assert all(abs(count - 1000) < 150 for count in seen.values())


def test_a_window_of_less_than_one_rank_swaps_nothing_and_says_so() -> None:
    microdata = table(normal(20))
    masked = Swap(0.01).mask(microdata, (), seed=1)
    assert masked.notes == ("p = 0.01 of 20 records is less than one rank: nothing was swapped.",)
    assert shown(Swap(0.01), microdata).equals(microdata.frame)
    assert Swap(0.1).mask(microdata, (), seed=1).notes == ()


def test_ordered_categories_move_by_their_order() -> None:
    sizes = ["small", "medium", "large", "huge"]
    frame = pl.DataFrame({"size": pl.Series(sizes * 25, dtype=pl.Enum(sizes))})
    after = shown(Swap(0.1), table(frame))["size"]
    assert after.dtype == frame["size"].dtype
    assert (after.to_physical().cast(pl.Int32) - frame["size"].to_physical().cast(pl.Int32)).abs().max() == 1


def undone(before: np.ndarray, after: np.ndarray, window: int) -> np.ndarray:
    """[person, record]: whether it may be hers, by the window and by who must then have swapped with whom."""
    may = np.ones((len(before), len(before)), np.bool_)
    ranks = [(x.argsort().argsort(), y.argsort().argsort()) for x, y in zip(before.T, after.T, strict=True)]
    for own, held in ranks:
        may &= np.abs(own[:, None] - held[None, :]) <= window
    left = 0
    while may.sum() != left:
        left = may.sum()
        for own, held in ranks:
            moved = np.zeros_like(may)  # rank -> the rank whose value it may show
            person, record = np.nonzero(may)
            moved[own[person], held[record]] = True
            may &= moved[held[None, :], own[:, None]]  # who gave me her value got mine
        for side in (may, may.T):  # who has one record left has it for certain
            sure = np.flatnonzero(side.sum(axis=1) == 1)
            taken = side[sure].argmax(axis=1)
            side[:, taken] = False
            side[sure, taken] = True
    return may


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_one_round_is_undone_and_two_are_not(p: float) -> None:
    frame = normal(200)
    found = {}
    for rounds in (1, 2):
        after = shown(Swap(p, rounds=rounds), table(frame)).to_numpy()
        order = np.random.default_rng(1).permutation(200)
        may = undone(frame.to_numpy(), after[order], round(p * 200))
        hers = may[order, np.arange(200)]
        found[rounds] = float((hers / np.maximum(may[order].sum(axis=1), 1)).mean())
    assert found[1] == 1.0
    assert found[2] < 0.1


def test_no_risk_of_one_round_is_promised() -> None:
    policy = shoal.Policy(quasi_identifiers=["x"], method=Swap(0.5, rounds=1), models=[shoal.MeasuredRisk(0.5)])
    with pytest.raises(shoal.InputError, match="one round of swaps can be undone"):
        shoal.anonymize(pl.DataFrame({"x": range(50)}), policy)
