"""The custodian's report: one page that says what was promised, what it cost, and what stays open.

The page needs nothing beside itself: style and figures stand in it, and it asks no other machine for
anything. It shows statistics of the original data and says so first. However large the table, it stays small:
everything on it is a count, a share, or a figure of a few dozen marks.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

import shoal
from shoal.data.masked import MaskedColumn
from shoal.data.microdata import Coded
from shoal.data.schema import Kind, Role
from shoal.measure import About
from shoal.privacy.model import PrivacyModel
from shoal.report import words
from shoal.report.distributions import Bars, Precision, distribution
from shoal.report.findings import MOST, SAMPLE, Findings, measure
from shoal.report.plots import Series, bars, heat_map, histogram, number, percent, text
from shoal.risk.classes import by_class_size
from shoal.utility.correlations import Correlations, place_masked, place_original
from shoal.utility.discernibility import average_class_size, discernibility

if TYPE_CHECKING:
    from shoal.release import Release

ATTRIBUTES = 30  # whose distributions, losses and correlations are drawn
DISCLOSED = 10  # confidential attributes, and values of each, whose disclosure is drawn
UNIONS = 31  # of known groups of attributes: all unions of five
POLICY = 200_000  # characters of the policy

BEFORE, AFTER = "original", "released"

Row = tuple[str, ...]


def write_report(release: Release, path: str | Path) -> None:
    """Measures the release against the original and writes the page, whole or not at all."""
    from shoal.data.files import atomic_write

    page = render(release)
    with atomic_write(path) as partial:
        Path(partial).write_text(page, encoding="utf-8")


def render(release: Release) -> str:
    """The page as HTML."""
    findings = measure(release)
    sections = {
        "promise": ("Promise", _promises(release)),
        "risk": ("Risk", _risk(findings)),
        "loss": ("What was lost", _loss(release, findings)),
        "done": ("What was done", _done(release)),
        "open": ("What stays open", _open(release, findings)),
        "again": ("Reproduce", _again(release)),
    }
    here = files("shoal.report")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        style=(here / "page.css").read_text(encoding="utf-8"),
        title=f"{_counted(release.records, 'record')} released",
        lead=_lead(release),
        nav="".join(f'<a href="#{anchor}">{name}</a>' for anchor, (name, _) in sections.items()),
        tiles=_tiles(release, findings),
        sections="\n".join(f'<section id="{anchor}">{body}</section>' for anchor, (_, body) in sections.items()),
        footer=f"Made by shoal {shoal.__version__} on {dt.date.today():%d %B %Y}. Numbers of the released "
        "table are measured on what it shows, not on what the method meant to do.",
    )


# ---- the top


def _lead(release: Release) -> str:
    holds = all(verdict.holds for verdict in release.verdicts)
    verdict = "Every promise holds" if holds else "A promise does not hold"
    badge = _badge(verdict if release.verdicts else "Nothing was promised", bool(holds and release.verdicts))
    quasi, confidential = release.schema.quasi_identifiers, release.schema.confidential
    suppressed = f", {_counted(release.suppressed, 'record')} left out" if release.suppressed else ""
    return (
        f"{badge} {_counted(len(quasi), 'quasi-identifier')} masked, "
        f"{_counted(len(confidential), 'confidential attribute')} to protect{suppressed}."
    )


def _tiles(release: Release, findings: Findings) -> str:
    before, after = findings.before, findings.after
    one, other = before.classes, after.classes
    return "".join(
        (
            _tile(
                "Unique records",
                percent(before.reidentification_risk),
                percent(after.reidentification_risk),
                "Nobody else matches them in what an intruder may know: "
                f"{before.uniques:,} before, {after.uniques:,} after.",
            ),
            _tile(
                "Highest risk",
                percent(one.highest_risk),
                percent(other.highest_risk),
                "The chance that a guess at a person's record is right, for whoever is worst off.",
            ),
            _tile(
                "Average risk",
                percent(one.average_risk),
                percent(other.average_risk),
                "The same chance over all records: how many of them random guesses get right.",
            ),
            _tile(
                "Information loss",
                "",
                number(release.information_loss),
                "How far released values may lie from the original ones, in standard deviations. 0: no loss.",
            ),
        )
    )


def _tile(name: str, before: str, after: str, why: str) -> str:
    was = f"<s>{text(before)}</s> " if before else ""
    return f'<div class="tile"><h3>{name}</h3><p class="value">{was}{text(after)}</p><p>{text(why)}</p></div>'


# ---- what was promised


def _promises(release: Release) -> str:
    found = []
    for model, verdict in zip(release.promises, release.verdicts, strict=True):
        of = f" of {text(verdict.attribute)}" if verdict.attribute else ""
        badge = _badge("holds" if verdict.holds else "does not hold", verdict.holds)
        found.append(
            f'<div class="promise"><h3>{text(model.name)}{of}</h3>'
            f'<p class="levels">asked {text(words.asked(model))}, reached <b>{number(verdict.achieved)}</b> '
            f"{badge}</p><p>{text(words.promised(model), 1000)}</p></div>"
        )
    return (
        "<h2>What was promised, and whether it holds</h2><p>Each promise was judged on the finished table, "
        "class by class, by code that knows nothing of the method. A class is all records that show the same "
        "in every quasi-identifier.</p>" + ("".join(found) or "<p>The policy promises nothing.</p>")
    )


# ---- risk


def _risk(findings: Findings) -> str:
    return (
        "<h2>Risk before and after</h2><p>What an intruder could do who knows the quasi-identifiers of a "
        "person and looks for that person's record.</p>"
        + _table(("", BEFORE, AFTER, "what it means"), _risk_rows(findings))
        + _figures(_class_sizes(findings), _known(findings))
        + _disclosure(findings)
        + _measured("Linking released records to people", findings, "risk")
    )


def _risk_rows(findings: Findings) -> list[Row]:
    before, after = findings.before, findings.after
    one, other = before.classes, after.classes
    unproven = "" if after.uniques_proven else " Some count as unique because the search was cut short."
    return [
        ("Records", f"{before.records:,}", f"{after.records:,}", "Suppressed records are not released."),
        (
            "Unique records",
            f"{before.uniques:,}",
            f"{after.uniques:,}",
            "Nobody else has the same quasi-identifiers. Released: in the worst case, where true values may be "
            f"any that a record admits.{unproven}",
        ),
        (
            "Re-identification risk",
            percent(before.reidentification_risk),
            percent(after.reidentification_risk),
            f"Unique records among all: the most that can be found with certainty ({words.PAPER}, Eq. 1).",
        ),
        (
            "Highest risk",
            percent(one.highest_risk),
            percent(other.highest_risk),
            "A random guess in the smallest class is right this often.",
        ),
        (
            "Average risk",
            percent(one.average_risk),
            percent(other.average_risk),
            "A random guess in everybody's class is right this often: classes / records.",
        ),
        (
            "Smallest class",
            f"{one.smallest_class:,}",
            f"{other.smallest_class:,}",
            "The fewest records that show the same.",
        ),
        ("Classes", f"{one.classes:,}", f"{other.classes:,}", "Groups of records that show the same."),
        *(
            (
                f"Records at risk above {limit:.0%}",
                f"{records:,}",
                f"{after.records_at_risk[limit]:,}",
                f"A random guess is right more often than that: classes of fewer than {_least(limit)}.",
            )
            for limit, records in before.records_at_risk.items()
        ),
    ]


def _least(risk: float) -> int:
    """The smallest class in which a random guess is right no more often than that."""
    return int(np.ceil(1 / risk - 1e-9))


def _class_sizes(findings: Findings) -> str:
    labels, (before, after) = by_class_size(*findings.sizes)
    return bars(
        "Records by the size of their class",
        labels,
        _pair(before, after),
        caption="The larger the class, the more records an intruder cannot tell apart.",
    )


def _known(findings: Findings) -> str:
    """Unique records for every union of the named groups of attributes."""
    before, after = findings.before.attributes_known, findings.after.attributes_known
    if not before:
        return ""
    groups = "; ".join(
        f"<b>{text(known.groups[0])}</b>: {text(', '.join(known.attributes), 1000)}"
        for known in before
        if len(known.groups) == 1
    )
    more = f" {len(before) - UNIONS:,} larger unions are not shown." if len(before) > UNIONS else ""
    return bars(
        "Unique records, if the intruder knows only…",
        [" + ".join(known.groups) for known in before[:UNIONS]],
        _pair(*([known.reidentification_risk for known in side[:UNIONS]] for side in (before, after))),
        caption=f"{groups}.{more}",
    )


def _disclosure(findings: Findings) -> str:
    if not findings.disclosed:
        return ""
    shown = list(findings.disclosed.items())[:DISCLOSED]
    hidden = len(findings.disclosed) - len(shown)
    more = f" {_counted(hidden, 'more attribute')} not shown." if hidden else ""
    return (
        "<h3>What would be learnt without finding the record</h3><p>Of all records with a confidential value, "
        f"the share that stands in a class where everybody has it ({words.PAPER}, Eq. 5). Whoever is known to be in "
        f"such a class is known to have the value.{more}</p>"
        + _figures(*(_disclosure_figure(name, table) for name, table in shown))
    )


def _disclosure_figure(name: str, table: pl.DataFrame) -> str:
    caption = (
        f"The most that is learnt of any value: {percent(_most(table['before']))} {BEFORE}, "
        f"{percent(_most(table['after']))} {AFTER}."
    )
    shown = table
    if table.height > DISCLOSED:
        shown = table.sort("exposed_after", "exposed_before", descending=True, maintain_order=True)
        shown = shown.head(DISCLOSED)
        caption += f" Shown are {DISCLOSED} of {table.height:,} values, those that expose most records."
    labels = [_value_only(condition, name) for condition in shown["condition"]]
    return bars(name, labels, _pair(shown["before"].to_numpy(), shown["after"].to_numpy()), caption=caption)


def _most(risks: pl.Series) -> float:
    return float(risks.max() or 0.0)  # type: ignore[arg-type]


def _value_only(condition: str, name: str) -> str:
    """`charge between 5.0 and 9.0` -> `5 to 9`, `diag_p = 'V30'` -> `V30`."""
    quoted = '"' + name.replace('"', '""') + '"'
    said = condition.removeprefix(name).removeprefix(quoted)
    if said.startswith(" between "):
        ends = re.sub(r"DATE |TIMESTAMP |TIME |'|\.0(?= |$)", "", said.removeprefix(" between "))
        return ends.replace(" and ", " to ", 1)
    return said.removeprefix(" = ").removeprefix("'").removesuffix("'").replace("''", "'")


# ---- what was lost


def _loss(release: Release, findings: Findings) -> str:
    quasi = release.original.quasi
    more = _not_drawn(len(quasi))
    figures = (
        _distribution(coded, release.masked.columns[coded.name], findings.precisions[coded.name])
        for coded in quasi[:ATTRIBUTES]
    )
    return (
        "<h2>What the data lost</h2><p>What an analyst can no longer see. Numbers are over the "
        "quasi-identifiers: all other released columns are as they were.</p>"
        + _table(("", AFTER, "what it means"), _loss_rows(release, findings))
        + _figures(_losses(findings), _exactness(findings))
        + "<h3>Each attribute, original against released</h3><p>Shares of records. A released interval or set "
        f"counts evenly for all values that it admits.{more}</p>" + _legend() + _figures(*figures)
        + _correlations(findings.correlations)
        + _measured("Original and released values compared", findings, "utility")
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


def _measured(title: str, findings: Findings, about: About) -> str:
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
    drawn = f" Measured on {SAMPLE:,} records drawn at random." if findings.after.records > SAMPLE else ""
    drawn += f" Only the first {MOST} attributes are compared." if len(findings.losses) > MOST else ""
    return (
        f"<h3>{title}</h3><p>The measures that <code>shoal compare</code> ranks methods by. A released range "
        f"counts by its midpoint.{drawn}</p>" + _table(("", AFTER, "what it means"), rows)
    )


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
        return bars(coded.name, found.labels, _pair(found.before, found.after), caption=caption)
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
        + _figures(
            heat_map("Original", names, tables.before[first, first]),
            heat_map("Released", names, tables.after[first, first]),
        )
    )


# ---- what was done


_ROLES = (
    (Role.IDENTIFIER, "Identifiers", "left out"),
    (Role.QUASI_IDENTIFIER, "Quasi-identifiers", "masked"),
    (Role.CONFIDENTIAL, "Confidential", "released as they are, unless quasi-identifiers too"),
    (Role.INSENSITIVE, "Insensitive", "released as they are"),
)


def _done(release: Release) -> str:
    schema, method = release.schema, release.policy.method
    parameters = ", ".join(f"{name} = {value}" for name, value in words.parameters(method).items())
    facts = {
        "Method": f"{text(words.done(method), 1000)} (<code>{text(method.name)}</code>"
        f"{text(f': {parameters}' if parameters else '', 1000)})",
        "Promises": text("; ".join(map(_named, release.promises)) or "none", 2000),
        "Records": f"{len(release.original):,} read, {release.records:,} released, "
        f"{release.suppressed:,} suppressed ({percent(release.policy.suppression)} allowed)",
    }
    for role, title, what in _ROLES:
        if schema.with_role(role):
            facts[title] = f"{_names(schema.with_role(role))} <small>({what})</small>"
    facts["Notes"] = "<br>".join(text(note, 2000) for note in release.notes) or "none"
    listed = "".join(f"<dt>{title}</dt><dd>{fact}</dd>" for title, fact in facts.items())
    return f"<h2>What was done</h2><dl>{listed}</dl>"


def _named(model: PrivacyModel) -> str:
    return f"{model.name}, {words.asked(model)}" + (f", of {model.attribute}" if model.attribute else "")


def _names(names: Sequence[str], most: int = 120) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(text(name, 80) for name in names[:most]) + more


# ---- what stays open


def _open(release: Release, findings: Findings) -> str:
    most = {name: _most(table["after"]) for name, table in findings.disclosed.items()}
    listed = "".join(
        f"<div><h3>{text(limit.title)}</h3><p>{text(limit.text, 2000)}</p></div>"
        for limit in words.limits(release, most)
    )
    return (
        "<h2>What stays open</h2><p>No promise says everything. These are the limits of the ones made here: "
        f'weigh them before you publish.</p><div class="limits">{listed}</div>'
    )


# ---- how to do it again


def _again(release: Release) -> str:
    policy = release.policy.to_toml()
    cut = " The policy is long: only its beginning is shown." if len(policy) > POLICY else ""
    lines = "\n".join(text(line, POLICY) for line in policy[:POLICY].splitlines())
    return (
        "<h2>How to reproduce it</h2><p>Save the policy as <code>shoal.toml</code> and run <code>shoal "
        "anonymize IN -o OUT --policy shoal.toml</code>. Anyone can check what was released: <code>shoal check "
        f"OUT --policy shoal.toml</code>.{cut}</p><pre>{lines}</pre>"
    )


# ---- parts of the page


Numbers = Sequence[float] | npt.NDArray[np.float64]


def _pair(before: Numbers, after: Numbers) -> list[Series]:
    return [Series("before", BEFORE, before), Series("after", AFTER, after)]


def _legend() -> str:
    return f'<p class="legend"><span class="key">{BEFORE}</span><span class="key after">{AFTER}</span></p>'


def _figures(*drawn: str) -> str:
    return f'<div class="figures">{"".join(drawn)}</div>'


def _badge(said: str, good: bool) -> str:
    return f'<span class="badge{"" if good else " no"}">{"✓" if good else "✗"} {said}</span>'


def _table(header: Row, rows: Iterable[Row]) -> str:
    """A measure a row: its name, its numbers, and what they mean."""
    css = {BEFORE: "key", AFTER: "key after"}
    head = "".join(
        f'<th class="num"><span class="{css[name]}">{name}</span></th>' if name in css else f"<th>{name}</th>"
        for name in header
    )
    body = "".join(
        f"<tr><td>{text(name)}</td>"
        + "".join(
            f'<td class="num {of}" data-of="{of}">{text(value)}</td>'
            for of, value in zip(header[1:], numbers, strict=False)
        )
        + f'<td class="why">{text(why, 500)}</td></tr>'
        for name, *numbers, why in rows
    )
    return f'<div class="card"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
