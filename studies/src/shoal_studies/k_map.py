"""Paper 3's simulation (El Emam and Dankar, 2008): Figures 3 to 5 for k = 5, 10 and 15.

From a known population samples are drawn, recoded to least discernibility under four criteria, and held against the
population: how high is the journalist risk in truth, what was lost, how much was suppressed?

- D1: k-anonymity, f_j >= k
- D2: the individual risk estimate of each class is at most 1/k
- D3, D4: f_j >= min(k, k'), k' from the (zero-truncated) Poisson test that F_j > k

Each criterion asks a class of k* records at least, so a criterion is a number. The paper's physicians cannot be had,
its crashes and veterans nearly: they are read where SHOAL_DATA names a folder with them, generated patients stand for
the physicians. Recodings are those of hierarchies, as custodians use them, not all sets of cut points.

The paper reports that as much as half of a sample was suppressed, which no optimum does (see Figure 5). So everything
is measured a second time with one fixed recoding, that with which D1 suppresses as much as the paper reports.

Defined in docs/spec.md#sampling-experiment.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.errors import require
from shoal.privacy.k_map import Test, k_prime
from shoal_studies import figures
from shoal_studies.curves import Chart, Stroke, lowess, small_multiples
from shoal_studies.figures import percent
from shoal_studies.k_map_examples import figures_1_and_2
from shoal_studies.k_map_populations import PATIENTS, populations, sources
from shoal_studies.result import Part, Statement, StudyResult, unwritable
from shoal_studies.sampled_recoding import Outcome, Population
from shoal_studies.workers import workers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Protecting privacy using k-anonymity"
LEVELS = (5, 10, 15)  # of k
FRACTIONS = tuple(tenth / 10 for tenth in range(1, 10))
TESTS: dict[str, Test] = {"D2": "individual", "D3": "poisson", "D4": "truncated-poisson"}
CRITERIA = ("D1", *TESTS)
ALPHA = 0.1
OPTIMAL, FIXED = "optimal", "fixed"
HALF = 0.5  # of the records suppressed by D1 at the smallest fraction: "in some cases as much as 50%"
POINTS = "results.jsonl"

STROKES = {
    "D1": Stroke("#b9c3ce", figures.SOFT, 6.0),
    "D2": Stroke(figures.ORANGE, figures.RUST, 1.6, (5, 2)),
    "D3": Stroke(figures.LIGHT_BLUE, figures.SEA, 4.0),
    "D4": Stroke(figures.NAVY, figures.NAVY, 1.5),
}


def run(
    output: Path,
    *,
    data: str | None = None,
    samples: int = 200,
    seed: int = 1,
    progress: Callable[[str], None] = lambda stage: None,
) -> StudyResult:
    """Draws so many samples a point and writes all into `output`; points already there are not computed again."""
    require("study k-map", "samples", samples, "a whole number of at least 1", holds=samples >= 1)
    require("study k-map", "seed", seed, "a whole number of at least 0", holds=seed >= 0)
    kept = Kept.in_folder(output)
    progress("the populations")
    studied = populations(data, seed)
    rows: list[dict[str, Any]] = []
    for population in studied:
        for fraction in FRACTIONS:
            progress(f"{population.name}, fraction {fraction}")
            point = Point(population, fraction, samples, seed)
            rows += kept.get(point) or kept.add(point, point.measure())
    progress("drawing")
    measured = Measured(_smoothed(pl.DataFrame(rows, infer_schema_length=None)), [p.name for p in studied])
    sizes = ", ".join(f"{len(p):,} {p.name}" for p in studied)
    parts = (
        figures_1_and_2(),
        _figure_3(measured.of(OPTIMAL), measured.of(FIXED)),
        _figure_4(measured.of(OPTIMAL)),
        _figure_5(measured.of(OPTIMAL)),
        _fixed_recoding(measured.of(FIXED), studied),
        _thresholds(),
    )
    table = f"{sizes}; {samples:,} samples a point"
    settings = {"data": data, "samples": samples, "seed": seed}
    result = StudyResult(TITLE, table, sum(map(len, studied)), parts, output, settings)
    result.write()
    return result


def stages(data: str | None) -> int:
    """How often `run` reports progress."""
    return 2 + len(FRACTIONS) * len(sources(data))


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

    @property
    def known_by(self) -> dict[str, Any]:
        """What must be the same for a kept point to be this one."""
        return {
            "population": self.population.name,
            "digest": self.population.digest,
            "fraction": self.fraction,
            "samples": self.samples,
            "seed": self.seed,
            "thresholds": {str(k): asked for k, asked in self.thresholds.items()},
        }

    def measure(self) -> list[dict[str, Any]]:
        """One row for each k and criterion, with the best recoding of each sample and with the fixed one."""
        fixed = self.population.suppressing(HALF, LEVELS[0], FRACTIONS[0])
        with workers() as pool:
            drawn = list(pool.map(lambda draw: self._releases(draw, fixed), range(self.samples)))
        rows = []
        for k, asked in self.thresholds.items():
            for recoding in (OPTIMAL, FIXED):
                base = [found[recoding, k][1].discernibility for found in drawn]
                for criterion, threshold in asked.items():
                    found = [found[recoding, threshold] for found in drawn]
                    rows.append(
                        {
                            "recoding": recoding,
                            "population": self.population.name,
                            "k": k,
                            "criterion": criterion,
                            "fraction": self.fraction,
                            "class_size": threshold,
                            **self._averages(k, [outcome for _, outcome in found], base),
                            "most_often": self.population.in_words(
                                Counter(node for node, _ in found).most_common(1)[0][0]
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


@dataclass(frozen=True)
class Kept:
    """The points already measured, a line each, so that a run cut short goes on where it stopped."""

    path: Path
    lines: list[dict[str, Any]]

    @classmethod
    def in_folder(cls, output: Path) -> Kept:
        """Better said now than after hours of work, if nothing can be written there."""
        path = output / POINTS
        try:
            output.mkdir(parents=True, exist_ok=True)
            with path.open("ab+") as file:
                file.seek(0)
                text = file.read()
                if text and not text.endswith(b"\n"):  # a line was cut short: it stays so, and is passed over
                    file.write(b"\n")
        except OSError as error:
            raise unwritable(output, error) from None
        return cls(path, [line for line in map(_parsed, text.splitlines()) if line is not None])

    def get(self, point: Point) -> list[dict[str, Any]] | None:
        wanted = point.known_by
        return next((line["rows"] for line in self.lines if line["point"] == wanted), None)

    def add(self, point: Point, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"point": point.known_by, "rows": rows}) + "\n")
        except OSError as error:
            raise unwritable(self.path.parent, error) from None
        return rows


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.keys() == {"point", "rows"} else None


def _smoothed(points: pl.DataFrame) -> pl.DataFrame:
    """With the lowess curve of each measure beside it."""
    series = []
    for _, one in points.group_by("recoding", "population", "k", "criterion", maintain_order=True):
        x = one["fraction"].to_numpy()
        series.append(
            one.with_columns(
                pl.Series(f"{name}_lowess", lowess(x, one[name].to_numpy(), x))
                for name in ("risk", "discernibility", "suppressed")
            )
        )
    return pl.concat(series)


# ---- looking things up


@dataclass(frozen=True)
class Measured:
    points: pl.DataFrame
    populations: list[str]

    def of(self, recoding: str) -> Measured:
        return Measured(self.points.filter(pl.col("recoding") == recoding), self.populations)

    def curve(self, population: str, k: int, criterion: str, column: str) -> dict[float, float]:
        """fraction -> value"""
        one = self.points.filter(pl.col("population") == population, pl.col("k") == k, pl.col("criterion") == criterion)
        return dict(one[["fraction", column]].iter_rows())

    def values(
        self, column: str, criteria: str | Iterable[str], *, k: int = 5, first: float = 0.0, last: float = 1.0
    ) -> list[float]:
        """Of all populations, at fractions from `first` to `last`."""
        wanted = [criteria] if isinstance(criteria, str) else list(criteria)
        found = self.points.filter(
            pl.col("k") == k, pl.col("criterion").is_in(wanted), pl.col("fraction").is_between(first, last)
        )
        return found[column].to_list()

    def listed(
        self,
        column: str,
        criterion: str,
        show: Callable[[float], str],
        *,
        first: float = 0.1,
        last: float | None = None,
    ) -> str:
        """`0.03 (crashes), 0.03 (veterans)` at one fraction, or the least and greatest of several; k = 5."""
        parts = []
        for population in self.populations:
            curve = self.curve(population, LEVELS[0], criterion, column)
            found = [value for fraction, value in curve.items() if first <= fraction <= (last or first)]
            low, high = show(min(found)), show(max(found))
            parts.append(f"{low if low == high else f'{low} to {high}'} ({population})")
        return ", ".join(parts)


# ---- the figures and what they say


def number(value: float) -> str:
    return f"{value:.3f}"


def _charts(measured: Measured, column: str, k: int, population: str, title: str, top: float) -> Chart:
    criteria = CRITERIA if column != "discernibility" else CRITERIA[1:]  # D1 is 1 by definition
    curves = {}
    for criterion in criteria:
        curve = measured.curve(population, k, criterion, column)
        curves[criterion] = np.array(list(curve)), np.array(list(curve.values()))
    mark = {
        "risk": (1 / k, f"1/{k}"),
        "discernibility": (1.0, "D1"),
        "suppressed": None,
    }[column]
    return Chart(title, curves, top, mark)


def _by_k(measured: Measured, title: str, column: str, show: Callable[[float], str]) -> Figure:
    """A row of charts for each population, a chart for each k."""
    top = {k: _top(measured, column, k) for k in LEVELS}
    rows = {
        population: [_charts(measured, column, k, population, f"k = {k}", top[k]) for k in LEVELS]
        for population in measured.populations
    }
    return small_multiples(title, rows, STROKES, "sampling fraction", [show] * len(LEVELS))


def _top(measured: Measured, column: str, k: int) -> float:
    return max(1.2 / k if column == "risk" else 0.0, *measured.values(column, CRITERIA, k=k), 1e-9)


def _columns(measured: Measured, column: str) -> pl.DataFrame:
    shared = ["population", "k", "criterion", "fraction", "class_size"]
    own = [column, f"{column}_deviation", f"{column}_lowess"]
    return measured.points.select(*shared, *own, *(["above_threshold"] if column == "risk" else []), "most_often")


def _figure_3(optimal: Measured, fixed: Measured) -> Part:
    title = "Actual risk: the highest in the journalist scenario, against the threshold 1/k"
    reason = (
        "The best recoding suppresses hardly anything (Figure 5), so it has few small classes for an intruder to pick. "
        "With fixed recodings that suppress as much as the paper reports, the risk is {}."
    )
    figure = _by_k(optimal, title, "risk", lambda value: f"{value:.2g}")
    statements = (*_risks(optimal, fixed, reason), _other_k(optimal))
    return Part("Figure 3", title, _columns(optimal, "risk"), statements, figure, _MADE)


_MADE = (
    "Dots are averages over the samples, curves their lowess. The threshold, 1/k, is what the custodian meant to "
    "allow. Where criteria ask for the same class size, their curves are one."
)


def _risks(measured: Measured, fixed: Measured, reason: str) -> tuple[Statement, ...]:
    """The paper's statements on Figure 3, k = 5."""

    def listed(criterion: str, **fractions: float) -> str:
        return measured.listed("risk", criterion, number, **fractions)

    def if_not(criterion: str, **fractions: float) -> str:
        return reason.format(fixed.listed("risk", criterion, number, **fractions))

    d4, d1 = measured.values("risk", "D4", last=0.1), measured.values("risk", "D1", last=0.1)
    d3 = measured.values("risk", "D3", last=0.3)
    return (
        Statement(
            "The actual risk of k-anonymity (D1) is far below the threshold of 0.2 at small fractions.",
            f"At 0.1: {listed('D1')}.",
            max(d1) <= 0.1,
            "In this population even classes of 5 in the sample are small ones of the population.",
        ),
        Statement(
            "All four converge to 0.2 as the fraction approaches 1.",
            f"At 0.9: {listed('D1', first=0.9)}, for D1, D3 and D4 alike; D2 {listed('D2', first=0.9)}.",
            all(abs(risk - 0.2) <= 0.02 for risk in measured.values("risk", CRITERIA, first=0.9)),
            "A fraction of 0.9 is not yet 1, and classes of just 5 must occur for the risk to be 0.2.",
        ),
        Statement(
            "D2's risk is particularly large, for fractions as high as 0.6.",
            f"At 0.1 to 0.6: {listed('D2', last=0.6)}.",
            min(measured.values("risk", "D2", last=0.6)) > 0.2,
            if_not("D2", last=0.6),
        ),
        Statement(
            "D3's risk is above the threshold by a wide gap at fractions of 0.3 and less.",
            f"At 0.1 to 0.3: {listed('D3', last=0.3)}.",
            min(d3) > 0.2 and max(d3) >= 0.3,
            if_not("D3", last=0.3),
        ),
        Statement(
            "D4 keeps the risk below the threshold or very close to it.",
            f"At 0.1 to 0.9: {listed('D4', last=0.9)}.",
            max(measured.values("risk", "D4")) <= 0.22,
            "The test errs in one class of ten at most, and the intruder picks the worst of thousands.",
        ),
        Statement(
            "D4's risk is higher than D1's.",
            f"At 0.1: {listed('D4')} against {listed('D1')}.",
            all(a > b for a, b in zip(d4, d1, strict=True)),
            "Both chose the same smallest class.",
        ),
    )


