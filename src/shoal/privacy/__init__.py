"""Privacy models: what is promised of a release, one file a model. A new one is its file and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.catalogue import Catalogue

if TYPE_CHECKING:
    from shoal.privacy.households import Households as Households
    from shoal.privacy.k_anonymity import KAnonymity as KAnonymity
    from shoal.privacy.k_map import KMap as KMap
    from shoal.privacy.k_map_by_weights import KMapByWeights as KMapByWeights
    from shoal.privacy.l_diversity import LDiversity as LDiversity
    from shoal.privacy.linked import Linked as Linked
    from shoal.privacy.measured_risk import MeasuredRisk as MeasuredRisk
    from shoal.privacy.model import PrivacyModel
    from shoal.privacy.persons import Persons as Persons
    from shoal.privacy.t_closeness import TCloseness as TCloseness

MODELS: Catalogue[type[PrivacyModel]] = Catalogue("model", __file__, base="shoal.privacy.model:PrivacyModel")
__getattr__ = MODELS.attribute
