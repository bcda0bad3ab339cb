"""A trial: a method at a parameter masks the table by a seed, and is measured. Trials run side by side.

The seeds are the same for every method and parameter (common random numbers): what differs is due to these alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import sqrt

import numpy as np

from shoal import events
from shoal.compare.cache import Cache, key
from shoal.compare.contenders import Contender, source_of
from shoal.data.microdata import Microdata
from shoal.measure import Measure, Pair


@dataclass(frozen=True)
class Estimate:
    """A number averaged over runs, and its standard error; none where nothing was left to chance."""

    mean: float
    error: float

    @classmethod
    def of(cls, runs: Sequence[float]) -> Estimate:
        """The mean of the runs with its standard error, 0 of a single run."""
        error = float(np.std(runs, ddof=1)) / sqrt(len(runs)) if len(runs) > 1 else 0.0
        return cls(float(np.mean(runs)), error)


def seeds(seed: int, runs: int) -> tuple[int, ...]:
    """One a run, the first ones the same however many are asked for."""
    return tuple(np.random.SeedSequence(seed).generate_state(runs).tolist())


@dataclass(frozen=True)
class Trials:
    """A table to try methods on. Only threads that wait ask for trials, so that the pool is never short of a worker."""

    microdata: Microdata
    digest: str
    seeds: tuple[int, ...]
    cache: Cache
    pool: Executor

    def estimates(
        self, contender: Contender, values: Sequence[float], measures: Sequence[Measure]
    ) -> list[dict[str, Estimate]]:
        """For each value of the parameter, each measure by its name."""
        used = self.seeds if contender.random else self.seeds[:1]
        asked = [
            [self.pool.submit(events.carried(self._measured), contender, v, seed, measures) for seed in used]
            for v in values
        ]
        estimates = []
        for value, runs in zip(values, asked, strict=True):
            numbers = zip(*(events.waited(run) for run in runs), strict=True)
            estimates.append({m.name: Estimate.of(column) for m, column in zip(measures, numbers, strict=True)})
            events.stage(f"{contender.name}: {contender.parameter.name} {value:.4g}")
        return estimates

    def _measured(self, contender: Contender, value: float, seed: int, measures: Sequence[Measure]) -> list[float]:
        events.check()
        method = contender.method(value)
        identity = (self.digest, type(method), method, source_of(type(method)), contender.models(value), value, seed)
        keys = {measure.name: key(*identity, measure.name, source_of(measure.function)) for measure in measures}
        known = {name: number for name, kept in keys.items() if (number := self.cache.get(kept)) is not None}
        if missing := [measure for measure in measures if measure.name not in known]:
            fresh = self._tried(contender, value, seed, missing)
            self.cache.put({keys[name]: number for name, number in fresh.items()})
            known |= fresh
        return [known[measure.name] for measure in measures]

    @events.apart
    def _tried(self, contender: Contender, value: float, seed: int, measures: Sequence[Measure]) -> dict[str, float]:
        masked = contender.mask(self.microdata, value, seed)
        pair = Pair.of(self.microdata, masked.columns, masked.kept)
        return {measure.name: measure(pair) for measure in measures}
