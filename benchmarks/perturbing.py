"""Rank swapping and noise on a million records of ten attributes, against one Polars sort of each column."""

from __future__ import annotations

import numpy as np
import polars as pl

from benchmarks.measure import Claim, seconds
from shoal.data.microdata import Microdata
from shoal.masking.perturbing.noise import Noise
from shoal.masking.perturbing.swapping import Swap
from shoal.policy import Policy

ATTRIBUTES = 10


def perturbing(rows: int) -> list[Claim]:
    """A quarter of the rows asked for: a million as a rule. The table is read anew each time, nothing is coded yet."""
    rows //= 4
    numbers = np.random.default_rng(0).standard_normal((ATTRIBUTES, rows))
    table = pl.DataFrame({f"x{j}": column for j, column in enumerate(numbers)})
    schema = Policy(quasi_identifiers=table.columns).schema(table)
    sort = seconds(lambda: [column.sort() for column in table])
    claims = [Claim(f"{ATTRIBUTES} Polars sorts, one a column, {rows / 1e6:g} million rows", f"{sort:.2f} s")]
    for method in (Swap(0.1), Noise(0.1)):
        taken = seconds(lambda method=method: method.mask(Microdata(table, schema), (), seed=1))  # type: ignore[misc]
        ratio = taken / sort
        claims.append(Claim(method.name, f"{taken:.2f} s = {ratio:.1f} x the sorts", "within 10", ratio <= 10))
    return claims
