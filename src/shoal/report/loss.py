"""The report's section on loss: what an analyst can no longer see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded
from shoal.data.schema import Kind
from shoal.report import words
from shoal.report.distributions import Precision
from shoal.report.fact import Fact
from shoal.report.findings import ATTRIBUTES, Findings
from shoal.report.parts import Measures, measures, not_drawn
from shoal.report.reported import Reported
from shoal.show import Bars, Chart, HeatTable, Series
from shoal.show.charts import AFTER, BEFORE
from shoal.show.numbers import number, percent
from shoal.utility.correlations import place_masked, place_original
from shoal.utility.discernibility import average_class_size, discernibility


@dataclass(frozen=True)
class Loss:
    """What the section shows; the words between stand in its template."""

    facts: list[Fact]
    attributes: list[Bars]  # what each lost, and how exactly it is shown
    distributions: list[Chart]
    correlations: list[HeatTable]
    agreement: str
    two_way: list[HeatTable]
    not_drawn: str
    measured: Measures

    @classmethod
    def of(cls, release: Reported, findings: Findings) -> Self:
        """Gathered from a release and what was measured of it."""
        quasi, agreement = release.original.quasi, findings.correlations.agreement
        return cls(
            _loss_rows(release, findings),
            [_losses(findings), *_exactness(findings)],
            [_distribution(each, findings) for each in quasi[:ATTRIBUTES]],
            _correlations(findings),
            "" if agreement is None else f" Their agreement is {agreement:.3f}; 1 is best.",
            _two_way(findings),
            not_drawn(len(quasi)),
            measures(findings, "utility"),
        )


def _loss_rows(release: Reported, findings: Findings) -> list[Fact]:
    sizes, agreement = findings.sizes[1], findings.correlations.agreement
    allowed, separation = release.policy.suppression, release.separation_loss
    return [
        Fact(
            "Information loss",
            (number(release.information_loss),),
            "How far the farthest values that a record admits lie from the original record, in standard deviations, "
            "over the number of columns. 0: nothing lost.",
            f"{words.PAPER}, Eq. 3",
        ),
        Fact(
            "Separation loss",
            ("not counted" if separation is None else percent(separation),),
            "Of the pairs of records that a column told apart, how many it no longer does, on average. It counts "
            "records and not distances, so that numbers, dates, codes and texts compare. 0: nothing lost.",
        ),
        Fact(
            "Correlation agreement",
            ("not defined" if agreement is None else f"{agreement:.3f}",),
            "It needs at least three columns that vary."
            if agreement is None
            else "Whether the same columns go together as before; 1 is best. Blind where all values moved alike.",
            "correlation of the correlations",
        ),
        Fact(
            "Average group of look-alikes",
            (f"{average_class_size(sizes, release.suppressed):,.2f}",),
            "Records that show the same, on average. The nearer to what was asked, the better.",
            "average class size",
        ),
        Fact(
            "Discernibility",
            (f"{discernibility(sizes, release.suppressed):,}",),
            "Each record charged with the size of its group, one that is left out with the table. Less is better.",
        ),
        Fact(
            "Records left out",
            (f"{release.suppressed:,}",),
            f"The policy allows to leave out {percent(allowed)} of the records."
            if allowed
            else "The policy allows none to be left out.",
            "suppressed records",
        ),
    ]


def _losses(findings: Findings) -> Bars:
    worst = sorted(findings.losses.items(), key=lambda item: -item[1])
    hidden = len(worst) - ATTRIBUTES
    more = f" {hidden:,} columns that lost less are not shown." if hidden > 0 else ""
    return Bars(
        "Loss by column",
        [findings.label(name) for name, _ in worst[:ATTRIBUTES]],
        (Series("loss", [loss for _, loss in worst[:ATTRIBUTES]]),),
        "number",
        "Mean distance from the original value to the farther end of what is shown, in the "
        f"attribute's own standard deviations.{more}",
    )


def _exactness(findings: Findings) -> list[Bars]:
    """How many records show each attribute exactly, unless none does."""
    first = sorted(findings.precisions.items(), key=lambda item: -item[1].exact)
    if not first[0][1].exact:
        return []
    hidden = len(first) - ATTRIBUTES
    more = f" {hidden:,} columns that are shown less exactly are left out." if hidden > 0 else ""
    exact = Series("shown exactly", [precision.exact for _, precision in first[:ATTRIBUTES]])
    names = [findings.label(name) for name, _ in first[:ATTRIBUTES]]
    caption = f"Released records that show one value, and no interval or set.{more}"
    return [Bars("Shown exactly, by column", names, (exact,), caption=caption)]


def _distribution(coded: Coded, findings: Findings) -> Chart:
    drawn = findings.distributions[coded.name]
    caption = _in_short(coded, findings.columns[coded.name], findings.precisions[coded.name])
    if any(drawn.missing):
        caption += f" Missing: {percent(drawn.missing[0])} {BEFORE}, {percent(drawn.missing[1])} {AFTER}."
    if drawn.tails:
        caption += " The outermost bins hold all that lies beyond, too."
    return replace(drawn.chart, title=findings.label(coded.name), caption=caption)


def _in_short(coded: Coded, column: MaskedColumn, shown: Precision) -> str:
    """How precise the attribute still is, and where its mean went."""
    exactly = f"Shown exactly in {percent(shown.exact)} of the records"
    if shown.whole:
        exactly += f", as * in {percent(shown.whole)}"
    if coded.is_nominal:
        return f"{exactly}; {number(shown.width)} of {len(coded.values):,} categories on average."
    before, after = place_original(coded).moments()[0], place_masked(column).moments()[0]
    if coded.attribute.kind is not Kind.NUMERIC or np.isnan(before + after):
        return f"{exactly}."
    return (
        f"{exactly}; intervals {number(shown.width)} wide on average. Mean {number(before, 4)} {BEFORE}, "
        f"{number(after, 4)} {AFTER}, by the middle of intervals."
    )


def _correlations(findings: Findings) -> list[HeatTable]:
    tables = findings.correlations
    if len(tables.names) < 2:
        return []
    names = [findings.label(name) for name in tables.names[:ATTRIBUTES]]
    first = slice(len(names))
    return [
        HeatTable(title, names, names, table[first, first])
        for title, table in (("Original", tables.before), ("Released", tables.after))
    ]


def _two_way(findings: Findings) -> list[HeatTable]:
    drawn = []
    for table in findings.two_way:
        names, most = " by ".join(map(findings.label, table.names)), float(max(table.before.max(), table.after.max()))
        moved = f"{percent(table.moved)} of the records are counted elsewhere than in the original."
        drawn += [
            HeatTable(f"{names}: {side}", table.rows, table.columns, shares, "share", most, caption)
            for side, shares, caption in ((BEFORE, table.before, ""), (AFTER, table.after, moved))
        ]
    return drawn
