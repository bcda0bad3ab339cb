"""Paper 5: an empirical comparison of anonymization methods."""

from __future__ import annotations

from shoal_studies.driver import Study
from shoal_studies.papers import RISK_UTILITY
from shoal_studies.risk_utility.claims import parts
from shoal_studies.risk_utility.experiment import RiskUtility
from shoal_studies.risk_utility.figures import FIGURES

TITLE = "Comparing anonymization methods by their risk-utility trade-off"
STUDY = Study("risk-utility", TITLE, RISK_UTILITY, RiskUtility, parts, FIGURES, seconds=180)
