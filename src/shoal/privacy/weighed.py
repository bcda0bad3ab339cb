"""The people for whom the records of each class stand, by sampling weights, in a table of any size."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.data.weights import weights_of
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.privacy.classes import RECORDS, How, by_class
from shoal.privacy.model import PrivacyModel, Verdict

PEOPLE = "people"


@dataclass(frozen=True)
class PeopleByWeights:
    """The people that a record stands for, which add up over its class."""

    weights: str

    adds: ClassVar[dict[str, tuple[pl.DataType, How]]] = {PEOPLE: (pl.Float64(), "sum")}

    def __call__(self, frame: pl.DataFrame) -> list[pl.Series]:
        """Of each of these records."""
        return [pl.Series(PEOPLE, weights_of(frame, self.weights, in_order=False))]


def weights_in(models: Sequence[PrivacyModel]) -> list[str]:
    """The columns of sampling weights that the models are judged by."""
    return list(dict.fromkeys(model.weights for model in models if model.weights is not None))


def need_shown_weights(columns: Collection[str], model: PrivacyModel) -> None:
    """Refuses to judge the model by a release alone that does not show its weights."""
    if model.weights not in columns:
        raise InputError(
            f"The file does not show the sampling weights {model.weights!r}: {model.name} can only be judged beside "
            "the original, in the same order (--original FILE --paired)."
        )


def judged_by_weights(table: Table, quasi: Sequence[str], weights: str, model: PrivacyModel, records: int) -> Verdict:
    """What the model says of the classes of a table, with the `weights` of its records beside them."""
    finish = _Levels(model)
    worst = by_class(
        table, quasi, PeopleByWeights(weights), finish, finish.schema, records, nan_is_missing=False
    ).min()  # over chunks
    return model.reached_by_weights(worst["smallest"].item() or 0, worst["level"].item() or 0.0)


@dataclass(frozen=True)
class _Levels:
    """The smallest of a chunk's classes, and the least level that they reach."""

    model: PrivacyModel

    schema: ClassVar[pl.Schema] = pl.Schema({"smallest": pl.Int64(), "level": pl.Float64()})

    def __call__(self, classes: pl.DataFrame) -> pl.DataFrame:
        sizes = classes[RECORDS].to_numpy().astype(np.int64)
        levels = self.model.levels_by_weights(sizes, classes[PEOPLE].to_numpy())
        return pl.DataFrame({"smallest": [int(sizes.min())], "level": [float(levels.min())]}, schema=self.schema)
