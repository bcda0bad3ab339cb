"""The custodian's report: one page that says what was promised, what it cost, and what stays open.

The page needs nothing beside itself: style and figures stand in it, and it asks no other machine for
anything. It shows statistics of the original data and says so first. However large the table, it stays small:
everything on it is a count, a share, or a figure of a few dozen marks.
"""

from __future__ import annotations

import datetime as dt
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import shoal
from shoal.report import words
from shoal.report.done import done_section
from shoal.report.findings import Findings, measure
from shoal.report.loss import loss_section
from shoal.report.parts import counted, mark
from shoal.report.plots import number, percent, text
from shoal.report.risk import risk_section

if TYPE_CHECKING:
    from shoal.privacy.model import Verdict
    from shoal.release import Release

POLICY = 200_000  # characters of the policy


def write_report(release: Release, path: str | Path, *, overwrite: bool = False) -> None:
    """Measures the release against the original and writes the page, whole or not at all."""
    from shoal.data.outputs import refuse_existing
    from shoal.data.paths import atomic_write

    refuse_existing(path, overwrite=overwrite)
    page = render(release)
    with atomic_write(path, private=True, overwrite=overwrite) as partial:
        Path(partial).write_text(page, encoding="utf-8")


def render(release: Release) -> str:
    """The page as HTML."""
    findings = measure(release)
    sections = {
        "promise": ("Promise", _promises(release)),
        "risk": ("Risk", risk_section(findings)),
        "loss": ("What was lost", loss_section(release, findings)),
        "done": ("What was done", done_section(release, findings)),
        "open": ("What stays open", _open(release, findings)),
        "again": ("Reproduce", _again(release)),
    }
    here = files("shoal.report")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        style=(here / "page.css").read_text(encoding="utf-8"),
        title=f"{counted(release.records, 'record')} released",
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
    badge = mark(verdict if release.verdicts else "Nothing was promised", bool(holds and release.verdicts))
    quasi, confidential = release.schema.quasi_identifiers, release.schema.confidential
    suppressed = f", {counted(release.suppressed, 'record')} left out" if release.suppressed else ""
    return (
        f"{badge} {counted(len(quasi), 'quasi-identifier')} masked, "
        f"{counted(len(confidential), 'confidential attribute')} to protect{suppressed}."
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
    value = f'<p class="value">{was}{text(after)}</p>'
    return f'<div class="tile"><p class="name">{name}</p>{value}<p>{text(why)}</p></div>'


# ---- what was promised


def _promises(release: Release) -> str:
    found = []
    for model, verdict in zip(release.promises, release.verdicts, strict=True):
        of = f" of {text(verdict.attribute)}" if verdict.attribute else ""
        badge = mark("holds" if verdict.holds else "does not hold", verdict.holds)
        found.append(
            f'<div class="promise"><h3>{text(model.name)}{of}</h3>'
            f'<p class="levels">asked {text(words.asked(model))}, reached <b>{number(verdict.achieved)}</b> '
            f"{badge}</p><p>{text(words.promised(model), 1000)}</p>{_noted(verdict)}</div>"
        )
    return (
        "<h2>What was promised, and whether it holds</h2><p>Each promise was judged on the finished table, "
        "class by class, by code that knows nothing of the method. A class is all records that show the same "
        "in every quasi-identifier.</p>" + ("".join(found) or "<p>The policy promises nothing.</p>")
    )


def _noted(verdict: Verdict) -> str:
    return f"<p>{text(verdict.note, 1000)}</p>" if verdict.note else ""


# ---- what stays open


def _open(release: Release, findings: Findings) -> str:
    listed = "".join(
        f"<div><h3>{text(limit.title)}</h3><p>{text(limit.text, 2000)}</p></div>"
        for limit in words.limits(release, findings.most_learnt)
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
        f'OUT --policy shoal.toml</code>.{cut}</p><pre tabindex="0">{lines}</pre>'
    )
