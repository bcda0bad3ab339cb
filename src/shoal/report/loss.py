"""The report's section on loss: what an analyst can no longer see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded
from shoal.data.schema import Kind
from shoal.report import words
from shoal.report.distributions import Bars, Precision, distribution
from shoal.report.findings import Findings
from shoal.report.parts import AFTER, ATTRIBUTES, BEFORE, Row, both, explained, legend, measured, side_by_side
from shoal.report.plots import Series, bars, cross_table, heat_map, histogram, number, percent, text
from shoal.report.two_way import TwoWay
from shoal.utility.correlations import Correlations, place_masked, place_original
from shoal.utility.discernibility import average_class_size, discernibility

if TYPE_CHECKING:
    from shoal.release import Release


def loss_section(release: Release, findings: Findings) -> str:
    quasi = release.original.quasi
    more = _not_drawn(len(quasi))
    drawn = (
        _distribution(coded, release.masked.columns[coded.name], findings.precisions[coded.name])
        for coded in quasi[:ATTRIBUTES]
    )
    return (
        "<h2>What the data lost</h2><p>What an analyst can no longer see. Numbers are over the "
        "quasi-identifiers: all other released columns are as they were.</p>"
        + explained(("", AFTER, "what it means"), _loss_rows(release, findings))
        + side_by_side(_losses(findings), _exactness(findings))
        + "<h3>Each attribute, original against released</h3><p>Shares of records; the dotted line is at the fullest "
        f"bin. A released interval or set counts evenly for all values that it admits.{more}</p>"
        + legend() + side_by_side(*drawn, packed=True)
        + _correlations(findings.correlations)
        + _two_way(findings.two_way)
        + measured("Original and released values compared", findings, "utility")
    )  # fmt: skip


def _not_drawn(attributes: int) -> str:
    hidden = attributes - ATTRIBUTES
    return f" The first {ATTRIBUTES} attributes are drawn, {hidden:,} more are not." if hidden > 0 else ""


def _loss_rows(release: Release, findings: Findings) -> list[Row]:
    sizes, agreement = findings.sizes[1], findings.correlations.agreement
    allowed = release.policy.suppression
    return [
        (
            "Information loss",
            number(release.information_loss),
            "How far the farthest values that a record admits lie from the original record, in standard "
            f"deviations, over the number of attributes ({words.PAPER}, Eq. 3). 0: nothing lost.",
        ),
        (
            "Correlation agreement",
            "not defined" if agreement is None else f"{agreement:.3f}",
            "It needs at least three attributes that vary."
            if agreement is None
            else "How well correlations survive: the correlation of the correlations. 1 is best.",
        ),
        (
            "Average class size",
            f"{average_class_size(sizes, release.suppressed):,.2f}",
            "Records that show the same, on average. The nearer to what was asked, the better.",
        ),
        (
            "Discernibility",
            f"{discernibility(sizes, release.suppressed):,}",
            "Each record charged with the size of its class, a suppressed one with the table. Less is better.",
        ),
        (
            "Records left out",
            f"{release.suppressed:,}",
            f"The policy allows to suppress {percent(allowed)} of the records."
            if allowed
            else "The policy allows none to be suppressed.",
        ),
    ]


def _losses(findings: Findings) -> str:
    worst = sorted(findings.losses.items(), key=lambda item: -item[1])
    hidden = len(worst) - ATTRIBUTES
    more = f" {hidden:,} attributes that lost less are not shown." if hidden > 0 else ""
    return bars(
        "Loss by attribute",
        [name for name, _ in worst[:ATTRIBUTES]],
        [Series("after", "loss", [loss for _, loss in worst[:ATTRIBUTES]])],
        show=number,
        caption="Mean distance from the original value to the farther end of what is shown, in the "
        f"attribute's own standard deviations.{more}",
    )


def _exactness(findings: Findings) -> str:
    first = sorted(findings.precisions.items(), key=lambda item: -item[1].exact)
    if not first[0][1].exact:
        return ""
    hidden = len(first) - ATTRIBUTES
    more = f" {hidden:,} attributes that are shown less exactly are left out." if hidden > 0 else ""
    return bars(
        "Shown exactly, by attribute",
        [name for name, _ in first[:ATTRIBUTES]],
        [Series("after", "shown exactly", [found.exact for _, found in first[:ATTRIBUTES]])],
        caption=f"Released records that show one value, and no interval or set.{more}",
    )


def _distribution(coded: Coded, column: MaskedColumn, shown: Precision) -> str:
    found = distribution(coded, column)
    caption = _in_short(coded, column, shown)
    if isinstance(found, Bars):
        return bars(coded.name, found.labels, both(found.before, found.after), caption=caption)
    if any(found.missing):
        caption += f" Missing: {percent(found.missing[0])} {BEFORE}, {percent(found.missing[1])} {AFTER}."
    if found.tails:
        caption += " The outermost bins hold all that lies beyond, too."
    return histogram(coded.name, found.edges, found.before, found.after, found.ticks, caption=caption)


def _in_short(coded: Coded, column: MaskedColumn, shown: Precision) -> str:
    """How precise the attribute still is, and where its mean went."""
    said = f"Shown exactly in {percent(shown.exact)} of the records"
    if shown.whole:
        said += f", as * in {percent(shown.whole)}"
    if coded.is_nominal:
        return text(f"{said}; {number(shown.width)} of {len(coded.values):,} categories on average.")
    before, after = place_original(coded).moments()[0], place_masked(column).moments()[0]
    if coded.attribute.kind is not Kind.NUMERIC or np.isnan(before + after):
        return text(f"{said}.")
    return text(
        f"{said}; intervals {number(shown.width)} wide on average. Mean {number(before, 4)} {BEFORE}, "
        f"{number(after, 4)} {AFTER}, by the middle of intervals."
    )


def _correlations(tables: Correlations) -> str:
    if len(tables.names) < 2:
        return ""
    names = tables.names[:ATTRIBUTES]
    first = slice(len(names))
    agreement = "" if tables.agreement is None else f" Their agreement is {tables.agreement:.3f}; 1 is best."
    return (
        "<h3>Which attributes go together</h3><p>Pairwise correlations: teal where both rise together, orange "
        "where one falls as the other rises, deeper where they are stronger. Intervals and sets count by their "
        f"middle.{agreement}{_not_drawn(len(tables.names))}</p>"
        + side_by_side(
            heat_map("Original", names, tables.before[first, first]),
            heat_map("Released", names, tables.after[first, first]),
        )
    )


def _two_way(tables: list[TwoWay]) -> str:
    if not tables:
        return ""
    drawn = []
    for found in tables:
        names, most = " by ".join(found.names), float(max(found.before.max(), found.after.max()))
        moved = f"{percent(found.moved)} of the records are counted elsewhere than in the original."
        drawn += [
            cross_table(f"{names}: {side}", found.rows, found.columns, shares, most=most, caption=caption)
            for side, shares, caption in ((BEFORE, found.before, ""), (AFTER, found.after, moved))
        ]
    return (
        "<h3>Two attributes at once</h3><p>Shares of records in two-way tables, of the pairs that depend most on each "
        "other in the original: the deeper the colour, the more records. A released interval or set counts evenly "
        "for all original values that it admits.</p>" + side_by_side(*drawn)
    )
