"""The default: records in Hilbert order, cut where least is lost, neighbouring classes divided anew.

Where more may win, more is tried, and the grouping that loses least is kept. For t-closeness: merging costs least where
the confidential attribute hardly depends on the others, strata where it does. Where all is published by common
ancestors, classes that follow the hierarchies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.data.microdata import Microdata
from shoal.masking.grouped import Grouping, stratum
from shoal.masking.grouping.cheapest_first import cheapest_first
from shoal.masking.grouping.ordered import hilbert
from shoal.masking.grouping.stratified import divided
from shoal.masking.method import Strata
from shoal.masking.partition import Partition
from shoal.privacy.model import PrivacyModel


class Hilbert(Grouping):
    """Records along a Hilbert curve through all quasi-identifiers, cut where least is lost; the default."""

    choose = "always, unless there is a reason: little information loss at any size"
    did = (
        "Records were put in order along a Hilbert curve through all quasi-identifiers at once, so that "
        "neighbours are alike, and the line was cut where least is lost."
    )

    def by_quasi_identifiers(self, microdata: Microdata, k: int) -> Iterator[Partition]:
        """Along the curve; where all attributes have hierarchies also by merging the cheapest rows first."""
        yield hilbert(microdata, k)
        if all(coded.attribute.hierarchy is not None for coded in microdata.quasi):
            yield cheapest_first(microdata, k)

    def strata(self, microdata: Microdata, k: int, models: Sequence[PrivacyModel]) -> Strata | None:
        """Strata of the attribute that a model wants close to its distribution; None where no model does."""
        if all(model.closeness is None for model in models):
            return None
        t, name = stratum(microdata, models)
        return Strata(name, lambda table, lots: divided(table, k, t, name, lots))
