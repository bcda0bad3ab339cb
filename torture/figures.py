"""What the torture has found, as tables: for whoever watches it, and for the documents."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from pathlib import Path

from torture.state import State
from torture.verdicts import SORTS

BEGIN, END = "<!-- figures of the torture -->", "<!-- end of the figures -->"
_TITLES = tuple((group, f"tables by {group}") for group in ("engine", "method", "model", "input", "output"))
_GROUPS = ("method", "model", "engine", "input", "output", "table")


def told(state: State) -> str:
    """Everything."""
    lines = ["", *(f"{count:8,}  {what}" for what, count in sorted(state.done.items()))]
    for group in _GROUPS:
        lines += ["", f"{group:28} released  refused"]
        lines += [f"{name:28} {ok:8,} {no:8,}" for name, ok, no in _by(state.cases, group)]
    lines += ["", "Refusals, by their sentences:"]
    lines += [f"{count:8,}  {said}" for said, count in state.refusals.most_common(40)]
    lines += ["", "Values named, beyond what class frequencies leave open:"]
    lines += [
        f"{guessed:8,.0f} by {name}, {right:,.0f} right, {expected:,.0f} by frequency"
        for name, guessed, right, expected in _guesses(state.guesses)
    ]
    lines += ["", *(f"WRONG  {one['sort']}: {one['said']}" for one in state.wrong)]
    lines += [f"{count:8,}  {sort}" for sort, count in _wrong(state)]
    lines += ["", f"{state.minutes:.0f} minutes in all. The next run goes on from {state.seeds()}."]
    return "\n".join(lines)


def table_of(state: State) -> str:
    """For a document: what was done, and what was wrong."""
    kills = sum(count for what, count in state.done.items() if what.startswith("kills"))
    released = sum(ok for _, ok, _ in _by(state.cases, "engine"))
    refused = sum(no for _, _, no in _by(state.cases, "engine"))
    rows = [("minutes", f"{state.minutes:.0f}"), ("tables", f"{state.done['cases']:,}")]
    rows += [("of these released, refused", f"{released:,}, {refused:,}")]
    for group, title in _TITLES:
        rows += [(title, ", ".join(f"{name} {ok + no:,}" for name, ok, no in _by(state.cases, group)))]
    rows += [
        (what, f"{count:,}")
        for what, count in sorted(state.done.items())
        if what not in ("cases",) and not what.startswith("kills")
    ]
    rows += [("kills", f"{kills:,}")]
    rows += [
        (f"values named by {name}", f"{guessed:,.0f}, right {right:,.0f}, by class frequencies {expected:,.0f}")
        for name, guessed, right, expected in _guesses(state.guesses)
    ]
    rows += [(f"**{_plural(sort)}**", f"**{count:,}**") for sort, count in _wrong(state)]
    return "\n".join(["| what | figure |", "|---|---|", *(f"| {what} | {figure} |" for what, figure in rows)])


def into_document(state: State, path: str) -> str:
    """Puts the table between the two marks of a document."""
    text = Path(path).read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    Path(path).write_text(f"{before}{BEGIN}\n\n{table_of(state)}\n\n{END}{after}", encoding="utf-8")
    return f"Written into {path}."


def names_more(guesses: Counter[str]) -> bool:
    """Does who knows the method name more by minimality than frequencies give, beyond what chance explains?

    Guesses about one class stand or fall together: they count as one in ten.
    """
    for name, guessed, right, expected in _guesses(guesses):
        share = expected / max(guessed, 1)
        if "finetti" not in name and right > expected + 3 * sqrt(10 * guessed * share * (1 - share)):
            return True
    return False


def _by(cases: Counter[str], group: str) -> list[tuple[str, int, int]]:
    """Name, released and refused."""
    names = sorted(
        {what.removeprefix(f"{group} ").rpartition(" ")[0] for what in cases if what.startswith(f"{group} ")}
    )
    return [(name, cases[f"{group} {name} released"], cases[f"{group} {name} refused"]) for name in names]


def _guesses(guesses: Counter[str]) -> list[tuple[str, float, float, float]]:
    names = sorted({what.removesuffix(" guessed") for what in guesses if what.endswith(" guessed")})
    return [(n, guesses[f"{n} guessed"], guesses[f"{n} right"], guesses[f"{n} by frequency"]) for n in names]


def _wrong(state: State) -> list[tuple[str, int]]:
    return [(sort, sum(one["sort"] == sort for one in state.wrong)) for sort in SORTS]


def _plural(sort: str) -> str:
    return {"other": "anything else wrong"}.get(sort, f"{sort}s")
