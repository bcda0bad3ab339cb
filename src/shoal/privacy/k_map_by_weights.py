"""k-map estimated by sampling weights: every class fits at least k people (docs/spec.md#individual-risk).

The weights of a class's records sum up to the people whom they stand for, so that each class has a sampling share of
its own, f / (sum of weights), and the tests of `shoal.privacy.k_map` are made with it. They presume cells that were
fixed before the sample was drawn, as those by a fraction do. A class of k records holds k people whatever its weights
say, and a single record is never taken for proof.

The weights are the original's. A release that leaves them out is judged beside the original.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from shoal.catalogue import SAME, parameter
from shoal.data.microdata import Microdata
from shoal.data.weights import weights_of
from shoal.errors import InputError
from shoal.privacy.k_map import inferred_of_records, reached
from shoal.privacy.model import EquivalenceClasses, KnownPeople, PrivacyModel, Verdict
from shoal.privacy.weighed import need_shown_weights

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class KMapByWeights(PrivacyModel):
    """Every class fits at least `k` people of the population, estimated by the sampling `weights` of its records.

    By `test` `truncated-poisson` (D4), or `individual` (D2, Benedetti and Franconi's individual risk of at most 1/k).
    """

    k: int = parameter("people of the population in each class", least=2)
    weights: str = parameter("the column of sampling weights")
    test: Literal["truncated-poisson", "individual"] = parameter("by which to infer", default="truncated-poisson")
    alpha: float = parameter("significance of the test", default=0.1, above=0, below=1)
    cells_fixed: bool = parameter("whether nothing of the cells was drawn from the sample", default=False)

    needs = ("sampling weights",)
    in_chunks = SAME
    instead_of_k = True
    leaves_open = (
        "Who knows that somebody is in the file",
        "k-map by weights estimates how many people of the population fit a class. An intruder who knows that a person "
        "is among the records is left with the class's records alone, which may be fewer than k; and as people are "
        "estimated, not counted, a few classes that fewer people fit may have passed.",
    )

    @property
    def asked(self) -> float:
        """The k promised."""
        return self.k

    @property
    def inferred(self) -> bool:
        """Always: people are estimated."""
        return True

    @property
    def people(self) -> KnownPeople | None:
        """None: the weights tell of each class by themselves (`shoal.risk.individual`)."""
        return None

    @property
    def smallest_class(self) -> int:
        """Two records: one alone is proof of nothing."""
        return 2

    @property
    def in_words(self) -> str:
        """How many people fit a class, and how that is known."""
        return (
            f"At least {self.k} people of the population fit every class, as estimated by the sampling weights "
            f"{self.weights!r} of its records. Whoever does not know who is in the file is left with about {self.k} "
            "people or more; whoever does, with the class's records alone."
        )

    def of_people(self) -> PrivacyModel:
        """Refused: a weight says for how many people a record stands, not a person."""
        raise inferred_of_records(self.name)

    def with_cells(self, method: str, *, fixed: bool, smallest_class: int) -> Self:
        """Refused of cells that are drawn round the records: far fewer people fit these than the weights say."""
        if not fixed:
            raise InputError(
                f"k-map cannot be estimated by weights of what {method!r} shows: its cells are drawn from the table's "
                "own values, and far fewer people of the population fit them than the weights suggest. Recode along "
                "hierarchies that were fixed beforehand (--method recode, without local and without learnt bands), "
                f"count people (--k-map {self.k},population=FILE), or promise k-anonymity (--k {self.k})."
            )
        return replace(self, cells_fixed=True)

    def levels(self, about: Any, order: Ints, starts: Ints) -> Floats:
        """People whom each class stands for, as far as its records show; without a table, its records."""
        sizes = np.diff(starts)
        if not isinstance(about, Microdata):
            return sizes.astype(np.float64)
        people = np.add.reduceat(weights_of(about.frame, self.weights)[order], starts[:-1])
        return self.levels_by_weights(sizes, people)

    def levels_by_weights(self, sizes: Ints, people: Floats) -> Floats:
        """People who fit each class, of which the test is sure; its records are that many people at least."""
        share = np.minimum(sizes / people, 1.0)
        known, which = np.unique(np.column_stack([sizes, share]), axis=0, return_inverse=True)
        level = [1.0 if f == 1 else reached(int(f), float(p), self.test, self.alpha) for f, p in known]
        return np.maximum(np.array(level, np.float64)[which], sizes)

    def meets(self, levels: Floats) -> npt.NDArray[np.bool_]:
        """Whether k people fit each class."""
        return levels >= self.k - 1e-9

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges by the people who fit the worst class."""
        if len(classes.sizes) == 0:
            return Verdict(self.name, self.k, 0, True)
        smallest = int(classes.sizes.min())
        if smallest >= self.k:
            return self.reached_by_weights(smallest, smallest)
        order, starts = classes.members
        people = np.add.reduceat(self._weights(classes)[order], starts[:-1])
        return self.reached_by_weights(smallest, float(self.levels_by_weights(np.diff(starts), people).min()))

    def reached_by_weights(self, smallest: int, least: float) -> Verdict:
        """By the smallest class, and the people who fit the worst; k records are k people whatever weights say."""
        if smallest == 0 or smallest >= self.k:
            return Verdict(self.name, self.k, smallest, True)
        if not self.cells_fixed:
            raise InputError(
                f"A class of {smallest} records shows that {self.k} people fit it only if its cells were fixed before "
                "the sample was drawn, and a file does not show whether they were. If they were (bands and categories "
                "written down beforehand, the same for all records), say so (--cells-fixed)."
            )
        note = (
            "k-map is estimated by sampling weights, not counted: it presumes that the cells were fixed before the "
            "sample was drawn, and that each weight is how many people the record stands for."
        )
        return Verdict(self.name, self.k, least, bool(self.meets(np.array([least])).all()), note=note)

    def _weights(self, classes: EquivalenceClasses) -> Floats:
        """Of each released record: the original's, or the file's own where it shows them as they are."""
        source = classes.source
        if source is not None:
            source.need_pairs()
            weights = weights_of(source.original.frame, self.weights)
            return weights if source.rows is None else weights[source.rows]
        need_shown_weights(classes.frame.lazy().collect_schema(), self)
        return weights_of(classes.frame.lazy().select(self.weights).collect(), self.weights, in_order=False)
