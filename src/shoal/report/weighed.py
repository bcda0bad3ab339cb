"""The report's estimate by sampling weights: how many records are expected to be re-identified, before and after."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from shoal.data.frames import OWN
from shoal.engines.memory import MemoryTable
from shoal.report.reported import Reported, Tables
from shoal.risk.individual import IndividualRisk
from shoal.risk.scenarios import scenarios

_WEIGHTS = f"{OWN}weights"


class Weighed(NamedTuple):
    """Individual risk by weights: of the original, and of the release where its cells were fixed beforehand."""

    before: IndividualRisk
    after: IndividualRisk | None
    classes: int  # of the release: nobody can expect more than one right guess in each


def weighed(release: Reported, tables: Tables, classes: int) -> Weighed | None:
    """By the policy's weights; None where there are none, or the engine does not have them beside the records."""
    weights, frame = release.policy.weights, tables.original.whole
    if weights is None or frame is None or tables.released.whole is None:
        return None
    before = scenarios(tables.original, release.schema, weights=weights).individual
    assert before is not None
    if not release.policy.method.cells_fixed(release.schema):
        return Weighed(before, None, classes)
    rows = release.masked.kept
    known = (frame[weights] if rows is None else frame[weights].gather(pl.Series(rows))).alias(_WEIGHTS)
    released = MemoryTable(tables.released.whole.with_columns(known))
    return Weighed(before, scenarios(released, release.schema, weights=_WEIGHTS).individual, classes)
