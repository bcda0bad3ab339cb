"""The release made by the best method of a comparison, held to the risk at which the methods were compared.

A random method that reaches a risk on average misses it every other time. So it draws until a draw keeps the promise,
and masks a little more strongly where several have not; a whole parameter may have to take its next step. It never
draws what the comparison drew: who knows a seed, and those of a comparison are no secret, can take the noise off again.
"""

from __future__ import annotations

from collections.abc import Iterator

from shoal.anonymize import anonymize
from shoal.compare.contenders import Contender
from shoal.compare.result import Comparison, Outcome, Question
from shoal.data.frames import Frame
from shoal.errors import InputError, PromiseError
from shoal.masking.method import Strength
from shoal.measure import Measure
from shoal.policy import Policy
from shoal.privacy import MeasuredRisk
from shoal.release import Release

_DRAWS = 10  # at one parameter
_STEPS = 20  # of the parameter
_STEP = 0.02  # of a real parameter


def release_best(frame: Frame, comparison: Comparison) -> Release[Frame]:
    """Refused where no method can be held to the risk."""
    question = comparison.question
    if question.fixed != "risk":
        raise InputError("A release is held to a risk: compare at one (--at-risk) to release the best.")
    refuse_to_promise(question)
    best = comparison.best
    if best is None:
        raise PromiseError(
            f"No method reaches a {question.risk.name} of {question.target:g}, so nothing is released: "
            "compare at a risk within their reach."
        )
    promise = MeasuredRisk(question.target, question.risk.name)
    for value in _ever_stronger(best, question.risk):
        policy = _policy(comparison.policy, best.contender, value, promise)
        for _ in range(_DRAWS if best.contender.random else 1):
            try:
                return anonymize(frame, policy)
            except PromiseError as error:
                broken = error
    raise broken


def refuse_to_promise(question: Question) -> None:
    """Methods may be compared by many measures; a release is promised by few."""
    if not question.risk.promised:
        raise InputError(
            f"{question.risk.name!r} compares methods and promises nothing to anybody: to release the best, compare at "
            "the share of people found by the best attack (--risk found_again --at-risk 0.05)."
        )


def _ever_stronger(best: Outcome, risk: Measure) -> Iterator[float]:
    assert best.calibrated is not None
    up = best.calibrated.rising == (risk.higher_is == "safer")
    value = best.parameter
    for _ in range(_STEPS):
        yield value
        value = _stronger(value, best.contender.parameter, up)


def _stronger(value: float, parameter: Strength, up: bool) -> float:
    step = 1 if parameter.whole else _STEP * value
    return min(max(value + step if up else value - step, parameter.least), parameter.most)


def _policy(base: Policy, contender: Contender, value: float, promise: MeasuredRisk) -> Policy:
    models = (*contender.models(value), promise)
    return base.changed(models=models, method=contender.method(value), suppression=0.0)
