"""Records before and after, a page at a time: of the table that is open, and of a result that is kept in `work`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.web.tasks.look import as_texts, opened
from shoal.web.tasks.make import ROW, SIZE

if TYPE_CHECKING:
    import polars as pl

PAGE = 25
VIEWS = ("order", "smallest", "random")


def records(source: str, read: Mapping[str, Any], stamp: str, key: str, view: str, start: int) -> dict[str, Any]:
    """A page of records: each as it was, as it is shown, and how many show the same."""
    import polars as pl

    if view not in VIEWS or not key.isalnum():
        raise InputError(f"Records are shown in one of {', '.join(VIEWS)}.")
    result, order = _result(key), _order(key, view)
    start = max(0, min(start, max(result.height - 1, 0)))
    some = result[order[start : start + PAGE]]
    columns = [name for name in result.columns if name not in (ROW, SIZE)]
    original = opened(source, read, stamp).table
    before = original[some[ROW]].select(
        pl.col(name).cast(pl.String) if name in original.columns else pl.lit(None, pl.String).alias(name)
        for name in columns
    )
    return {
        "columns": columns,
        "start": start,
        "page": PAGE,
        "records": result.height,
        "rows": [
            {"row": row + 1, "alike": size, "before": was, "after": now}
            for row, size, was, now in zip(
                some[ROW].to_list(), some[SIZE].to_list(), as_texts(before), as_texts(some.select(columns)), strict=True
            )
        ],
    }


@lru_cache(maxsize=2)
def _result(key: str) -> pl.DataFrame:
    import polars as pl

    path = Path("work") / f"result-{key}.arrow"
    if not path.is_file():
        raise InputError("This result is no longer there: look at the result again.")
    return pl.read_ipc(path)


@lru_cache(maxsize=4)
def _order(key: str, view: str) -> pl.Series:
    """The records in the order of a view."""
    import polars as pl

    result = _result(key)
    rows = pl.Series(range(result.height), dtype=pl.UInt32)
    if view == "smallest":
        return result.select(order=pl.col(SIZE).arg_sort())["order"]
    return rows.shuffle(seed=1) if view == "random" else rows
