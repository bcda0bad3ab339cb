"""Which columns of a table the safe-harbor order is about: as stated, or found by the signs of what they are.

Table S3 of paper 1 names the columns of one file. What stands behind its names (an age, a ZIP code, a county) is a
sort; a column's sort is known by what it is called and holds (`shoal.data.signs`), and whatever was assumed is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.data.microdata import Coded
from shoal.data.roles import by_signs
from shoal.data.signs import spelled
from shoal.errors import InputError, did_you_mean

_SIGNS = {
    "age": "age",
    "race or ethnic group": "race",
    "sex or gender": "sex",
    "full dates": "date",
    "time of an event": "date",
    "codes of small areas": "zip",
    "areas smaller than a state": "county",
}
SORTS = ("age", "ethnicity", "race", "sex", "date", "zip", "county")
_ETHNIC = re.compile(r"\b(eth?n|i?hisp|latin)")  # Table S3 masks ethnic groups before races; they have one sign
_VALUES_SEEN = 2_000  # distinct values that a sign is looked for in


@dataclass(frozen=True)
class Taken:
    """The columns of each sort, and what to say of how they were taken for it."""

    columns: Mapping[str, tuple[Coded, ...]]
    notes: tuple[str, ...]


def refuse_unknown(stated: Mapping[str, str], *, ladder: bool) -> None:
    """Refuses sorts that the order does not know, a column of two sorts, and columns beside a ladder of one's own."""
    if stated and ladder:
        raise InputError("Safe-harbor masking is given both 'ladder' and 'columns': a ladder names its columns itself.")
    for sort in stated:
        if sort not in SORTS:
            hint = did_you_mean(sort, SORTS) or f" Known are {', '.join(SORTS)}."
            raise InputError(f"Safe-harbor masking knows no sort of column {sort!r}.{hint}")
    of_column: dict[str, str] = {}
    for sort, name in stated.items():
        if of_column.setdefault(name, sort) != sort:
            raise InputError(f"Column {name!r} is given as {of_column[name]} and as {sort}: keep one of them.")


def columns_by_sort(quasi: Sequence[Coded], stated: Mapping[str, str]) -> Taken:
    """Each sort's columns among the quasi-identifiers: the one stated, or else all that look like it."""
    names = [coded.name for coded in quasi]
    for sort, name in stated.items():
        if name not in names:
            hint = did_you_mean(name, names) or f" They are {', '.join(names)}."
            raise InputError(f"Column {name!r}, given as {sort}, is no quasi-identifier of the table.{hint}")
    sort_of = {name: (sort, "as given") for sort, name in stated.items()}
    for coded in quasi:
        sort, evidence = _by_signs(coded)
        if sort and sort not in stated:
            sort_of.setdefault(coded.name, (sort, evidence))
    if not sort_of:
        raise InputError(
            f"None of the quasi-identifiers ({', '.join(names)}) looks like one that safe-harbor masking treats "
            f"({', '.join(SORTS)}): say which is what (--as age=COLUMN), or give a ladder in a policy."
        )
    columns = {sort: tuple(coded for coded in quasi if sort_of.get(coded.name, ("",))[0] == sort) for sort in SORTS}
    taken = [f"{coded.name!r} as {sort} ({sort_of[coded.name][1]})" for sort in SORTS for coded in columns[sort]]
    notes = [f"Masked in the order of Table S3: {', '.join(taken)}. If one is another, say so with --as SORT=COLUMN."]
    if absent := [sort for sort in SORTS if not columns[sort]]:
        notes.append(f"Steps on {', '.join(absent)} were skipped: no quasi-identifier looks like it.")
    if untreated := [repr(name) for name in names if name not in sort_of]:
        notes.append(f"No step treats {', '.join(untreated)}: shown as they are.")
    return Taken(columns, tuple(notes))


def _by_signs(coded: Coded) -> tuple[str, str]:
    """The sort that a column looks like, or nothing, and by what."""
    every = -(-len(coded.values) // _VALUES_SEEN) or 1
    suggestion = by_signs(coded.values.gather_every(every).alias(coded.name))
    if suggestion is None or suggestion.what not in _SIGNS:
        return "", ""
    sort = _SIGNS[suggestion.what]
    ethnic = sort == "race" and _ETHNIC.search(spelled(coded.name))
    return "ethnicity" if ethnic else sort, suggestion.evidence
