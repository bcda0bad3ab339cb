"""Paper 1's worked examples, made again: the records of Table S2 and the ages of Tables S7 and S8."""

from __future__ import annotations

import polars as pl

from shoal.anonymize import anonymize
from shoal.data.schema import Kind
from shoal.draft import prepare
from shoal.masking.grouped import Grouping
from shoal.masking.grouping.sorted import Sorted
from shoal.masking.recoding.coarsening import Coarsen
from shoal.policy import AttributeChoice, Policy
from shoal.privacy import KAnonymity

TABLE_S2 = pl.DataFrame(  # its attributes that are numbers
    {
        "age": [42, 35, 52, 70, 57, 61],
        "ZIP code": [93722, 93611, 93561, 93560, 93555, 93551],
        "quarter": [1, 2, 2, 2, 4, 2],
        "stay": [33, 47, 13, 1, 2, 2],
    }
)

AGES = pl.DataFrame({"age": range(86)})

INTERVALS = {  # resolution -> the table, and the last year of each of its intervals
    16: ("Table S7", (4, 9, 15, 20, 25, 31, 36, 42, 47, 52, 58, 63, 68, 74, 79, 85)),
    8: ("Table S8", (9, 20, 31, 42, 52, 63, 74, 85)),
}


def example() -> pl.DataFrame:
    """The six records of Table S2 as Algorithm S2 groups them."""
    release = anonymize(TABLE_S2, _all_numbers(TABLE_S2, Sorted(), KAnonymity(3)))
    return release.table.cast(pl.String)


def intervals(resolution: int) -> pl.DataFrame:
    """The intervals of ages by Algorithm S3."""
    microdata, _ = prepare(AGES, _all_numbers(AGES, Coarsen(resolution)))
    column = Coarsen(resolution).mask(microdata, ()).columns["age"]
    ours = [column.text[int(cell)] for cell in dict.fromkeys(column.index.tolist())]
    return pl.DataFrame({"resolution": [resolution] * len(ours), "ours": ours})


def _all_numbers(table: pl.DataFrame, method: Grouping | Coarsen, *models: KAnonymity) -> Policy:
    numeric = AttributeChoice(kind=Kind.NUMERIC)
    return Policy(
        quasi_identifiers=tuple(table.columns),
        models=models,
        method=method,
        attributes=dict.fromkeys(table.columns, numeric),
    )
