"""Promise: what shall hold of every record, whoever looks, in numbers of this very file."""

from __future__ import annotations

from typing import Any

from shoal.errors import InputError
from shoal.web.edits import Content
from shoal.web.screens.screen import Form, Screen, since
from shoal.web.visit import Go, Visit, number_of
from shoal.web.workers import answered

EDITED = ("k-anonymity", "l-diversity", "t-closeness")


async def show(visit: Visit) -> dict[str, Any]:
    """What is promised, and what that means beside the records as they are."""
    quasi, models = visit.policy.names("quasi_identifiers"), visit.models
    look = await visit.look()
    known = [name for name in quasi if name in {column["name"] for column in look["columns"]}]
    singled = await answered(visit.desk.reader.ask("singled", **visit.table(), columns=known))
    words = await answered(visit.desk.reader.ask("promises", text=visit.policy.text))
    by_name = {str(model.get("name")): model for model in reversed(models)}
    return {
        "k": by_name.get("k-anonymity", {}).get("k"),
        "l": by_name.get("l-diversity", {}).get("l"),
        "t": by_name.get("t-closeness", {}).get("t"),
        "suppression": visit.policy.content.get("suppression", 0.0),
        "others": [str(model.get("name")) for model in models if model.get("name") not in EDITED],
        "words": words["words"],
        "quasi": quasi,
        "confidential": visit.policy.names("confidential"),
        "people": visit.policy.content.get("person"),
        "singled": singled,
    }


async def promise(visit: Visit, form: Form) -> Go | None:
    """Sets what is promised; what this screen does not show stays."""
    wanted: list[Content] = []
    k = _whole(form, "k", "The number that look alike", 2)
    wanted.append({"name": "k-anonymity", "k": k})
    if form.get("l_on"):
        wanted.append({"name": "l-diversity", "l": _whole(form, "l", "The number of different values", 2)})
    if form.get("t_on"):
        wanted.append({"name": "t-closeness", "t": number_of(form, "t", "The distance")})
    share = number_of(form, "suppression", "The share that may be left out") / 100

    def change(content: Content) -> None:
        stated = {model["name"]: model for model in reversed(visit.models) if model.get("name") in EDITED}
        mine = [{**stated.get(model["name"], {}), **model} for model in wanted]
        content["models"] = [*mine, *(model for model in visit.models if model.get("name") not in EDITED)]
        content.pop("suppression", None)
        if share:
            content["suppression"] = round(share, 6)

    await visit.save(since(form), change)
    return None


def _whole(form: Form, key: str, words: str, least: int) -> int:
    number = number_of(form, key, words)
    if number != int(number) or number < least:
        raise InputError(f"{words} must be a whole number of at least {least}. Got {form.get(key)!r} instead.")
    return int(number)


def state(visit: Visit) -> str:
    """Done as soon as there is somebody to protect: the usual promise holds until another is made."""
    return "done" if visit.policy.names("quasi_identifiers") and visit.models else "open"


SCREEN = Screen("promise", "Promise", show, state, {"promise": promise})
