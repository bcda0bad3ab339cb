"""What a release must be, counted by slow and obvious code that knows nothing of Shoal."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from torture.reading import Row
from torture.tables import Column, Table

Classes = list[list[Row]]
_ESCAPED = r"\\([\\;{}\[\]*])"  # what stands after a backslash stands for itself


def classes_of(rows: Sequence[Row], quasi: Sequence[Column]) -> Classes:
    """Records that show the same text in every quasi-identifier."""
    found: dict[tuple[str | None, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[column.name] for column in quasi)].append(row)
    return list(found.values())


# ---- promises


def smallest(classes: Classes) -> int:
    return min(map(len, classes))


def diversity(classes: Classes, column: Column, variant: str = "distinct", c: float = 3.0) -> float:
    """The least diversity of a class: so many values, as mixed as so many equally frequent ones, or (c, l)."""
    return min(_diversity(Counter(_cells(members, column)), variant, c) for members in classes)


def _diversity(counts: Counter[str | None], variant: str, c: float) -> float:
    if variant == "entropy":
        shares = [count / counts.total() for count in counts.values()]
        return math.exp(-sum(share * math.log(share) for share in shares))
    if variant == "recursive":  # the greatest l for which the l-th most frequent value and the rarer ones weigh enough
        frequent = sorted(counts.values(), reverse=True)
        return float(sum(frequent[0] < c * sum(frequent[i:]) for i in range(len(frequent))))
    return float(len(counts))


def closeness(classes: Classes, column: Column, whole: Sequence[Row] | None = None) -> float:
    """The largest earth mover's distance of a class from all records; values at equal steps, or all equally far."""
    every = [row[column.name] for row in whole or [row for members in classes for row in members]]
    known = sorted({cell for cell in every if cell is not None}, key=float if column.ordered else str)
    values: list[str | None] = [*known, None] if None in every else [*known]
    if column.ordered:  # texts of one number are one value
        same = {cell: float(cell) for cell in known}
        line: list[float | None] = [*sorted(set(same.values())), *([None] if None in every else [])]
        return max(
            _ordered([same.get(c) for c in _cells(m, column)], [same.get(c) for c in every], line) for m in classes
        )  # type: ignore[arg-type]
    return max(_equal(_cells(members, column), every, values) for members in classes)


def k_prime(k: int, fraction: float, alpha: float) -> int:
    """The least f with P(X >= f | X > 0) <= alpha, X of a Poisson distribution with mean k times the fraction."""
    mean, f, below = k * fraction, 1, math.exp(-k * fraction)  # below: P(X < f)
    while (1 - below) / -math.expm1(-mean) > alpha:
        below += math.exp(-mean) * mean**f / math.factorial(f)
        f += 1
    return f


def people_who_fit(row: Row, quasi: Sequence[Column], people: pl.DataFrame, trees: dict[str, dict[str, str]]) -> int:
    """How many people have values that are all admitted by what a record shows."""
    fits = [True] * people.height
    for column in quasi:
        cell, tree = row[column.name], trees.get(column.name, {})
        known: dict[object, bool] = {}
        known_of = Column(column.name, people[column.name], column.ordered)
        for i in range(people.height):
            value = known_of.value(i)
            if value not in known:
                known[value] = cell == "*" or _shows(cell, tree.get(_written(value))) or admits(cell, value)
            fits[i] = fits[i] and known[value]
    return sum(fits)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cells(members: list[Row], column: Column) -> list[str | None]:
    return [row[column.name] for row in members]


def _ordered(some: Sequence[Any], every: Sequence[Any], line: Sequence[Any]) -> float:
    if len(line) < 2:
        return 0.0
    own, all_ = Counter(some), Counter(every)
    gap = moved = 0.0
    for value in line:
        gap += own[value] / len(some) - all_[value] / len(every)
        moved += abs(gap)
    return moved / (len(line) - 1)


def _equal(some: Sequence[Any], every: Sequence[Any], values: Sequence[Any]) -> float:
    own, all_ = Counter(some), Counter(every)
    return sum(abs(own[value] / len(some) - all_[value] / len(every)) for value in values) / 2


