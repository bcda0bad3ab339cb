"""Global recoding: the search for the optimum against one Polars group-by over the same columns."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import Claim, seconds
from shoal.data.hierarchy import Hierarchy, hierarchy_of
from shoal.data.hierarchy_files import read_hierarchy
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.masking.grouping.hilbert import Hilbert
from shoal.masking.recoding.lattice import lattice_of, search
from shoal.masking.recoding.local import share_loss
from shoal.masking.recoding.recode import Recode
from shoal.privacy import KAnonymity


def recoding(rows: int) -> list[Claim]:
    """Adult, fars (where their folder is known) and a generated table of mostly distinct rows, k = 5, loss at 2 %."""
    claims = [*_real()]
    made = generated(min(rows, 1_200_000))
    claims.append(_optimum("generated", made, 60))
    return claims


def _real() -> list[Claim]:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        return []
    adult, fars = (read(Path(folder, name)) for name in ("adult", "fars"))
    group_by = seconds(lambda: adult.frame.group_by(adult.frame.columns).len())
    every = seconds(lambda: search(lattice_of(adult), 5, len(adult), "loss", "geometric", whole=True))
    ratio = every / group_by
    claims = [
        Claim("Adult, every one of 12,960 nodes", f"{every:.2f} s = {ratio:.0f} group-bys", "within 150", ratio <= 150),
        _optimum("Adult", adult, 150),
        _optimum("fars", fars, 100),
    ]
    without = read(Path(folder, "adult"), "occupation")
    for method in (Recode(local=True), Hilbert()):
        loss = share_loss(without.quasi, method.mask(without, [KAnonymity(5)]).columns, len(without), "geometric")
        taken = seconds(lambda method=method: method.mask(without, [KAnonymity(5)]))
        name = "local recoding" if method.name == "recode" else "grouping by ancestors"
        claims.append(Claim(f"Adult, {name}", f"loss {loss:.4f} in {taken:.2f} s", "below 0.0325", loss < 0.0325))
    return claims


def _optimum(name: str, table: Microdata, limit: int) -> Claim:
    group_by = seconds(lambda: table.frame.group_by(table.frame.columns).len())
    found = Recode().optimum(table, 5, [], len(table) // 50)
    taken = seconds(lambda: Recode().optimum(table, 5, [], len(table) // 50))
    ratio = taken / group_by
    proof = "proven" if found.proven_optimal else "not proven"
    what = f"{name}, optimum ({found.nodes_checked:,} of {found.nodes:,} nodes, {proof})"
    return Claim(what, f"{taken:.2f} s = {ratio:.0f} group-bys", f"within {limit}", ratio <= limit)


def read(folder: Path, *without: str) -> Microdata:
    frame = pl.read_csv(folder / f"{folder.name}.csv", separator=";", infer_schema=False).drop(without)
    return _table(frame, {c: read_hierarchy(folder / "hierarchies" / f"{c}.csv", c) for c in frame.columns})


def generated(rows: int) -> Microdata:
    """Nine attributes, Adult's number of levels, and nearly all rows distinct."""
    rng = np.random.default_rng(0)
    shapes = [(2, 2), (80, 5), (8, 2), (9, 3), (32, 4), (48, 3), (16, 3), (24, 3), (2, 2)]
    columns, trees = {}, {}
    for j, (values, levels) in enumerate(shapes):
        name = f"q{j}"
        trees[name] = _bands(name, values, levels)
        weights = rng.gamma(1.0, size=values)
        columns[name] = rng.choice(values, rows, p=weights / weights.sum()).astype(str)
    return _table(pl.DataFrame(columns), trees)


def _bands(name: str, values: int, levels: int) -> Hierarchy:
    """Each level merges runs of equal length, the last one all."""
    factor = max(2, round(values ** (1 / (levels - 1))))
    widths = [factor**level for level in range(1, levels - 1)]
    rows = [
        [str(value), *(f"band {level}:{value // width}" for level, width in enumerate(widths)), "*"]
        for value in range(values)
    ]
    return hierarchy_of(rows, name)


def _table(frame: pl.DataFrame, trees: dict[str, Hierarchy]) -> Microdata:
    role = frozenset({Role.QUASI_IDENTIFIER})
    return Microdata(frame, Schema(tuple(Attribute(c, role, Kind.NOMINAL, None, tree) for c, tree in trees.items())))
