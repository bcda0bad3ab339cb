"""The report's section on what was done, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from shoal.data.schema import Role
from shoal.privacy.model import PrivacyModel
from shoal.report import words
from shoal.report.fact import Fact
from shoal.report.findings import ATTRIBUTES, Findings
from shoal.report.reported import Reported
from shoal.show.markup import cut
from shoal.show.numbers import percent

NAMES = 120  # of columns in one role that are listed

_ROLES = (
    (Role.IDENTIFIER, "Say who it is", "identifiers: left out"),
    (Role.PSEUDONYM, "Pseudonyms", "shown by keyed pseudonyms in place of the values"),
    (Role.QUASI_IDENTIFIER, "An intruder may know", "quasi-identifiers: masked"),
    (
        Role.CONFIDENTIAL,
        "Must not be learnt",
        "confidential: released as they are, unless an intruder may know them too",
    ),
    (Role.INSENSITIVE, "Harmless", "insensitive: released as they are"),
)


@dataclass(frozen=True)
class InRole:
    """The columns in one role, and what became of them."""

    title: str
    names: str
    what: str


@dataclass(frozen=True)
class Done:
    """What was done to the table, fact by fact."""

    method: str
    name: str
    parameters: str
    promises: str
    records: str
    roles: list[InRole]
    notes: tuple[str, ...]
    shown: list[Fact]  # attribute by attribute, what stands in most of its cells
    not_listed: str

    @classmethod
    def of(cls, release: Reported, findings: Findings) -> Self:
        """Gathered from a release and what was measured of it."""
        schema, method, masked, label = release.schema, release.policy.method, release.masked, release.policy.label
        quasi, levels = schema.quasi_identifiers, masked.facts.get("levels", {})
        parameters = ", ".join(f"{name} = {value}" for name, value in words.parameters(method).items())
        return cls(
            method.done,
            method.name,
            f": {parameters}" if parameters else "",
            "; ".join(_named(model, label) for model in release.promises) or "none",
            f"{release.read:,} read, {release.records:,} released, "
            f"{release.suppressed:,} left out ({percent(release.policy.suppression)} allowed)"
            + "".join(
                f"; {each.read:,} {each.who} read, {each.shown:,} released, {each.withheld:,} withheld"
                for each in release.owners
            ),
            [
                InRole(title, _names(names, label), what)
                for role, title, what in _ROLES
                if (names := schema.with_role(role))
            ],
            release.notes,
            [
                Fact(label(name), (), words.shown(findings.columns[name], findings.precisions[name], levels.get(name)))
                for name in quasi[:ATTRIBUTES]
            ],
            f" The first {ATTRIBUTES} of {len(quasi):,} are listed." if len(quasi) > ATTRIBUTES else "",
        )


def _named(model: PrivacyModel, label: Callable[[str], str]) -> str:
    return f"{model.name}, {model.asked_in_words}" + (f", of {label(model.attribute)}" if model.attribute else "")


def _names(names: Sequence[str], label: Callable[[str], str]) -> str:
    more = f" and {len(names) - NAMES:,} more" if len(names) > NAMES else ""
    return (
        ", ".join(cut(name if label(name) == name else f"{label(name)} ({name})", 80) for name in names[:NAMES]) + more
    )