# ---- truth


def untrue(rows: Iterable[Row], table: Table, trees: dict[str, dict[str, str]], named: int = 0) -> str | None:
    """A released cell that does not admit the value of the record it is about; `trees`: value -> its group's label.

    Where Shoal builds the groups a label may name some of the values, each of so many records at least.
    """
    place = {rid: i for i, rid in enumerate(table.rid)}
    for row in rows:
        i = place[row["rid"]]  # type: ignore[index]
        for column in table.quasi:
            cell, value = row[column.name], column.value(i)
            label = trees.get(column.name, {}).get(_written(value))
            if named and not column.ordered and re.search(r" and \d+ more$|^\d+ rare values$", cell or ""):
                if wrong := _rare_in(str(cell), column, named):
                    return wrong
                continue
            if not (cell == "*" or _shows(cell, label) or admits(cell, value)):
                return f"{column.name!r} shows {row[column.name]!r} for {column.value(i)!r}"
            if escaped_in_vain(cell):
                return f"{column.name!r} shows {cell!r}, escaped though nobody could misread it"
        for column in table.confidential:
            cell, value = row[column.name], column.value(i)
            if not same(cell, value) or (isinstance(value, str) and cell != value):
                return f"{column.name!r} shows {row[column.name]!r} for {column.value(i)!r}, which nobody masks"
    return None


def admits(cell: str | None, value: object) -> bool:
    """Is the value among those that the cell stands for?"""
    if cell == "*":
        return True
    if cell is None or value is None:
        return cell is None and value is None
    if match := re.fullmatch(r"\[((?:\\.|[^\\;])*);((?:\\.|[^\\;])*)\]", cell, re.DOTALL):
        try:
            low, high = (_place(end, value) for end in match.groups())
            return bool(low <= _place(value, value) <= high)
        except ValueError:
            return False
    if match := re.fullmatch(r"(all but )?\{(.*)\}", cell, re.DOTALL):
        there = any(same(part, value) for part in re.findall(r"(?:\\.|[^\\;])+", match[2], re.DOTALL))
        return there != bool(match[1])
    if isinstance(value, dt.date) and re.fullmatch(r"\d{4}(-\d\d|-Q\d|-W\d\d|s)?", cell):
        return cell in _periods(value)
    if isinstance(value, int | float | Decimal) and re.fullmatch(r"-?[\d.]+\+", cell):  # a last band that is open
        return float(cell[:-1]) <= value
    if re.search(r"(?<!\\)\*$", cell):  # the first characters of a code
        return len(str(value)) == len(cell) and str(value).startswith(cell.rstrip("*"))
    return same(cell, value)


def _rare_in(label: str, column: Column, named: int) -> str | None:
    """A value of fewer records than that, named in the label of a group."""
    for value, count in Counter(column.values.drop_nulls().to_list()).items():
        if count < named and re.fullmatch(r"[a-z]+-[0-9a-f]{12}", str(value)) and str(value) in label:
            return f"{column.name!r} shows {label!r}, which names {value!r} of {count} records"
    return None


def _periods(day: dt.date) -> list[str]:
    """Month, quarter, week, year and decade of a day, as they are written."""
    year, week, _ = day.isocalendar()
    of_year = [f"{day.year}-{day.month:02}", f"{day.year}-Q{(day.month + 2) // 3}", f"{day.year}"]
    return [*of_year, f"{year}-W{week:02}", f"{day.year // 10}0s"]


def _shows(cell: str | None, label: str | None) -> bool:
    """Is the cell this label, and could nobody take it for a mask?"""
    if cell is None or label is None or not same(cell, label):
        return False
    return not re.search(r"^\[.*;.*\]$|^(all but )?\{.*\}$|(?<!\\)\*$", cell)


def escaped_in_vain(cell: str | None) -> bool:
    """Is the cell one escaped text that would read as itself without?"""
    if cell is None or re.fullmatch(r"\[.*;.*\]|(all but )?\{.*\}|.*(?<!\\)\*", cell, re.DOTALL):
        return False
    plain = re.sub(_ESCAPED, r"\1", cell)
    misread = rf"^\[.*;.*\]$|^(all but )?\{{.*\}}$|\*$|{_ESCAPED}"
    return plain != cell and not re.search(misread, plain, re.DOTALL)


