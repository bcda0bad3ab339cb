"""Sampling weights: how many people of the population each record of a survey stands for.

They estimate how many people fit a class. They are never masked, and they can identify: a weight is made of what the
sampling knew of a person (region, age, household), and rare ones belong to few. So a release leaves them out unless a
role names them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.schema import Role
from shoal.errors import InputError, did_you_mean


def weights_of(frame: pl.DataFrame, name: str, *, in_order: bool = True) -> npt.NDArray[np.float64]:
    """The sampling weights in a column; refused where one is missing or not above 0.

    Of a table in the order of its file (`in_order`) the record is named; chunks of one have no such order.
    """
    need_weights(frame.schema, name)
    column = frame[name].cast(pl.Float64)
    usable = (column > 0) & column.is_finite()
    if not usable.fill_null(False).all():
        row = int((~usable.fill_null(False)).arg_max() or 0)
        held = frame[name][row]
        what = "no number" if held is None or np.isnan(held) else f"{held}"
        where = f"record {row + 1:,} (line {row + 2:,} of a text file)" if in_order else "a record"
        raise InputError(
            f"Column {name!r} cannot be sampling weights: each record needs a number above 0, of people it stands for, "
            f"and {where} has {what}. Correct it, or leave the record out."
        )
    return column.to_numpy()


def need_weights(types: Mapping[str, pl.DataType], name: str) -> None:
    """Refuses a column of weights that is not there or holds no numbers."""
    if name not in types:
        raise InputError(f"The table has no column {name!r} of weights.{did_you_mean(name, list(types))}")
    if not types[name].is_numeric():
        raise InputError(
            f"Column {name!r} cannot be sampling weights: each record needs a number above 0, of people it stands for, "
            f"and the column holds {types[name]}."
        )


def weights_note(weights: str | None, roles: Mapping[str, Collection[Role]]) -> tuple[str, ...]:
    """What becomes of the weights in a release, and a warning where they are shown as they are."""
    if weights is None:
        return ()
    named = roles.get(weights, ())
    if not named or Role.IDENTIFIER in named:
        return (f"The sampling weights {weights!r} are used to estimate risks, and are not released.",)
    if Role.QUASI_IDENTIFIER in named:
        return ()
    return (
        f"Warning: the sampling weights {weights!r} are released as they are. A weight is made of what is known of a "
        "person (region, age, household), so it can identify, and no promise covers it: round it, make it a "
        "quasi-identifier, or leave it out.",
    )
