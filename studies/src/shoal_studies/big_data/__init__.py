"""Paper 2: anonymization in the time of big data."""

from __future__ import annotations

from shoal_studies.big_data.claims import parts
from shoal_studies.big_data.experiment import BigData
from shoal_studies.big_data.figures import FIGURES
from shoal_studies.driver import Study
from shoal_studies.papers import BIG_DATA

STUDY = Study("big-data", "Anonymization in the time of big data", BIG_DATA, BigData, parts, FIGURES, seconds=10)
