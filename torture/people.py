"""Whom records are about: people with several records, skewed as visits are, and members of one household.

A case that has `People` promises something of people in place of records, or shows a pseudonym of each. Their numbers
are of every type; those that are long or hold a token are searched for in everything that comes out.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from torture.tables import Table, token

PROMISES = ("persons", "persons", "linked", "households", "pseudonym")
FORMS = ("code", "number", "sealed", "like")
DATES = ("admitted", "discharged")  # moved by as many days for each person
IN_CLASS = "person_in_class"


@dataclass(frozen=True)
class People:
    promise: str  # one of PROMISES
    column: str
    owner: tuple[int, ...]  # record -> whose it is; a record about nobody has an owner of its own
    ids: pl.Series  # record -> what the table says about that
    one_each: bool = False  # a record about nobody is a person of her own, by the policy
    in_class: bool = False  # the people of each class are numbered
    counted: bool = True  # k, l and t count people
    form: str = ""  # of the pseudonym
    shift: bool = False  # dates are moved

    @property
    def shown(self) -> str | None:
        """The column that tells the people of a release apart, at least within a class."""
        if self.promise == "persons":
            return IN_CLASS if self.in_class else None
        return self.column

    @property
    def columns(self) -> set[str]:
        """What the release has because of them."""
        return {self.shown or self.column} - ({self.column} if self.shown is None else set()) | set(self.dates)

    @property
    def dates(self) -> tuple[str, ...]:
        return DATES if self.shift else ()

    def words(self, folder: Path) -> list[str]:
        """What asks for it, beside the promises."""
        words = ["--person", self.column] if self.counted and self.promise != "households" else []
        if self.one_each:
            (folder / "policy.toml").write_text('missing_person = "one-each"\n')
            words += ["--policy", str(folder / "policy.toml")]
        words += ["--write", "person-in-class"] if self.in_class else []
        if self.promise == "pseudonym":
            moved = f",shift={';'.join(DATES)}" if self.shift else ""
            words += ["--pseudonym", f"{self.column}=person:{self.form},key={folder / 'key.txt'}{moved}"]
        return words

    def of_record(self, table: Table) -> dict[str | None, int]:
        return dict(zip(table.rid, self.owner, strict=True))


def draw_people(rng: np.random.Generator, table: Table, *, plain: bool, typed: bool) -> tuple[People, Table]:
    """Somebody for each record, and the table that says so."""
    promise = str(rng.choice(PROMISES))
    owner = _households(rng, table.rows) if promise == "households" else _visits(rng, table.rows)
    sorts = [sort for sort in _IDS if (sort in _EVERYWHERE or not plain) and (sort != "decimal" or typed)]
    if promise == "pseudonym":  # of each spelling one of its own
        sorts = [sort for sort in sorts if sort not in ("spaced", "spelled")]
    sort = str(rng.choice(sorts))
    ids = _IDS[sort](rng, owner)
    one_each = False
    if rng.random() < (0.2 if promise == "persons" else 0.05):
        gaps = rng.random(table.rows) < 0.1
        ids, one_each = ids.set(pl.Series(gaps), None), bool(rng.random() < 0.7) and promise != "households"
        owner = np.where(gaps, len(owner) + np.arange(len(owner)), owner)
    form = str(rng.choice(FORMS)) if promise == "pseudonym" else ""
    people = People(
        promise,
        "person" if plain else str(rng.choice(["person", "who is it", "Nr.", "größe des Falls"])),
        tuple(int(one) for one in owner),
        ids,
        one_each=one_each,
        in_class=promise == "persons" and bool(rng.random() < 0.5),
        counted=promise != "pseudonym" or bool(rng.random() < 0.5),
        form=form,
        shift=promise == "pseudonym" and not plain and bool(rng.random() < 0.5),
    )
    more = {people.column: ids} | {name: _days(rng, table.rows) for name in people.dates}
    return people, replace(_of_people(rng, table, owner, promise), secrets={**table.secrets, **more})


def _visits(rng: np.random.Generator, rows: int) -> Any:
    """Few come often; or one person has most records, or everybody one, or two."""
    sort = rng.choice(["skewed", "skewed", "one has most", "two each", "one each"])
    if sort == "skewed":
        people = max(1, int(rows * rng.choice([0.3, 0.6])))
        weight = 1 / np.arange(1, people + 1)
        return rng.choice(people, rows, p=weight / weight.sum())
    owner = np.arange(rows)
    if sort == "one has most":
        return rng.permutation(np.where(owner < 0.6 * rows, 0, owner))
    return rng.permutation(owner // 2 if sort == "two each" else owner)


def _households(rng: np.random.Generator, rows: int) -> Any:
    """Of one to four members, now and then one that is much larger."""
    sizes = rng.choice([1, 2, 3, 4], rows, p=[0.3, 0.4, 0.2, 0.1])
    if rng.random() < 0.2:
        sizes[0] = 9
    owner = np.repeat(np.arange(rows), sizes)[:rows]
    return rng.permutation(owner) if rng.random() < 0.5 else owner


def _of_people(rng: np.random.Generator, table: Table, owner: Any, promise: str) -> Table:
    """Where histories are compared few columns, some of which are the person's."""
    if promise not in ("linked", "households"):
        return table
    first = {int(who): i for i, who in reversed(list(enumerate(owner)))}
    place = [first[int(who)] for who in owner]
    quasi = [
        replace(column, values=column.values.gather(place)) if rng.random() < 0.6 else column
        for column in table.quasi[:2]
    ]
    return replace(table, quasi=tuple(quasi))


