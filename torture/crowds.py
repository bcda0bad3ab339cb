"""Who can be told apart among people with several records: counted beside the original, record by record."""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from torture.cases import Case
from torture.judge import Classes, classes_of, closeness, diversity
from torture.people import IN_CLASS
from torture.reading import Row
from torture.tables import Column

Owners = Mapping[str | None, object]  # the record's number -> whose it is


def broken(case: Case, rows: list[Row], owner: Owners) -> str | None:
    """Each promise that was made, with people in place of records where they are counted."""
    asked, quasi = case.promises, case.table.quasi
    if case.people and not case.people.counted:
        owner = {row["rid"]: row["rid"] for row in rows}
    classes = classes_of(rows, quasi)
    if "k" in asked and (least := fewest(classes, owner)) < asked["k"]:
        return f"a class of {least} people"
    for promise in {"linked", "households"} & set(asked):
        if (least := fewest_alike(rows, quasi, owner)) < asked[promise]:
            return f"{least} with the same records, {asked[promise]:g} were promised by {promise}"
    each = {row["rid"]: row["rid"] for row in rows} if "households" in asked else owner  # a member is a person
    for column in case.table.confidential:
        seen = [once(members, column, each) for members in classes]
        if "l" in asked and (level := diversity(seen, column, case.variant)) < asked["l"] - 1e-9:
            return f"a class of {case.variant} {level:.4f} values of {column.name!r} among people"
        every = once(rows, column, each)
        if "t" in asked and (far := closeness(seen, column, every)) > asked["t"] + 1e-9:
            return f"a class {far:.4f} away in {column.name!r} among people"
    return None


def wrong_numbers(case: Case, rows: list[Row]) -> str | None:
    """What stands for people in the release, beside the original: one number each, and all of a household."""
    if case.people is None:
        return None
    owner, quasi = case.people.of_record(case.table), case.table.quasi
    if case.people.in_class:
        return miscounted(classes_of(rows, quasi), owner)
    if case.people.promise == "persons":
        return None
    if case.people.promise == "households" and (wrong := torn(rows, owner)):
        return wrong
    if case.people.promise == "pseudonym":
        known = [row for row in rows if row[case.people.column] is not None]
        gaps = {rid for rid, value in zip(case.table.rid, case.people.ids, strict=True) if value is None}
        if {row["rid"] for row in rows if row[case.people.column] is None} != gaps & {row["rid"] for row in rows}:
            return "a pseudonym is missing, or stands for nobody"
        dates = {name: case.table.secrets[name] for name in case.people.dates}
        place = {rid: i for i, rid in enumerate(case.table.rid)}
        if wrong := misdated(known, dates, place, owner):
            return wrong
        rows = known
    if wrong := misnumbered(rows, case.people.column, owner):
        return wrong
    return _in_order(rows, case) if case.people.form in ("", "number") else None


def _in_order(rows: list[Row], case: Case) -> str | None:
    """Numbers are drawn by lot: they go neither by who comes first in the table, nor by the identifiers."""
    assert case.people is not None
    place = {rid: i for i, rid in enumerate(case.table.rid)}
    by_number = sorted(rows, key=lambda row: (float(row[case.people.column] or 0), place[row["rid"]]))
    first: dict[str | None, int] = {}
    for row in by_number:
        first.setdefault(row[case.people.column], place[row["rid"]])
    orders = [list(first.values()), [case.people.ids[i] for i in first.values()]]
    known = [order for order in orders if len(order) >= 8 and None not in order]
    return "numbers of people follow the table" if any(order == sorted(order) for order in known) else None


def wrong_in_certificate(case: Case, said: dict[str, Any], rows: list[Row]) -> str | None:
    """What the certificate says is counted, and of pseudonyms how many people show the same records."""
    people = case.people
    if people is None:
        return None
    counts = said["counts"].partition(":")[0]
    meant = "households" if people.promise == "households" else "people" if people.counted else "records"
    if not counts.startswith(meant):
        return f"the certificate says that {counts} are counted, these are {meant}"
    if people.form:
        stated = said["linked"][people.column]
        true = fewest_alike(rows, case.table.quasi, people.of_record(case.table)) if rows else 0
        if stated != true:
            return f"the certificate says that {stated} people show the same records, it is {true}"
    return None


