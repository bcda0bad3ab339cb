"""t-closeness: in every class a confidential attribute is distributed nearly as in the whole table (Li & Li, 2007).

Nearly: the earth mover's distance of the two distributions is at most t. `ordered`: values lie at equal steps on a line
in their order, EMD = (1 / (v - 1)) sum_i |F_class(i) - F(i)| over the v distinct values (paper 1;
docs/spec.md#t-closeness). `equal`: all values equally far, EMD = half the sum of |p - q|. Missing counts as one more
value, beyond the last.

Paper 1's Eqs. 6 to 8 tie t to the class size when each class takes one record from each of k strata.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import Chunks, parameter
from shoal.data.microdata import Coded
from shoal.data.person import once_each, people_with
from shoal.data.schema import Kind
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Verdict


def t_of_k(n: int, k: int) -> float:
    """Eq. 6: the t that comes with classes of one record from each of k strata of n records."""
    return 0.0 if n <= 1 else (n - k) / (2 * (n - 1) * k)


def k_of_t(n: int, k: int, t: float) -> int:
    """Eq. 7 and 8: the class size that k-anonymity and t-closeness ask for together."""
    return max(k, math.ceil(n / (2 * (n - 1) * t + 1) - 1e-12))


class TCloseness(PrivacyModel):
    """In every class an attribute is distributed within `t` of the whole table, by earth mover's distance.

    Of every confidential attribute if none is named. `distance` is `ordered` (values on a line), `equal` (all equally
    far) or `auto`, by the attribute's kind.
    """

    t: float = parameter("largest distance of the two distributions", least=0, most=1)
    attribute: str | None = parameter("confidential column; each of them if not named", default=None)
    distance: Literal["auto", "ordered", "equal"] = parameter(
        "how far values are apart; auto: equally far if nominal, otherwise on a line", default="auto"
    )

    needs = ("confidential",)
    in_chunks = Chunks("against the whole table")
    weighs = True
    less_is_safer = True
    leaves_open = (
        "Close is not equal",
        "t-closeness bounds how far a class lies from the whole table over all values together: one rare value "
        "may still be several times as frequent in a class. Each confidential attribute is looked at by "
        "itself, not two of them together.",
    )

    @property
    def asked(self) -> float:
        """The t promised."""
        return self.t

    def ordered(self, kind: Kind) -> bool:
        """Whether values of this kind are taken to stand on a line."""
        return self.distance == "ordered" or (self.distance == "auto" and kind is not Kind.NOMINAL)

    @property
    def closeness(self) -> float | None:
        """The t promised."""
        return self.t

    def least_class(self, kind: Kind, counts: npt.NDArray[np.int64]) -> int:
        """By equal distances, a value that the class lacks counts with its whole share.

        So it holds the values, each at least once, that have a share of 1 - t together.
        """
        if self.ordered(kind):
            return 1
        shares = np.cumsum(np.sort(counts)[::-1]) / counts.sum()
        return int(np.searchsorted(shares, 1 - self.t - 1e-9)) + 1

    @property
    def advice(self) -> str:
        """What to change in the column, or to ask for instead."""
        return (
            "Group its values into fewer categories (a hierarchy, bands), let their order count if they have one "
            f"(--kind {self.attribute}=ordinal or numeric), ask for a larger t, or leave the column out."
        )

    @property
    def in_words(self) -> str:
        """How little a class tells of the attribute."""
        return (
            f"In every class, {self.attribute} is distributed nearly as in the whole table: knowing someone's "
            "class tells little about it. The distance of the two distributions (0: the same, 1: as far as "
            f"can be) is nowhere above {self.t:g}."
        )

    def levels(
        self, coded: Coded | None, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Against the distribution of all of the table's records, also when `order` lists only some of them."""
        from shoal.kernels.closeness import equal_distances, ordered_distances

        assert coded is not None
        occurring = np.append(coded.counts > 0, True)  # the last for missing, to which the code -1 leads
        codes = (np.cumsum(occurring) - 1).astype(np.int32)[coded.codes]
        counts = np.append(coded.counts, coded.missing)
        if coded.people is not None:
            having = coded.having
            counts = people_with(coded.people, coded.codes, len(coded.values)) if having is None else having
            order, starts = once_each(coded.people, codes, order, starts)
        counts = counts[counts > 0]
        distance = ordered_distances if self.ordered(coded.attribute.kind) else equal_distances
        return np.asarray(distance(codes, coded.weights, order, starts, counts / counts.sum()))

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether each class is as close as promised."""
        return levels <= self.t + 1e-9

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges by the class that is farthest from the whole table."""
        assert self.attribute is not None
        whole = classes.distribution(self.attribute)
        ordered = self.ordered(classes.kinds[self.attribute])
        if not ordered:
            achieved = _farthest_equal(classes.told_apart(classes.column(self.attribute)), whole)
        elif classes.people is None:
            achieved = _farthest_ordered(classes.column(self.attribute), whole, *classes.members)
        else:
            records = classes.told_apart(classes.column(self.attribute)).sort("@class").collect()
            starts = np.flatnonzero(np.diff(records["@class"].to_numpy(), prepend=-1, append=-1))
            achieved = _farthest_ordered(records["@value"], whole, np.arange(records.height), starts)
        return Verdict(self.name, self.t, achieved, achieved <= self.t + 1e-9, self.attribute)


