"""What several sections of the report are made of."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.measure import About
from shoal.report.fact import Fact
from shoal.report.findings import ATTRIBUTES, MOST, SAMPLE, Findings


@dataclass(frozen=True)
class Measures:
    """Every measure of `shoal compare`, one a row; `drawn` says on what they were taken, where that is not all."""

    facts: list[Fact]
    drawn: str


def measures(findings: Findings, about: About) -> Measures:
    """The rows of every measure of risk, or of utility, and on which records they were taken."""
    measured = findings.measured[about]
    facts: list[Fact] = []
    for name, value in measured.values.items():
        measure = measured.measures[name]
        facts.append(Fact(measure.meaning, (f"{value:.4g}",), f"Higher is {measure.higher_is}.", name))
    drawn = ""
    some = findings.drawn not in (None, findings.before.records)
    if findings.after.records > SAMPLE:
        whom = {"risk": "people", "utility": "records"}[about] + " drawn at random"
        looked_for = ", each looked for among all records" if about == "risk" and not some else ""
        drawn += f" Measured on {SAMPLE:,} {whom}{looked_for}."
    if about == "risk" and some:
        drawn += " Who is found again is not measured: among drawn records hardly anybody has their like."
    if len(findings.losses) > MOST:
        drawn += f" Only the first {MOST} attributes are compared; people are found again by all of them."
    return Measures(facts, drawn)


def not_drawn(attributes: int) -> str:
    """A sentence on the attributes that are too many to draw, if there are such."""
    hidden = attributes - ATTRIBUTES
    return f" The first {ATTRIBUTES} attributes are drawn, {hidden:,} more are not." if hidden > 0 else ""
