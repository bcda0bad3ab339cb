"""Result: whether every promise holds, what the records look like now, what they lost, and what stays open."""

from __future__ import annotations

from typing import Any

from shoal.errors import InputError
from shoal.web.edits import Content
from shoal.web.screens.screen import Form, Screen, since
from shoal.web.visit import Go, Visit, text_of
from shoal.web.workers import TaskError, answered

VIEWS = {"order": "in their order", "smallest": "the smallest groups first", "random": "some at random"}
LEFT_OUT = 0.01


async def show(visit: Visit) -> dict[str, Any]:
    """The result of the policy as it stands, with a page of records; or why there is none, and what would help."""
    if not visit.policy.names("quasi_identifiers"):
        raise InputError("No column may be known yet: give the columns their roles first.")
    try:
        result = await visit.result()
    except TaskError as error:
        return {"result": None, "refused": {"kind": error.kind, "sentence": str(error)}, "remedies": remedies(visit)}
    view = visit.query.get("view", "order")
    start = visit.query.get("start", "0")
    page = await answered(
        visit.desk.reader.ask(
            "records",
            **visit.table(),
            key=result["key"],
            view=view if view in VIEWS else "order",
            start=int(start) if start.isdecimal() and len(start) < 12 else 0,
        )
    )
    return {"result": result, "page": page, "view": view, "views": VIEWS, "refused": None}


def remedies(visit: Visit) -> list[dict[str, str]]:
    """What the custodian can do where a promise does not hold."""
    share, models = visit.policy.content.get("suppression", 0.0), visit.models
    left_out = max(LEFT_OUT, round(2 * share, 4)) if isinstance(share, int | float) else LEFT_OUT
    less = [str(model["name"]) for model in models if model.get("name") != "k-anonymity"]
    known = visit.policy.names("quasi_identifiers")
    smaller = f"Promise no {less[-1]}" if less else f"Promise groups of {max(2, _k(models) // 2)}"
    listed = [
        {"word": "leave-out", "label": f"Let up to {min(left_out, 1.0):.0%} of the records be left out"},
        {"word": "promise-less", "label": smaller},
    ]
    if len(known) > 1:
        listed.append({"word": "drop-column", "label": f"Leave out the column {known[-1]}"})
    return listed


def _k(models: list[Content]) -> int:
    return next((int(model["k"]) for model in models if model.get("name") == "k-anonymity"), 2)


async def remedy(visit: Visit, form: Form) -> Go | None:
    """Carries out one of them, as a change of the policy that can be undone."""
    word = text_of(form, "word")
    if word not in {each["word"] for each in remedies(visit)}:
        raise InputError("This is no remedy: choose one of those shown.")
    known = visit.policy.names("quasi_identifiers")

    def change(content: Content) -> None:
        if word == "leave-out":
            content["suppression"] = min(1.0, max(LEFT_OUT, round(2 * content.get("suppression", 0.0), 4)))
        elif word == "drop-column":
            content["quasi_identifiers"] = known[:-1]
        else:
            models = visit.models
            last = next((at for at in reversed(range(len(models))) if models[at].get("name") != "k-anonymity"), None)
            if last is None:
                models = [{**model, "k": max(2, int(model["k"]) // 2)} for model in models]
            else:
                del models[last]
            content["models"] = models

    await visit.save(since(form), change)
    return None


async def again(visit: Visit, form: Form) -> Go | None:
    """Tries once more what was stopped or failed."""
    visit.desk.maker.forget("result")
    return None


def state(visit: Visit) -> str:
    """Done once it was made, wrong where a promise does not hold."""
    task = visit.result_task()
    if task is None or not task.answer.done():
        return "open"
    return "wrong" if task.answer.cancelled() or task.answer.exception() else "done"


SCREEN = Screen("result", "Result", show, state, {"remedy": remedy, "again": again})
