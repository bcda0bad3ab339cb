"""Roles: what each column is to whoever may look for somebody. Suggested with reasons, decided by the custodian."""

from __future__ import annotations

import tomllib
from typing import Any

from shoal.errors import InputError
from shoal.web.edits import Content, edited
from shoal.web.screens.screen import Form, Screen, since
from shoal.web.visit import ROLES, Go, Visit, text_of

BOTH = "both"  # may be known and must not be learnt
WORDS = {
    "identifiers": "identifies",
    "quasi_identifiers": "may be known",
    "confidential": "must not be learnt",
    BOTH: "both",
    "insensitive": "harmless",
    "": "left out",
}
OF_PROFILE = {
    "identifier": "identifiers",
    "quasi_identifier": "quasi_identifiers",
    "confidential": "confidential",
    "insensitive": "insensitive",
}
AS_ROLES = {BOTH: {"quasi_identifiers", "confidential"}, "": set[str]()}


async def show(visit: Visit) -> dict[str, Any]:
    """The columns with their roles, chosen or suggested."""
    profile = await visit.profile()
    suggested = {each["name"]: OF_PROFILE.get(each["role"] or "", "") for each in profile["attributes"]}
    chosen = _chosen(visit) if visit.has_roles else {name: {role} - {""} for name, role in suggested.items()}
    columns = [
        {
            "name": each["name"],
            "role": _first(chosen.get(each["name"], set())),
            "suggested": suggested[each["name"]],
            "reason": each["reason"],
            "examples": each["examples"],
        }
        for each in profile["attributes"]
    ]
    unknown = [name for name in chosen if name not in suggested]
    return {"columns": columns, "words": WORDS, "decided": visit.has_roles, "unknown": unknown}


def _chosen(visit: Visit) -> dict[str, set[str]]:
    chosen: dict[str, set[str]] = {}
    for role in ROLES:
        for name in visit.policy.names(role):
            chosen.setdefault(name, set()).add(role)
    return chosen


def _first(roles: set[str]) -> str:
    if roles >= AS_ROLES[BOTH]:
        return BOTH
    return next((role for role in ("quasi_identifiers", *ROLES) if role in roles), "")


async def _base(visit: Visit) -> tuple[str, Content]:
    """The text to go on from, and what it says: as long as nobody decided, that is what the table suggests."""
    if visit.has_roles:
        return visit.policy.text, dict(visit.policy.content)
    profile = await visit.profile()
    own = visit.policy.content
    wanted: Content = tomllib.loads(profile["policy"])
    described = wanted.get("attributes", {})
    for name, choice in own.get("attributes", {}).items():
        described[name] = {**described.get(name, {}), **choice}
    wanted = {**wanted, **own, **({"attributes": described} if described else {})}
    return (visit.policy.text if "#" in visit.policy.text else profile["policy"]), wanted


async def take(visit: Visit, form: Form) -> Go | None:
    """Takes all that is suggested."""
    visit.project.prepared(visit.policy.content, since(form))
    text, wanted = await _base(visit)
    await visit.save_text(edited(text, wanted))
    return None


async def role(visit: Visit, form: Form) -> Go | None:
    """Gives a column a role, or leaves it out; what nobody decided yet stays as suggested."""
    name, chosen = text_of(form, "column"), text_of(form, "role")
    if chosen not in WORDS:
        raise InputError(f"A column {', '.join(WORDS.values())}: choose one.")
    visit.project.prepared(visit.policy.content, since(form))
    text, wanted = await _base(visit)
    for each in ROLES:
        mine = each in AS_ROLES.get(chosen, {chosen})
        names = [known for known in wanted.get(each, []) if known != name or mine]
        wanted[each] = [*names, name] if mine and name not in names else names
    described = {key: value for key, value in wanted.get("attributes", {}).items() if key != name or chosen}
    if described != wanted.get("attributes", {}):
        wanted["attributes"] = described
    await visit.save_text(edited(text, wanted))
    return None


def state(visit: Visit) -> str:
    """Done once somebody decided what may be known."""
    return "done" if visit.policy.names("quasi_identifiers") else "open"


SCREEN = Screen("roles", "Roles", show, state, {"take": take, "role": role})
