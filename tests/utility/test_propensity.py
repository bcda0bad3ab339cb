"""Propensity scores: chance where records are drawn anew, certainty where the tables lie apart."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.utility import propensity
from shoal.utility.propensity import drawn, pmse, pmse_ratio
from tests.oracles.linkage import pair_of

RNG = np.random.default_rng(4)
X = RNG.normal(size=(1_000, 3)) @ RNG.normal(size=(3, 3))


def test_the_same_records_cannot_be_told_apart() -> None:
    assert pmse(pair_of(X, X[::-1])) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_records_drawn_from_the_original_are_told_apart_as_by_chance() -> None:
    """Nine coefficients: 3 attributes, 3 squares, 3 products; nine squared normals vary by 2 / 9 about their mean."""
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(40, 400, 3))
    anew = [pmse_ratio(pair_of(x, rng.choice(x, 400))) for x in tables]
    others = [pmse_ratio(pair_of(*two)) for two in tables.reshape(20, 2, 400, 3)]
    assert np.mean(anew) == pytest.approx(1.0, abs=3 * (2 / 9 / 40) ** 0.5)
    assert np.mean(others) == pytest.approx(2.0, abs=3 * 2 * (2 / 9 / 20) ** 0.5)
    pair = pair_of(*tables[:2])
    assert pmse(pair) / pmse_ratio(pair) == pytest.approx(9 / 8 / 800)


def test_tables_apart_are_told_apart_always() -> None:
    assert pmse(pair_of(X, X + 1_000)) == pytest.approx(0.25, abs=1e-3)
    assert pmse(pair_of(X, (X + 1_000)[:250], kept=list(range(250)))) == pytest.approx(0.2 * 0.8, abs=1e-3)


def test_a_lost_correlation_is_seen_though_the_marginals_are_kept() -> None:
    independent = np.column_stack([RNG.permutation(column) for column in X.T])
    assert pmse_ratio(pair_of(X, independent)) > 10


def test_more_masking_is_told_more_easily() -> None:
    noise = RNG.normal(size=X.shape) * X.std(axis=0)
    assert 0 < pmse(pair_of(X, X + 0.2 * noise)) < pmse(pair_of(X, X + noise)) < 0.25


def test_nominal_values_and_missing_ones_are_seen() -> None:
    kinds = [Kind.NOMINAL]
    fair, unfair = (RNG.choice(3, (1_000, 1), p=p).astype(float) for p in ([1 / 3] * 3, [0.6, 0.2, 0.2]))
    assert pmse_ratio(pair_of(fair, fair, kinds)) < 1e-9
    assert pmse_ratio(pair_of(fair, unfair, kinds)) > 20
    hidden = X.copy()
    hidden[:300, 0] = np.nan
    assert pmse_ratio(pair_of(X, hidden)) > 10


def test_attributes_that_follow_from_each_other_count_once() -> None:
    double = [np.column_stack([t, 2 * t[:, 0]]) for t in (X, X + X.std())]
    assert pmse_ratio(pair_of(*double)) == pytest.approx(pmse_ratio(pair_of(X, X + X.std())), rel=1e-3)


def test_large_tables_are_judged_by_a_sample_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = X + RNG.normal(size=X.shape)
    pair = pair_of(X, moved)
    every = pmse(pair)
    assert drawn(pair) == ""
    monkeypatch.setattr(propensity, "_MOST", 500)
    pair = pair_of(X, moved)
    assert drawn(pair) == "500 records of each table, drawn at random"
    assert pmse(pair) == pytest.approx(every, abs=0.03)
    assert pmse(pair) != every


def test_constant_tables_are_refused() -> None:
    with pytest.raises(InputError, match="nothing that could tell the tables apart"):
        pmse(pair_of(np.ones((5, 2)), np.ones((5, 2))))
