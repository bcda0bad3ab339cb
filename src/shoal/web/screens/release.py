"""Release: four questions that only a person can answer; then the files are written, judged and checked."""

from __future__ import annotations

import tomllib
from typing import Any

from shoal.errors import InputError
from shoal.web.edits import Content
from shoal.web.project import RELEASES
from shoal.web.screens.screen import Form, Screen, since
from shoal.web.visit import Go, Visit, text_of
from shoal.web.workers import TaskError, answered

QUESTIONS = {
    "recipient": ("Who receives it?", "such as: the university's readers, under contract"),
    "other_releases": ("What else was or will be released of these people?", "such as: none; the yearly table"),
    "known": ("Who may know what of them already?", "such as: neighbours know age, ZIP code and the month"),
    "decided_by": ("Who decides that it is released?", "your name, or that of whoever answers for it"),
}
MORE = {
    "title": ("What the table is", "such as: Discharges of 2025"),
    "period": ("The time it is of", "such as: the year 2025"),
    "purpose": ("What it is for", "such as: a study of waiting times"),
}
LONGEST = 500


async def show(visit: Visit) -> dict[str, Any]:
    """The questions with what was answered, the release just made, and those made before."""
    task = visit.desk.releasing
    latest, refused = None, None
    if task is not None:
        try:
            latest = await answered(task)
        except TaskError as error:
            refused = {"kind": error.kind, "sentence": str(error)}
    project = visit.policy.table("project")
    result = visit.result_task()
    finished = result is not None and result.answer.done() and result.answer.exception() is None
    return {
        "questions": {key: {"ask": ask, "hint": hint} for key, (ask, hint) in QUESTIONS.items()},
        "more": {key: {"ask": ask, "hint": hint} for key, (ask, hint) in MORE.items()},
        "answers": {key: str(project.get(key, "")) for key in (*QUESTIONS, *MORE)},
        "latest": latest,
        "refused": refused,
        "judged": finished and result is not None and bool(result.answer.result()["holds"]),
        "earlier": [{**each, "sha256": _digests(visit, each["name"])} for each in visit.project.releases()],
    }


def _digests(visit: Visit, name: str) -> dict[str, str]:
    """The digests that were taken down when a release was made."""
    try:
        path = visit.project.folder / RELEASES / name / "answers.toml"
        stated = tomllib.loads(path.read_text(encoding="utf-8")).get("sha256", {})
    except (OSError, ValueError):
        return {}
    return {str(file): str(digest) for file, digest in stated.items()} if isinstance(stated, dict) else {}


async def answers(visit: Visit, form: Form) -> Go | None:
    """Takes down what was answered."""

    def change(content: Content) -> None:
        project = content.setdefault("project", {})
        for key in (*QUESTIONS, *MORE):
            if key in form:
                answer = text_of(form, key, LONGEST)
                project.pop(key, None)
                if answer:
                    project[key] = answer

    await visit.save(since(form), change)
    return None


async def release(visit: Visit, form: Form) -> Go | None:
    """Has the release made, once the four questions are answered."""
    await answers(visit, form)
    project = visit.policy.table("project")
    for key, (ask, _) in QUESTIONS.items():
        if not project.get(key):
            raise AnswerError(key, f"Please answer: {ask}")
    current = visit.desk.maker.current
    if current is not None:
        if current.name == "release":
            raise InputError("A release is being made: wait for it, or cancel it.")
        await visit.desk.maker.stop()
    number = len(visit.project.releases())
    visit.desk.maker.forget("release")
    visit.desk.releasing = visit.desk.maker.ask("release", text=visit.policy.text, seed=visit.desk.seed, number=number)
    return None


class AnswerError(InputError):
    """A question is not answered."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where


def state(visit: Visit) -> str:
    """Done once there is a release."""
    return "done" if visit.project.releases() else "open"


SCREEN = Screen("release", "Release", show, state, {"answers": answers, "release": release})
