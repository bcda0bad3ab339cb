"""Algorithm S2 of paper 1: records by their distance to zero, in runs of k."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.catalogue import SAME
from shoal.data.microdata import Microdata
from shoal.masking.grouped import Grouping
from shoal.masking.grouping.ordered import zero_distance
from shoal.masking.partition import Partition


class Sorted(Grouping):
    """Records by their distance from zero, cut into runs of k."""

    choose = "you compare with the published Algorithm S2"
    in_chunks = SAME
    by_distance = True
    did = "Records were put in order by distance from zero and cut into runs of k (Sánchez et al. 2016, Algorithm S2)."

    def by_quasi_identifiers(self, microdata: Microdata, k: int) -> Iterator[Partition]:
        """One partition, of runs of k in the order of distances from zero."""
        yield zero_distance(microdata, k)
