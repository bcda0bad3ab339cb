"""Open: which table of the folder is to be released, and how it is read."""

from __future__ import annotations

from typing import Any

from shoal.errors import InputError
from shoal.web.edits import Content
from shoal.web.screens.screen import Form, Screen, since
from shoal.web.visit import Go, Visit, text_of

READ = {
    "delimiter": ("", "comma", ";", "tab", "|", "space"),
    "decimal": ("", ".", ","),
    "encoding": ("", "utf-8", "cp1252", "latin-1", "utf-16"),
}
DEMO = "discharges.csv"


async def show(visit: Visit) -> dict[str, Any]:
    """The tables of the folder, and the first records of the one that is chosen."""
    chosen = visit.policy.source
    context: dict[str, Any] = {
        "folder": visit.project.folder.name,
        "tables": [{**each, "chosen": each["name"] == chosen} for each in visit.project.tables()],
        "chosen": chosen,
        "look": None,
        "wrong": None,
        "choices": READ,
        "stated": visit.policy.table("read"),
    }
    if chosen is not None:
        try:
            context["look"] = await visit.look()
        except InputError as error:  # it is not there any more
            context["wrong"] = str(error)
    return context


async def choose(visit: Visit, form: Form) -> Go | None:
    """Makes a table the project's; what was said of another one is put aside, and comes back by undo."""
    name = visit.project.file(form.get("name"))
    source = str(name.relative_to(visit.project.folder))
    await visit.save(since(form), lambda content: _with_source(content, source))
    return None


def _with_source(content: Content, source: str) -> None:
    former = content.get("project", {}).get("source")
    if former not in (None, source):
        for key in [key for key in content if key != "project"]:
            del content[key]
    content["project"] = {**content.get("project", {}), "source": source}


async def demo(visit: Visit, form: Form) -> Go | None:
    """Begins with the demo's table, which is made in the folder unless it is there."""
    visit.desk.maker.forget("demo")
    visit.desk.maker.ask("demo")
    await visit.save(since(form), lambda content: _with_source(content, DEMO))
    return Go("/understand")


async def read(visit: Visit, form: Form) -> Go | None:
    """States how the file is read, where it is not as it seems."""

    def change(content: Content) -> None:
        stated = {key: text_of(form, key) for key in READ}
        kept = {key: value for key, value in content.get("read", {}).items() if key not in READ}
        content["read"] = kept | {key: value for key, value in stated.items() if value}
        if not content["read"]:
            del content["read"]

    await visit.save(since(form), change)
    return None


def state(visit: Visit) -> str:
    """Done once a table is chosen."""
    return "done" if visit.policy.source else "open"


SCREEN = Screen("open", "Open", show, state, {"choose": choose, "demo": demo, "read": read})
