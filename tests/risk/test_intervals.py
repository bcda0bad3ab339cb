"""Interval disclosure by ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.risk.intervals import interval_disclosure
from tests.oracles import linkage as oracle
from tests.oracles.linkage import pair_of

LINE = np.arange(100.0)[:, None]
values = st.integers(-4, 4).map(float)


@given(st.lists(st.tuples(values, values), min_size=2, max_size=15), st.sampled_from([0, 10, 25, 100]))
def test_as_looking_at_every_value(cells: list[tuple[float, float]], percent: float) -> None:
    cells = [(0.0, 0.0), (1.0, 0.0), *cells]
    x, y = zip(*cells, strict=True)
    expected = np.mean(oracle.interval_disclosure(x, y, [percent]))
    pair = pair_of(np.array(x)[:, None], np.array(y)[:, None])
    assert interval_disclosure(pair, percent=[percent]) == pytest.approx(expected)


def test_the_share_of_widths_that_reach_the_original() -> None:
    """Everybody shows the value of somebody five ranks away: reached by the widths from 5 to 10 percent."""
    exchanged = LINE.reshape(10, 2, 5)[:, ::-1].reshape(100, 1)
    assert interval_disclosure(pair_of(LINE, exchanged)) == pytest.approx(0.6)


def test_an_unmasked_table_discloses_all_a_reversed_one_little() -> None:
    assert interval_disclosure(pair_of(LINE, LINE)) == 1.0
    assert interval_disclosure(pair_of(LINE, LINE[::-1])) < 0.1


def test_missing_values_are_left_out() -> None:
    shown = np.where(LINE < 50, LINE, np.nan)
    assert interval_disclosure(pair_of(LINE, shown)) == 1.0
    with pytest.raises(InputError, match="No value is shown both before and after masking"):
        interval_disclosure(pair_of(LINE, np.full_like(LINE, np.nan)))


@pytest.mark.parametrize("percent", [(), (-1,), (1, 200)])
def test_widths_are_percentages(percent: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="'percent' parameter of interval_disclosure must be numbers from 0 to 100"):
        interval_disclosure(pair_of(LINE, LINE), percent=percent)