def _place(end: object, like: object) -> Any:
    if isinstance(like, dt.datetime):
        return end if isinstance(end, dt.datetime) else dt.datetime.fromisoformat(str(end)).replace(tzinfo=None)
    if isinstance(like, dt.date):
        return end if isinstance(end, dt.date) else dt.date.fromisoformat(str(end)[:10])
    return int(str(end)) if isinstance(like, int) and re.fullmatch(r"[+-]?\d+", str(end)) else float(str(end))


def same(cell: str | None, value: object) -> bool:
    """Does the cell show the value itself?"""
    if cell is None or value is None:
        return cell is None and value is None
    plain = re.sub(_ESCAPED, r"\1", cell)
    if isinstance(value, bool):
        return plain.lower() in (str(value).lower(), str(int(value)), str(float(value)))
    if isinstance(value, int | float | Decimal):
        try:
            return _place(plain, value) == value or math.isclose(float(plain), float(value), rel_tol=1e-12)
        except ValueError:
            return False
    if isinstance(value, dt.datetime):
        try:
            return bool(_place(plain, value) == value)
        except ValueError:
            return False
    if isinstance(value, dt.date):
        return plain[:10] == value.isoformat()
    return plain == str(value)


# ---- bytes


def leaked(content: bytes, rows: Sequence[Row], table: Table) -> str | None:
    """A token that no released cell shows and that stands in the bytes all the same."""
    shown = "\n".join(cell for row in rows for cell in row.values() if cell is not None)
    columns = [column.values for column in (*table.quasi, *table.confidential)] + [table.rid]
    for values in (*columns, *table.secrets.values()):
        for value in values.drop_nulls().unique():
            text = str(value)
            if re.fullmatch(r"[a-z]+-[0-9a-f]{12}(-\d+)?", text) and text not in shown and text.encode() in content:
                return f"{text!r} stands in the bytes, and no record shows it"
    return None


# ---- people found


def found_again(rows: Sequence[Row], table: Table) -> float:
    """Share of people whose nearest released record is their own, by standardised differences, 0/1 without an order.

    Of t equally near records, each counts 1/t.
    """
    place = {rid: i for i, rid in enumerate(table.rid)}
    owner = [place[row["rid"]] for row in rows]  # type: ignore[index]
    total = [[0.0] * len(rows) for _ in range(table.rows)]
    for column in table.quasi:
        _add_distances(total, rows, column)
    found = 0.0
    for j, i in enumerate(owner):
        nearest = min(total[i])
        if total[i][j] <= nearest + 1e-12:
            found += 1 / sum(distance <= nearest + 1e-12 for distance in total[i])
    return found / table.rows


def _add_distances(total: list[list[float]], rows: Sequence[Row], column: Column) -> None:
    if not column.ordered:
        for i, value in enumerate(column.values):
            for j, row in enumerate(rows):
                total[i][j] += not same(row[column.name], value)
        return
    before = [_number(value) for value in column.values]
    after = [_number(row[column.name]) for row in rows]
    known = [number for number in before if number is not None]
    mean = sum(known) / max(len(known), 1)  # a column may be missing in every record
    deviation = math.sqrt(sum((number - mean) ** 2 for number in known) / max(len(known), 1)) or 1.0
    for i, one in enumerate(before):
        for j, other in enumerate(after):
            if one is None or other is None:
                total[i][j] += (one is None) != (other is None)
            else:
                total[i][j] += ((one - other) / deviation) ** 2


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, dt.datetime) or re.match(r"\d{4}-\d\d-\d\d[T ]", str(value)):
        return dt.datetime.fromisoformat(str(value)).replace(tzinfo=dt.UTC).timestamp()
    if isinstance(value, dt.date) or re.match(r"\d{4}-\d\d-\d\d", str(value)):
        return float(dt.date.fromisoformat(str(value)[:10]).toordinal())
    return float(str(value))
