"""The column that says who lives together, so that households can be promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import polars as pl

from shoal.data.identity import identity_text
from shoal.data.schema import Role
from shoal.errors import InputError, did_you_mean


def role_of_household(
    name: str, roles: Mapping[str, frozenset[Role]], columns: Sequence[str], *, released: bool
) -> dict[str, frozenset[Role]]:
    """What becomes of the column: it is never released as it is; what stands in a release is a fresh number."""
    named = roles.get(name, frozenset()) - {Role.IDENTIFIER}
    if named:
        role = min(named).replace("_", "-")
        raise InputError(
            f"Column {name!r} says who lives together (household) and is named as {role}: it is never released as it "
            "is, give it no other role."
        )
    if name in columns:
        return {name: frozenset({Role.INSENSITIVE if released else Role.IDENTIFIER})}
    if released:
        return {}
    hint = did_you_mean(name, columns) or f" It has {', '.join(map(repr, columns[:20]))}."
    raise InputError(f"The table has no column {name!r}, named as household.{hint}")


def refuse_homeless(column: pl.Series) -> None:
    """Refuses a record that is in no household."""
    gaps = identity_text(column).is_null()
    if gaps.any():
        refuse_no_home(column.name, int(gaps.arg_max() or 0), int(gaps.sum()))


def refuse_no_home(name: str, position: int, gaps: int) -> NoReturn:
    """Refuses so many records that are in no household; the first stands at this position."""
    record = position + 1
    more = f", and in {gaps - 1:,} more" if gaps > 1 else ""
    raise InputError(
        f"Column {name!r} says who lives together and is empty in record {record:,} (line {record + 1:,} of "
        f"a text file){more}: fill it in; who lives alone has a number of her own."
    )
