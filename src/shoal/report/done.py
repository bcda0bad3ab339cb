"""The report's section on what was done, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.data.schema import Role
from shoal.privacy.model import PrivacyModel
from shoal.report import words
from shoal.report.findings import Findings
from shoal.report.parts import ATTRIBUTES, explained
from shoal.report.plots import percent, text

if TYPE_CHECKING:
    from shoal.release import Release

_ROLES = (
    (Role.IDENTIFIER, "Identifiers", "left out"),
    (Role.QUASI_IDENTIFIER, "Quasi-identifiers", "masked"),
    (Role.CONFIDENTIAL, "Confidential", "released as they are, unless quasi-identifiers too"),
    (Role.INSENSITIVE, "Insensitive", "released as they are"),
)


def done_section(release: Release, findings: Findings) -> str:
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
    return f"<h2>What was done</h2><dl>{listed}</dl>{_shown(release, findings)}"


def _shown(release: Release, findings: Findings) -> str:
    """Attribute by attribute, how it is shown and what stands in most of its cells."""
    names = release.schema.quasi_identifiers
    levels = release.masked.facts.get("levels", {})
    rows = [
        (name, words.shown(release.masked.columns[name], findings.precisions[name], levels.get(name)))
        for name in names[:ATTRIBUTES]
    ]
    more = f" The first {ATTRIBUTES} of {len(names):,} are listed." if len(names) > ATTRIBUTES else ""
    return f"<h3>How each quasi-identifier is shown</h3><p>What stands in the released cells.{more}</p>" + explained(
        ("", "shown as"), rows
    )


def _named(model: PrivacyModel) -> str:
    return f"{model.name}, {words.asked(model)}" + (f", of {model.attribute}" if model.attribute else "")


def _names(names: Sequence[str], most: int = 120) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(text(name, 80) for name in names[:most]) + more
