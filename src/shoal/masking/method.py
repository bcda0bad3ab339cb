"""What every masking method is: it takes microdata and the models promised, and gives masked quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from shoal.data.masked import MaskedColumn
from shoal.data.microdata import Microdata
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
