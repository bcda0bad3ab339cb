"""The custodian's report: one page that says what was promised, what it cost, and what stays open.

The page needs nothing beside itself: style and figures stand in it, and it asks no other machine for anything. It shows
a few records and statistics of the original data and says so first. What decides stands on top; what an expert asks is
folded. However large the table, it stays small: everything on it is a count, a share, or a figure of a few dozen marks.

What the sections say in words stands in their templates (`templates/`), which escape what they are given; what they
show is gathered here and in the modules of the same names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import shoal
from shoal import events
from shoal.privacy import MeasuredRisk
from shoal.privacy.model import PrivacyModel
from shoal.report import people, words
from shoal.report.about import About
from shoal.report.done import Done
from shoal.report.examples import Examples
from shoal.report.findings import Findings
from shoal.report.loss import Loss
from shoal.report.reported import Reported
from shoal.report.risk import ACCEPTED, RiskSection
from shoal.report.useful import Useful
from shoal.risk.owners import SINGULAR
from shoal.show.markup import cut, templates
from shoal.show.numbers import counted, number, percent

POLICY = 200_000  # characters of the policy


def write_report(release: Reported, path: str | Path, *, overwrite: bool = False) -> None:
    """Measures the release against the original and writes the page, whole or not at all."""
    from shoal.data.outputs import refuse_existing
    from shoal.data.paths import atomic_write

    refuse_existing(path, overwrite=overwrite)
    page = (events.apart(render) if release.drawn is None else render)(release)
    with atomic_write(path, private=True, overwrite=overwrite) as partial:
        Path(partial).write_text(page, encoding="utf-8")


def render(release: Reported) -> str:
    """The whole page as HTML that needs no other file."""
    findings = Findings(release)
    policy = release.policy.to_toml()
    about = About.of(release)
    return templates("shoal.report").get_template("report.html").render(
        title=about.title,
        about=about,
        paper=words.PAPER,
        lead=_lead(release),
        drawn=_drawn(release),
        examples=Examples.of(release, findings),
        tiles=_tiles(release, findings),
        promises=_promises(release),
        counted=words.what_was_counted(list(findings.tables.released.schema), release.policy),
        useful=Useful.of(findings),
        risk=RiskSection.of(findings),
        loss=Loss.of(release, findings),
        done=Done.of(release, findings),
        limits=words.limits(release, findings.most_learnt),
        again={
            "policy": "\n".join(cut(line, POLICY) for line in policy[:POLICY].splitlines()),
            "long": len(policy) > POLICY,
        },
        version=shoal.__version__,
    )  # fmt: skip


@dataclass(frozen=True)
class Lead:
    """The first line of the page: whether every promise holds, and what was masked."""

    verdict: str
    good: bool
    released: str
    facts: str


def _lead(release: Reported) -> Lead:
    holds = all(verdict.holds for verdict in release.verdicts)
    verdict = "Every promise holds" if holds else "A promise does not hold"
    quasi, confidential = release.schema.quasi_identifiers, release.schema.confidential
    whole = " and ".join(filter(None, map(people.withheld, release.owners)))
    suppressed = f", {counted(release.suppressed, 'record')} left out" if release.suppressed else ""
    suppressed += f", among them all of {whole}" if whole else ""
    return Lead(
        verdict if release.verdicts else "Nothing was promised",
        bool(holds and release.verdicts),
        f"{counted(release.records, 'record')}{_of_whom(release)} released",
        f"{counted(len(quasi), 'column')} that an intruder may know masked"
        f"{f', {len(confidential):,} that must not be learnt' if confidential else ''}{suppressed}",
    )


def _of_whom(release: Reported) -> str:
    return "".join(f" of {people.of_whom(owners)}" for owners in release.owners[:1])


def _drawn(release: Reported) -> str:
    """Which numbers of the page are of all records, where not all are."""
    if release.drawn is None:
        return ""
    whom = "".join(f"{each.who}, " for each in release.owners)
    return (
        f"Counts of records, {whom}groups and look-alikes, what is learnt of confidential values, and losses are of "
        f"all {release.read:,} records. Distributions, correlations, two-way tables, how cells are shown, attacks and "
        f"measures are of {release.drawn:,} records that were drawn at random when they were masked."
    )


@dataclass(frozen=True)
class Tile:
    """A number before and after, and what it means; `over` where it passes what is usual."""

    name: str
    before: str
    after: str
    why: str
    over: bool = False


_USUAL = " Often asked: at most 20% for a known recipient, 9% for the public."


def _tiles(release: Reported, findings: Findings) -> list[Tile]:
    lost = Tile(
        "Information loss",
        "",
        number(release.information_loss),
        "How far released values may lie from the original ones, in standard deviations. 0: no loss.",
    )
    chances = people.Chances.of(findings)
    caught = findings.measured["risk"].values.get(MeasuredRisk.measure)
    if findings.apart and caught is not None:
        return [*_perturbed(findings, caught), lost]
    return [*(_of_records(findings) if chances is None else _of_owners(chances)), lost]


def _perturbed(findings: Findings, caught: float) -> list[Tile]:
    """Of records that hide in no group."""
    after = findings.after
    return [
        Tile(
            "People found again",
            "",
            percent(caught),
            f"By the best of the attacks that are built in, who knows all that may be known of everybody.{_USUAL}",
            caught > ACCEPTED,
        ),
        Tile(
            "Records without a look-alike",
            percent(findings.before.reidentification_risk),
            percent(after.reidentification_risk),
            f"Each was changed, and none hides among others: {after.uniques:,} after.",
        ),
    ]


def _of_owners(chances: people.Chances) -> list[Tile]:
    singular = SINGULAR[chances.who]
    alone = f"{chances.alone[0]:,} before, {chances.alone[1]:,} after"
    return [
        Tile(
            f"{chances.who.title()} alone",
            percent(chances.alone_share[0]),
            percent(chances.alone_share[1]),
            f"Nobody else matches them by {chances.known}: {alone}.",
            chances.alone[1] > 0,
        ),
        Tile(
            f"Best guess at a {singular}",
            percent(chances.highest[0]),
            percent(chances.highest[1]),
            f"How often it is right, for whoever is worst off.{_USUAL}",
            chances.highest[1] > ACCEPTED,
        ),
        Tile(
            f"Average guess at a {singular}",
            percent(chances.average[0]),
            percent(chances.average[1]),
            f"The same over all {chances.who}.",
        ),
    ]


def _of_records(findings: Findings) -> list[Tile]:
    before, after = findings.before, findings.after
    return [
        Tile(
            "Records without a look-alike",
            percent(before.reidentification_risk),
            percent(after.reidentification_risk),
            "Nobody else matches them in what an intruder may know: "
            f"{before.uniques:,} before, {after.uniques:,} after.",
            after.uniques > 0,
        ),
        Tile(
            "Best guess",
            percent(before.classes.highest_risk),
            percent(after.classes.highest_risk),
            f"How often a guess at a person's record is right, for whoever is worst off.{_USUAL}",
            after.classes.highest_risk > ACCEPTED,
        ),
        Tile(
            "Average guess",
            percent(before.classes.average_risk),
            percent(after.classes.average_risk),
            "The same over all records: how many of them random guesses get right.",
        ),
    ]


@dataclass(frozen=True)
class Promise:
    """A model, what was asked and reached of it, and what that means."""

    title: str
    asked: str
    reached: str
    holds: bool
    words: str
    note: str


def _called(model: PrivacyModel, label: Callable[[str], str]) -> PrivacyModel:
    """The promise about a column as people call it."""
    return model if model.attribute is None else model.of(label(model.attribute))


def _promises(release: Reported) -> list[Promise]:
    return [
        Promise(
            model.name + (f" of {release.policy.label(verdict.attribute)}" if verdict.attribute else ""),
            model.asked_in_words,
            number(verdict.achieved),
            verdict.holds,
            _called(model, release.policy.label).in_words,
            verdict.note,
        )
        for model, verdict in zip(release.promises, release.verdicts, strict=True)
    ]
