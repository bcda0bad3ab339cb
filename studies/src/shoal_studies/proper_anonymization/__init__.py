"""Paper 1: how to avoid re-identification with proper anonymization."""

from __future__ import annotations

from shoal_studies.driver import Study
from shoal_studies.papers import PROPER_ANONYMIZATION
from shoal_studies.proper_anonymization.claims import parts
from shoal_studies.proper_anonymization.experiment import ProperAnonymization
from shoal_studies.proper_anonymization.figures import FIGURES

TITLE = "How to avoid re-identification with proper anonymization"
STUDY = Study("proper-anonymization", TITLE, PROPER_ANONYMIZATION, ProperAnonymization, parts, FIGURES, seconds=60)
