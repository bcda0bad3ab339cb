"""Understand: what each column is, whose the records are, and what singles people out."""

from __future__ import annotations

from typing import Any

from shoal.errors import InputError
from shoal.web.edits import Content
from shoal.web.screens.screen import Form, Screen, since
from shoal.web.visit import Go, Visit, text_of
from shoal.web.workers import answered

KINDS = {
    "numeric": "number",
    "nominal": "code or word",
    "ordinal": "in an order",
    "date": "date",
    "text": "free text",
}
SAID = 3  # columns that an intruder is said to know at first


async def show(visit: Visit) -> dict[str, Any]:
    """The columns, and how many people somebody who knows some of them singles out."""
    profile = await visit.profile()
    stated = visit.policy.table("attributes")
    columns = [
        {
            **{key: each[key] for key in ("name", "missing", "distinct", "unique_share", "examples", "doubtful")},
            "kind": stated.get(each["name"], {}).get("kind", each["kind"]),
            "looks": each["kind_reason"],
        }
        for each in profile["attributes"]
    ]
    names = [each["name"] for each in columns]
    asked = visit.query.get("know")
    known = _suggested(profile) if asked is None else [name for name in asked.split("\n") if name in names]
    singled = await answered(visit.desk.reader.ask("singled", **visit.table(), columns=known))
    return {
        "records": profile["records"],
        "columns": columns,
        "kinds": KINDS,
        "known": known,
        "chips": [
            {"name": name, "on": name in known, "then": "\n".join(_toggled(known, name))}
            for name in [*known, *(name for name in names if name not in known)][:24]
        ],
        "singled": singled,
        "people": visit.policy.content.get("person", ""),
        "notes": profile["notes"],
    }


def _suggested(profile: dict[str, Any]) -> list[str]:
    """The few columns that single out most."""
    sets = [each["attributes"] for each in (*profile["leading_sets"], *profile["identifying_sets"])]
    fitting = [names for names in sets if len(names) <= SAID]
    return list(max(fitting, key=len, default=()))


def _toggled(known: list[str], name: str) -> list[str]:
    return [each for each in known if each != name] if name in known else [*known, name]


async def kind(visit: Visit, form: Form) -> Go | None:
    """States what a column is."""
    name, chosen = text_of(form, "column"), text_of(form, "kind")
    if chosen not in KINDS:
        raise InputError(f"A column is one of {', '.join(KINDS)}.")

    def change(content: Content) -> None:
        attributes = content.setdefault("attributes", {})
        attributes[name] = {**attributes.get(name, {}), "kind": chosen}

    await visit.save(since(form), change)
    return None


async def person(visit: Visit, form: Form) -> Go | None:
    """Says which column tells people apart; none where each record is a person."""
    name = text_of(form, "column")

    def change(content: Content) -> None:
        content.pop("person", None)
        if name:
            content["person"] = name

    await visit.save(since(form), change)
    return None


def state(visit: Visit) -> str:
    """Done once the table was looked at."""
    return "done" if visit.policy.source and visit.has_roles else "open"


SCREEN = Screen("understand", "Understand", show, state, {"kind": kind, "person": person})
