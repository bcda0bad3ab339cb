"""Check a release: somebody's file against its certificate, with nothing else at hand."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from shoal.errors import InputError
from shoal.web.project import RELEASES
from shoal.web.screens.screen import Form, Screen
from shoal.web.visit import Go, Visit
from shoal.web.workers import TaskError, answered


async def show(visit: Visit) -> dict[str, Any]:
    """The files that can be checked, and the verdict on those that were chosen."""
    tables, certificates = _files(visit)
    file, certificate = visit.query.get("file", ""), visit.query.get("certificate", "")
    checked, refused = None, None
    if file:
        try:
            checked = await _checked(visit, file, certificate)
        except TaskError as error:
            refused = str(error)
    return {
        "tables": tables,
        "certificates": certificates,
        "file": file or next((name for name in tables if name.startswith(RELEASES)), ""),
        "certificate": certificate or next(iter(certificates), ""),
        "checked": checked,
        "refused": refused,
    }


def _files(visit: Visit) -> tuple[list[str], list[str]]:
    """Tables and certificates of the folder, those of releases first."""
    released = [file["name"] for folder in visit.project.releases() for file in folder["files"]]
    here = [each["name"] for each in visit.project.tables()]
    papers = [path.name for path in sorted(visit.project.folder.glob("*.json")) if path.is_file()]
    tables = [name for name in released if not name.endswith((".json", ".html", ".toml", "command.txt"))]
    return [*tables, *here], [*(name for name in released if name.endswith(".json")), *papers]


async def _checked(visit: Visit, file: str, certificate: str) -> dict[str, Any]:
    paths = [visit.project.file(name) for name in (file, certificate) if name]
    stamp = "".join(f"{path.stat().st_mtime_ns}-{path.stat().st_size} " for path in paths)
    current, asked = visit.desk.maker.current, {"file": file, "certificate": certificate, "stamp": stamp}
    if current is not None and current.name == "result" and visit.desk.maker.known("check", **asked) is None:
        await visit.desk.maker.stop()
    answer: dict[str, Any] = await answered(visit.desk.maker.ask("check", **asked))
    return answer


async def check(visit: Visit, form: Form) -> Go | None:
    """Goes to the verdict on a file."""
    file, certificate = form.get("file"), form.get("certificate", "")
    if not file:
        raise InputError("No file is chosen: choose a released table.")
    for name in (file, *([certificate] if certificate else [])):
        visit.project.file(name)
    return Go("/check?" + urlencode({"file": file, "certificate": certificate}))


def state(visit: Visit) -> str:
    """It is no step of the way."""
    return "open"


SCREEN = Screen("check", "Check a release", show, state, {"check": check}, step=False)
