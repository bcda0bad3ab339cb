"""A measured risk of a table in parts: who is found again is told of each part as it is masked.

Whose record is whose can only be told where originals and masked records are paired: in each part. Parts are drawn at
random. Who is found among all masked records is found among those of a part too, where there are fewer to be taken for:
the mean of the parts, by records, is no more optimistic than the whole.

What is released is shuffled, and nobody can pair it again. So each part tells, beside the risk, a sum of hashes of what
it shows; what stands there in the end must have the same sum over all parts, or it is not what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.microdata import Microdata
from shoal.engines.table import Batch, Table, selected
from shoal.errors import InputError, PromiseError
from shoal.masking.method import Masked
from shoal.parted.source import Source
from shoal.privacy import MeasuredRisk
from shoal.privacy.check import released_classes
from shoal.privacy.classes import CLASS, in_classes
from shoal.privacy.judge import Judged, judge_table
from shoal.privacy.model import PrivacyModel, Verdict
from shoal.privacy.model import Source as Beside

IN_PARTS = (MeasuredRisk.measure,)

_ROUND = 1 << 64


def refuse_measures(models: Sequence[PrivacyModel], engine: str) -> None:
    for model in models:
        if isinstance(model, MeasuredRisk) and model.measure not in IN_PARTS:
            raise InputError(
                f"The engine {engine!r} cannot promise the measured risk {model.measure!r}: what it is in parts tells "
                f"nothing sure of the whole. Use the memory engine, or {', '.join(IN_PARTS)}."
            )


def judged_by_classes(promises: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    return [model for model in promises if not isinstance(model, MeasuredRisk)]


def measured_in_parts(promises: Sequence[PrivacyModel]) -> list[MeasuredRisk]:
    return [model for model in promises if isinstance(model, MeasuredRisk)]


def told_of_part(
    original: Microdata, masked: Masked, shown: pl.DataFrame, promises: Sequence[PrivacyModel]
) -> dict[str, Any]:
    """What a part has to tell: each risk measured, and the sum of what it shows."""
    measured = measured_in_parts(promises)
    if not measured:
        return {}
    classes = released_classes(shown, original.schema, Beside(original, masked.kept))
    risks = [model.verdict(classes).achieved for model in measured]
    return {"risks": risks, "sum": _sum(shown, original.schema.quasi_identifiers)}


def judged_with_parts(source: Source, table: Table, told: Sequence[Mapping[str, Any]]) -> Judged:
    """What the models say of the table as it stands there, and of its parts what they told when they were masked."""
    values = source.spelled.as_values(table)
    judged = judge_table(values, source.schema, judged_by_classes(source.promises), source.records)
    classes = iter(judged.verdicts)
    in_parts = iter(_verdicts(measured_in_parts(source.promises), source.schema.quasi_identifiers, told, table))

    def verdict(model: PrivacyModel) -> Verdict:
        return next(in_parts if isinstance(model, MeasuredRisk) else classes)

    return replace(judged, verdicts=tuple(verdict(model) for model in source.promises))


def _verdicts(
    models: Sequence[MeasuredRisk], quasi: Sequence[str], told: Sequence[Mapping[str, Any]], table: Table
) -> list[Verdict]:
    """The parts' risks as one, if it is of what stands in the table."""
    if not models:
        return []
    expected = sum(fact["sum"] for fact in told) % _ROUND
    if _sum_of(table, quasi) != expected:
        raise PromiseError("What was written is not what its risk was measured on. Nothing was released.")
    weights = [fact["records"] for fact in told]
    found = np.average([fact["risks"] for fact in told], axis=0, weights=weights)
    judged = zip(models, map(float, found), strict=True)
    return [Verdict(model.name, model.level, share, share <= model.level) for model, share in judged]


def where_measured(promises: Sequence[PrivacyModel], parts: int) -> tuple[str, ...]:
    """What the custodian should know of it."""
    models = measured_in_parts(promises)
    if not models or parts < 2:
        return ()
    names = ", ".join(dict.fromkeys(model.measure for model in models))
    return (
        f"The measured risk ({names}) is the mean of {parts:,} random parts, each measured beside its original as it "
        "was masked; of the release it was verified that it shows the same records.",
    )


def _sum(frame: pl.DataFrame, quasi: Sequence[str]) -> int:
    """A sum over the records that shows whether a file holds those that were measured, in whatever order."""
    return int(in_classes(frame, quasi)[CLASS].hash().sum())


def same_records(masked: Table, written: Table, quasi: Sequence[str]) -> None:
    """Refuses what was written if it does not show the records that were masked."""
    if _sum_of(masked, quasi) != _sum_of(written, quasi):
        raise PromiseError("What was written is not what was masked. Nothing was released.")


def _sum_of(table: Table, quasi: Sequence[str]) -> int | None:
    return selected(table, quasi).fold(_Sum(tuple(quasi)), _add)


@dataclass(frozen=True)
class _Sum:
    quasi: tuple[str, ...]

    def __call__(self, batch: Batch) -> int:
        return _sum(batch.frame, self.quasi)


def _add(one: int, other: int) -> int:
    return (one + other) % _ROUND
