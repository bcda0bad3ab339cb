"""Method: how the promise is brought about. The usual one is chosen already."""

from __future__ import annotations

from typing import Any

from shoal.web.screens.screen import Form, Screen, since
from shoal.web.visit import Go, Visit, text_of
from shoal.web.workers import answered

USUAL = "hilbert"


async def show(visit: Visit) -> dict[str, Any]:
    """Every method with when to choose it: those that make records alike, then those that change values."""
    listed = (await answered(visit.desk.reader.ask("catalogue")))["methods"]
    chosen = visit.policy.table("method").get("name", USUAL)
    methods = [
        {
            **{key: each[key] for key in ("name", "sentence", "choose")},
            "chosen": each["name"] == chosen,
            "alike": "k-anonymity" in each["can_promise"],
        }
        for each in listed
    ]
    return {
        "chosen": chosen,
        "usual": USUAL,
        "alike": [each for each in methods if each["alike"]],
        "changing": [each for each in methods if not each["alike"]],
        "own": chosen not in {each["name"] for each in methods},
    }


async def choose(visit: Visit, form: Form) -> Go | None:
    """Chooses a method, with its usual parameters; those of the present one stay."""
    name = text_of(form, "name")
    present = visit.policy.table("method")
    method = present if present.get("name", USUAL) == name else {"name": name}
    await visit.save(since(form), lambda content: content.update(method=method or {"name": name}))
    return None


def state(visit: Visit) -> str:
    """Done with the roles: there is a usual method."""
    return "done" if visit.policy.names("quasi_identifiers") else "open"


SCREEN = Screen("method", "Method", show, state, {"choose": choose})
