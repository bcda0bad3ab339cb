"""Which method keeps most of the data's value at the risk one can accept (paper 5; docs/spec.md#equal-risk).

Every method is calibrated to the same risk, measured there, and ranked by utility; or the other way round. The
paper's lesson: no method is best for all data, so make several anonymizations at the wished risk and take the most
useful. Equal risk by one measure is not equal re-identification: the share of correct links always stands beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from shoal import events
from shoal.anonymize import Progress
from shoal.compare.cache import digest, opened
from shoal.compare.calibrate import calibrate, grid
from shoal.compare.contenders import Contender, contender
from shoal.compare.result import LINKS, Comparison, Outcome, Question
from shoal.compare.trials import Trials, seeds
from shoal.data.frames import to_polars
from shoal.data.microdata import Microdata
from shoal.data.people import COUNTED
from shoal.data.schema import Kind
from shoal.draft import prepare
from shoal.errors import InputError, require
from shoal.masking.method import Strength
from shoal.masking.recoding.coarsening import unmasked
from shoal.measure import Pair, find_measure
from shoal.policy import Policy

METHODS = ("mdav", "noise", "swap", "multiplicative-noise")
POINTS = 9  # of each method's curve
_TURN = 0.2  # seconds
T = TypeVar("T")
_WIDE = (0.01, 100.0)  # of a parameter that says nothing of its range: what its curve shows


def compare(
    frame: Any,
    attributes: Sequence[str] | Policy | None = None,
    methods: Sequence[str | Contender] = METHODS,
    *,
    at_risk: float | None = None,
    at_utility: float | None = None,
    risk: str = "rank_linkage",
    utility: str = "earth_movers_distance",
    also: Sequence[str] = (),
    runs: int = 5,
    seed: int = 0,
    frontier: bool = False,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    listen: events.Listener | None = None,
    stop: events.Stop | None = None,
) -> Comparison:
    """Calibrates every method to the same risk (or utility), measures it there, and ranks the methods best first.

    `attributes` are the columns to mask, all if none are named, or a policy whose quasi-identifiers they are; `also`
    are measures to show beside; random methods are averaged over `runs`; `frontier` traces the whole curve of each
    method; `cache` is a folder in which what was measured is kept. `listen`,
    `progress` and `stop` are as in `shoal.anonymize`: each value that was tried is a stage.
    """
    question = ask(risk, utility, also, at_risk, at_utility, frontier)
    require("compare", "runs", runs, "a whole number of at least 1", holds=isinstance(runs, int) and runs >= 1)
    require("compare", "seed", seed, "a whole number of at least 0", holds=isinstance(seed, int) and seed >= 0)
    microdata, policy = _microdata(frame, attributes)
    contenders = _contenders(methods, len(microdata))

    def try_out(contender: Contender) -> tuple[list[Outcome], list[Outcome]]:
        calibrated = [_calibrated(trials, contender, question)] if question.fixed else []
        return calibrated, _curve(trials, contender, question) if frontier else []

    within = events.heard(listen or events.by_stage(progress), stop)
    with within, opened(cache) as kept, ThreadPoolExecutor(os.cpu_count()) as pool:
        trials = Trials(microdata, digest(microdata), seeds(seed, runs), kept, pool)
        tried = _side_by_side(try_out, contenders, pool)
    outcomes = sorted((each for calibrated, _ in tried for each in calibrated), key=lambda each: _rank(each, question))
    return Comparison(
        question=question,
        outcomes=tuple(outcomes),
        curves=tuple(outcome for _, curve in tried for outcome in curve),
        policy=policy,
        records=len(microdata),
        runs=runs,
        seed=seed,
        notes=(
            *_about_columns(microdata),
            *_about_measures(microdata, question),
            *_about_outcomes(outcomes, question),
            *([] if policy.person is None else [f"Counted are {COUNTED}."]),
            *kept.notes,
        ),
    )


# ---- what is asked


def ask(
    risk: str,
    utility: str,
    also: Sequence[str],
    at_risk: float | None,
    at_utility: float | None,
    frontier: bool,
) -> Question:
    """What to hold fixed and what to measure; refused where it cannot be told."""
    if at_risk is not None and at_utility is not None:
        raise InputError(
            "A risk and a utility to compare at are given: give one of them, not both; the other is what is compared."
        )
    if at_risk is None and at_utility is None and not frontier:
        raise InputError(
            "Say at which risk or utility to compare (--at-risk, --at-utility), or ask for the --frontier."
        )
    target = at_risk if at_risk is not None else at_utility
    if target is not None and not isfinite(target):
        raise InputError(f"A method cannot be brought to {target}: give a number to compare at.")
    judged = find_measure(risk, "risk"), find_measure(utility, "utility")
    named = {name: find_measure(name) for name in (*LINKS, *also)}
    shown_too = tuple(measure for measure in named.values() if measure not in judged)
    if target is None:
        return Question(*judged, shown_too)
    return Question(*judged, shown_too, "risk" if at_risk is not None else "utility", float(target))


def _microdata(frame: Any, attributes: Sequence[str] | Policy | None) -> tuple[Microdata, Policy]:
    table, _ = to_polars(frame)
    if not isinstance(attributes, Policy):
        if isinstance(attributes, str):
            raise InputError(f"The attributes must be a list of names: give [{attributes!r}].")
        attributes = Policy(quasi_identifiers=tuple(attributes or table.columns))
    return prepare(table, attributes)[0], attributes


def _contenders(methods: Sequence[str | Contender], records: int) -> list[Contender]:
    if isinstance(methods, str) or not methods:
        raise InputError("Name the methods to compare as a list, such as mdav and noise.")
    contenders = [(method if isinstance(method, Contender) else contender(method)).among(records) for method in methods]
    names = [each.name for each in contenders]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"The method {twice!r} is named twice: name it once.")
    return contenders


# ---- trying out


def _calibrated(trials: Trials, contender: Contender, question: Question) -> Outcome:
    def levels(values: Sequence[float]) -> list[float]:
        measure = question.fixed_measure
        return [estimates[measure.name].mean for estimates in trials.estimates(contender, values, [measure])]

    calibrated = calibrate(levels, contender.parameter, question.target)
    (measured,) = trials.estimates(contender, [calibrated.value], question.measures)
    return Outcome(contender, calibrated.value, measured, calibrated)


def _curve(trials: Trials, contender: Contender, question: Question) -> list[Outcome]:
    parameter = contender.parameter
    if not isfinite(parameter.most):
        parameter = Strength(parameter.name, max(parameter.least, _WIDE[0]), _WIDE[1], parameter.whole)
    values = grid(parameter, POINTS)
    measured = trials.estimates(contender, values, question.measures)
    return [Outcome(contender, *point) for point in zip(values, measured, strict=True)]


def _side_by_side(work: Callable[[Contender], T], contenders: Sequence[Contender], pool: ThreadPoolExecutor) -> list[T]:
    """Every contender in a thread of its own, which only waits for trials; all end at the first fault or Ctrl-C."""
    with ThreadPoolExecutor(len(contenders)) as waiting:
        under_way = [waiting.submit(events.carried(work), contender) for contender in contenders]
        left: Collection[Future[T]] = under_way
        try:
            while left:  # in short turns: once Polars has set its own handler, no signal ends a longer wait
                events.check()
                done, left = wait(under_way, timeout=_TURN, return_when=FIRST_EXCEPTION)
                for trial in done:
                    trial.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # trials under way come to their end and are kept
            raise
        return [trial.result() for trial in under_way]


# ---- judging


def _rank(outcome: Outcome, question: Question) -> tuple[bool, float]:
    """Best first by what was not fixed; who cannot meet what was fixed comes last, the nearest first."""
    if outcome.meets(question):
        return False, outcome.cost(question.ranked_by)
    return True, outcome.cost(question.fixed_measure)


def _about_columns(microdata: Microdata) -> list[str]:
    notes = []
    for coded in microdata.quasi:
        if len(coded.values) < 2:
            notes.append(f"Column {coded.name!r} has one value only: it plays no part in ranks and distances.")
        elif coded.attribute.kind is Kind.NOMINAL:
            notes.append(
                f"Column {coded.name!r} has no order: measures of ranks and moments leave it out; links count it."
            )
    return notes


def _about_measures(microdata: Microdata, question: Question) -> list[str]:
    """Where a large table is taken by a sample or a summary: such numbers compare only with others of the kind."""
    as_it_is = Pair.of(microdata, {coded.name: unmasked(coded) for coded in microdata.quasi})
    how = {measure.name: measure.how(as_it_is) for measure in question.measures if measure.how is not None}
    return [f"{name} is measured by {words}." for name, words in how.items() if words]


def _about_outcomes(outcomes: Sequence[Outcome], question: Question) -> list[str]:
    notes = []
    for outcome in outcomes:
        calibrated = outcome.calibrated
        assert calibrated is not None
        if not calibrated.attainable:
            low, high = calibrated.reach
            then = "even its least is better than asked" if outcome.meets(question) else "it stands last"
            notes.append(
                f"{outcome.method} cannot be brought to a {question.fixed} of {question.target:g}: "
                f"it gives {low:.4g} to {high:.4g}, {then}."
            )
        elif not calibrated.attained:
            notes.append(
                f"{outcome.method} steps over a {question.fixed} of {question.target:g}: "
                f"{outcome.setting} is nearest, with {calibrated.level:.4g}."
            )
    if question.fixed == "risk" and question.risk.name not in (*LINKS, "found_again"):
        notes.append(
            f"Equal {question.risk.name} is not equal re-identification: mind the share of correct links, and what the "
            "best attack finds (--also found_again)."
        )
    return notes
