"""A measured risk of a table that is masked in chunks: who is found again is told of each chunk as it is masked.

Whose record is whose can only be told where originals and masked records are paired: in each chunk. Chunks are drawn at
random. Who is found among all masked records is found among those of a chunk too, where there are fewer to be taken
for: the mean of the chunks, by records, is no more optimistic than the whole.

What is released is shuffled, and nobody can pair it again. So each chunk tells, beside the risk, a sum of hashes of
what it shows; what stands there in the end must have the same sum over all chunks, or it is not what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.forms import Form, in_plain
from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.engines.table import Batch, Table, selected
from shoal.errors import PromiseError
from shoal.privacy.check import released_classes
from shoal.privacy.classes import CLASS, in_classes
from shoal.privacy.judge import Judged, Original, judge_table
from shoal.privacy.model import PrivacyModel, Source, Verdict

_ROUND = 1 << 64

Facts = Sequence[Mapping[str, Any]]  # of each chunk, as it was masked


def judged_by_classes(promises: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """The models that are judged on what is released alone."""
    return [model for model in promises if not model.beside_original]


def measured(promises: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """The models that are judged beside the original, in each chunk as it is masked."""
    return [model for model in promises if model.beside_original]


def measured_in_chunk(
    original: Microdata, kept: npt.NDArray[np.int64] | None, shown: pl.DataFrame, promises: Sequence[PrivacyModel],
    forms: Mapping[str, Form],
) -> dict[str, Any]:  # fmt: skip
    """Of a masked chunk each risk that is promised, and the sum of what it shows, its cells in these `forms`.

    `kept` are the records shown.
    """
    models = measured(promises)
    if not models:
        return {}
    classes = released_classes(in_plain(shown, forms), original.schema, Source(original, kept))
    risks = [model.verdict(classes).achieved for model in models]
    return {"risks": risks, "sum": _sum(shown, original.schema.quasi_identifiers)}


def judge_chunks(
    table: Table,
    as_written: Table,
    schema: Schema,
    promises: Sequence[PrivacyModel],
    records: int,
    facts: Facts,
    original: Original | None = None,
    forms: Mapping[str, Form] | None = None,
    together: Sequence[str] = (),
) -> Judged:
    """What the models say of the table as it stands there, and of its chunks what was measured as they were masked.

    `table` has the values of what is written in the table `as_written`, and cells with masks in these `forms`;
    `original` is what went along; by the columns `together` anybody can put rows together.
    """
    judged = judge_table(table, schema, judged_by_classes(promises), records, original, forms, together)
    by_classes = iter(judged.verdicts)
    in_chunks = iter(_verdicts(measured(promises), schema.quasi_identifiers, facts, as_written))
    return replace(
        judged, verdicts=tuple(next(in_chunks if model.beside_original else by_classes) for model in promises)
    )


def _verdicts(models: Sequence[PrivacyModel], quasi: Sequence[str], facts: Facts, table: Table) -> list[Verdict]:
    """The chunks' risks as one, if it is of what stands in the table."""
    if not models:
        return []
    expected = sum(fact["sum"] for fact in facts) % _ROUND
    if _sum_of(table, quasi) != expected:
        raise PromiseError("What was written is not what its risk was measured on. Nothing was released.")
    weights = [fact["records"] for fact in facts]
    risks = np.average([fact["risks"] for fact in facts], axis=0, weights=weights)
    return [
        Verdict(model.name, model.asked, risk, risk <= model.asked)
        for model, risk in zip(models, map(float, risks), strict=True)
    ]


def where_measured(promises: Sequence[PrivacyModel], chunks: int) -> tuple[str, ...]:
    """What the custodian should know of how risks were measured."""
    models = measured(promises)
    if not models or chunks < 2:
        return ()
    names = ", ".join(dict.fromkeys(model.name for model in models))
    return (
        f"The {names} is the mean of {chunks:,} random chunks, each measured beside its original as it was masked; of "
        "the release it was verified that it shows the same records.",
    )


def same_records(masked: Table, written: Table, quasi: Sequence[str]) -> None:
    """Refuses what was written if it does not show the records that were masked."""
    if _sum_of(masked, quasi) != _sum_of(written, quasi):
        raise PromiseError("What was written is not what was masked. Nothing was released.")


def _sum(frame: pl.DataFrame, quasi: Sequence[str]) -> int:
    """A sum over the records that shows whether a file holds those that were measured, in whatever order."""
    return int(in_classes(frame, quasi)[CLASS].hash().sum())


def _sum_of(table: Table, quasi: Sequence[str]) -> int | None:
    return selected(table, quasi).fold(_Sum(tuple(quasi)), _add)


@dataclass(frozen=True)
class _Sum:
    quasi: tuple[str, ...]

    def __call__(self, batch: Batch) -> int:
        return _sum(batch.frame, self.quasi)


def _add(left: int, right: int) -> int:
    return (left + right) % _ROUND