def _other_k(measured: Measured) -> Statement:
    found = []
    for k in LEVELS[1:]:
        d1, d4 = (measured.values("risk", c, k=k, last=last) for c, last in (("D1", 0.1), ("D4", 0.9)))
        found.append((k, max(d1), max(d4)))
    return Statement(
        "The results for k = 10 and 15 support those for k = 5.",
        "; ".join(f"k = {k}, threshold {1 / k:.3f}: D1 at 0.1 at most {a:.3f}, D4 at most {b:.3f}" for k, a, b in found)
        + ".",
        all(a <= 0.5 / k and b <= 1.1 / k for k, a, b in found),
        "The test errs in one class of ten at most, and the intruder picks the worst.",
    )


def _figure_4(measured: Measured) -> Part:
    title = "Information lost, as a share of what D1 loses (discernibility)"
    figure = _by_k(measured, title, "discernibility", _share)
    d2, d3, d4 = (measured.values("discernibility", c) for c in CRITERIA[1:])
    smallest = measured.values("discernibility", "D4", last=0.1)
    statements = (
        Statement(
            "D1 has the largest loss of all four: the others are always below 100%.",
            f"At most {percent(max(d2 + d3 + d4))}; at 0.1 {_shares(measured, 'D2')} by D2.",
            max(d2 + d3 + d4) <= 1,
        ),
        Statement(
            "At higher fractions all approaches converge.",
            f"At 0.9: {_shares(measured, 'D2', first=0.9)} by D2, {_shares(measured, 'D4', first=0.9)} by D4.",
            min(measured.values("discernibility", CRITERIA, first=0.9)) >= 0.95,
            "D2 still asks for smaller classes there.",
        ),
        Statement(
            "D4 loses more than D3, and D2 the least.",
            f"At 0.1: D4 {_shares(measured, 'D4')}; D3 {_shares(measured, 'D3')}; D2 {_shares(measured, 'D2')}.",
            all(a <= b <= c for a, b, c in zip(d2, d3, d4, strict=True)),
        ),
        _little_more(measured),
        Statement(
            "D4 is a significant improvement on D1 for low fractions.",
            f"At 0.1 its loss is {_shares(measured, 'D4')} of D1's.",
            max(smallest) <= 0.9,
            "Hierarchies have few levels: the best recoding for classes of 5 is often that for classes of 3.",
        ),
        _loses_45(
            measured,
            "Where hardly anything is suppressed, classes are mostly larger than asked for, and asking for less gains "
            "less: see Fixed recoding.",
        ),
    )
    return Part("Figure 4", title, _columns(measured, "discernibility"), statements, figure, _MADE_4)


