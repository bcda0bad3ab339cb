"""Microaggregation: MDAV against the plain algorithm in NumPy in the same run, and what its improvement gains."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from tests.oracles.microaggregation import mdav

from benchmarks.measure import Claim, seconds
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.kernels.mdav import mdav_groups
from shoal.masking.grouping.mdav import microaggregate, places
from shoal.masking.partition import Partition

Matrix = npt.NDArray[np.float64]


def microaggregation(rows: int) -> list[Claim]:
    """MDAV with k = 5 on up to 100,000 x 10 normal values, a table in blocks, and the gain of mdav+."""
    sizes = [n for n in (10_000, 20_000, 50_000, 100_000) if n <= rows]
    return [*(_against_numpy(n) for n in sizes), _in_blocks(300_000), *_gains()]


def _normal(n: int) -> Matrix:
    return np.random.default_rng(0).normal(size=(n, 10))


def _against_numpy(n: int) -> Claim:
    table = _normal(n)
    ours = seconds(lambda: mdav_groups(table, 5), repeats=1 if n > 50_000 else 3)
    what = f"MDAV, k = 5, {n:,} x 10"
    if n > 20_000:  # the plain one would take minutes
        return Claim(what, f"{ours:.2f} s")
    start = time.perf_counter()
    plain = mdav(table, 5)
    ratio = (time.perf_counter() - start) / ours
    same = np.array_equal(plain, mdav_groups(table, 5))
    measured = f"{ours:.2f} s, NumPy {ratio:.0f} x, {'the same groups' if same else 'OTHER GROUPS'}"
    return Claim(what, measured, "the same, at least 10 x faster", same and ratio >= 10)


def _in_blocks(n: int) -> Claim:
    table = _normal(n)
    taken = seconds(lambda: microaggregate(table, 5), repeats=1)
    return Claim(f"MDAV in blocks, k = 5, {n:,} x 10", f"{taken:.2f} s")


def _gains() -> list[Claim]:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        return []
    eia = pl.read_csv(Path(folder, "casc", "eia.csv"))
    files = {
        "Census": pl.read_csv(Path(folder, "casc", "census.csv")),
        "EIA (UTILITYID)": eia.select("UTILITYID", *eia.columns[5:]),
        "EIA (MONTH)": eia.select("MONTH", *eia.columns[5:]),
    }
    return [_gain(name, _standardised(frame), k) for name, frame in files.items() for k in (3, 5, 10)]


def _gain(name: str, table: Matrix, k: int) -> Claim:
    plain, better = (_loss(table, microaggregate(table, k, improve=improve)) for improve in (False, True))
    taken = seconds(lambda: microaggregate(table, k, improve=True), repeats=1)
    measured = f"MDAV {plain:.4f} %, mdav+ {better:.4f} % in {taken:.1f} s"
    return Claim(f"{name}, k = {k}", measured, "at least 3 % lower", better <= 0.97 * plain)


def _standardised(frame: pl.DataFrame) -> Matrix:
    roles = frozenset({Role.QUASI_IDENTIFIER})
    schema = Schema(tuple(Attribute(name, roles, Kind.NUMERIC) for name in frame.columns))
    return places(Microdata(frame, schema).quasi)


def _loss(table: Matrix, partition: Partition) -> float:
    """100 SSE / SST."""
    means = np.add.reduceat(table[partition.order], partition.starts[:-1]) / partition.sizes[:, None]
    error = table[partition.order] - np.repeat(means, partition.sizes, axis=0)
    return float(100 * (error**2).sum() / ((table - table.mean(axis=0)) ** 2).sum())
