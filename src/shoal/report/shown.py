"""What a released table shows, as far as a certificate tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.schema import Kind, Schema
from shoal.engines.table import Table
from shoal.privacy.histories import shown_together
from shoal.privacy.judge import Judged
from shoal.privacy.model import EquivalenceClasses


class Shown(NamedTuple):
    """What a released table shows, as far as a certificate tells it."""

    records: int
    columns: Mapping[str, pl.Series]  # each with all its records, or with each value once
    classes: int
    smallest_class: int
    histories: Mapping[str, int] = {}  # column that puts rows together -> who shows the history that fewest do

    @classmethod
    def of(cls, table: pl.DataFrame, sizes: npt.NDArray[np.int64], histories: Mapping[str, int] | None = None) -> Shown:
        """Of a table in memory; `sizes` are those of its classes."""
        smallest = int(sizes.min()) if len(sizes) else 0
        return cls(table.height, table.to_dict(), len(sizes), smallest, histories or {})

    @classmethod
    def of_classes(cls, table: pl.DataFrame, classes: EquivalenceClasses, together: Sequence[str]) -> Shown:
        """Of a table in memory and its classes; `together` are columns by which rows are put together."""
        return cls.of(table, classes.sizes, shown_together(classes, together))

    @classmethod
    def of_chunks(cls, table: Table, schema: Schema, judged: Judged) -> Shown:
        """Of a table that comes in chunks, as it was judged; of ordered categories those that are shown are listed."""
        empty = pl.DataFrame(schema=table.schema)
        listed = [name for name in schema.confidential if schema[name].kind in (Kind.NOMINAL, Kind.ORDINAL)]
        values = {name: table.counts([name])[name] for name in listed}
        columns = {name: values.get(name, empty[name]) for name in empty.columns}
        sizes = judged.sizes
        return cls(sizes.records, columns, sizes.number, sizes.smallest, judged.histories)
