"""`--method` and the options that belong to one method each."""

from __future__ import annotations

from typing import Any

from shoal.cli.options import split

GROUPINGS = ("hilbert", "sorted", "stratified", "kd", "kd-median", "mdav", "mdav+")
PERTURBING = {  # word -> what a policy calls it
    "noise": "noise",
    "mnoise": "multiplicative-noise",
    "swap": "rank-swapping",
    "pram": "pram",
    "shuffle": "shuffling",
    "resample": "resampling",
    "microaggregate": "microaggregation",
}
METHODS = (*GROUPINGS, "recode", "cut-points", "coarsen", "safe-harbor", *PERTURBING)
LISTED = f"{', '.join(METHODS[:-1])} or {METHODS[-1]}"
PANEL = "Promise and method"

# Which methods take which option; the first is meant where no method is named.
_TAKEN_BY = {
    "resolution": ("coarsen",),
    "publish": GROUPINGS,
    "remainder": ("stratified",),
    "cost": ("recode",),
    "mean": ("recode",),
    "local": ("recode",),
    "levels": ("recode",),
    "seconds": ("recode", "cut-points"),
    "gamma": ("noise",),
    "s": ("mnoise",),
    "p": ("swap", "pram", "shuffle"),
    "whole": ("noise", "mnoise", "resample", "microaggregate"),
    "clamp": ("noise", "mnoise", "microaggregate"),
}


def method_choice(name: str | None, *, k: int | None = None, **options: Any) -> dict[str, Any] | None:
    """The method as a policy names it, None where the options say nothing of it.

    `k` is what is promised, by which most methods go of themselves; microaggregation promises nothing, and is told.
    """
    from shoal.errors import InputError, did_you_mean

    given = {option: value for option, value in options.items() if value not in (None, [], "") and value is not False}
    name = name or next((_TAKEN_BY[option][0] for option in given), None)
    if name is None:
        return None
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}.{did_you_mean(name, METHODS) or f' Known are {LISTED}.'}")
    for option in given:
        if name not in _TAKEN_BY[option]:
            *others, last = _TAKEN_BY[option]
            taken = f"{', '.join(others)} and {last}" if others else last
            raise InputError(f"--{option} is for --method {taken}, not for {name}: leave one of them out.")
    if "resolution" in given:
        given["resolution"] = _by_column("resolution", given["resolution"])
    if "levels" in given:
        given["levels"] = _by_column("levels", given["levels"])
    if name == "microaggregate" and k is not None:
        given["k"] = k
    if name in GROUPINGS:
        return {"name": "grouped", "grouping": name, **given}
    return {"name": PERTURBING.get(name, name), **given}


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
