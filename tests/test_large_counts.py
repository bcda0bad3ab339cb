"""Counts and their products are held in 64 bits: classes above 100,000 records, tables above two million."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.data.hierarchy import hierarchy_of
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.masking.recoding.recode import Recode
from shoal.privacy import TCloseness
from shoal.privacy.check import classes_of
from shoal.utility.discernibility import discernibility

ROWS = 2_100_000


def test_recoding_and_discernibility_of_two_million_records_are_exact() -> None:
    values = [str(i % 7) for i in range(7)]
    tree = hierarchy_of([[v, "low" if int(v) < 4 else "high", "*"] for v in values], "q")
    frame = pl.DataFrame({"q": pl.Series(np.arange(ROWS) % 7).cast(pl.String)})
    role = frozenset({Role.QUASI_IDENTIFIER})
    data = Microdata(frame, Schema((Attribute("q", role, Kind.NOMINAL, None, tree),)))
    found = Recode("discernibility").optimum(data, 400_000, [], 0)
    assert found.levels == (1,)
    assert found.cost == (4 * ROWS // 7) ** 2 + (3 * ROWS // 7) ** 2
    sizes = frame.group_by("q").len()["len"].to_numpy()
    assert discernibility(sizes) == 7 * (ROWS // 7) ** 2


def test_closeness_of_classes_above_a_hundred_thousand_records() -> None:
    """Half of one class's records have the value that a quarter of the table has: a total variation of one quarter."""
    half = ROWS // 2
    kind = pl.Series("c", ["b"] * half + (["a", "b"] * (half // 2)))
    frame = pl.DataFrame({"q": ["x"] * half + ["y"] * half}).with_columns(kind)
    attribute = Attribute("c", frozenset({Role.CONFIDENTIAL}), Kind.NOMINAL)
    quasi = Attribute("q", frozenset({Role.QUASI_IDENTIFIER}), Kind.NOMINAL)
    data = Microdata(frame, Schema((quasi, attribute)))
    model = TCloseness(0.2, "c")
    levels = model.levels(data["c"], np.arange(ROWS), np.array([0, half, ROWS]))
    np.testing.assert_allclose(levels, [0.25, 0.25])
    verdict = model.verdict(classes_of(frame, ["q"], {"c": Kind.NOMINAL}))
    assert verdict.achieved == 0.25
    assert not verdict.holds
