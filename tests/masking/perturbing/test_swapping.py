"""Rank swapping: the window, the odds of every partner, ties."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.swapping import shuffle_ties, swap_partners
from shoal.masking.perturbing.swapping import RankSwapping
from tests.masking.perturbing.tables import normal, shown, table
from tests.oracles import perturbing as oracle


@settings(max_examples=200, deadline=None)
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
    assert [RankSwapping(p).window(n) for p, n in ((0.2, 1080), (0.08, 4092), (0.2, 10))] == [216, 327, 2]


@pytest.mark.parametrize("order", ["random", "ascending"])
def test_values_move_within_the_window_independently_in_each_attribute(order: str) -> None:
    frame = normal(1000)
    after = shown(RankSwapping(0.05, order), table(frame))  # type: ignore[arg-type]
    moved = [(after[name].rank() - frame[name].rank()).to_numpy() for name in frame.columns]
    assert all(0 < np.abs(m).max() <= 50 for m in moved)
    assert all((m != 0).mean() > 0.97 for m in moved)
    assert not np.array_equal(moved[0], moved[1])
    for name in frame.columns:
        assert after[name].sort().equals(frame[name].sort())


def test_64_bit_integers_are_ranked_exactly() -> None:
    """As floats these would all be one number."""
    frame = pl.DataFrame({"x": [2**62 + i for i in range(50)]})
    after = shown(RankSwapping(0.04), table(frame))["x"]
    assert (after - frame["x"]).abs().max() == 2
    negative = pl.DataFrame({"x": [-(2**63) + i for i in range(25)] + [2**63 - 1 - i for i in range(25)]})
    after = shown(RankSwapping(0.04), table(negative))["x"]
    assert (after.rank() - negative["x"].rank()).abs().max() == 2


def test_equal_values_are_ranked_at_random() -> None:
    """Of 999 zeros and a one, any record may get the one: not only the zeros that stand last."""
    frame = pl.DataFrame({"x": [0] * 999 + [1]})
    got = {shown(RankSwapping(0.001), table(frame), seed)["x"].arg_max() for seed in range(30)}
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
    masked = RankSwapping(0.01).mask(microdata, (), seed=1)
    assert masked.notes == ("p = 0.01 of 20 records is less than one rank: nothing was swapped.",)
    assert shown(RankSwapping(0.01), microdata).equals(microdata.frame)
    assert RankSwapping(0.1).mask(microdata, (), seed=1).notes == ()


def test_ordered_categories_move_by_their_order() -> None:
    sizes = ["small", "medium", "large", "huge"]
    frame = pl.DataFrame({"size": pl.Series(sizes * 25, dtype=pl.Enum(sizes))})
    after = shown(RankSwapping(0.1), table(frame))["size"]
    assert after.dtype == frame["size"].dtype
    assert (after.to_physical().cast(pl.Int32) - frame["size"].to_physical().cast(pl.Int32)).abs().max() == 1
