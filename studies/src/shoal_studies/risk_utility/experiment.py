"""Paper 5's experiments (Domingo-Ferrer, Ricci, Soria-Comas): Figure 1, the parameters of equal risk, Table 1.

Defined in docs/spec.md#equal-risk.

Four methods mask the reference tables Census and EIA: microaggregation, correlated noise, rank swapping, multiplicative
noise. What risk R has each at each parameter (Eq. 2), at which parameters do all have the same, and which then loses
least (earth mover's distance, Eq. 1)? We ask at the paper's own parameters and at those that calibration finds, and go
on: how many people are found at equal R, does another measure of utility give another order, can groups be better?

Without the paper's tables, generated ones of the same shape stand for them, and are compared at the risk that
microaggregation with k = 5 has, as in the paper.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl

from shoal.compare.cache import Cache, digest
from shoal.compare.comparison import compare
from shoal.compare.contenders import Contender, contender
from shoal.compare.result import LINKS
from shoal.compare.trials import Estimate, Trials, seeds
from shoal.data.schema import Kind
from shoal.draft import prepare
from shoal.errors import InputError, require
from shoal.masking.grouping.mdav import Mdav
from shoal.masking.perturbing.multiplicative import MultiplicativeNoise
from shoal.masking.perturbing.noise import Noise
from shoal.masking.perturbing.swapping import Swap
from shoal.measure import Measure, find_measure
from shoal.policy import AttributeChoice, Policy
from shoal_studies.driver import DATA, Step
from shoal_studies.workers import workers

MICRO, NOISE, SWAP, MULTIPLIED = "microaggregation", "correlated noise", "rank swapping", "multiplicative noise"

METHODS = {  # as the paper has them: on attributes scaled to [0, 1]
    MICRO: Contender.of(MICRO, Mdav, scale="range"),
    NOISE: Contender.of(NOISE, Noise, within="anywhere"),
    SWAP: Contender.of(SWAP, Swap, rounds=1),
    MULTIPLIED: Contender.of(MULTIPLIED, MultiplicativeNoise, within="anywhere"),
}

GRIDS: dict[str, tuple[float, ...]] = {  # of Figure 1
    MICRO: (5, 10, 15, 20, 25, 50),
    NOISE: (0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 1, 3),
    SWAP: (0.01, 0.05, 0.075, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    MULTIPLIED: (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 1),
}

ANCHOR = 5  # the k of microaggregation in both of the paper's matches

R, EMD, SSE = "rank_linkage", "earth_movers_distance", "sse"

UTILITIES = {
    EMD: "Earth mover's\ndistance",
    "covariance_difference": "Variances and\ncovariances",
    "correlation_difference": "Correlations",
    "regression_coefficients": "Regression\ncoefficients",
    "marginals_2way": "Two-way\ntables",
    "pmse": "Told apart\n(pMSE)",
}

LEVELS = (3, 5, 10)  # of k, for which the literature gives MDAV's loss

LEAST = 3 * max(GRIDS[MICRO])  # records of a table, so that even the largest groups are several


@dataclass(frozen=True)
class Reported:
    """What is reported of a table: the paper's match and Table 1, and MDAV's loss in the literature."""

    risk: float
    parameters: Mapping[str, float]
    emd: Mapping[str, float]
    digits: int  # of these
    loss: Mapping[int, float]  # k -> 100 SSE / SST, of standardised attributes

    @property
    def ranking(self) -> list[str]:
        return sorted(self.emd, key=lambda method: self.emd[method])


CENSUS = Reported(
    0.45,
    {MICRO: 5, NOISE: 1, SWAP: 0.2, MULTIPLIED: 0.5},
    {MICRO: 0.16, NOISE: 0.38, SWAP: 0.28, MULTIPLIED: 0.29},
    2,
    {3: 5.69, 5: 9.09, 10: 14.16},
)

EIA = Reported(
    0.58,
    {MICRO: 5, NOISE: 0.05, SWAP: 0.08, MULTIPLIED: 0.3},
    {MICRO: 0.040, NOISE: 0.065, SWAP: 0.091, MULTIPLIED: 0.066},
    3,
    {3: 0.48, 5: 1.67, 10: 3.84},
)


@dataclass(frozen=True)
class RiskUtility:
    """Masks the tables of a folder or file, or the paper's; random methods are averaged over `runs`."""

    data: str | None = None
    runs: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        require("study risk-utility", "runs", self.runs, "a whole number of at least 1", holds=self.runs >= 1)
        require("study risk-utility", "seed", self.seed, "a whole number of at least 0", holds=self.seed >= 0)

    @property
    def manner(self) -> str:
        return f"random methods averaged over {self.runs}" if self.runs > 1 else "random methods tried once"

    def steps(self) -> Sequence[Step]:
        return (Step(DATA, "the tables", self._data), *(step for table in self._tables for step in self._of(table)))

    def _of(self, table: Table) -> Sequence[Step]:
        def step(frame: str, stage: str, grid: Mapping[str, Sequence[float]], *names: str) -> Step:
            return Step(frame, f"{table.name}: {stage}", partial(self._points, table, grid, names))

        chosen = {method: [at] for method, at in table.reported.parameters.items()} if table.reported else {}
        return (
            *(step("curves", f"Figure 1, {method}", {method: grid}, R, *LINKS) for method, grid in GRIDS.items()),
            *([step("matched", "the paper's parameters", chosen, R, EMD, *LINKS)] if chosen else []),
            Step("groups", f"{table.name}: groups", lambda: self._losses(table)),
            Step("equal", f"{table.name}: equal risk", lambda: self._equal(table)),
        )

    @cached_property
    def _tables(self) -> list[Table]:
        return tables(self.data, self.seed)

    def _data(self) -> pl.DataFrame:
        return pl.DataFrame(
            [
                {
                    "table": f"{t.name} ({t.frame.height:,} x {t.frame.width}{t.origin})",
                    "records": t.frame.height,
                    "name": t.name,
                    "papers": t.papers if t.reported else None,
                    "other": t.reason,
                }
                for t in self._tables
            ]
        )

    def _points(self, table: Table, asked: Mapping[str, Sequence[float]], names: Sequence[str]) -> pl.DataFrame:
        """A row for each method and parameter, with these measures."""
        measures = [find_measure(name) for name in names]
        rows = []
        for method, values in asked.items():
            estimates = self._estimates(table.frame, METHODS[method], values, measures)
            rows += [_row(table, method, *point) for point in zip(values, estimates, strict=True)]
        return pl.DataFrame(rows)

    def _estimates(
        self, frame: pl.DataFrame, method: Contender, values: Sequence[float], measures: Sequence[Measure]
    ) -> list[Mapping[str, Estimate]]:
        microdata, _ = prepare(frame, _policy(frame))
        with workers() as pool:
            drawn = seeds(self.seed, self.runs)
            trials = Trials(microdata, digest(microdata), drawn, Cache(), pool)
            return list(trials.estimates(method, values, measures))

    def _losses(self, table: Table) -> pl.DataFrame:
        """MDAV's loss and mdav+'s: a row a k."""
        mdav, better = (
            [each[SSE].mean for each in self._estimates(table.grouped, contender(name), LEVELS, [find_measure(SSE)])]
            for name in ("mdav", "mdav+")
        )
        reported = table.reported.loss if table.reported else {}
        return pl.DataFrame(
            {
                "table": [table.name] * len(LEVELS),
                "k": LEVELS,
                "literature": pl.Series([reported.get(k) for k in LEVELS], dtype=pl.Float64),
                "mdav": mdav,
                "mdav+": better,
                "less": [1 - b / a for a, b in zip(mdav, better, strict=True)],
            }
        )

    def _equal(self, table: Table) -> pl.DataFrame:
        """A row a method, brought to the paper's risk or to that of microaggregation; what loses least comes first."""
        anchor = self._points(table, {MICRO: [ANCHOR]}, [R])[R].item()
        target = table.reported.risk if table.reported and not table.reason else anchor
        also = [name for name in UTILITIES if name != EMD]
        methods = list(METHODS.values())
        policy = _policy(table.frame)
        equal = compare(table.frame, policy, methods, at_risk=target, also=also, runs=self.runs, seed=self.seed)
        reached = [{"target": target, "reached": outcome.meets(equal.question)} for outcome in equal.outcomes]
        rows = [_row(table, outcome.method, outcome.parameter, outcome.measured) for outcome in equal.outcomes]
        return pl.DataFrame([row | of_row for row, of_row in zip(rows, reached, strict=True)])


