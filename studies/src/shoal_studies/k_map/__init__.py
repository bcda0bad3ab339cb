"""Paper 3: protecting privacy using k-anonymity; k-map."""

from __future__ import annotations

from shoal_studies.driver import Study
from shoal_studies.k_map.claims import parts
from shoal_studies.k_map.experiment import KMap
from shoal_studies.k_map.figures import FIGURES
from shoal_studies.papers import K_MAP

STUDY = Study("k-map", "Protecting privacy using k-anonymity", K_MAP, KMap, parts, FIGURES, seconds=60)
