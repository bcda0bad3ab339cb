"""Who is found again by the best attack: what nearly open tables, survivors and ties give away."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import shoal
from shoal.data.schema import Kind
from shoal.draft import draft
from shoal.errors import InputError, PromiseError
from shoal.kernels.linking import Sets, Space, assigned, blocks_of, own_shares
from shoal.masking.grouped import Grouping
from shoal.measure import Pair
from shoal.risk import found_again as module
from shoal.risk import spaces
from shoal.risk.found_again import all_links, best_links, found_again, in_part
from shoal.risk.linkage import correct_links, rank_linkage
from tests.oracles.linkage import pair_of

Matrix = npt.NDArray[np.float64]


def incomes(n: int = 400) -> pl.DataFrame:
    """Skewed, as incomes are."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=n)
    return pl.DataFrame({name: np.exp(base + rng.normal(0, 0.7, n)) for name in "abcdef"})


def masked(table: pl.DataFrame, method: object) -> Pair:
    models = [shoal.KAnonymity(5)] if isinstance(method, Grouping) else []
    policy = shoal.Policy(quasi_identifiers=table.columns, models=models, method=method)
    made = draft(table, policy, seed=1)
    return Pair.of(made.original, made.masked.columns, made.masked.kept)


def census() -> pl.DataFrame:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA names no folder with casc/census.csv")
    return pl.read_csv(Path(folder) / "casc" / "census.csv")


# ---- the kernels


def space_of(n: int, records: int, seed: int = 0) -> Space:
    rng = np.random.default_rng(seed)
    people, shown = np.round(rng.normal(size=(n, 3)), 1), np.round(rng.normal(size=(records, 3)), 1)
    codes = [rng.integers(4, size=(rows, 2)).astype(np.int32) for rows in (n, records)]
    return Space(people, shown, *codes, rng.random((n, 2)), sets_of(n, records, rng), rng.integers(1, 4, records))


def sets_of(n: int, records: int, rng: np.random.Generator) -> Sets:
    """Two attributes: of 3 values in 5 cells, of 4 values in 6 cells."""
    values, cells = (np.column_stack([rng.integers(most, size=rows) for most in ends]).astype(np.int32)
                     for rows, ends in ((n, (3, 4)), (records, (5, 6))))  # fmt: skip
    far = rng.random((2, 11))
    return Sets(values, cells + np.int32([0, 5]), np.array([0, 15]), np.array([0, 5, 11]), rng.random(39) < 0.4, *far)


def all_distances(space: Space) -> Matrix:
    line = ((space.people[:, None] - space.records[None]) ** 2).sum(axis=2)
    differs = space.values[:, None] != space.shown[None]
    of_sets = np.zeros(line.shape)
    for j, (rows, wide, first) in enumerate(((0, 5, 0), (15, 6, 5))):
        cell, value = space.sets.cells[:, j], space.sets.values[:, j]
        admitted = space.sets.admits[rows + value[:, None] * wide + cell[None] - first]
        of_sets += np.where(admitted, space.sets.inside[cell], space.sets.outside[cell])
    return line + (differs * space.weights[:, None]).sum(axis=2) + of_sets


def test_blocks_give_what_comparing_all_gives() -> None:
    space, own = space_of(600, 1500), np.arange(600)
    assert len(blocks_of(space).starts) > 10
    distances = all_distances(space)
    mine = distances[own, own]
    assert space.distances(own) == pytest.approx(mine)
    as_near = (distances <= mine[:, None] * (1 + 1e-9)) @ space.often
    expected = np.where(mine <= distances.min(axis=1) * (1 + 1e-9), 1 / as_near, 0)
    assert own_shares(space, own) == pytest.approx(expected)


def test_codes_alone_are_enough() -> None:
    space = space_of(300, 300)
    nothing = Sets(*np.empty((2, 300, 0), np.int32), np.empty(0, np.int64), np.array([0]), *np.empty((3, 0)))
    space = space._replace(people=np.empty((300, 0)), records=np.empty((300, 0)), shown=space.values, sets=nothing)
    space = space._replace(sets=nothing._replace(admits=np.empty(0, np.bool_)), often=np.ones(300, np.int64))
    _, same, counts = np.unique(space.values, axis=0, return_inverse=True, return_counts=True)
    assert own_shares(space, np.arange(300)) == pytest.approx(1 / counts[same.ravel()])


@pytest.mark.parametrize("records", [150, 200])
def test_links_one_to_one_add_up_to_about_the_least(records: int) -> None:
    from scipy.optimize import linear_sum_assignment

    space, step = space_of(150, records), 1e-3
    got = assigned(space, step, 10**6)
    assert len(set(got.tolist())) == 150
    distances = all_distances(space)
    least = distances[linear_sum_assignment(distances)].sum()
    assert least <= distances[np.arange(150), got].sum() + 1e-9 <= least + 150 * step + 2e-9


