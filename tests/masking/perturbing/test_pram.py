"""PRAM: the transition matrix, invariance, and what categories may look like."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.data.parse_cells import read_cells
from shoal.masking.perturbing.pram import Pram
from tests.masking.perturbing.tables import shown, table
from tests.oracles import perturbing as oracle


def test_the_oracle_matrix_is_the_printed_one_and_invariant() -> None:
    matrix = np.array(oracle.transition([0.6, 0.4], 0.25))
    assert matrix == pytest.approx(np.array([[0.9, 0.1], [0.15, 0.85]]))
    assert np.array([0.6, 0.4]) @ matrix == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize("p", [0.1, 0.25, 1.0])
def test_categories_change_as_the_matrix_says_and_stay_as_frequent(p: float) -> None:
    n, shares = 100_000, [0.6, 0.3, 0.1]
    frame = pl.DataFrame({"x": np.repeat(["a", "b", "c"], [round(n * share) for share in shares])})
    after = shown(Pram(p), table(frame))["x"]
    found = pl.DataFrame({"from": frame["x"], "to": after}).pivot(
        "to", index="from", values="to", aggregate_function=pl.len()
    )
    counts = found.sort("from").select("a", "b", "c").fill_null(0).to_numpy()
    matrix = np.array(oracle.transition(shares, p))
    error = np.sqrt(matrix * (1 - matrix) / counts.sum(axis=1, keepdims=True)) + 1e-9
    assert (np.abs(counts / counts.sum(axis=1, keepdims=True) - matrix) < 5 * error).all()
    assert counts.sum(axis=0) / n == pytest.approx(shares, abs=0.008)


def test_as_much_is_missing_elsewhere_and_no_category_is_invented() -> None:
    frame = pl.DataFrame({"x": ["a", None, "b", "a", None, "c"] * 50, "y": [True, False, None] * 100})
    after = shown(Pram(1.0), table(frame))
    assert after.dtypes == frame.dtypes
    assert after.null_count().equals(frame.null_count())
    assert not after["x"].is_null().equals(frame["x"].is_null())
    assert set(after["x"]) == {"a", "b", "c", None}
    assert not after.equals(frame)


def test_a_declared_category_that_does_not_occur_is_never_drawn() -> None:
    frame = pl.DataFrame({"x": [1, 2, 1, 2] * 50})
    after = shown(Pram(1.0), table(frame, x={"kind": "ordinal", "domain": (0, 1, 2, 3)}))["x"]
    assert (after.dtype, set(after)) == (pl.Int64, {1, 2})


def test_categories_that_look_like_masks_read_back_as_themselves() -> None:
    labels = ["*", "[1;2]", "plain"]
    for dtype in (pl.String, pl.Enum(labels), pl.Categorical):
        frame = pl.DataFrame({"x": pl.Series(labels * 20, dtype=dtype)})
        microdata = table(frame)
        column = Pram(0.5).mask(microdata, (), seed=1).columns["x"]
        cells = read_cells(column.values(), column.attribute, microdata["x"].values)
        assert (cells.low == cells.high).all()
        assert np.array_equal(cells.low[cells.index], column.low)
    plain = pl.DataFrame({"x": pl.Series(["a", "b"] * 20, dtype=pl.Enum(["a", "b"]))})
    assert shown(Pram(0.5), table(plain))["x"].dtype == pl.Enum(["a", "b"])
