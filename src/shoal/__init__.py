"""Shoal turns personal data into data that is safe to release, and proves it.

import shoal

policy = shoal.Policy(quasi_identifiers=["age", "sex", "zip"], confidential=["charge"], models=[shoal.KAnonymity(5)])
release = shoal.anonymize(frame, policy)
release.write("release.csv")
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shoal.catalogue import imported_for_types
from shoal.masking import METHODS
from shoal.privacy import MODELS

if TYPE_CHECKING:
    from shoal.anonymize import anonymize as anonymize
    from shoal.assess import attack as attack
    from shoal.assess import risk as risk
    from shoal.assess import utility as utility
    from shoal.check import check as check
    from shoal.compare.comparison import compare as compare
    from shoal.compare.result import Comparison as Comparison
    from shoal.errors import InputError as InputError
    from shoal.errors import PromiseError as PromiseError
    from shoal.errors import ShoalError as ShoalError
    from shoal.masking import *  # noqa: F403
    from shoal.policy import Policy as Policy
    from shoal.privacy import *  # noqa: F403
    from shoal.privacy.model import Verdict as Verdict
    from shoal.profile import Profile as Profile
    from shoal.profile import profile as profile
    from shoal.release import Release as Release
    from shoal.split import SplitRelease as SplitRelease
    from shoal.split import split as split
    from shoal.tables import TablesRelease as TablesRelease
    from shoal.tables import anonymize_tables as anonymize_tables

__version__ = "0.1.0"

# Loaded on first use, so that importing shoal costs next to nothing.
_HOME = {**imported_for_types(__file__), **METHODS.homes, **MODELS.homes}
_FORMER = {
    "AddedNoise": "Noise",
    "Coarsened": "Coarsen",
    "GlobalRecoding": "Recode",
    "Grouped": "Hilbert",
    "Microaggregated": "Mdav",
    "MultipliedNoise": "MultiplicativeNoise",
    "RankSwapping": "Swap",
    "Resampling": "Resample",
    "Shuffling": "Shuffle",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        hint = f" Did you mean {_FORMER[name]!r}?" if name in _FORMER else ""
        raise AttributeError(f"module 'shoal' has no attribute {name!r}.{hint}")
    return getattr(import_module(_HOME[name]), name)


class _Shoal(ModuleType):
    """Keeps `shoal.risk` the function when the folder of that name is imported beside it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Shoal


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
