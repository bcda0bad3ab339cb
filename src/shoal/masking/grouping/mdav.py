"""MDAV grouping (paper 5, Section 5): classes of k about the records that lie farthest out.

Its cost grows with the square of the records: a large table is cut into blocks along the Hilbert curve, and each is
grouped on its own. `improve` betters the result (`mdav+`): exchanges between neighbouring classes, dissolved and new
classes, settled, annealed and settled again; what is kept never has a larger SSE than MDAV's classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal import events
from shoal.catalogue import parameter
from shoal.data.microdata import Coded, Microdata
from shoal.masking.grouped import Grouping
from shoal.masking.grouping.ordered import hilbert_order
from shoal.masking.partition import Partition

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_FAR = 1e9  # standard deviations: no weight or domain, however odd, leaves what can be squared
_WHOLE = 100_000  # records; more are grouped in blocks
_BLOCK = 10_000  # records of a block, and of what is bettered together
_NEAR = 12  # neighbours of a class, or of a record
_SETTLED = 1e-3  # a round that lowers the SSE by less is the last
_ROUNDS = 12  # at most
_HOT, _COLD = 1.0, 0.03  # temperatures, in squared distances of a record to its class's mean
_PROPOSALS = 10_000_000  # to a table; but 250 to 2000 a record


Scale = Literal["sigma", "range"]


class Mdav(Grouping):
    """The k nearest about the records that lie farthest out (MDAV), shown by their means.

    Distances are in standard deviations (`sigma`) or, as in paper 5, in ranges.
    """

    scale: Scale = parameter("distances in standard deviations or in ranges", default="sigma")

    choose = "numbers must stay numbers, and you compare with others: each class shows its mean"
    known_for = "mean"
    did = "Records farthest from the middle were grouped with their nearest, again and again (MDAV)."
    improve: ClassVar[bool] = False  # by exchanges between the classes

    def by_quasi_identifiers(self, microdata: Microdata, k: int) -> Iterator[Partition]:
        """One partition, of classes of k to 2k - 1 records."""
        yield mdav(microdata, k, improve=self.improve, scale=self.scale)

    def notes(self, records: int) -> tuple[str, ...]:
        """That a large table was grouped block by block, where it was."""
        return blocked(records)


class MdavPlus(Mdav):
    """MDAV's classes bettered by exchanges: less squared error, more time.

    Distances are in standard deviations (`sigma`) or, as in paper 5, in ranges.
    """

    choose = "numbers must stay numbers; or the table is small and must lose least (`mdav+:publish=range`)"
    did = (
        "Records farthest from the middle were grouped with their nearest (MDAV), and groups then exchanged "
        "records as long as that brought them nearer together."
    )
    improve = True


def mdav(microdata: Microdata, k: int, *, improve: bool = False, scale: Scale = "sigma") -> Partition:
    """Classes of k to 2k - 1 records; bettered if asked."""
    return microaggregate(places(microdata.quasi, scale), k, improve=improve)


def places(attributes: Sequence[Coded], scale: Scale = "sigma") -> Matrix:
    """Standardised places (docs/spec.md#distance) in double precision, or from 0 to 1 over what is found (paper 5)."""
    matrix = np.empty((len(attributes[0].codes), len(attributes)))
    for j, coded in enumerate(attributes):
        place = coded.places()
        from_least = place - place.min()
        if scale == "range" and (width := float(np.ptp(place[:-1])) if len(place) > 1 else 0.0) > 0:
            from_least *= coded.attribute.weight / width
        matrix[:, j] = np.minimum(np.nan_to_num(from_least, posinf=_FAR), _FAR)[coded.codes]
    return matrix


def blocked(records: int) -> tuple[str, ...]:
    """What the custodian should know of a table that was grouped in blocks."""
    if records <= _WHOLE:
        return ()
    return (
        f"MDAV grouped the records in blocks of {_BLOCK:,} along a Hilbert curve: on more than {_WHOLE:,} records its "
        "cost, which grows with their square, would be too high.",
    )


def microaggregate(rows: Matrix, k: int, *, improve: bool = False) -> Partition:
    """MDAV's classes, neighbours next to each other."""
    from shoal.kernels.mdav import mdav_groups
    from shoal.kernels.threads import in_blocks

    n = len(rows)
    if k == 1:
        return _along_curve(rows, np.arange(n))
    if n <= _WHOLE:
        partition = _along_curve(rows, mdav_groups(rows, k, lambda done: events.tick(done, n)))
    else:
        order, label = hilbert_order(rows.astype(np.float32)), np.empty(n, np.int64)

        def group(a: int, b: int) -> None:
            events.tick(a, n)
            label[order[a:b]] = a + mdav_groups(rows[order[a:b]], k)

        in_blocks(n, max(_BLOCK, 8 * k), events.carried(group))
        partition = _along_curve(rows, label)
    return _along_curve(rows, _better(rows, partition, k)) if improve else partition


def _along_curve(rows: Matrix, label: Labels) -> Partition:
    """Classes in the order of their means on the Hilbert curve."""
    _, dense = np.unique(label, return_inverse=True)
    partition = Partition.of_labels(dense)
    means = np.add.reduceat(rows[partition.order], partition.starts[:-1]) / partition.sizes[:, None]
    rank = np.empty(partition.classes, np.int64)
    rank[hilbert_order(means.astype(np.float32))] = np.arange(partition.classes)
    return Partition.of_labels(rank[dense])


# ---- mdav+


def _better(rows: Matrix, partition: Partition, k: int) -> Labels:
    """Stretches of neighbouring classes, each bettered on its own."""
    from shoal.kernels.threads import in_blocks

    label = np.empty(len(rows), np.int64)
    effort = int(np.clip(_PROPOSALS // len(rows), 250, 2000))

    def better(first: int, last: int) -> None:
        events.tick(first, partition.classes)
        a, b = partition.starts[first], partition.starts[last]
        own = np.repeat(np.arange(last - first), partition.sizes[first:last])
        records = partition.order[a:b]
        label[records] = a + _best_of(rows[records], own, k, effort)

    in_blocks(partition.classes, max(2, _BLOCK // k), events.carried(better))
    return label


def _best_of(rows: Matrix, label: Labels, k: int, effort: int) -> Labels:
    """As given, settled, or annealed; the latter where it pays."""
    from shoal.kernels.microaggregation import groups_of, sse

    settled = _settled(rows, label, k)
    annealed = _settled(rows, _annealed(rows, settled, k, effort), k)
    return min((label, settled, annealed), key=lambda labels: float(sse(groups_of(rows, labels, k))))


def _settled(rows: Matrix, label: Labels, k: int) -> Labels:
    from shoal.kernels.microaggregation import groups_of, settle, sse

    groups = groups_of(rows, label, k)
    for _ in range(_ROUNDS):
        if settle(groups, _neighbours(groups)) <= _SETTLED * sse(groups):
            break
    return groups.group  # type: ignore[no-any-return]


def _annealed(rows: Matrix, label: Labels, k: int, effort: int) -> Labels:
    from scipy.spatial import KDTree

    from shoal.kernels.microaggregation import anneal, groups_of, sse

    groups = groups_of(rows, label, k)
    unit = sse(groups) / len(rows)
    _, nearest = KDTree(rows).query(rows, k=range(2, min(len(rows), _NEAR + 1) + 1))
    anneal(groups, nearest, effort * len(rows), _HOT * unit, _COLD / _HOT)
    return groups.group  # type: ignore[no-any-return]


def _neighbours(groups: Any) -> npt.NDArray[np.int64]:
    """group -> the groups whose means are nearest, itself among them."""
    from scipy.spatial import KDTree

    used = np.flatnonzero(groups.size)
    near = np.zeros((len(groups.size), min(_NEAR + 1, len(used))), np.int64)
    _, neighbours = KDTree(groups.centre[used]).query(groups.centre[used], k=range(1, near.shape[1] + 1))
    near[used] = used[neighbours]
    return near
