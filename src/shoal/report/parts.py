"""What the report's sections are made of: tables with a line of meaning beside each number, figures side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from shoal.measure import About
from shoal.report.findings import MOST, SAMPLE, Findings
from shoal.report.plots import Series, text

ATTRIBUTES = 30  # whose distributions, losses and correlations are drawn

BEFORE, AFTER = "original", "released"

Row = tuple[str, ...]
Numbers = Sequence[float] | npt.NDArray[np.float64]


def both(before: Numbers, after: Numbers) -> list[Series]:
    return [Series("before", BEFORE, before), Series("after", AFTER, after)]


def legend() -> str:
    return f'<p class="legend"><span class="key">{BEFORE}</span><span class="key after">{AFTER}</span></p>'


def side_by_side(*drawn: str, packed: bool = False) -> str:
    """Two in a row; `packed` fills the columns however high the figures are, one column after the other."""
    return f'<div class="figures{" packed" if packed else ""}">{"".join(drawn)}</div>'


def mark(said: str, good: bool) -> str:
    return f'<span class="badge{"" if good else " no"}">{"✓" if good else "✗"} {said}</span>'


def explained(header: Row, rows: Iterable[Row]) -> str:
    """A measure a row: its name, its numbers, and what they mean."""
    css = {BEFORE: "key", AFTER: "key after"}
    shown = {name: f'<span class="{of}">{name}</span>' for name, of in css.items()}
    head = "".join(f'<th class="num">{shown.get(name, name)}</th>' for name in header[1:-1]) + f"<th>{header[-1]}</th>"
    body = "".join(
        f"<tr><td>{text(name)}</td>"
        + "".join(
            f'<td class="num {of}" data-of="{of}">{text(value)}</td>'
            for of, value in zip(header[1:], numbers, strict=False)
        )
        + f'<td class="why">{text(why, 500)}</td></tr>'
        for name, *numbers, why in rows
    )
    table = f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="card" tabindex="0">{table}</div>'


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def measured(title: str, findings: Findings, about: About) -> str:
    """Every measure of `shoal compare`, one a row; a range counts by its midpoint."""
    found = findings.measured[about]
    if not found.values:
        return ""
    rows = [
        (
            name.replace("_", " "),
            f"{value:.4g}",
            f"{found.measures[name].meaning} Higher is {found.measures[name].higher_is}.",
        )
        for name, value in found.values.items()
    ]
    what = "people drawn at random, each looked for among all records" if about == "risk" else "records drawn at random"
    drawn = f" Measured on {SAMPLE:,} {what}." if findings.after.records > SAMPLE else ""
    drawn += (
        f" Only the first {MOST} attributes are compared; people are found again by all of them."
        if len(findings.losses) > MOST
        else ""
    )
    return (
        f"<h3>{title}</h3><p>The measures that <code>shoal compare</code> ranks methods by. A released range "
        f"counts by its midpoint.{drawn}</p>" + explained(("", AFTER, "what it means"), rows)
    )