def _little_more(measured: Measured) -> Statement:
    d3, d4 = ([loss for k in LEVELS for loss in measured.values("discernibility", c, k=k)] for c in ("D3", "D4"))
    near = sum(more <= 1.05 * less for less, more in zip(d3, d4, strict=True))
    return Statement(
        "In many cases the difference between D3 and D4 is not very pronounced.",
        f"At {near} of {len(d3)} points, k = 5 to 15, D4 loses at most 5% more than D3.",
        near >= len(d3) / 3,
        "The tests ask for different class sizes, and here these lead to different recodings.",
    )


_MADE_4 = "The average, over the samples, of a criterion's discernibility divided by D1's on the same sample."


def _loses_45(measured: Measured, reason: str) -> Statement:
    """Asked of those who stand for the physicians; the others are shown beside them."""
    share = measured.curve(PATIENTS, LEVELS[0], "D4", "discernibility")[FRACTIONS[0]]
    return Statement(
        "For the physicians D4's loss is 45% of D1's at a fraction of 0.1.",
        f"{_shares(measured, 'D4')}; {PATIENTS} stand for the physicians.",
        abs(share - 0.45) <= 0.05,
        reason,
    )


def _shares(measured: Measured, criterion: str, column: str = "discernibility", **fractions: float) -> str:
    return measured.listed(column, criterion, percent, **fractions)


