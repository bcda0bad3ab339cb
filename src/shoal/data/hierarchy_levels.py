"""What all builders of hierarchies share: the distinct values of a column, and levels put together to a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.hierarchy import TOP, Hierarchy, from_levels
from shoal.errors import InputError, require

Levels = list[tuple[str, pl.Series]]  # from fine to coarse: the level in words, and each value's label
Ints = npt.NDArray[np.int64]


def merging(leaves: pl.Series, levels: Iterable[tuple[str, pl.Series]], attribute: str) -> Hierarchy:
    """The tree of these levels without those that merge nothing, below one top."""
    kept = [("", leaves)]
    for name, labels in levels:
        if 1 < labels.n_unique() < kept[-1][1].n_unique():
            kept.append((name, labels))
    top = pl.Series([TOP]).new_from_index(0, len(leaves))
    columns = [labels for _, labels in kept]
    return from_levels([*columns, top], attribute, [*(name for name, _ in kept), ""])


def distinct(values: pl.Series, attribute: str, counts: pl.Series | None = None) -> pl.DataFrame:
    """The distinct values by the text that stands for them, with their records.

    Where each value is listed once, `counts` says how many records have it.
    """
    records = pl.repeat(1, len(values), eager=True) if counts is None else counts
    values = values.fill_nan(None) if values.dtype.is_float() else values
    listed = pl.DataFrame({"value": values, "records": records}).drop_nulls("value")
    if listed.is_empty():
        raise InputError(f"Column {attribute!r} has no values to build a hierarchy from: give the hierarchy itself.")
    label = pl.col("value").cast(pl.String)
    by = label.alias("label") if values.dtype.is_float() else pl.col("value")  # 0.0 equals -0.0, the texts do not
    counted = listed.group_by(by).agg(pl.first("value").alias("any"), count=pl.sum("records"))
    return counted.select(value="any", count=pl.col("count").cast(pl.Int64)).with_columns(label=label).sort("label")


def refuse(bad: pl.Series, distinct_values: pl.DataFrame, attribute: str, why: str) -> None:
    """Refuses a column by the first of its distinct values that is `bad`."""
    if bad.any():
        raise InputError(f"Column {attribute!r} holds {distinct_values['label'].filter(bad)[0]!r}, {why}.")


def check_nested(levels: Sequence[Sequence[str]], attribute: str) -> None:
    """Refuses cuts of a coarser level that the finer level below does not have."""
    for finer, coarser in pairwise(levels):
        for cut in coarser:
            if cut not in finer:
                raise InputError(
                    f"The cut at {cut} of a coarser level is none of the finer level below (hierarchy of "
                    f"{attribute!r}): add it there, or leave it out here."
                )


def as_levels(given: object) -> list[Sequence[Any]]:
    """One list a level; a single list is one level."""
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    require("a hierarchy", "cuts", given, "a list, or one list a level", holds=listed and bool(given))
    assert isinstance(given, Sequence)
    nested = [isinstance(part, Sequence) and not isinstance(part, str) for part in given]
    require("a hierarchy", "cuts", given, "a list, or one list a level", holds=all(nested) or not any(nested))
    return list(given) if all(nested) else [given]