def _farthest_ordered(
    column: pl.Series, whole: pl.DataFrame, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> float:
    """Largest ordered EMD of any class.

    Between two of its members, F_class is constant; there the sum of |F_class - F| splits where F crosses it, and
    sums of F over a stretch are differences of its running sum. One pass over all members, no loop over classes.
    """
    line = whole.sort("@value", nulls_last=True)
    place = pl.DataFrame({"@value": line["@value"], "@rank": np.arange(line.height)})
    shown = column.alias("@value").to_frame()
    rank = shown.join(place, on="@value", how="left", nulls_equal=True, maintain_order="left")["@rank"].to_numpy()
    v = line.height
    if v < 2:
        return 0.0
    F = np.cumsum(line["@records"].to_numpy()) / line["@records"].sum()
    running = np.append(0.0, np.cumsum(F))
    sizes = np.diff(starts)
    label = np.repeat(np.arange(len(sizes)), sizes)
    member = rank[order]
    member = member[np.lexsort((member, label))]
    within = np.arange(len(member)) - np.repeat(starts[:-1], sizes)
    # Stretch after the j-th member: F_class = (j + 1) / size, up to the next member or the end of the line.
    last = np.append(label[1:] != label[:-1], True)
    to = np.where(last, v - 1, np.append(member[1:], 0))
    level = (within + 1) / sizes[label]
    crossing = np.clip(np.searchsorted(F, level), member, to)
    after = level * (crossing - member) - (running[crossing] - running[member])
    after += (running[to] - running[crossing]) - level * (to - crossing)
    before = running[member[starts[:-1]]]  # F_class = 0 up to the first member
    distance = (np.bincount(label, after, len(sizes)) + before) / (v - 1)
    return float(distance.max(initial=0.0))


def _farthest_equal(records: pl.LazyFrame, whole: pl.DataFrame) -> float:
    """Largest total variation distance of any class: sum over its values of max(0, p_class - p)."""
    shares = whole.lazy().select("@value", (pl.col("@records") / pl.col("@records").sum()).alias("@p"))
    counts = records.group_by("@class", "@value").agg(pl.len().alias("@n"))
    excess = (
        counts.join(shares, on="@value", nulls_equal=True)
        .with_columns((pl.col("@n") / pl.col("@n").sum().over("@class")).alias("@share"))
        .group_by("@class")
        .agg((pl.col("@share") - pl.col("@p")).clip(0).sum().alias("@d"))
    )
    return float(excess.collect()["@d"].max() or 0.0)  # type: ignore[arg-type]
