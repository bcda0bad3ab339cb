"""A table, and measures and methods whose levels are known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
import polars as pl
import pytest

import shoal.measure
from shoal.catalogue import Registry
from shoal.compare.contenders import Contender
from shoal.data.cells import plain_cells
from shoal.data.microdata import Microdata
from shoal.masking.method import Masked, Method, Strength
from shoal.measure import Pair, measure
from shoal.privacy.model import PrivacyModel

ROWS = 40
calls: list[str] = []
_lock = Lock()


def called(what: str) -> None:
    with _lock:
        calls.append(what)


class Shift(Method):
    """Moves every value up by `by`, some more and some less where `shaken`."""

    by: float
    shaken: float = 0.0
    bend: float = 0.0

    strength = Strength("by", 0.0, 10.0)

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked:
        called("mask")
        shake = np.random.default_rng(seed).normal(0, self.shaken) if self.shaken else 0.0
        columns = {}
        for coded in microdata.quasi:
            line = coded.positions[coded.codes] + self.by + shake
            line[::2] += self.bend * self.by
            line[1::2] -= self.bend * self.by
            columns[coded.name] = plain_cells(pl.Series(line), coded.attribute, line)
        return Masked(columns)


def moved(pair: Pair) -> float:
    """How far the mean moved."""
    called("moved")
    return float(pair.ordered.masked.mean() - pair.ordered.original.mean())


def nearness(pair: Pair) -> float:
    """How near the mean stayed."""
    return 1 / (1 + moved(pair))


def bent(pair: Pair) -> float:
    """How much farther some records moved than others."""
    called("bent")
    return float(np.ptp(pair.ordered.masked - pair.ordered.original))


def correct_links(pair: Pair) -> float:
    """A share that is always the same."""
    return 0.25


def correct_links_rank(pair: Pair) -> float:
    """Another that is always the same."""
    return 0.5


@pytest.fixture
def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame({"x": rng.normal(size=ROWS), "y": rng.normal(size=ROWS)})


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the measures of this file are known."""
    calls.clear()
    monkeypatch.setattr(shoal.measure, "MEASURES", Registry("measure"))
    measure("risk", "safer")(moved)
    measure("risk", "riskier")(nearness)
    measure("utility", "worse")(bent)
    measure("risk", "riskier")(correct_links)
    measure("risk", "riskier")(correct_links_rank)


def shift(name: str, *, random: bool = False, **choices: float) -> Contender:
    return Contender.of(name, Shift, random=random, **choices)