def _share(value: float) -> str:
    return f"{100 * value:.3g}%"


def _figure_5(measured: Measured) -> Part:
    title = "Suppressed records"
    figure = _by_k(measured, title, "suppressed", _share)
    d1 = measured.values("suppressed", "D1", last=0.1)
    statements = (
        Statement(
            "D1 suppresses much of small samples, in some cases as much as 50%.",
            f"At 0.1: {_shares(measured, 'D1', 'suppressed')}.",
            max(d1) >= 0.4,
            "A suppressed record costs n, as if it could be any of the sample's. Half of them suppressed cost n * n/2, "
            "as much as showing nothing but the sex does, and there are far better recodings than that.",
        ),
        _suppresses_less(
            measured, "Where hardly anything is suppressed, D4 uses its freedom for finer recodings instead."
        ),
    )
    note = "Records in classes that are smaller than the criterion asks for, as a share of the sample."
    return Part("Figure 5", title, _columns(measured, "suppressed"), statements, figure, note)


def _suppresses_less(measured: Measured, reason: str) -> Statement:
    d1, d4 = (measured.values("suppressed", criterion, last=0.1) for criterion in ("D1", "D4"))
    return Statement(
        "D4 reduces that considerably, most of all for small fractions.",
        f"At 0.1: {_shares(measured, 'D4', 'suppressed')} against {_shares(measured, 'D1', 'suppressed')} by D1.",
        all(less <= 0.75 * much for less, much in zip(d4, d1, strict=True)),
        reason,
    )


