"""Mondrian (k-d) grouping: space divided by axis-parallel cuts while both sides keep k records.

By space (the middle of the widest attribute) classes stay compact where categories tie; by median they are balanced.
"""

from __future__ import annotations

from shoal.data.microdata import Microdata
from shoal.masking.partition import Partition


def kd(microdata: Microdata, k: int, *, by: str = "space") -> Partition:
    from shoal.kernels.kd import kd_classes

    order, starts = kd_classes(microdata.rows(), k, by == "median")
    return Partition(order, starts)
