"""Paper 3's simulation (El Emam and Dankar, 2008): Figures 3 to 5 for k = 5, 10 and 15, and its example.

Defined in docs/spec.md#sampling-experiment.

From a known population samples are drawn, recoded to least discernibility under four criteria, and held against the
population: how high is the journalist risk in truth, what was lost, how much was suppressed?

- D1: k-anonymity, f_j >= k
- D2: the individual risk estimate of each class is at most 1/k
- D3, D4: f_j >= min(k, k'), k' from the (zero-truncated) Poisson test that F_j > k

Each criterion asks a class of k* records at least, so a criterion is a number. Recodings are those of hierarchies, as
custodians use them, not all sets of cut points.

The paper reports that as much as half of a sample was suppressed, which no optimum does (see Figure 5). So everything
is measured a second time with one fixed recoding, that with which D1 suppresses as much as the paper reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import require
from shoal.privacy.k_map import Test, k_prime
from shoal.risk.scenarios import scenarios
from shoal_studies.driver import DATA, Step
from shoal_studies.k_map.populations import population, sources
from shoal_studies.k_map.recodings import Outcome, Population
from shoal_studies.workers import workers

LEVELS = (5, 10, 15)  # of k

FRACTIONS = tuple(tenth / 10 for tenth in range(1, 10))

TESTS: dict[str, Test] = {"D2": "individual", "D3": "poisson", "D4": "truncated-poisson"}

CRITERIA = ("D1", *TESTS)

ALPHA = 0.1

OPTIMAL, FIXED = "optimal", "fixed"

HALF = 0.5  # of the records suppressed by D1 at the smallest fraction: "in some cases as much as 50%"


@dataclass(frozen=True)
class KMap:
    """Draws so many samples a point from each population: a file's records, or the paper's, and generated ones."""

    data: str | None = None
    samples: int = 200
    seed: int = 1

    def __post_init__(self) -> None:
        require("study k-map", "samples", self.samples, "a whole number of at least 1", holds=self.samples >= 1)
        require("study k-map", "seed", self.seed, "a whole number of at least 0", holds=self.seed >= 0)

    @property
    def manner(self) -> str:
        return f"{self.samples:,} samples a point"

    def steps(self) -> Sequence[Step]:
        return (
            Step(DATA, "the populations", self._data),
            *(
                Step("points", f"{name}, fraction {fraction}", partial(self._point, name, fraction))
                for name in sources(self.data)
                for fraction in FRACTIONS
            ),
            Step("example", "the paper's example", example),
        )

    @cached_property
    def populations(self) -> dict[str, Population]:
        """By name, in the order of the figures' rows."""
        return {name: population(name, *make(self.seed)) for name, make in sources(self.data).items()}

    def _data(self) -> pl.DataFrame:
        """The populations, and of each the recoding that suppresses as much as the paper reports."""
        populations = self.populations
        return pl.DataFrame(
            {
                "table": [f"{len(people):,} {name}" for name, people in populations.items()],
                "records": [len(people) for people in populations.values()],
                "population": list(populations),
                "fixed": [p.in_words(p.suppressing(HALF, LEVELS[0], FRACTIONS[0])) for p in populations.values()],
            }
        )

    def _point(self, name: str, fraction: float) -> pl.DataFrame:
        return pl.DataFrame(Point(self.populations[name], fraction, self.samples, self.seed).measure())


# ---- the criteria


def thresholds(k: int, fraction: float) -> dict[str, int]:
    """The class size k* that each criterion asks for."""
    return {"D1": k} | {name: min(k, k_prime(k, fraction, test, ALPHA)) for name, test in TESTS.items()}


# ---- the points