def _fixed_recoding(measured: Measured, studied: Sequence[Population]) -> Part:
    title = "With one recoding that suppresses as much as the paper reports, k = 5"
    measures = {"risk": "Actual risk", "discernibility": "Information lost, share of D1's", "suppressed": "Suppressed"}
    k = LEVELS[0]
    top = {column: _top(measured, column, k) for column in measures}
    rows = {
        population: [_charts(measured, c, k, population, name, top[c]) for c, name in measures.items()]
        for population in measured.populations
    }
    shows = [lambda value: f"{value:.2g}", _share, _share]
    figure = small_multiples(title, rows, STROKES, "sampling fraction", shows)
    chosen = {p.name: p.in_words(p.suppressing(HALF, LEVELS[0], FRACTIONS[0])) for p in studied}
    reason = "Few classes are near the threshold here."
    statements = (
        *_risks(measured, measured, reason),
        _loses_45(measured, "Most of the loss is suppression, and D4 suppresses nearly as much as D1 here."),
        _suppresses_less(
            measured, "Most of what is suppressed is rare even in the population, and fails any criterion."
        ),
    )
    recodings = "; ".join(f"{name}: {words}" for name, words in chosen.items())
    note = (
        "Nothing is searched for: every sample is recoded alike, in the way with which D1 should suppress as near as "
        f"possible to half of the records at a fraction of 0.1 ({recodings}). That is the paper's own figure: so this "
        "shows what recodings of that kind lead to, not that the paper's were these."
    )
    return Part("Fixed recoding", title, measured.points.drop("recoding", "most_often"), statements, figure, note)


def _thresholds() -> Part:
    asked = {(k, fraction): thresholds(k, fraction) for k in LEVELS for fraction in FRACTIONS}
    data = pl.DataFrame(
        [
            {"k": k, "criterion": c} | {str(fraction): asked[k, fraction][c] for fraction in FRACTIONS}
            for k in LEVELS
            for c in CRITERIA
        ]
    )
    never = all(sizes["D2"] <= sizes["D3"] <= sizes["D4"] <= sizes["D1"] for sizes in asked.values())
    same = sum(sizes["D3"] == sizes["D4"] for sizes in asked.values())
    statement = Statement(
        "D1 asks for the most, D4 for no less than D3, and D2 for the least (Proposed Improvements, Results).",
        f"In {'all' if never else 'not all'} of {len(asked)} cases; D3 and D4 ask for the same size in {same}.",
        never,
        "The tests were read otherwise.",
    )
    title = "The smallest class that each criterion releases, by sampling fraction"
    return Part("Class size", title, data, (statement,))