def test_who_has_no_record_after_so_many_bids_has_none() -> None:
    assert (assigned(space_of(50, 50), 1e-9, 30) < 0).sum() >= 20


# ---- what is found


@pytest.mark.parametrize("method", [shoal.Noise(0.001), shoal.Swap(0.01)], ids=str)
def test_nearly_open_tables_are_not_released_at_a_risk_of_45_percent(method: object) -> None:
    table = incomes()
    pair = masked(table, method)
    assert found_again(pair) > 0.9
    policy = shoal.Policy(quasi_identifiers=table.columns, models=[shoal.MeasuredRisk(0.45)], method=method)
    with pytest.raises(PromiseError, match=r"measured-risk: 0\.45 was asked for, (1|0\.9\d*) is reached"):
        shoal.anonymize(table, policy, seed=1)


@pytest.mark.parametrize(
    ("method", "least"), [(shoal.MultiplicativeNoise(), 0.99), (shoal.Swap(0.01), 1.0), (shoal.Noise(), 0.85)]
)
def test_nearly_open_census_tables_are_found_out(method: object, least: float) -> None:
    assert found_again(masked(census(), method)) >= least


def test_one_to_one_finds_several_times_as_many_as_the_nearest_by_deviations() -> None:
    pair = masked(census(), shoal.Noise(1.0, within="anywhere"))
    assert correct_links(pair) < 0.05
    assert found_again(pair) > 0.15


def test_heavy_tails_hide_nobody() -> None:
    rng = np.random.default_rng(1)
    x = rng.pareto(1.2, size=(500, 4))
    pair = pair_of(x, x * np.exp(0.5 * rng.normal(size=x.shape)))
    assert found_again(pair) > 2 * correct_links(pair) > 0


def test_the_best_of_all_is_no_less_than_any() -> None:
    pair = masked(incomes(), shoal.Swap(0.2))
    assert found_again(pair) == max(links.share for links in all_links(pair)) == best_links(pair).share
    assert found_again(pair) >= correct_links(pair)


def test_records_drawn_anew_are_hardly_ever_found() -> None:
    rng = np.random.default_rng(2)
    assert found_again(pair_of(rng.normal(size=(600, 3)), rng.normal(size=(600, 3)))) < 0.02


def test_a_column_left_unmasked_finds_whom_it_tells_apart() -> None:
    """However much noise the others got: what did not change weighs most."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 5))
    y = 100 * rng.normal(size=x.shape)
    y[:, 3] = x[:, 3]
    pair = pair_of(x, y)
    assert correct_links(pair) < 0.1
    assert found_again(pair) == 1.0


def test_rare_values_that_survive_are_found_out() -> None:
    """Half of the cells were exchanged for anybody's: the rest are as they were."""
    rng = np.random.default_rng(4)
    x = rng.integers(40, size=(500, 6)).astype(float)
    y = np.where(rng.random(x.shape) < 0.5, x, rng.permuted(x, axis=0))
    pair = pair_of(x, y, [Kind.NUMERIC] * 3 + [Kind.NOMINAL] * 3)
    assert best_links(pair).attack.endswith("values and gaps that survived")
    assert found_again(pair) > 0.4


# ---- gaps


def gapped(table: pl.DataFrame, share: float = 0.15) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return table.with_columns(
        pl.when(pl.Series(rng.random(table.height) < share)).then(None).otherwise(pl.col(name)).alias(name)
        for name in table.columns
    )


def test_gaps_that_stay_where_they_were_are_found_out_however_strong_the_noise() -> None:
    rng = np.random.default_rng(8)
    x = gapped(incomes()).to_numpy()
    pair = pair_of(x, x + 100 * np.nanstd(x, axis=0) * rng.normal(size=x.shape))
    alone = 1 / np.unique(np.isnan(x), axis=0, return_counts=True)[1]
    by_pattern = len(alone) / len(x)  # one of each pattern
    assert found_again(pair) > 0.9 * by_pattern > 0.05


def test_noise_hides_who_lacks_what() -> None:
    table = gapped(incomes())
    complete, incomplete = (found_again(masked(each, shoal.Noise(1.0))) for each in (incomes(), table))
    assert incomplete < complete + 0.02


# ---- categories


def towns(n: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "town": rng.integers(60, size=n).astype(str),
            "job": rng.integers(30, size=n).astype(str),
            "size": pl.Series(rng.choice(["s", "m", "l"], n), dtype=pl.Enum(["s", "m", "l"])),
        }
    )


def test_categories_without_an_order_are_counted() -> None:
    pair = masked(towns(), shoal.Pram(0.001))
    alone = towns().is_unique().mean()
    assert alone > 0.5
    assert min(found_again(pair), correct_links(pair)) > alone
    assert found_again(masked(towns(), shoal.Pram(0.9))) < 0.2