# ---- counted


def fewest(classes: Classes, owner: Owners) -> int:
    """People in the class that has fewest."""
    return min(len({owner[row["rid"]] for row in members}) for members in classes)


def once(members: Iterable[Row], column: Column, owner: Owners) -> list[Row]:
    """Each person once for each value that she has there."""
    return list({(owner[row["rid"]], row[column.name]): row for row in members}.values())


def fewest_alike(rows: Iterable[Row], quasi: Sequence[Column], owner: Owners) -> int:
    """How many show the same in all of their records together, of whom that is true of fewest."""
    history: dict[object, list[str]] = defaultdict(list)
    for row in rows:
        history[owner[row["rid"]]].append(repr([row[column.name] for column in quasi]))
    return min(Counter(tuple(sorted(records)) for records in history.values()).values())


def by_file(rows: Iterable[Row], shown: str) -> dict[str | None, object]:
    """Whose each record is, as far as the file says; one that shows nothing there is of a person of her own."""
    return {row["rid"]: ("nobody", row["rid"]) if row[shown] is None else row[shown] for row in rows}


def misnumbered(rows: Iterable[Row], shown: str, owner: Owners) -> str | None:
    """Records of one person show one number that nobody else shows."""
    pairs = {(owner[row["rid"]], row[shown]) for row in rows}
    for side, whose in ((0, "people have several numbers"), (1, "numbers are of several people")):
        if several := [pair for pair, count in Counter(pair[side] for pair in pairs).items() if count > 1]:
            return f"{len(several)} {whose} in {shown!r}: {several[0]!r}"
    return None


def miscounted(classes: Classes, owner: Owners) -> str | None:
    """The people of each class are numbered 1, 2, ..., each by one number."""
    for members in classes:
        if wrong := misnumbered(members, IN_CLASS, owner):
            return wrong
        numbers = sorted({int(float(row[IN_CLASS] or 0)) for row in members})
        if numbers != list(range(1, len(numbers) + 1)):
            return f"the people of a class are numbered {numbers}"
    return None


def torn(rows: Sequence[Row], owner: Owners) -> str | None:
    """A household of which a member was left out: its size would not be true."""
    shown, whole = Counter(owner[row["rid"]] for row in rows), Counter(owner.values())
    short = [who for who, size in shown.items() if size < whole[who]]
    return f"{len(short)} households are shown without some of their members" if short else None


def misdated(rows: Iterable[Row], dates: Mapping[str, pl.Series], place: Mapping[str | None, int], owner: Owners) -> (
    str | None
):  # fmt: skip
    """All dates of a person are moved by as many days, one at least and 365 at most."""
    moved: dict[object, set[int]] = defaultdict(set)
    for row in rows:
        for name, original in dates.items():
            day = dt.date.fromisoformat(str(row[name])[:10])
            moved[owner[row["rid"]]].add((day - original[place[row["rid"]]]).days)
    wrong = [days for days in moved.values() if len(days) > 1 or not 1 <= abs(min(days)) <= 365]
    return f"dates of a person are moved by {sorted(wrong[0])[:5]} days" if wrong else None


def named(content: bytes, ids: pl.Series) -> str | None:
    """An identifier in the bytes, as text or as eight of them; of those that nothing else is by chance."""
    for value in ids.drop_nulls().unique():
        text = str(value).strip()
        if not re.fullmatch(r"\d{12,}|[a-z]+-[0-9a-f]{12}", text):
            continue
        packed = [struct.pack("<q", value), struct.pack("<d", value)] if isinstance(value, int) else []
        if any(one in content for one in (text.encode(), *packed)):
            return f"the identifier {text!r} stands in the bytes"
    return None
