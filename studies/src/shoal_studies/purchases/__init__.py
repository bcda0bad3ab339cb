"""Paper 4: de-identification for transaction data."""

from __future__ import annotations

from shoal_studies.driver import Study
from shoal_studies.papers import PURCHASES
from shoal_studies.purchases.claims import parts
from shoal_studies.purchases.experiment import Purchases
from shoal_studies.purchases.figures import FIGURES

STUDY = Study("purchases", "De-identification for transaction data", PURCHASES, Purchases, parts, FIGURES, seconds=130)
