"""The search over the lattice of generalizations: golden optima, and brute force on small tables."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.hierarchy import Hierarchy, hierarchy_of
from shoal.data.hierarchy_files import read_hierarchy
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.masking.grouped import publish
from shoal.masking.grouping.cheapest_first import cheapest_first
from shoal.masking.recoding.lattice import lattice_of, search
from shoal.masking.recoding.recode import Recode
from shoal.privacy import KAnonymity, KMap, LDiversity, TCloseness

COSTS = ["discernibility", "loss", "average-class-size", "precision", "entropy"]


def table(frame: pl.DataFrame, hierarchies: dict[str, Hierarchy]) -> Microdata:
    role = frozenset({Role.QUASI_IDENTIFIER})
    known = [Attribute(name, role, Kind.NOMINAL, None, tree) for name, tree in hierarchies.items()]
    others = [
        Attribute(name, frozenset({Role.CONFIDENTIAL}), Kind.NUMERIC)
        for name in frame.columns
        if name not in hierarchies
    ]
    return Microdata(frame, Schema((*known, *others)))


def real(name: str, *without: str) -> Microdata:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA does not name the folder of real data sets")
    path = Path(folder, name)
    frame = pl.read_csv(path / f"{name}.csv", separator=";", infer_schema=False).drop(without)
    return table(frame, {c: read_hierarchy(path / "hierarchies" / f"{c}.csv", c) for c in frame.columns})


GOLDEN = [
    ("adult", 0.00, "discernibility", 33_627_534, 0, (1, 1, 1, 2, 3, 2, 2, 1, 1)),
    ("adult", 0.02, "discernibility", 7_220_555, 105, (0, 0, 1, 2, 3, 2, 2, 1, 1)),
    ("adult", 0.00, "loss", 0.5731509656, 0, (0, 4, 1, 1, 3, 2, 2, 1, 0)),
    ("adult", 0.02, "loss", 0.3137130353, 506, (0, 3, 0, 2, 2, 1, 1, 2, 0)),
    ("adult", 0.05, "loss", 0.2419323651, 1346, (0, 3, 0, 0, 2, 1, 1, 2, 0)),
    ("fars", 0.00, "discernibility", 142_377_891, 0, (1, 2, 3, 3, 1, 2, 1, 2)),
    ("fars", 0.02, "discernibility", 31_654_809, 144, (0, 2, 3, 3, 0, 2, 1, 2)),
    ("fars", 0.02, "loss", 0.1999579896, 1591, (4, 0, 2, 2, 0, 0, 2, 0)),
    ("fars", 0.05, "loss", 0.1539898767, 4597, (3, 0, 1, 1, 0, 0, 2, 0)),
]


@pytest.mark.parametrize(("name", "limit", "cost", "optimum", "suppressed", "levels"), GOLDEN)
def test_the_optimum_is_the_golden_one(name, limit, cost, optimum, suppressed, levels):
    data = real(name)
    found = Recode(cost).optimum(data, 5, [], int(limit * len(data)))
    assert found.cost == pytest.approx(optimum, abs=1e-8 if cost == "loss" else 0)
    assert (found.suppressed, found.levels) == (suppressed, levels)
    assert found.proven_optimal


def test_local_recoding_of_adult_loses_less_than_the_best_known():
    data = real("adult", "occupation")
    masked = publish(data, cheapest_first(data, 5))
    assert masked.kept is None
    loss = 1.0
    for coded in data.quasi:
        column, values = masked.columns[coded.name], len(coded.values)
        share = float((column.size / values)[column.index].mean())
        loss *= 1 + max(0.0, (share - 1 / values) / (1 - 1 / values))
    assert loss ** (1 / len(data.quasi)) - 1 < 0.0325


def tree(values: int, cuts: list[list[int]]) -> Hierarchy:
    """Values 0.. with bands that begin at the cuts, finest first; a level that merges nothing is left out."""
    rows, bands = [], values
    useful = []
    for begins in cuts:
        if 1 < len({0, *begins}) < bands:
            useful.append(begins)
            bands = len({0, *begins})
    cuts = useful
    for value in range(values):
        row = [f"v{value}"]
        for level, begins in enumerate(cuts):
            row.append(f"L{level}:{max(b for b in [0, *begins] if b <= value)}")
        rows.append([*row, "*"] if values > 1 else row)
    return hierarchy_of(rows, "x")


@st.composite
def small_tables(draw):
    n = draw(st.integers(3, 30))
    trees, columns = {}, {}
    for j in range(draw(st.integers(1, 4))):
        values = draw(st.integers(1, 5))
        fine = sorted(draw(st.sets(st.integers(1, max(1, values - 1)), max_size=3)))
        coarse = [cut for cut in fine if draw(st.booleans())]
        cuts = [fine, coarse][: draw(st.integers(0, 2))]
        trees[f"q{j}"] = tree(values, cuts)
        missing = draw(st.booleans())
        code = st.integers(-1 if missing else 0, values - 1)
        columns[f"q{j}"] = [None if c < 0 else f"v{c}" for c in draw(st.lists(code, min_size=n, max_size=n))]
    columns["secret"] = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return table(pl.DataFrame(columns, schema={c: pl.Int64 if c == "secret" else pl.String for c in columns}), trees)


def shown(data: Microdata, levels: tuple[int, ...]) -> list[tuple[str | None, ...]]:
    """Every record at these levels, label by label; missing stays missing below the top."""
    columns = []
    for coded, level in zip(data.quasi, levels, strict=True):
        nodes = coded.attribute.hierarchy.nodes
        top = level == len(nodes) - 1
        columns.append([nodes[level][c] if c >= 0 else (nodes[level][0] if top else None) for c in coded.codes])
    return list(zip(*columns, strict=True))


def plain_cost(data: Microdata, levels: tuple[int, ...], bad: set, cost: str) -> tuple[float, int]:
    """By the definitions, record by record."""
    n, rows = len(data), shown(data, levels)
    size = {row: rows.count(row) for row in rows}
    out = sum(row in bad for row in rows)
    if cost == "discernibility":
        return sum(f * f for row, f in size.items() if row not in bad) + n * out, out
    if cost == "average-class-size":
        return n / (sum(row not in bad for row in size) + bool(out)), out
    losses = []
    for j, (coded, level) in enumerate(zip(data.quasi, levels, strict=True)):
        nodes = coded.attribute.hierarchy.nodes
        domain, top = len(nodes[0]), len(nodes) - 1
        total, least, greatest = 0.0, 0.0, 0.0
        shown_here = [row[j] for row in rows]
        original = list(coded.codes)
        for i in range(n):
            gone = rows[i] in bad
            if cost == "loss":
                below = nodes[level].count(shown_here[i]) if shown_here[i] is not None else 1
                if original[i] < 0 and level == top:
                    below = domain
                total += 1.0 if gone else below / domain
                least, greatest = least + 1 / domain, greatest + 1
            elif cost == "precision":
                total += 1.0 if gone else (level / top if top else 0.0)
                greatest += 1
            else:
                alike = sum(value == shown_here[i] for value in shown_here)
                total += np.log2(n if gone else alike)
                least += np.log2(sum(value == original[i] for value in original))
                greatest += np.log2(n)
        span = greatest - least
        losses.append(max(0.0, (total - least) / span) if span > 1e-12 else 0.0)
    return float(np.prod([1 + x for x in losses]) ** (1 / len(losses)) - 1), out


@given(small_tables(), st.integers(2, 4), st.sampled_from([0.0, 0.2, 1.0]), st.sampled_from(COSTS))
def test_the_search_finds_what_brute_force_finds(data, k, share, cost):
    k = min(k, len(data))
    limit = int(share * len(data))
    best = np.inf
    for levels in product(*(range(c.attribute.hierarchy.levels) for c in data.quasi)):
        rows = shown(data, levels)
        bad = {row for row in rows if rows.count(row) < k}
        now, out = plain_cost(data, levels, bad, cost)
        if out <= limit:
            best = min(best, now)
    found = Recode(cost).optimum(data, k, [], limit)
    assert found.cost == pytest.approx(best, abs=1e-9)
    assert found.proven_optimal
    whole = search(lattice_of(data), k, limit, cost, "geometric", whole=True)
    assert whole.cost[0] == pytest.approx(best, abs=1e-9)
    assert whole.checked == lattice_of(data).nodes


@given(small_tables(), st.sampled_from([LDiversity(2, "secret"), TCloseness(0.3, "secret")]), st.sampled_from(COSTS))
def test_other_models_are_searched_to_the_optimum_too(data, model, cost):
    k, limit = 2, len(data) // 2
    if len(data) < k:
        return
    best = np.inf
    for levels in product(*(range(c.attribute.hierarchy.levels) for c in data.quasi)):
        rows = shown(data, levels)
        bad = {row for row in set(rows) if rows.count(row) < k}
        if not all(_holds(data, rows, row, bad, model) for row in set(rows) - bad):
            continue  # nobody is left out for what her class holds
        now, out = plain_cost(data, levels, bad, cost)
        if out <= limit and bad != set(rows):
            best = min(best, now)
    try:
        found = Recode(cost).optimum(data, k, [model], limit)
    except InputError:
        assert best == np.inf
        return
    assert found.cost == pytest.approx(best, abs=1e-9)
    assert found.proven_optimal


def _holds(data: Microdata, rows: list, row: tuple, bad: set, model: object) -> bool:
    """Judged on the records that are released."""
    pairs = [(s, r) for s, r in zip(data.frame["secret"].to_list(), rows, strict=True) if r not in bad]
    secret = [s for s, _ in pairs]
    inside = [s for s, r in pairs if r == row]
    if isinstance(model, LDiversity):
        return len(set(inside)) >= 2
    values = sorted(set(secret))
    if len(values) < 2:
        return True
    gap = sum(
        abs(sum(s <= v for s in inside) / len(inside) - sum(s <= v for s in secret) / len(secret)) for v in values[:-1]
    )
    return gap / (len(values) - 1) <= model.t + 1e-9


@given(small_tables(), st.integers(2, 4))
def test_cheapest_first_groups_everyone_in_classes_of_k(data, k):
    k = min(k, len(data))
    partition = cheapest_first(data, k)
    assert sorted(partition.order) == list(range(len(data)))
    assert partition.sizes.min() >= k


def test_a_stopped_search_says_that_it_proved_nothing():
    rng = np.random.default_rng(0)
    trees = {f"q{j}": tree(8, [[2, 4, 6], [4]]) for j in range(6)}
    data = table(pl.DataFrame({name: [f"v{v}" for v in rng.integers(0, 8, 300)] for name in trees}), trees)
    with pytest.raises(InputError, match="more time"):
        Recode(seconds=0.0).optimum(data, 5, [], 0)


def test_k_anonymity_holds_on_the_recoded_table():
    rng = np.random.default_rng(1)
    trees = {f"q{j}": tree(8, [[2, 4, 6], [4]]) for j in range(3)}
    data = table(pl.DataFrame({name: [f"v{v}" for v in rng.integers(0, 8, 200)] for name in trees}), trees)
    masked = Recode().mask(data, [KAnonymity(5)], suppression=0.1)
    released = pl.DataFrame([column.values() for column in masked.columns.values()])
    assert released.group_by(list(trees)).len()["len"].min() >= 5
    assert masked.facts["proven_optimal"] is True
    assert released.height >= 180


def test_k_map_of_fewer_records_than_labels():
    """Labels that many records share are codes, those of a few are texts: the population has many."""
    trees = {"q": tree(8, [[4]])}
    data = table(pl.DataFrame({"q": ["v0", "v5", "v1"]}), trees)
    people = pl.DataFrame({"q": [f"v{i % 8}" for i in range(80)]})
    masked = Recode().mask(data, [KMap(30, population=people)])
    assert masked.kept is None
    assert masked.facts["levels"] == {"q": 1}


def test_k_map_counts_the_population_recoded_alike():
    """Paper 3, Figure 2: nobody is suppressed at five-year bands when each class matches two people."""
    years = [1959, 1962, 1955, 1959, 1942, 1975, 1966, 1987, 1975, 1978, 1964, 1959, 1975, 1967]
    sexes = list("MMFMFFFFMMFMFM")
    more = [1961, 1974, 1978, 1961, 1968, 1973, 1966, 1967, 1971, 1974, 1977, 1968, 1954, 1952, 1956, 1988, 1941]
    more_sexes = list("MMFFFMFMMFFMMFFFF")
    bands = [[str(y), f"{y // 5 * 5}-", f"{y // 10 * 10}s", "*"] for y in range(1940, 1990)]
    trees = {
        "sex": hierarchy_of([["M", "*"], ["F", "*"]], "sex"),
        "year": hierarchy_of(bands, "year"),
    }
    data = table(pl.DataFrame({"sex": sexes, "year": [str(y) for y in years]}), trees)
    people = pl.DataFrame({"sex": sexes + more_sexes, "year": [str(y) for y in years + more]})
    masked = Recode("discernibility").mask(data, [KMap(2, population=people)])
    assert masked.kept is None
    assert masked.facts["levels"] == {"sex": 0, "year": 1}
    assert masked.facts["cost"] == 24
    assert masked.facts["proven_optimal"] is True


@pytest.mark.parametrize("cost", ["discernibility", "average-class-size", "entropy"])
def test_of_recodings_that_cost_the_same_the_finest_is_taken_every_time(cost):
    rows = [("0", "0-1", "0-3", "*"), ("1", "0-1", "0-3", "*"), ("2", "2-3", "0-3", "*"), ("4", "4", "4", "*")]
    names = list("abcd")  # of which every record shows the same, at every level
    data = table(pl.DataFrame(dict.fromkeys(names, ["0"] * 9)), {name: hierarchy_of(rows, name) for name in names})
    for _ in range(20):  # which thread comes first must not matter
        best = Recode(cost).optimum(data, 2, [], 0)
        assert (best.levels, best.proven_optimal) == ((0, 0, 0, 0), True)


def test_levels_are_as_chosen_only_where_they_were_chosen():
    data = table(pl.DataFrame({"a": ["x"] * 9}), {"a": hierarchy_of([("x", "*")], "a")})
    quasi = [coded.attribute for coded in data.quasi]
    for k in (2, 9):
        assert "proven optimal" in Recode().optimum(data, k, [], 0).in_words(quasi)[1]
    assert "as chosen" in Recode(levels={"a": 0}).optimum(data, 2, [], 0).in_words(quasi)[1]
