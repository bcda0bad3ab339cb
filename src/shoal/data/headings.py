"""Whether the first line of a file names its columns, or is a record that would become their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shoal.errors import InputError

HEAD = 100  # records that show the delimiter, and whether names are values
FIRST_LINE = "first-line"  # what is stated where names look like values and are names all the same
_CATEGORIES = 3  # names that are all values of their columns
_NUMBER = re.compile(r"[<>=]*[+-]?[$€£]?\d[\d.,' ]*[%€]?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d.*)?")


def refuse_record(names: Sequence[str], records: Iterable[Sequence[str]], label: str) -> None:
    """Refuses names that look like values: all of them, or half of them where one is a value of its own column.

    Some must be numbers or dates, or all, three or more, values of their columns.

    A record that becomes names is released by them: nothing masks a column's name.
    """
    shown = [name.strip() for name in names]
    held: list[set[str]] = [set() for _ in shown]
    for fields in records:
        for values, field in zip(held, fields, strict=False):
            values.add(field.strip())
    again = sum(name in values for name, values in zip(shown, held, strict=True) if name)
    numbers = sum(map(_like_value, shown))
    alike = sum(_like_value(name) or name in values for name, values in zip(shown, held, strict=True) if name)
    present = sum(map(bool, shown))
    by_numbers = numbers and (alike == present or (again and 2 * alike >= present))
    if by_numbers or again == present >= _CATEGORIES:
        raise InputError(
            f"The first line of {label} looks like a record, not like names of columns: {alike} of its {len(shown)} "
            "fields are numbers, dates or values of their own column. Write a line of names above it (purchases are "
            f"read without one by --no-header); if it is one, say --read names={FIRST_LINE}."
        )


def _like_value(name: str) -> bool:
    return _NUMBER.fullmatch(name) is not None or _DATE.fullmatch(name) is not None