def test_a_promise_of_categories_alone_is_judged() -> None:
    chosen = {"quasi_identifiers": ["town", "job"], "models": [shoal.MeasuredRisk(0.05)]}
    with pytest.raises(PromiseError, match=r"measured-risk: 0\.05 was asked for, 0\.\d+ is reached"):
        shoal.anonymize(towns(), shoal.Policy(**chosen, method=shoal.Pram(0.001)), seed=1)
    released = shoal.anonymize(towns(), shoal.Policy(**chosen, method=shoal.Pram(1.0)), seed=1)
    assert released.verdicts[0].holds


def test_a_measure_of_order_says_which_columns_it_leaves_out() -> None:
    from shoal.risk.linkage import by_order

    pair = masked(towns().with_columns(a=pl.Series(range(600))), shoal.Hilbert())
    assert by_order(pair) == "without 'town', 'job', which have no order"
    assert rank_linkage(pair) > 0


def test_adult_masked_next_to_not_at_all_is_found_out() -> None:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA names no folder with adult/adult.csv")
    file = Path(folder) / "adult" / "adult.csv"
    table = pl.read_csv(file, separator=";" if ";" in file.read_text()[:100] else ",", n_rows=3000)
    quasi = ["sex", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    pair = masked(table.select(quasi), shoal.Pram(0.001))
    assert found_again(pair) > 0.4
    policy = shoal.Policy(quasi_identifiers=quasi, models=[shoal.MeasuredRisk(0.05)], method=shoal.Pram(0.001))
    with pytest.raises(PromiseError, match="measured-risk"):
        shoal.anonymize(table, policy, seed=1)


# ---- ties, sets, large tables


def test_whoever_shows_the_same_shares_the_chance() -> None:
    x = np.repeat(np.arange(100.0), 4)[:, None] + np.tile([0.0, 0.1, 0.2, 0.3], 100)[:, None]
    y = np.repeat(np.arange(100.0), 4)[:, None]
    assert found_again(pair_of(x, y)) == pytest.approx(1 / 4)


@pytest.mark.parametrize("people", [None, 100])
def test_a_table_of_classes_gives_away_no_more_than_one_in_k(people: int | None) -> None:
    """Also where only some people are looked for, and where cells show sets of categories."""
    pair = masked(towns().with_columns(a=pl.Series(range(600))), shoal.Hilbert())
    assert list(pair.several) == ["town", "job"]
    if people:
        pair = replace(pair, linked_at_most=people)
    assert 0.02 < best_links(pair).share <= 0.2 + 1e-9


def test_sets_of_too_many_values_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "_LISTED", 50)
    with pytest.raises(InputError, match="Column 'town' shows several of 60 values at once"):
        found_again(masked(towns(), shoal.Hilbert()))


def test_some_people_of_many_are_looked_for_and_the_upper_end_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = masked(incomes(), shoal.Swap(0.3))
    every = found_again(pair)
    assert in_part(pair) == ""
    monkeypatch.setattr(module, "PART", 150)
    assert in_part(pair) == "150 of 400 people, drawn at random: upper end of the 95 % interval"
    assert found_again(pair) > best_links(pair).share
    assert found_again(pair) > every - 0.05


def test_whoever_was_left_out_is_not_looked_for() -> None:
    x = np.arange(10.0)[:, None]
    assert found_again(pair_of(x, x[2:8], kept=range(2, 8))) == 1.0


def test_the_order_in_which_records_are_written_changes_nothing() -> None:
    pair = masked(incomes(), shoal.Swap(0.3))
    anew = np.random.default_rng(9).permutation(400)
    shuffled = replace(pair, masked=pair.masked[anew], kept=anew)
    for people in (400, 150):
        one, other = (found_again(replace(each, linked_at_most=people)) for each in (pair, shuffled))
        assert one == other


# ---- as an attack


def test_the_attack_stands_above_its_control_where_there_is_something_to_find() -> None:
    table = incomes()
    policy = shoal.Policy(quasi_identifiers=table.columns, models=[], method=shoal.Swap(0.1))
    shown = draft(table, policy, seed=1).table
    outcomes = shoal.attack(table, shown, policy, ["linkage"], paired=True).outcomes
    best = outcomes[0]
    assert best.found == max(outcome.found for outcome in outcomes) > 0.5
    assert best.baseline == 1 / 400
    assert best.control is not None
    assert best.control < 0.03 < best.interval[0]


def test_the_attack_is_scored_only_where_records_are_known_to_be_whose() -> None:
    table = incomes(30)
    policy = shoal.Policy(quasi_identifiers=table.columns, models=[])
    assert "--paired" in shoal.attack(table, table, policy, ["linkage"]).left_out["linkage"]
    with pytest.raises(InputError, match="cannot be paired: the original has 30 records, the release 20"):
        shoal.attack(table, table.head(20), policy, ["linkage"], paired=True)
