"""Mondrian (k-d) grouping: space divided by axis-parallel cuts while both sides keep k records.

By space (the middle of the widest attribute) classes stay compact where categories tie; by median they are balanced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from shoal import events
from shoal.data.microdata import Microdata
from shoal.masking.grouped import Grouping
from shoal.masking.partition import Partition


class Kd(Grouping):
    """Space divided in two at the middle of the widest attribute, again and again (Mondrian)."""

    choose = "classes must not overlap in space"
    did = "Records were divided in two at the middle of the attribute that varies most, again and again."
    by: ClassVar[str] = "space"  # where the widest attribute is cut: at the middle of its range, or at its median

    def by_quasi_identifiers(self, microdata: Microdata, k: int) -> Iterator[Partition]:
        """One partition, by cuts of the widest attribute."""
        yield kd(microdata, k, by=self.by)


class KdMedian(Kd):
    """Space divided in two at the median of the widest attribute, again and again (Mondrian as first published)."""

    choose = "you compare with Mondrian as first published"
    did = "Records were divided in two at the median of the attribute that varies most, again and again."
    by = "median"


def kd(microdata: Microdata, k: int, *, by: str = "space") -> Partition:
    """Classes of at least k by cuts at the middle of the widest attribute, or at its median."""
    from shoal.kernels.kd import kd_begun, kd_divide

    rows = microdata.rows()
    tree = kd_begun(len(rows), k)
    while tree.at[1]:
        kd_divide(rows, k, by == "median", tree, events.ROUND)
        events.tick(int(tree.starts[tree.at[0] - 1]) if tree.at[0] else 0, len(rows))
    return Partition(tree.order, tree.starts[: tree.at[0] + 1])
