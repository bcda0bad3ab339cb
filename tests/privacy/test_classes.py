"""Classes are found by comparing what is shown, value by value: no hash stands for it."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shoal
from shoal.privacy.check import classes_of

ALIKE_BY_HASH = ("bmiibtAJMkTB", "ecgpK_]EavZb")  # Polars' hash of both, without a seed, is the same


def test_texts_of_one_hash_are_two_classes() -> None:
    assert len(set(pl.Series(ALIKE_BY_HASH).hash())) == 1, "Polars hashes otherwise: find another pair"
    one = pl.DataFrame({"q": ALIKE_BY_HASH, "c": ["flu", "cold"]})
    several = one.with_columns(age=pl.lit(40), zip=pl.lit("93721"))
    for table in (one, several):
        quasi = [name for name in table.columns if name != "c"]
        models = (shoal.KAnonymity(2), shoal.LDiversity(2))
        chosen = shoal.Policy(quasi_identifiers=quasi, confidential=["c"], models=models)
        assert [(v.achieved, v.holds) for v in shoal.check(table, chosen)] == [(1, False), (1, False)]


def exact(rows: list[tuple[Any, ...]]) -> list[list[int]]:
    """The slow twin: records under a key that spells out type, sign and value of every cell."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        found[tuple(repr(cell) for cell in row)].append(number)
    return sorted(found.values())


rows = st.lists(
    st.tuples(
        st.sampled_from([None, "", "a", "1:a", "-", "a1:", *ALIKE_BY_HASH]),
        st.sampled_from([None, 0.0, -0.0, float("nan"), 1e300, 5e-324]),
        st.sampled_from([None, 0, -1, 2**63 - 1]),
        st.sampled_from([None, True, False]),
        st.sampled_from([None, b"", b"\xff", b"a"]),
    ),
    max_size=30,
)
SCHEMA = {"text": pl.String, "float": pl.Float64, "whole": pl.Int64, "truth": pl.Boolean, "bytes": pl.Binary}


@given(rows, st.integers(0, 5), st.booleans())
@example([], 0, False)
def test_classes_are_those_of_a_slow_twin(rows: list[tuple[Any, ...]], width: int, lazy: bool) -> None:
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    classes = classes_of(frame.lazy() if lazy else frame, frame.columns[:width], {})  # type: ignore[arg-type]
    expected = exact([row[:width] for row in rows])
    order, starts = classes.members
    assert [order[a:b].tolist() for a, b in pairwise(starts)] == expected
    assert classes.sizes.tolist() == sorted(map(len, expected))
    assert classes_of(frame, frame.columns[:width], {}).sizes.tolist() == sorted(map(len, expected))
    assert [np.flatnonzero(classes.key.to_numpy() == number).tolist() for number in range(len(expected))] == expected


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_minus_zero_and_not_a_number_are_shown_otherwise(dtype: type[pl.DataType]) -> None:
    frame = pl.DataFrame({"q": pl.Series([0.0, -0.0, float("nan"), None], dtype=dtype)})
    assert classes_of(frame, ["q"], {}).sizes.tolist() == [1, 1, 1, 1]


def test_a_column_may_be_called_as_what_numbers_the_records() -> None:
    frame = pl.DataFrame({"record": [1, 1], "0": ["a", "b"], "told": [1, 1]})
    assert classes_of(frame, ["record", "0", "told"], {}).sizes.tolist() == [1, 1]