def _days(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series([dt.date(2001, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 5000, rows)])


# ---- numbers of people


def _number(rng: np.random.Generator, owner: Any) -> pl.Series:
    return pl.Series(1 + rng.permutation(int(owner.max()) + 1)[owner])


def _long(rng: np.random.Generator, owner: Any) -> pl.Series:
    return pl.Series(rng.choice(9 * 10**8, int(owner.max()) + 1, replace=False)[owner] + 10**14)


def _tokens(rng: np.random.Generator, owner: Any) -> pl.Series:
    names = [token(rng, "patient") for _ in range(int(owner.max()) + 1)]
    return pl.Series([names[who] for who in owner])


def _spaced(rng: np.random.Generator, owner: Any) -> pl.Series:
    """Spaces around a number tell nobody apart."""
    return pl.Series([f"{name}{' ' * int(rng.integers(0, 2))}" for name in _tokens(rng, owner)])


def _spelled(rng: np.random.Generator, owner: Any) -> pl.Series:
    """Neither does how an accent is put together, nor a point behind a whole number."""
    names = [(f"Zoë {who}", f"Zoe\u0308 {who}") if who % 2 else (f"{who}", f"{who}.0 ") for who in owner]
    return pl.Series([pair[int(rng.integers(0, 2))] for pair in names])


def _cased(rng: np.random.Generator, owner: Any) -> pl.Series:
    """Of two people each one has the other's number, but for its case."""
    return pl.Series([f"{'kq'[who % 2] if who % 4 < 2 else 'KQ'[who % 2]}x{who // 4:04}" for who in owner])


def _zeros(rng: np.random.Generator, owner: Any) -> pl.Series:
    """7, 07 and 007 are three people."""
    return pl.Series(
        ["0" * (int(who) % 3) + str(1 + who // 3) for who in owner] if owner.max() else ["07"] * len(owner)
    )


def _birthdays(rng: np.random.Generator, owner: Any) -> pl.Series:
    return pl.Series([dt.date(1950, 1, 1) + dt.timedelta(days=int(who) * 7) for who in owner])


def _decimals(rng: np.random.Generator, owner: Any) -> pl.Series:
    return pl.Series(owner / 4)


_IDS = {
    "number": _number, "long number": _long, "token": _tokens, "spaced": _spaced, "spelled": _spelled,
    "cased": _cased, "zeros": _zeros, "birthday": _birthdays, "decimal": _decimals,
}  # fmt: skip
_EVERYWHERE = ("number", "token", "cased")
