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

if TYPE_CHECKING:
    from shoal.anonymize import anonymize
    from shoal.assess import attack, risk, utility
    from shoal.check import check
    from shoal.compare.comparison import compare
    from shoal.compare.result import Comparison
    from shoal.errors import InputError, PromiseError, ShoalError
    from shoal.masking.grouped import Grouped
    from shoal.masking.microaggregation import Microaggregated
    from shoal.masking.perturbing.multiplicative import MultipliedNoise
    from shoal.masking.perturbing.noise import AddedNoise
    from shoal.masking.perturbing.pram import Pram
    from shoal.masking.perturbing.resampling import Resampling
    from shoal.masking.perturbing.shuffling import Shuffling
    from shoal.masking.perturbing.swapping import RankSwapping
    from shoal.masking.recoding.coarsening import Coarsened
    from shoal.masking.recoding.cut_points import CutPoints
    from shoal.masking.recoding.recode import GlobalRecoding
    from shoal.masking.recoding.safe_harbor import SafeHarbor
    from shoal.policy import Policy
    from shoal.privacy import KAnonymity, KMap, LDiversity, MeasuredRisk, TCloseness, Verdict
    from shoal.profile import Profile, profile
    from shoal.release import Release
    from shoal.split import SplitRelease, split

__version__ = "0.1.0"

# Loaded on first use, so that importing shoal costs next to nothing.
_HOME = {
    "AddedNoise": "shoal.masking.perturbing.noise",
    "Coarsened": "shoal.masking.recoding.coarsening",
    "Comparison": "shoal.compare.result",
    "CutPoints": "shoal.masking.recoding.cut_points",
    "GlobalRecoding": "shoal.masking.recoding.recode",
    "Grouped": "shoal.masking.grouped",
    "InputError": "shoal.errors",
    "KAnonymity": "shoal.privacy",
    "KMap": "shoal.privacy",
    "LDiversity": "shoal.privacy",
    "MeasuredRisk": "shoal.privacy",
    "Microaggregated": "shoal.masking.microaggregation",
    "MultipliedNoise": "shoal.masking.perturbing.multiplicative",
    "Policy": "shoal.policy",
    "Pram": "shoal.masking.perturbing.pram",
    "Profile": "shoal.profile",
    "PromiseError": "shoal.errors",
    "RankSwapping": "shoal.masking.perturbing.swapping",
    "Release": "shoal.release",
    "Resampling": "shoal.masking.perturbing.resampling",
    "SafeHarbor": "shoal.masking.recoding.safe_harbor",
    "ShoalError": "shoal.errors",
    "Shuffling": "shoal.masking.perturbing.shuffling",
    "SplitRelease": "shoal.split",
    "TCloseness": "shoal.privacy",
    "Verdict": "shoal.privacy",
    "anonymize": "shoal.anonymize",
    "attack": "shoal.assess",
    "check": "shoal.check",
    "compare": "shoal.compare.comparison",
    "profile": "shoal.profile",
    "risk": "shoal.assess",
    "split": "shoal.split",
    "utility": "shoal.assess",
}

__all__ = [
    "AddedNoise",
    "Coarsened",
    "Comparison",
    "CutPoints",
    "GlobalRecoding",
    "Grouped",
    "InputError",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "MeasuredRisk",
    "Microaggregated",
    "MultipliedNoise",
    "Policy",
    "Pram",
    "Profile",
    "PromiseError",
    "RankSwapping",
    "Release",
    "Resampling",
    "SafeHarbor",
    "ShoalError",
    "Shuffling",
    "SplitRelease",
    "TCloseness",
    "Verdict",
    "anonymize",
    "attack",
    "check",
    "compare",
    "profile",
    "risk",
    "split",
    "utility",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


class _Shoal(ModuleType):
    """Keeps `shoal.risk` the function when the folder of that name is imported beside it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Shoal


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
