"""Privacy models: what is promised of a release, one file a model."""

from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.k_map import KMap
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.measured_risk import MeasuredRisk
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Verdict
from shoal.privacy.t_closeness import TCloseness

__all__ = [
    "EquivalenceClasses",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "MeasuredRisk",
    "PrivacyModel",
    "TCloseness",
    "Verdict",
]
