"""Rules of consistency: what must hold between the rows of a household or a person, and between tables.

    [consistent]
    hsize = "count(household)"                       # a column, and what it must equal
    place = "household.region = person.region"       # or both sides; the name is for messages

A side is a column, a column of a table (`visits.region`), the number of rows a table has of the same owner
(`count(visits)`) or a whole number; names of more than letters, digits, `_` and `-` stand in quotes. `person` is the
table that people are listed in, `household` its rows that live together. The grammar is ours: nothing is evaluated.
Each rule is checked by a group-by, on the input and again on what was written, by what is shown.

Defined in docs/spec.md#consistency.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from shoal.data.identity import identity_text
from shoal.errors import InputError, PromiseError, did_you_mean
from shoal.privacy.l_diversity import whatever_spelled

PERSON, HOUSEHOLD = "person", "household"
_TOKEN = re.compile(r"""\s*(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<word>[^\W]+(?:-\w+)*)|(?P<sign>[=.()]))""")


class Token(NamedTuple):
    """A name, or one of the signs = . ( )."""

    text: str
    sign: bool
    quoted: bool


@dataclass(frozen=True)
class Side:
    """One side of a rule: a number, how many rows a table has, or a column of a table."""

    table: str = ""  # empty: the table that people are listed in
    column: str | None = None  # None: how many rows it has
    number: int | None = None

    def __str__(self) -> str:
        if self.number is not None:
            return str(self.number)
        return f"count({self.table})" if self.column is None else ".".join(filter(None, (self.table, self.column)))


@dataclass(frozen=True)
class Rule:
    """An equation that holds of each owner of rows."""

    name: str
    left: Side
    right: Side

    def owner(self, keys: Mapping[str, str]) -> str:
        """Whose rows are looked at together: those of a household where it says so, or where only these are known."""
        of_households = HOUSEHOLD in (self.left.table, self.right.table) or PERSON not in keys
        return HOUSEHOLD if of_households and (HOUSEHOLD in keys or PERSON in keys) else PERSON

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


def rules_of(stated: Mapping[str, str]) -> tuple[Rule, ...]:
    """The rules as a policy states them; refused, with what was expected, where one cannot be read."""
    return tuple(_rule(name, text) for name, text in stated.items())


def _rule(name: str, text: str) -> Rule:
    tokens = list(_tokens(name, text))
    equals = [place for place, token in enumerate(tokens) if token.sign and token.text == "="]
    if len(equals) > 1:
        raise _unread(name, text, "it has more than one =")
    if not equals:
        return Rule(name, Side(column=name), _side(name, text, tokens))
    left, right = tokens[: equals[0]], tokens[equals[0] + 1 :]
    return Rule(name, _side(name, text, left), _side(name, text, right))


def _tokens(name: str, text: str) -> list[Token]:
    tokens, place, text = [], 0, text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _unread(name, text, f"{text[place:].split()[0]!r} is no name and no sign of it")
        quoted = match["double"] or match["single"]
        tokens.append(Token(quoted or match["word"] or match["sign"], match["sign"] is not None, quoted is not None))
        place = match.end()
    return tokens


def _side(name: str, text: str, tokens: list[Token]) -> Side:
    form = "".join(token.text if token.sign else "n" for token in tokens)
    if form == "n(n)" and tokens[0].text == "count":
        return Side(tokens[2].text)
    if form == "n.n":
        return Side(tokens[0].text, tokens[2].text)
    if form == "n" and tokens[0].text.isdecimal() and not tokens[0].quoted:
        return Side(number=int(tokens[0].text))
    if form == "n":
        return Side(column=tokens[0].text)
    raise _unread(name, text, "a side is COLUMN, TABLE.COLUMN, count(TABLE) or a whole number")


def _unread(name: str, text: str, why: str) -> InputError:
    return InputError(
        f'The rule {name!r} of consistent, {text!r}, cannot be read: {why}. It is like hsize = "count(household)" or '
        'place = "household.region = person.region".'
    )


class Owned(NamedTuple):
    """A table as it is shown, and the columns that say whose each row is: PERSON or HOUSEHOLD -> column."""

    frame: pl.DataFrame
    keys: Mapping[str, str]


def owned(frame: pl.DataFrame | pl.LazyFrame, person: str | None, household: str | None) -> Owned:
    """A table by the columns that say whose its rows are, of those that it has."""
    named = {PERSON: person, HOUSEHOLD: household}
    frame = frame.lazy().collect()
    return Owned(frame, {whose: name for whose, name in named.items() if name is not None and name in frame.columns})


def refuse_inconsistent(rules: tuple[Rule, ...], tables: Mapping[str, Owned], *, released: bool) -> None:
    """Refuses tables, by name, the first of them the one of people, that break a rule."""
    for rule in rules:
        sides = pl.concat([_of_owners(rule, side, tables) for side in (rule.left, rule.right)])
        values = sides.unique().group_by("owner").agg(pl.col("value").sort().alias("values"))
        broken = values.filter(pl.col("values").list.len() > 1).sort("owner")
        if broken.height:
            raise _broken(rule, broken, tables, released=released)


def _broken(
    rule: Rule, broken: pl.DataFrame, tables: Mapping[str, Owned], *, released: bool
) -> InputError | PromiseError:
    owner, values = broken.row(0)
    first, second, *_ = (repr(value) if value else "nothing" for value in values)
    keys = next(iter(tables.values())).keys
    which = keys[rule.owner(keys)]
    where = f"{broken.height:,} times, first at {which} {owner}, where {first} meets {second}"
    if not released:
        return InputError(f"The rule {rule.name!r} ({rule}) is broken by the input {where}: correct it, or the rule.")
    return PromiseError(
        f"The rule {rule.name!r} ({rule}) is broken by what would be released {where}. Nothing was released: leave the "
        "column out, mask it alike in both places, or leave out the rule."
    )


def _of_owners(rule: Rule, side: Side, tables: Mapping[str, Owned]) -> pl.DataFrame:
    """What each owner has on one side: `owner`, `value`, as texts."""
    people = next(iter(tables.values()))
    whose = rule.owner(people.keys)
    if side.number is not None:
        owners = people.frame.select(owner=_key(rule, whose, people)).unique()
        return owners.select("owner", value=pl.lit(str(side.number)))
    table = _table(rule, side, tables)
    key = _key(rule, whose, table)
    if side.column is None:
        counted = table.frame.group_by(key.alias("owner")).agg(value=pl.len())
        owners = people.frame.select(owner=_key(rule, whose, people)).unique()
        rows = owners.join(counted, on="owner", how="left")
        return rows.select("owner", value=pl.col("value").fill_null(0).cast(pl.String))
    if side.column not in table.frame.columns:
        hint = did_you_mean(side.column, table.frame.columns)
        raise InputError(f"The rule {rule.name!r} names {str(side)!r}, but there is no column {side.column!r}.{hint}")
    column = table.frame[side.column]
    return table.frame.select(owner=key, value=whatever_spelled(column.cast(pl.String)).fill_null(""))


def _table(rule: Rule, side: Side, tables: Mapping[str, Owned]) -> Owned:
    if side.table in tables:
        return tables[side.table]
    if side.table in ("", PERSON, HOUSEHOLD):
        return next(iter(tables.values()))
    known = (PERSON, HOUSEHOLD, *(name for name in tables if name))
    hint = did_you_mean(side.table, known) or f" Known are {', '.join(known)}."
    raise InputError(f"The rule {rule.name!r} names the table {side.table!r}, which there is none of.{hint}")


def _key(rule: Rule, whose: str, table: Owned) -> pl.Expr:
    if whose not in table.keys:
        raise InputError(
            f"The rule {rule.name!r} is about each {whose}: say in the policy who that is ({whose} = COLUMN)."
        )
    return pl.col(table.keys[whose]).map_batches(identity_text, return_dtype=pl.String)