@dataclass(frozen=True)
class Point:
    """All samples of one fraction."""

    population: Population
    fraction: float
    samples: int
    seed: int

    @cached_property
    def thresholds(self) -> dict[int, dict[str, int]]:
        return {k: thresholds(k, self.fraction) for k in LEVELS}

    def measure(self) -> list[dict[str, Any]]:
        """One row for each k and criterion, with the best recoding of each sample and with the fixed one."""
        fixed = self.population.suppressing(HALF, LEVELS[0], FRACTIONS[0])
        with workers() as pool:
            drawn = list(pool.map(lambda draw: self._releases(draw, fixed), range(self.samples)))
        rows = []
        for k, asked in self.thresholds.items():
            for recoding in (OPTIMAL, FIXED):
                base = [draw[recoding, k][1].discernibility for draw in drawn]
                for criterion, threshold in asked.items():
                    outcomes = [outcomes[recoding, threshold] for outcomes in drawn]
                    rows.append(
                        {
                            "recoding": recoding,
                            "population": self.population.name,
                            "k": k,
                            "criterion": criterion,
                            "fraction": self.fraction,
                            "class_size": threshold,
                            **self._averages(k, [outcome for _, outcome in outcomes], base),
                            "most_often": self.population.in_words(
                                Counter(node for node, _ in outcomes).most_common(1)[0][0]
                            ),
                        }
                    )
        return rows

    def _releases(self, draw: int, fixed: int) -> dict[tuple[str, int], tuple[int, Outcome]]:
        """The recoding and its outcome for each class size that some criterion asks for."""
        rng = np.random.default_rng([self.seed, round(1000 * self.fraction), draw])
        sample = self.population.sample(self.fraction, rng)
        sizes = sorted({size for asked in self.thresholds.values() for size in asked.values()})
        best = sample.best(sizes)
        chosen = {(OPTIMAL, k): best[k] for k in sizes} | {(FIXED, k): fixed for k in sizes}
        return {(how, k): (node, sample.release(node, k)) for (how, k), node in chosen.items()}

    def _averages(self, k: int, outcomes: Sequence[Outcome], base: Sequence[int]) -> dict[str, float]:
        risk = np.array([outcome.risk for outcome in outcomes])
        loss = np.array([outcome.discernibility for outcome in outcomes]) / np.array(base)
        n = round(self.fraction * len(self.population))
        suppressed = np.array([outcome.suppressed for outcome in outcomes]) / n
        return {
            "risk": float(risk.mean()),
            "risk_deviation": float(risk.std()),
            "above_threshold": float((risk > 1 / k).mean()),
            "discernibility": float(loss.mean()),
            "discernibility_deviation": float(loss.std()),
            "suppressed": float(suppressed.mean()),
            "suppressed_deviation": float(suppressed.std()),
        }


# ---- the paper's example

DISCLOSED = 14  # of the people below; all 31 are the identification database

PEOPLE = """M1959 M1962 F1955 M1959 F1942 F1975 F1966 F1987 M1975 M1978 F1964 M1959 F1975 M1967
            M1961 M1974 F1978 F1961 F1968 M1973 F1966 M1967 M1971 F1974 F1977 M1968 M1954 F1952 F1956 F1988 F1941"""

K = 2

_QUASI = frozenset({Role.QUASI_IDENTIFIER})

_SCHEMA = Schema((Attribute("sex", _QUASI, Kind.NOMINAL), Attribute("born", _QUASI, Kind.NUMERIC)))


def example() -> pl.DataFrame:
    """What k-anonymity and k-map make of the same fourteen people (Figures 1 and 2)."""
    database = pl.DataFrame([{"sex": person[0], "born": int(person[1:])} for person in PEOPLE.split()])
    rows = []
    for figure, years, counted in (("Figure 1", 10, database[:DISCLOSED]), ("Figure 2", 5, database)):
        common = _bands(counted, years).group_by("sex", "born").len().filter(pl.col("len") >= K)
        table = _bands(database[:DISCLOSED], years)
        kept = table.join(common, on=["sex", "born"], how="semi", maintain_order="left")
        risks = scenarios(kept, _SCHEMA, population=database)
        assert risks.journalist is not None
        rows.append(
            {
                "figure": figure,
                "years in a band": years,
                "suppressed": DISCLOSED - kept.height,
                "highest risk, prosecutor": risks.prosecutor.highest,
                "highest risk, journalist": risks.journalist.highest,
            }
        )
    return pl.DataFrame(rows)


def _bands(table: pl.DataFrame, years: int) -> pl.DataFrame:
    first = pl.col("born") // years * years
    return table.select("sex", pl.format("[{};{}]", first, first + years - 1).alias("born"))
