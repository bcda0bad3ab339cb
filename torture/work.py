"""What one process of the torture does: a piece of work at a time, each with a Shoal of its own beside it.

Every piece follows from a number, so that what was found can be found again.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Thread

from torture.attacks import all_tables, guessed, intersection
from torture.cases import Case, draw_case, draw_people_case
from torture.collisions import confused
from torture.exports import run_export
from torture.fuzz import make_files, run_one, run_words
from torture.kills import kill_some, write_at_once
from torture.process import Answer, Shoal
from torture.purchases import run_purchases
from torture.splits import run_split
from torture.verdicts import CATCH_ALL, run_case


@dataclass
class Found:
    """What came of a piece of work, to be added to what is known."""

    done: Counter[str] = field(default_factory=Counter)
    cases: Counter[str] = field(default_factory=Counter)  # "method hilbert released", "engine disk refused", ...
    refusals: Counter[str] = field(default_factory=Counter)
    guesses: Counter[str] = field(default_factory=Counter)  # "minimality right", ...
    wrong: list[dict[str, str]] = field(default_factory=list)

    def note(self, what: str, sort: str, wrong: str | None) -> None:
        self.done[what] += 1
        if wrong is not None:
            self.wrong.append({"sort": sort, "said": wrong})


@cache
def _shoal(place: Path) -> Shoal:
    return Shoal(place / "temporary")


@cache
def _good(place: Path) -> Path:
    """A folder of good files, to be spoilt."""
    make_files(_emptied(place / "good"), _shoal(place))
    return place / "good"


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@cache
def _end_with(parent: int) -> None:
    """A process whose parent was killed ends as well."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def work(piece: str, first: int, count: int, engines: tuple[str, ...], place: Path) -> Found:
    """`count` pieces of that name, from the number `first` on."""
    _end_with(os.getppid())
    found = Found()
    for number in range(first, first + count):
        PIECES[piece](found, number, engines, place)
    return found


def _on_spark(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    _case(found, seed, ("spark",), place)


def _case(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    _run_case(found, "cases", draw_case(seed, engines), place)


def _people(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    _run_case(found, "tables of people", draw_people_case(seed, engines), place)


def _run_case(found: Found, what: str, case: Case, place: Path) -> None:
    try:
        outcome = run_case(case, _shoal(place), place / "case")
    except Exception as error:  # what the judge cannot read is wrong as well
        found.note(what, "other", f"{case.name}: the judge fails: {type(error).__name__}: {error}")
        return
    found.note(what, outcome.sort, outcome.wrong and f"{case.name}: {outcome.wrong}")
    counted = [
        f"method {case.method}", f"input {case.source}", f"output {case.target or 'a folder'}",
        f"engine {case.engine}", f"table {case.table.shape}", *(f"model {model}" for model in case.models()),
    ]  # fmt: skip
    found.cases.update(f"{what} {outcome.what}" for what in counted)
    if outcome.what == "refused":
        found.refusals[f"{case.method}: {outcome.said}"] += 1


def _spoilt(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    what, answer = run_one(seed, _good(place), place / "spoilt", _shoal(place))
    found.note("spoilt files", "catch-all", _no_answer(f"spoilt {seed}: {what}", answer))


def _words(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    what, answer = run_words(seed, _good(place), place / "words", _shoal(place))
    found.note("odd commands", "catch-all", _no_answer(f"words {seed}: {what[:400]}", answer))


def _no_answer(what: str, answer: Answer) -> str | None:
    silent = answer.code != 0 and not (answer.err.strip() or answer.out.strip())
    if silent or answer.code not in (0, 1, 2) or any(said in answer.err for said in CATCH_ALL):
        return f"{what}: exit code {answer.code}: {answer.err.strip()[-300:]}"
    return None


def _histories(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    what, wrong = run_purchases(seed, _shoal(place), _emptied(place / "purchases"))
    found.note(f"purchase histories {what}", "broken promise", wrong and f"purchases {seed}: {wrong}")


def _export(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    what, wrong = run_export(seed, _shoal(place), _emptied(place / "export"))
    found.note(
        f"exports with dates, amounts and remarks, {what}", "broken promise", wrong and f"exports {seed}: {wrong}"
    )


def _split(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    what, wrong = run_split(seed, _shoal(place), _emptied(place / "split"))
    found.note(f"tables split by confidential columns, {what}", "broken promise", wrong and f"splits {seed}: {wrong}")


def _ledger(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    wrong = intersection(seed, _shoal(place), _emptied(place / "ledger"))
    found.note("ledgers, three nights each", "broken promise", wrong and f"ledger {seed}: {wrong}")


def _guesses(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    folder = _emptied(place / "attack")
    for each in (*guessed(seed, _shoal(place), folder), *all_tables(seed, _shoal(place), folder)):
        found.done[f"releases attacked by {each['attack']}"] += 1
        by_frequency = each["guessed"] * each["baseline"]
        for what, count in (("guessed", each["guessed"]), ("right", each["right"]), ("by frequency", by_frequency)):
            found.guesses[f"{each['attack']} {what}"] += count


def _collision(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    wrong = confused(seed, _shoal(place), _emptied(place / "collision"))
    found.note("files of values that collide", "broken promise", wrong and f"collision {seed}: {wrong}")


def _kills(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    engine = "spark" if seed % 20 == 19 and shutil.which("java") else ("memory", "disk")[seed % 2]
    kills, wrong = kill_some(seed, place / "kill", engine)
    found.done[f"kills, {engine}"] += kills
    if wrong is not None:
        found.wrong.append({"sort": "leak", "said": f"kills {seed}, {engine}: {wrong}"})


def _writers(found: Found, seed: int, engines: tuple[str, ...], place: Path) -> None:
    engine = ("memory", "disk")[seed % 2]
    wrong = write_at_once(seed, place / "writers", engine)
    found.note(f"two writers at once, {engine}", "broken promise", wrong and f"writers {seed}: {wrong}")


PIECES = {
    "cases": _case,
    "spark": _on_spark,
    "people": _people,
    "exports": _export,
    "spoilt": _spoilt,
    "words": _words,
    "purchases": _histories,
    "splits": _split,
    "collisions": _collision,
    "ledgers": _ledger,
    "attacks": _guesses,
    "kills": _kills,
    "writers": _writers,
}
