"""Tables for the perturbing methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from shoal.data.microdata import Microdata
from shoal.masking.method import Masked, Method
from shoal.policy import Policy


def table(frame: pl.DataFrame | dict[str, Any], quasi: list[str] | None = None, **attributes: Any) -> Microdata:
    """All columns quasi-identifiers unless these are named, the others insensitive; kinds as inferred or stated."""
    frame = pl.DataFrame(frame, strict=False)
    policy = Policy(quasi_identifiers=quasi or frame.columns, rest="insensitive", attributes=attributes)
    return Microdata(frame, policy.schema(frame))


def normal(n: int, *, seed: int = 0) -> pl.DataFrame:
    """Three attributes on scales of their own, of which the first two go together."""
    a, b, c = np.random.default_rng(seed).standard_normal((3, n))
    return pl.DataFrame({"a": 50 + 10 * a, "b": 1000 * (0.8 * a + 0.6 * b), "c": 1e-3 * c})


def shown(method: Method, microdata: Microdata, seed: int | None = 1) -> pl.DataFrame:
    return released(method.mask(microdata, (), seed=seed))


def released(masked: Masked) -> pl.DataFrame:
    return pl.DataFrame([column.values() for column in masked.columns.values()])
