"""l-diversity: every class holds l well-represented confidential values (Machanavajjhala et al., 2007).

`distinct`: l different values. `entropy`: exp of the entropy of the values is at least l. `recursive` (c, l): the most
frequent value occurs less than c times as often as the l-th to last together. Missing counts as a value.

Texts that differ by spelling alone, `hiv` and `hiv `, `5` and `5.0`, are one value: they would protect nobody.

Defined in docs/spec.md#l-diversity.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import Chunks, parameter
from shoal.data.identity import composed
from shoal.data.microdata import MISSING, Coded
from shoal.data.person import once_each
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Verdict


class LDiversity(PrivacyModel):
    """Every class holds `l` well-represented values of a confidential attribute; of all of them if none is named.

    `variant` is `distinct` (so many different values), `entropy` (as mixed as so many equally frequent ones) or
    `recursive`: the most frequent value occurs less than `c` times as often as the l-th to last together.
    """

    l: float = parameter("how many well-represented values", least=1)  # noqa: E741 (the field's own letter)
    attribute: str | None = parameter("confidential column; each of them if not named", default=None)
    variant: Literal["distinct", "entropy", "recursive"] = parameter("how values are counted", default="distinct")
    c: float = parameter("of the recursive variant: how far the most frequent may outweigh", default=3.0, above=0)

    needs = ("confidential",)
    in_chunks = Chunks("against the whole table")
    weighs = True
    leaves_open = (
        "Different values may mean the same",
        "l-diversity counts values, not meanings: a class of three different cancers is diverse. And a rare "
        "value may be far more frequent in a class than in the whole table.",
    )

    @property
    def asked(self) -> float:
        """The l promised."""
        return self.l

    @property
    def advice(self) -> str:
        """What to ask for instead."""
        return "Ask for a smaller l, count distinct values instead of entropy, or leave the column out."

    @property
    def in_words(self) -> str:
        """How the values of a class differ."""
        return f"In every class, {self._diverse()}. Knowing someone's class does not give the value away."

    def _diverse(self) -> str:
        if self.variant == "distinct":
            return f"{self.attribute} takes at least {self.l:g} different values"
        if self.variant == "entropy":
            return f"{self.attribute} is as mixed as {self.l:g} values that are equally frequent"
        return (
            f"the most frequent value of {self.attribute} occurs less than {self.c:g} times as often as all but "
            f"the {self.l - 1:g} most frequent together"
        )

    def levels(
        self, coded: Coded | None, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """How diverse the attribute is in each class, by the variant."""
        from shoal.kernels.diversity import diversity

        assert coded is not None
        codes = _codes(coded)
        if coded.people is not None:
            order, starts = once_each(coded.people, codes, order, starts)
        variant = ("distinct", "entropy", "recursive").index(self.variant)
        return np.asarray(diversity(codes, coded.weights, order, starts, variant, float(self.c)))

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether each class is as diverse as promised."""
        return levels >= self.l - 1e-9

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges by the least diverse class."""
        assert self.attribute is not None
        records = classes.told_apart(whatever_spelled(classes.column(self.attribute)))
        counts = records.group_by("@class", "@value").agg(pl.len())
        level = counts.group_by("@class").agg(self._level(pl.col("len")).alias("@level")).collect()["@level"]
        achieved = float(level.min() or 0.0)  # type: ignore[arg-type]
        return Verdict(self.name, self.l, achieved, achieved >= self.l - 1e-9, self.attribute)

    def _level(self, count: pl.Expr) -> pl.Expr:
        """From how often each value of a class occurs."""
        if self.variant == "distinct":
            return count.len().cast(pl.Float64)
        if self.variant == "entropy":
            share = count / count.sum()
            return (-(share * share.log()).sum()).exp()
        # The largest l whose tail of rarer values outweighs the most frequent one.
        frequent_first = count.sort(descending=True)
        tail = frequent_first.reverse().cum_sum().reverse()
        return (frequent_first.max() < self.c * tail).sum().cast(pl.Float64)


def whatever_spelled(column: pl.Series) -> pl.Series:
    """Texts however they are composed and spaced, and numbers among them by their value; other types as they are."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    text = pl.col("text")
    number = text.cast(pl.Float64, strict=False)
    plain = pl.when(text.str.contains("[eE]") & number.is_finite()).then(number.cast(pl.String)).otherwise(text)
    meant = pl.when(plain.str.contains(_NUMBER)).then(_shortest(plain)).when(text != "").then(plain)
    return pl.DataFrame({"text": composed(column.cast(pl.String))}).select(meant).to_series()


_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$"


def _shortest(number: pl.Expr) -> pl.Expr:
    """A number by its digits, of which a float might lose some: no plus, no zeros that say nothing."""
    whole = number.str.strip_prefix("+").str.replace(r"^(-?)\.", "${1}0.").str.replace(r"^(-?)0+([0-9])", "${1}${2}")
    short = pl.when(whole.str.contains(".", literal=True)).then(whole.str.replace(r"\.?0*$", "")).otherwise(whole)
    return short.str.replace("^-0$", "0")


def _codes(coded: Coded) -> npt.NDArray[np.int32]:
    """Of each record, one for all spellings of a value."""
    meant = whatever_spelled(coded.values)
    if not meant.null_count() and meant.n_unique() == len(meant):
        return coded.codes.copy()  # its own, as below: kernels would be compiled once more for what is read-only
    first = pl.DataFrame({"value": meant}).with_row_index("code").select(pl.col("code").first().over("value"))
    spelled = np.where(meant.is_null(), MISSING, first.to_series().to_numpy()).astype(np.int32)
    return np.append(spelled, np.int32(MISSING))[coded.codes]
