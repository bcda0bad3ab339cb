"""What every masking method is: it takes microdata and the models promised, and gives masked quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.errors import InputError
from shoal.privacy.k_map import KMap
from shoal.privacy.measured_risk import MeasuredRisk
from shoal.privacy.model import PrivacyModel


@dataclass(frozen=True)
class Masked:
    """The quasi-identifiers as they will be shown, one cell a kept record."""

    columns: Mapping[str, MaskedColumn]
    kept: npt.NDArray[np.int64] | None = None  # the records released, ascending; None: all
    notes: tuple[str, ...] = ()  # what the custodian should know, in plain words
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else is known of the result, for machines


@dataclass(frozen=True)
class Parameter:
    """The one number that says how strongly a method masks, so that it can be calibrated: more masks more."""

    name: str
    least: float
    most: float
    whole: bool = False  # only whole numbers make sense


class Method(Protocol):
    """What a method cannot promise by construction is judged on the finished output; nothing is taken on trust."""

    name: ClassVar[str]

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked: ...


@runtime_checkable
class FixedCells(Protocol):
    """A method that may show cells in which nothing was drawn from the table's own values."""

    def cells_fixed(self, schema: Schema) -> bool:
        """Whether every cell it can show of these attributes was fixed before the table was seen."""
        ...


def with_cells(
    promises: Sequence[PrivacyModel], method: Method, schema: Schema, smallest_class: int
) -> tuple[PrivacyModel, ...]:
    """The promises, k-map knowing whether cells are fixed; refused where it is inferred of cells that are drawn.

    A class that is as large as k holds k people, however its cells came about. A method that says nothing draws them.
    """
    fixed = isinstance(method, FixedCells) and method.cells_fixed(schema)
    return tuple(_with_cells(model, method, fixed, smallest_class) for model in promises)


def _with_cells(model: PrivacyModel, method: Method, fixed: bool, smallest_class: int) -> PrivacyModel:
    if not isinstance(model, KMap) or model.fraction is None:
        return model
    if not fixed and smallest_class < model.k:
        known_as = str(getattr(method, "grouping", method.name))
        raise InputError(
            f"k-map cannot be inferred from the sampling fraction of what {known_as!r} shows: its cells are drawn "
            "from the table's own values, and far fewer people of the population fit them than their records suggest. "
            "Recode along hierarchies that were fixed beforehand (--method recode, without --local and without learnt "
            f"bands), count people (--population FILE), or promise k-anonymity (--k {model.k})."
        )
    return replace(model, cells_fixed=fixed)


def held_to(model: MeasuredRisk, method: Method) -> MeasuredRisk:
    """The promise of a measured risk as the method can be held to it.

    A method may say that it can be `undone`: then no figure of the attacks that are built in means anything, and it is
    refused. One that draws nothing (`seedless`) is run again by whoever knows everybody's quasi-identifiers.
    """
    if why := getattr(method, "undone", ""):
        raise InputError(
            f"No measured risk of {method.name!r} can be promised: {why}. Compare with it, and release by another "
            "method, as noise, swap (in two rounds) or shuffle."
        )
    return replace(model, replayed=bool(getattr(method, "seedless", False)))
