"""What a comparison found: for machines, as tables on a terminal and in a notebook, and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from shoal.compare.calibrate import Calibrated
from shoal.compare.contenders import Contender
from shoal.compare.trials import Estimate
from shoal.data.frames import Frame
from shoal.measure import Measure
from shoal.policy import Policy
from shoal.show import Chart, Line, Lines, Result, Sheet

if TYPE_CHECKING:
    from shoal.release import Release

LINKS = ("correct_links", "correct_links_rank")  # by distance in standard deviations, and in ranks
_DECADES = 30.0  # utilities this far apart are told apart on a logarithmic scale only
_BESIDE = 2  # measures in one table of those shown beside: more do not fit


@dataclass(frozen=True)
class Question:
    """Which number is held fixed and at what, by which others the methods are judged."""

    risk: Measure
    utility: Measure
    shown_too: tuple[Measure, ...]  # shown, not judged by
    fixed: Literal["risk", "utility"] | None = None  # none where only the curves are asked for
    target: float = float("nan")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Every measure that is taken: risk, utility, and those that are only shown."""
        return (self.risk, self.utility, *self.shown_too)

    @property
    def fixed_measure(self) -> Measure:
        """The measure that all methods are brought to the same value of."""
        return self.risk if self.fixed == "risk" else self.utility

    @property
    def ranked_by(self) -> Measure:
        """The measure by which methods are ranked once the fixed one is equal."""
        return self.utility if self.fixed == "risk" else self.risk


@dataclass(frozen=True)
class Outcome:
    """A method at a parameter, measured; and how the parameter was found, where it was looked for."""

    contender: Contender
    parameter: float
    measured: Mapping[str, Estimate]
    calibrated: Calibrated | None = None

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.contender.name

    @property
    def setting(self) -> str:
        """The parameter and its value, as people read them: `k = 5`."""
        return self.contender.setting(self.parameter)

    def cost(self, measure: Measure) -> float:
        """The measured mean, turned so that less is better."""
        return _cost(measure, self.measured[measure.name].mean)

    def meets(self, question: Question) -> bool:
        """Whether it can be brought to what was asked, or is better than that even where it masks least."""
        assert self.calibrated is not None
        measure = question.fixed_measure
        return self.calibrated.attainable or _cost(measure, self.calibrated.level) <= _cost(measure, question.target)