def _row(table: Table, method: str, parameter: float, estimates: Mapping[str, Estimate]) -> dict[str, object]:
    numbers = {name: estimate.mean for name, estimate in estimates.items()}
    errors = {f"{name}_se": estimates[name].error for name in (R, EMD) if name in estimates}
    return {"table": table.name, "method": method, "parameter": float(parameter), **numbers, **errors}


# ---- the tables

_STANDS_FOR = "generated "
_TEN = ("RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES",
        "OTHREVENUE", "OTHRSALES", "TOTREVENUE", "TOTSALES")  # fmt: skip
SHAPES = {"Census": (1_080, 13), "EIA": (4_092, 11)}

_REPORTED = {"Census": CENSUS, "EIA": EIA}


@dataclass(frozen=True)
class Table:
    """A table to mask, and what is reported of it."""

    name: str
    frame: pl.DataFrame
    grouped: pl.DataFrame  # the attributes over which the literature reports MDAV's loss
    reported: Reported | None = None
    reason: str = ""  # why what is reported need not hold here; nothing for the paper's own table

    @property
    def papers(self) -> str:
        """The name of the paper's table that this is, or stands for."""
        return self.name.removeprefix(_STANDS_FOR)

    @property
    def origin(self) -> str:
        return ", the paper's own" if self.reported and not self.reason else ""


