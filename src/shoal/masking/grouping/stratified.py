"""Stratified grouping: each class takes one record from every stratum of the confidential attribute.

So each class mirrors the attribute's distribution, and t-closeness comes with the class size (paper 1, Eqs. 6 to 8).
`stratified` is the paper's Algorithm S4: strata ordered by the distance to zero, the c-th records of all make class c.
`divided` keeps the same bound and loses far less: all strata are divided together, as Mondrian divides one table.

Strata are made of the confidential values, so who stands together depends on who has what. It must not tell who has
what. Both groupings therefore look at nothing of a stratum but who is in it, and treat all strata alike: had two strata
exchanged their records, the same classes would have come out. Which of a class's records came from which stratum cannot
be told, then, and each has each of the class's values as likely as the class shows (`shoal.risk.strata` attacks it).
That holds only if it is not known which of the records that share a value fell into which stratum: they are dealt by
lot. `lots` is the order in which they are taken; without, as they stand in the table, which may be known. Where the
number of records is no multiple of the class size, some are left over, fewer than a class's size in all but tiny
tables, and their classes are not covered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.catalogue import INSIDE_RANDOM, parameter
from shoal.data.microdata import Coded, Microdata
from shoal.masking.grouped import Grouping, stratum
from shoal.masking.grouping.ordered import zero_distance_order
from shoal.masking.method import Strata
from shoal.masking.partition import Lots, Partition
from shoal.privacy.model import PrivacyModel
from shoal.privacy.t_closeness import k_of_t

_NODES = 64  # parts that are divided side by side
_BLOCK = 2048  # classes that exchange records among themselves
_REACH = 3  # how far apart on the line two classes may be that exchange records

Remainder = Literal["central", "last"]


class Stratified(Grouping):
    """Each class takes one record from every stratum of a confidential attribute.

    `remainder` says from where left-over records are taken: `last` is Algorithm S4 as printed.
    """

    remainder: Remainder = parameter("from where left-over records are taken; last: as printed", default="central")

    choose = "you compare with the published Algorithm S4"
    strength = None
    needs = ("confidential",)
    in_chunks = INSIDE_RANDOM
    did = (
        "Records were divided into strata by the confidential attribute, and every class took one "
        "record from each stratum (Sánchez et al. 2016, Algorithm S4)."
    )

    @property
    def looks_at_confidential(self) -> bool:
        """It does: strata are made of confidential values."""
        return True

    def by_quasi_identifiers(self, microdata: Microdata, k: int) -> Iterator[Partition]:
        """None: without strata there is no such grouping."""
        return iter(())

    def strata(self, microdata: Microdata, k: int, models: Sequence[PrivacyModel]) -> Strata | None:
        """Of the attribute whose closeness is promised, with one record of each stratum in every class."""
        t, name = stratum(microdata, models)
        return Strata(name, lambda table, lots: stratified(table, k, t, name, lots, remainder=self.remainder))


def strata(
    confidential: Coded, size: int, remainder: Remainder = "central", lots: Lots | None = None
) -> list[npt.NDArray[np.int64]]:
    """Algorithm S4, lines 2 to 4: records by confidential value in strata of q = n div size, and what is left over.

    As printed (`last`) the left-over is the records with the greatest values: a class that gets one can break Eq. 6;
    taken from the middle (`central`) it disturbs a class's distribution least (Soria-Comas et al., 2015).
    """
    from shoal.kernels.sorting import argsort_keys

    n = len(confidential.codes)
    q = n // size
    whole = n // q  # strata of q records each
    rest = n - whole * q
    codes = confidential.codes if lots is None else confidential.codes[lots]
    by_value = argsort_keys((codes.astype(np.int64) + 1).view(np.uint64))
    by_value = by_value if lots is None else lots[by_value]
    start = (n - rest) // 2 // q * q if remainder == "central" else n - rest
    left_over, others = by_value[start : start + rest], np.delete(by_value, slice(start, start + rest))
    full = [np.sort(others[i * q : (i + 1) * q]) for i in range(whole)]
    return [*full, np.sort(left_over)] if rest else full


def stratified(
    microdata: Microdata,
    k: int,
    t: float | None,
    confidential: str,
    lots: Lots | None = None,
    *,
    remainder: Remainder = "central",
) -> Partition:
    """Algorithm S4: class c is the c-th record, by distance to zero, of every stratum that still has one."""
    n = len(microdata)
    size = _class_size(n, k, t)
    place = np.empty(n, np.int64)
    place[zero_distance_order(microdata)] = np.arange(n)
    sorted_strata = [s[np.argsort(place[s])] for s in strata(microdata[confidential], size, remainder, lots)]
    label = np.concatenate([np.arange(len(s)) for s in sorted_strata])
    order = np.concatenate(sorted_strata)[np.argsort(label, kind="stable")]
    return Partition(order, np.append(0, np.cumsum(np.bincount(label))))


def divided(microdata: Microdata, k: int, t: float | None, confidential: str, lots: Lots | None = None) -> Partition:
    """Class c takes of every stratum the record that lies like the others in theirs; neighbours then exchange some."""
    from shoal.kernels.strata import divide_strata, exchange
    from shoal.kernels.threads import in_blocks

    rows = microdata.rows()
    stratum_records = strata(microdata[confidential], _class_size(len(microdata), k, t), lots=lots)
    records = np.concatenate(stratum_records)
    offsets = np.append(0, np.cumsum([len(stratum) for stratum in stratum_records]))
    q, rest = len(stratum_records[0]), len(stratum_records[-1]) % len(stratum_records[0])
    slot = np.zeros(rest, np.int64)
    whole = np.array([0, q, 0, rest])
    least = 1 if q <= _BLOCK else q // _NODES
    nodes = divide_strata(rows, records, offsets, whole, least, slot)
    if least > 1:
        in_blocks(len(nodes), 1, lambda a, _: divide_strata(rows, records, offsets, nodes[a], 1, slot))
    table = np.full((q, len(stratum_records)), -1, np.int64)
    for i, (start, stop) in enumerate(pairwise(offsets)):
        table[slot if stop - start < q else slice(None), i] = records[start:stop]
    in_blocks(q, _BLOCK, lambda a, b: exchange(rows, table, a, b, _REACH))
    return Partition(table[table >= 0], np.append(0, np.cumsum((table >= 0).sum(axis=1))))


def _class_size(n: int, k: int, t: float | None) -> int:
    return min(n, k if t is None else k_of_t(n, k, t))
