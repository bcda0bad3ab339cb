"""A first look at a table: what each attribute is, how identifying it is, and which few attributes together
single people out.

Distinction (distinct values / records) and separation (share of record pairs told apart) are Motwani and Xu's two
measures of a quasi-identifier ("Efficient algorithms for masking and finding quasi-identifiers", 2007). A record is
singled out by a set of attributes if no other record agrees with it on all of them. Adding an attribute never
lowers the number singled out, which bounds the search. Missing is a value like any other.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.inference import infer_kind, suggest_role
from shoal.data.schema import Kind, Role
from shoal.errors import InputError

if TYPE_CHECKING:
    from rich.console import Group

VALUES_SEEN = 2_000  # distinct values an attribute's role is judged by
SEARCH_ROWS = 200_000  # records the search for identifying sets looks at; the winners are counted on all
EXHAUSTIVE_UP_TO = 15  # attributes; beyond, only the leading sets of one size are extended to the next
LEADERS = 3
ENOUGH = 0.9  # of the records that all attributes together single out: larger sets are not looked for


@dataclass(frozen=True)
class AttributeProfile:
    """One attribute. `distinct` counts missing as a value; `unique_share` is of records alone with their value."""

    name: str
    dtype: str
    kind: Kind
    missing: int
    distinct: int
    distinction: float
    separation: float
    unique_share: float
    role: Role
    reason: str
    hipaa: str  # letter of the item in HIPAA's list of identifiers, or empty


@dataclass(frozen=True)
class IdentifyingSet:
    """Attributes that together single out `uniques` of the records; no set of this size was found to do more."""

    attributes: tuple[str, ...]
    uniques: int
    unique_share: float


@dataclass(frozen=True)
class Profile:
    """What `profile` found. `uniques` are the records that all attributes but the identifiers single out."""

    records: int
    attributes: tuple[AttributeProfile, ...]
    uniques: int
    identifying_sets: tuple[IdentifyingSet, ...]
    search: str  # how the identifying sets were looked for, in plain words
    exact: bool  # whether no set of the same size can single out more

    def with_role(self, role: Role) -> tuple[AttributeProfile, ...]:
        return tuple(a for a in self.attributes if a.role is role)

    def to_dict(self) -> dict[str, object]:
        return asdict(self)

    def policy_toml(self) -> str:
        """A starting `shoal.toml`: the suggested roles, each with its reason, 5-anonymity by grouping."""
        lists = "\n".join(_toml_list(key, self.with_role(role)) for key, role in _LISTS.items())
        return f"{_PREAMBLE}\n{lists}\n{_PROMISE}"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        attributes = Table(title=f"{self.records:,} records, {len(self.attributes)} attributes", title_justify="left")
        for header in _HEADERS:
            attributes.add_column(header, justify="right" if header in _NUMBERS else "left", overflow="fold")
        for a in self.attributes:
            attributes.add_row(*map(Text, _cells(a)))
        sets = Table(title=self._sets_title(), title_justify="left")
        sets.add_column("Attributes", overflow="fold")
        sets.add_column("Singled out", justify="right")
        for s in self.identifying_sets:
            sets.add_row(Text(", ".join(s.attributes)), f"{s.uniques:,} ({s.unique_share:.1%})")
        return Group(attributes, sets, Text(self.search, style="dim"))

    def _repr_html_(self) -> str:
        attributes = _html_table(_HEADERS, map(_cells, self.attributes))
        found = ((", ".join(s.attributes), f"{s.uniques:,} ({s.unique_share:.1%})") for s in self.identifying_sets)
        sets = _html_table(("Attributes", "Singled out"), found)
        return (
            f"<p>{self.records:,} records, {len(self.attributes)} attributes</p>{attributes}"
            f"<p>{html.escape(self._sets_title())}</p>{sets}<p>{html.escape(self.search)}</p>"
        )

    def _sets_title(self) -> str:
        share = self.uniques / self.records
        return f"Attributes that single people out (all together: {self.uniques:,} records, {share:.1%})"


def profile(frame: object, *, sets: int = 5) -> Profile:
    """Kind, suggested role and identifying power of each attribute of any frame, and the sets of at most `sets`
    attributes that single out most records.
    """
    table = _as_polars(frame)
    if sets < 0:
        raise InputError(f"The number of identifying sets must be 0 or more. Got {sets} instead.")
    if table.width == 0 or table.height == 0:
        raise InputError("The table has no records, so there is nothing to profile: give a table with data.")
    encoded = [_encode(column) for column in table]
    attributes = tuple(map(_profile_attribute, table, encoded))
    searched = [
        (a.name, codes)
        for a, codes in zip(attributes, encoded, strict=True)
        if a.role is not Role.IDENTIFIER and a.distinct > 1
    ]
    return Profile(table.height, attributes, **_identifying_sets(dict(searched), table.height, sets))


def _as_polars(frame: object) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    from shoal.data.frames import to_polars

    return to_polars(frame)[0]