@dataclass(frozen=True)
class Comparison(Result):
    """Methods at equal risk or equal utility, best first, and their whole curves where these were asked for."""

    question: Question
    outcomes: tuple[Outcome, ...]
    curves: tuple[Outcome, ...]
    policy: Policy  # what is known of the attributes
    records: int
    runs: int
    seed: int
    notes: tuple[str, ...]

    @property
    def best(self) -> Outcome | None:
        """The first that meets what was asked."""
        return next((outcome for outcome in self.outcomes if outcome.meets(self.question)), None)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a method; of curves alone, one a point."""
        return pl.DataFrame([self._row(outcome) for outcome in self.outcomes or self.curves])

    def to_dict(self) -> dict[str, Any]:
        """The question, the outcomes and the curves as plain values, as `--json` prints them."""
        question = self.question
        judged = {"risk": question.risk, "utility": question.utility}
        return {
            "asked": {question.fixed: question.target} if question.fixed else None,
            "records": self.records,
            "attributes": list(self.policy.quasi_identifiers),
            "runs": self.runs,
            "seed": self.seed,
            "measures": {
                about: {"name": measure.name, "higher_is": measure.higher_is, "meaning": measure.meaning}
                for about, measure in judged.items()
            },
            "methods": [self._row(outcome) for outcome in self.outcomes],
            "frontier": [self._row(outcome) for outcome in self.curves],
            "notes": list(self.notes),
        }

    def _row(self, outcome: Outcome) -> dict[str, Any]:
        risk, utility = (outcome.measured[m.name] for m in (self.question.risk, self.question.utility))
        row = {
            "method": outcome.method,
            "parameter": outcome.parameter,
            "parameter_name": outcome.contender.parameter.name,
            "risk": risk.mean,
            "risk_se": risk.error,
            "utility": utility.mean,
            "utility_se": utility.error,
            **{name: outcome.measured[name].mean for name in LINKS},
            **{measure.name: outcome.measured[measure.name].mean for measure in self.question.shown_too},
        }
        if outcome.calibrated is None:
            return row | {"dominated": self._dominated(outcome)}
        calibrated = outcome.calibrated
        return row | {
            "attained": calibrated.attained,
            "attainable": calibrated.attainable,
            "meets": outcome.meets(self.question),
            "reach": list(calibrated.reach),
        }

    def _dominated(self, outcome: Outcome) -> bool:
        """Whether another point of any curve is no worse in risk and in utility, and better in one of them."""

        def costs(outcome: Outcome) -> tuple[float, float]:
            return outcome.cost(self.question.risk), outcome.cost(self.question.utility)

        risk, utility = costs(outcome)
        return any(r <= risk and u <= utility and (r, u) != (risk, utility) for r, u in map(costs, self.curves))

    def release(self, frame: Frame) -> Release[Frame]:
        """The table, which was compared on, masked by the best method and held to the risk that all were brought to."""
        from shoal.compare.best import release_best

        return release_best(frame, self)

    # ---- for people

    def _legend(self) -> tuple[str, ...]:
        """What the columns are, and what to mind."""
        judged = (("risk", self.question.risk), ("utility", self.question.utility))
        return (
            *(f"{about} is {each.name}, higher is {each.higher_is}: {each.meaning}" for about, each in judged),
            "links are correct ones: the share of people whose nearest masked record is their own, by distance in "
            "standard deviations, and by ranks.",
            *self.notes,
        )

    def sheets(self) -> list[Sheet]:
        """As tables: the methods, their curves, and what else was measured."""
        question = self.question
        title = f"At {question.fixed} {question.target:g}, best {question.ranked_by.about} first"
        first, curves = self._sheet(title, self.outcomes), self._sheet("The whole curves", self.curves)
        last = replace(curves if self.curves else first, legend=self._legend())
        sheets = [first, last] if self.curves else [last]
        others = [measure for measure in question.shown_too if measure.name not in LINKS]
        for start in range(0, len(others), _BESIDE):
            part = others[start : start + _BESIDE]
            rows = [
                (outcome.method, outcome.setting, *(_shown(outcome.measured[measure.name]) for measure in part))
                for outcome in self.outcomes or self.curves
            ]
            header = ("method", "parameter", *(measure.name for measure in part))
            sheets.append(Sheet("Beside", header, rows, numbers=len(header) - 1))
        return sheets

    def _sheet(self, title: str, outcomes: Sequence[Outcome]) -> Sheet:
        judged = (self.question.risk.name, self.question.utility.name)
        rows = [
            (
                each.method
                if each.calibrated is None or each.meets(self.question)
                else f"{each.method} (out of reach)",
                each.setting,
                *(_shown(each.measured[name]) for name in judged),
                *(f"{each.measured[name].mean:.1%}" for name in LINKS),
            )
            for each in outcomes
        ]
        return Sheet(title, ("method", "parameter", "risk", "utility", "links", "ranks"), rows, numbers=5)

    def charts(self) -> list[Chart]:
        """Risk across, utility upwards: a curve a method, and a mark where it reaches what was asked."""
        question = self.question
        names = dict.fromkeys(outcome.method for outcome in (*self.outcomes, *self.curves))
        lines = tuple(Line(name, self._points(name, self.curves), self._points(name, self.outcomes)) for name in names)
        across, upwards = (f"{m.name} (higher is {m.higher_is})" for m in (question.risk, question.utility))
        heights = [y for line in lines for _, y in (*line.points, *line.marked)]
        decades = bool(heights) and min(heights) > 0 and max(heights) >= _DECADES * min(heights)
        axis: Literal["across", "upwards"] = "across" if question.fixed == "risk" else "upwards"
        rules = [(axis, question.target, "")] if question.fixed else []
        at = f" at {question.fixed} {question.target:g}" if question.fixed else ""
        title = f"Risk and utility of each method{at}"
        return [Lines(title, lines, across, upwards, rules, logarithmic=(False, decades))]

    def _points(self, method: str, outcomes: Sequence[Outcome]) -> list[tuple[float, float]]:
        risk, utility = self.question.risk.name, self.question.utility.name
        estimates = [outcome.measured for outcome in outcomes if outcome.method == method]
        return [(measured[risk].mean, measured[utility].mean) for measured in estimates]


def _cost(measure: Measure, level: float) -> float:
    """A level turned so that less is better."""
    return -level if measure.higher_is in ("better", "safer") else level


def _shown(estimate: Estimate) -> str:
    return f"{estimate.mean:#.4g}" + (f" ±{estimate.error:.1g}" if estimate.error else "")
