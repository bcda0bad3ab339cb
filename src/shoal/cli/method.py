"""`--method` and the options that belong to one method each."""

from __future__ import annotations

from typing import Any

from shoal.cli.options import split
from shoal.masking import METHODS as CATALOGUE

METHODS = tuple(CATALOGUE.words)
LISTED = f"{', '.join(METHODS[:-1])} or {METHODS[-1]}"
PANEL = "Promise and method"


def _taken_by(option: str) -> list[str]:
    """Which methods take an option; the first is meant where no method is named."""
    return [kind.name for kind in CATALOGUE if any(each.name == option for each in kind.parameters())]


def method_choice(name: str | None, *, k: int | None = None, **options: Any) -> dict[str, Any] | None:
    """The method as a policy names it, None where the options say nothing of it.

    `k` is what is promised, by which most methods go of themselves; individual ranking promises nothing, and is told.
    """
    from shoal.errors import InputError

    given = {option: value for option, value in options.items() if value not in (None, [], "") and value is not False}
    name = name or next((_taken_by(option)[0] for option in given), None)
    if name is None:
        return None
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}.{CATALOGUE.hint(name)}")
    for option in given:
        if name not in _taken_by(option):
            *others, last = _taken_by(option)
            taken = f"{', '.join(others)} and {last}" if others else last
            raise InputError(f"--{option} is for --method {taken}, not for {name}: leave one of them out.")
    if "resolution" in given:
        given["resolution"] = _by_column("resolution", given["resolution"])
    if "levels" in given:
        given["levels"] = _by_column("levels", given["levels"])
    if name == "individual-ranking" and k is not None:
        given["k"] = k
    return {"name": name, **given}


def _by_column(option: str, choices: list[str]) -> int | dict[str, int]:
    """`4` for all columns, or `age=4,zip=8`."""
    from shoal.errors import InputError

    found: dict[str, int] = {}
    for choice in split(choices):
        column, _, number = choice.rpartition("=")
        if not number.isdigit() or (option == "levels" and not column):
            form = "COLUMN=NUMBER" if option == "levels" else "a number of intervals, nor COLUMN=NUMBER"
            raise InputError(f"--{option} {choice!r} is not {form}: give it so.")
        found[column] = int(number)
    if "" in found and len(found) > 1:
        raise InputError(f"--{option} gives a number for all columns and one for a column: choose one way.")
    return found.get("", found)