def tables(data: str | None, seed: int) -> list[Table]:
    """Those of a folder or file, or the paper's where SHOAL_DATA names a folder with them, or generated ones."""
    files = _files(data)
    if files:
        return [_read(path) for path in files]
    return [_generated(name, seed + j) for j, name in enumerate(SHAPES)]


def _files(data: str | None) -> list[Path]:
    if data is None:
        real = os.environ.get("SHOAL_DATA")
        paths = [Path(real, "casc", f"{name.lower()}.csv") for name in SHAPES] if real else []
        return [path for path in paths if path.is_file()]
    if not Path(data).is_dir():
        return [Path(data)]
    files = sorted(Path(data).glob("*.csv"))
    if not files:
        raise InputError(f"The folder {data!r} holds no CSV file: name a folder of tables, or one table.")
    return files


def _read(path: Path) -> Table:
    """Census and EIA are known by their names and columns; of others all numbers that vary are masked."""
    from shoal.data.files import read_table

    table = read_table(path)
    if path.stem.lower() == "census" and table.shape == SHAPES["Census"]:
        return Table("Census", table, table, CENSUS)
    if path.stem.lower() == "eia" and {"MONTH", "UTILITYID", *_TEN} <= set(table.columns):
        return Table("EIA", table.select("MONTH", *_TEN), table.select("UTILITYID", *_TEN), EIA)
    numbers = table.select(s for s in table if s.dtype.is_numeric() and s.drop_nulls().n_unique() > 1)
    if numbers.width < 2 or numbers.height < LEAST:
        raise InputError(
            f"{path} has {numbers.height:,} records and {numbers.width} columns of numbers that vary: the study "
            f"needs {LEAST} records and 2 such columns at least."
        )
    return Table(path.stem, numbers, numbers)


def _generated(name: str, seed: int) -> Table:
    """Skewed amounts that a few common causes move together, as many as the paper's table has."""
    records, attributes = SHAPES[name]
    rng = np.random.default_rng([seed, records])
    causes = rng.normal(size=(records, 3)) @ rng.uniform(-0.4, 1.0, (3, attributes))
    amounts = np.round(10_000 * np.exp(causes + 0.4 * rng.normal(size=causes.shape)))
    frame = pl.DataFrame({f"amount {j + 1}": amounts[:, j] for j in range(attributes)})
    reason = f"The table is generated: it has the shape of {name}, not its values."
    return Table(_STANDS_FOR + name, frame, frame, _REPORTED[name], reason)


def _policy(frame: pl.DataFrame) -> Policy:
    numeric = AttributeChoice(kind=Kind.NUMERIC)
    return Policy(quasi_identifiers=tuple(frame.columns), attributes=dict.fromkeys(frame.columns, numeric))
