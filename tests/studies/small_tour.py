"""The five studies at sizes that take seconds, without real data and, where figures do not matter, without drawing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from shoal.transactions import balanced
from shoal_studies import result as written
from shoal_studies.driver import Study
from shoal_studies.k_map import experiment as k_map
from shoal_studies.purchases import experiment as purchases
from shoal_studies.risk_utility import experiment as risk_utility
from shoal_studies.tour import STUDIES

ASKED: dict[str, dict[str, object]] = {
    "proper-anonymization": {"rows": 300},
    "big-data": {"rows": 1_000},
    "k-map": {"samples": 1},
    "purchases": {"seeds": 2},
    "risk-utility": {"runs": 1},
}


def small(*names: str) -> tuple[Study, ...]:
    """The studies of these names, or all."""
    return tuple(replace(study, asked=ASKED[study.name]) for study in STUDIES if not names or study.name in names)


@contextmanager
def at_small_sizes(*, drawing: bool = False) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SHOAL_DATA", raising=False)
        if not drawing:
            patch.setattr(written, "as_files", lambda name, charts: {"png": b"", "svg": b""})
        patch.setattr(purchases, "SWEEP", (20, 100, 200))
        patch.setattr(purchases, "SWEEP_SEEDS", 1)
        patch.setattr(purchases, "FULLEST", {100: 4})
        patch.setattr(balanced, "PROPOSALS", 5)
        patch.setattr(risk_utility, "SHAPES", {"Census": (150, 4), "EIA": (200, 4)})
        patch.setattr(k_map, "FRACTIONS", (0.1, 0.3, 0.5, 0.9))
        yield patch
