"""k-map: every released class matches at least k people of the population (paper 3; docs/spec.md#k-map).

A journalist, who does not know who is in the file, succeeds with 1/F, F the people who fit a class, not with 1/f of its
records: k-anonymity asks for more than is needed. With the identification database at hand F is counted. Otherwise it
is inferred from the sampling fraction pi, by one of the paper's three approximations:

| test                | D  | a class of f records is released if                                      |
|---------------------|----|--------------------------------------------------------------------------|
| `individual`        | D2 | E[1/F | f] <= 1/k (Benedetti & Franconi, 1998)                           |
| `poisson`           | D3 | f >= min(k, k'), k' the least f with P(X >= f) <= alpha, X ~ Poisson(k pi) |
| `truncated-poisson` | D4 | the same, given that X > 0: no class of the sample is empty              |

The tests take the cells for fixed before the sample is drawn: f then is how many of the F people who fit a cell were
drawn. Of a range whose ends are values of its own records nothing of the kind is true; it fits its records and, in
several attributes at once, hardly anybody else. So the tests are for cells that are fixed (`cells_fixed`), and of any
other class it is only known that its records are people: F >= f.

A test speaks of one class. A class that fewer than k people fit, and that stands in the sample, passes with a
probability of at most `error`: of J classes tested, J times that many are expected at most. It says nothing of the
share among those released: where most of the J are small, most of what passes may be small. D4 keeps `error` at or
below alpha. D2 and D3 forget that an empty class is never seen; where they let a single record pass, every class
passes, and they are refused. Counting is exact.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import SAME, parameter
from shoal.data.microdata import Coded, Microdata
from shoal.data.schema import Attribute, Role
from shoal.engines.memory import MemoryTable
from shoal.errors import InputError, require
from shoal.privacy.matching import Population, people_beside, population_of
from shoal.privacy.model import EquivalenceClasses, KnownPeople, PrivacyModel, Verdict
from shoal.privacy.people import people_of_classes, refuse_repeated_people

Test = Literal["individual", "poisson", "truncated-poisson"]


def k_prime(
    k: int,
    fraction: float,
    test: Test = "truncated-poisson",
    alpha: float = 0.1,
    *,
    classes: int | None = None,
) -> int:
    """The least class size that shows, at significance alpha, that a class matches k people; k' of the paper.

    The test speaks of one class. With `classes` it speaks of so many at once: alpha is divided by their number
    (Bonferroni). It can exceed k, which is always enough: ask for min(k, k').
    """
    _check("k'", k, fraction, test, alpha)
    some = classes is None or (_whole(classes) and classes >= 1)
    require("k'", "classes", classes, "a whole number of at least 1", holds=some)
    if test == "individual":
        return _least(lambda f: bool(individual_risk(f, fraction) * k <= 1 + 1e-12))
    return _least(lambda f: _tail(f, k * fraction, test) <= alpha / (classes or 1))


def individual_risk(size: npt.ArrayLike, fraction: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """E[1/F | f] of classes of f records, F given f being negative binomial (Benedetti & Franconi, 1998).

    That is (p^f / f) 2F1(f, f; f + 1; q) = p I(f), I(f) the integral of s^(f-1) / (p + q s) over s from 0 to 1, with
    q = 1 - p; p is the sampling fraction, or each class's own f / (sum of its sampling weights).
    """
    f, p = np.broadcast_arrays(np.asarray(size, np.float64), np.minimum(np.asarray(fraction, np.float64), 1.0))
    steps = (p < 0.5) & (f < _MANY)
    integral = np.where(steps, _by_steps(f, np.where(steps, p, 0.5)), _by_series(f, 1.0 - p))
    return np.asarray(p * integral)


_MANY = 32  # records: from here on, _TERMS of the series give all digits whatever p is
_TERMS = 64


def _by_series(f: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """I(f) = sum of q^n B(f, n + 1): positive terms, few for small q or large f."""
    term = total = 1.0 / f
    for n in range(1, _TERMS):
        term = term * q * n / (f + n)
        total = total + term
    return total


def _by_steps(f: npt.NDArray[np.float64], p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """q I(f + 1) = 1/f - p I(f) from I(1) = ln(1/p) / q on: errors shrink by p/q at each step, so p is below 1/2."""
    integral = -np.log(p) / (1.0 - p)
    for n in range(1, _MANY):
        integral = np.where(f > n, (1.0 / n - p * integral) / (1.0 - p), integral)
    return integral


def _tail(f: int, mean: float, test: Test) -> float:
    """P(X >= f) of a Poisson variable, or of one that is not zero."""
    tail = _poisson_tail(f, mean)
    return tail / -math.expm1(-mean) if test == "truncated-poisson" else tail


def _poisson_tail(f: int, mean: float) -> float:
    """Summed away from f on the side where terms fall, so that nothing cancels."""
    upwards = f > mean
    start = f if upwards else f - 1
    term = math.exp(start * math.log(mean) - mean - math.lgamma(start + 1))
    total, i = 0.0, start
    while term > total * 1e-17:
        total += term
        i += 1 if upwards else -1
        term *= mean / i if upwards else (i + 1) / mean
    return total if upwards else 1.0 - total


def _least(holds: Callable[[int], bool]) -> int:
    """The least number from 1 on for which it holds, if it holds from there on."""
    beyond = 1
    while not holds(beyond):
        beyond *= 2
    return bisect_left(range(beyond), True, lo=beyond // 2 + 1, hi=beyond, key=holds)


def error(k: int, fraction: float, size: int) -> float:
    """How probably a class that fewer than k people fit has `size` records or more, given that it has any.

    k records are k people: from there on it is 0. Below, it grows with the people, so that k of them bound it.
    """
    return 0.0 if size >= k else min(1.0, _tail(size, k * fraction, "truncated-poisson"))


@lru_cache(maxsize=1 << 16)
def reached(size: int, fraction: float, test: Test = "truncated-poisson", alpha: float = 0.1) -> float:
    """The greatest k for which a class of that size is enough; of D2 the people expected, 1 / E[1/F]."""
    if test == "individual":
        return float(1.0 / individual_risk(size, fraction))
    return size + _least(lambda more: _tail(size, (size + more) * fraction, test) > alpha) - 1


class KMap(PrivacyModel):
    """Every class fits at least `k` people of the population.

    Give `population`, a file or a frame, to count exactly, or the sampling `fraction` to infer: by `test`
    `truncated-poisson` (D4), `poisson` (D3) or `individual` (D2), at the significance `alpha`. To infer takes cells
    that were fixed before the sample was drawn: a method says so by itself, of a file made elsewhere say `cells_fixed`.
    """

    k: int = parameter("people of the population in each class", least=2)
    fraction: float | None = parameter("share of the population that the table holds", default=None, above=0, most=1)
    test: Test = parameter("by which to infer", default="truncated-poisson")
    alpha: float = parameter("significance of the test", default=0.1, above=0, below=1)
    population: str | pl.DataFrame | Population | None = parameter(
        "the population: a table of whom an intruder may know", default=None
    )
    cells_fixed: bool = parameter("whether nothing of the cells was drawn from the sample", default=False)

    needs = ("population or fraction",)
    in_chunks = SAME
    instead_of_k = True
    prunes = ("recode", "cut-points")
    leaves_open = (
        "Who knows that somebody is in the file",
        "k-map counts the people of the population who fit a class. An intruder who knows that a person is among the "
        "records is left with the class's records alone, which may be fewer than k. Where people are not counted but "
        "inferred from the share of the population, a few classes that fewer people fit may have passed.",
    )
    __pydantic_config__: ClassVar[dict[str, bool]] = {"arbitrary_types_allowed": True}  # for a policy's JSON Schema

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.fraction is None) == (self.population is None):
            raise InputError(
                "k-map needs to know the population: give its file as 'population', or the share of it that the table "
                "holds as 'fraction', and not both."
            )
        if self.fraction is not None and self.smallest_class == 1:
            raise InputError(
                f"By the test {self.test!r}, at a fraction of {self.fraction:g}, one record alone would count as proof "
                f"that {self.k} people fit its class: every unique record would pass, so nothing is promised. Use "
                "'truncated-poisson', the default."
            )
        if not isinstance(self.population, str | Path | None):
            object.__setattr__(self, "population", population_of(self.population))

    @property
    def asked(self) -> float:
        """The k promised."""
        return self.k

    @property
    def by_size(self) -> bool:
        """Where people are inferred, from the records of a class alone."""
        return self.fraction is not None

    @property
    def inferred(self) -> bool:
        """Where a sampling fraction is given."""
        return self.fraction is not None

    @property
    def counted_in(self) -> Any:
        """The population given."""
        return self.population

    @property
    def people(self) -> KnownPeople | None:
        """None of ranges drawn round the sample, of which nothing can be inferred."""
        if self.inferred and not self.cells_fixed:
            return None
        return KnownPeople(self.population, self.fraction, self.alpha)

    def of_people(self) -> PrivacyModel:
        """The same in a population; from a sampling fraction people are inferred by how many records a class has."""
        if self.fraction is not None:
            raise inferred_of_records(self.name)
        return self

    def with_cells(self, method: str, *, fixed: bool, smallest_class: int) -> Self:
        """Refused where it is inferred of cells that are drawn: a class that is as large as k holds k people anyway."""
        if self.fraction is None:
            return self
        if not fixed and smallest_class < self.k:
            raise InputError(
                f"k-map cannot be inferred from the sampling fraction of what {method!r} shows: its cells are drawn "
                "from the table's own values, and far fewer people of the population fit them than their records "
                "suggest. Recode along hierarchies that were fixed beforehand (--method recode, without local and "
                f"without learnt bands), count people (--k-map {self.k},population=FILE), or promise k-anonymity "
                f"(--k {self.k})."
            )
        return replace(self, cells_fixed=fixed)

    @property
    def in_words(self) -> str:
        """How many people fit a class, and how that is known."""
        basis = (
            "counted in the population given"
            if self.fraction is None
            else f"inferred for each class by itself, from a share of {self.fraction:.3g} of the population"
            if self.cells_fixed
            else "as many as its records"
        )
        return (
            f"At least {self.k} people of the population fit every class ({basis}). Whoever does not know who is in "
            f"the file is left with at least {self.k} people; whoever does, with the class's records alone."
        )

    @property
    def smallest_class(self) -> int:
        """The fewest records from which k people are inferred; 1 where they are counted."""
        if self.fraction is None:
            return 1
        return min(self.k, k_prime(self.k, self.fraction, self.test, self.alpha))

    def levels(
        self, about: Coded | Microdata | None, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """People whom each class matches; where there is a population but no table, its records: it can be no less."""
        sizes = np.diff(starts)
        if self.fraction is not None:
            return self._reached(sizes)
        if isinstance(about, Microdata):
            refuse_repeated_people(self.population, about.schema.person)
            people = people_beside(about, order, starts, population_of(self.population), enough=self.k)
            return people.astype(np.float64)
        return sizes.astype(np.float64)

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether k people fit each class."""
        return levels >= self.k - 1e-9

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges by the people who fit the worst class, counted or inferred."""
        if len(classes.sizes) == 0:
            return Verdict(self.name, self.k, 0, True)
        if self.fraction is None:
            refuse_repeated_people(self.population, None if classes.schema is None else classes.schema.person)
            shown = MemoryTable(classes.frame.lazy().collect())
            people = people_of_classes(shown, _attributes(classes), self.population, least=True).people
            achieved = float(people.min())
            return Verdict(self.name, self.k, achieved, achieved >= self.k)
        return self._by_fraction(classes)

    def _by_fraction(self, classes: EquivalenceClasses) -> Verdict:
        """Classes of k records hold k people; of smaller ones a test tells, if their cells were fixed."""
        assert self.fraction is not None
        smallest = int(classes.sizes.min())
        if not self.cells_fixed and (smallest >= self.k or smallest < self.smallest_class):
            return Verdict(self.name, self.k, smallest, smallest >= self.k)
        if not self.cells_fixed:
            raise InputError(
                f"A class of {smallest} records shows that {self.k} people fit it only if its cells were fixed before "
                "the sample was drawn, and a file does not show whether they were. If they were (bands and categories "
                "written down beforehand, the same for all records), say so (--cells-fixed); ranges that were drawn "
                "round the records can be judged by a population alone."
            )
        achieved = reached(smallest, self.fraction, self.test, self.alpha)
        note = "" if smallest >= self.k else self._bounded(classes)
        return Verdict(self.name, self.k, achieved, smallest >= self.smallest_class, note=note)

    def _bounded(self, classes: EquivalenceClasses) -> str:
        """What the significance bounds, in words; a suppressed record may have been a class by itself."""
        assert self.fraction is not None
        wrong = error(self.k, self.fraction, self.smallest_class)
        released = len(classes.sizes)
        left_out = classes.suppressed
        if classes.source is not None:
            left_out = len(classes.source.original) - int(classes.sizes.sum())
        tested = f"the {released:,} classes" if not left_out else f"at most {released + left_out:,} classes"
        return (
            f"k-map is inferred, not counted: a class that fewer than {self.k} people fit passes with a probability of "
            f"up to {wrong:.2g}. This is about each class, not about the share of classes: of {tested} that were "
            f"tested, up to {wrong * (released + left_out):.2g} such are expected among those released, whichever they "
            "are. It presumes that the cells were fixed before the sample was drawn at random."
        )

    def _reached(self, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        assert self.fraction is not None
        size, which = np.unique(sizes, return_inverse=True)
        level = [reached(int(f), self.fraction, self.test, self.alpha) for f in size]
        return np.array(level, np.float64)[which]


def inferred_of_records(name: str) -> InputError:
    """The error of what is inferred by how many records a class has, where people may have several."""
    return InputError(
        f"{name} is inferred here by how many records a class has, and people may have several (--person): count "
        "people in a population (--k-map 5,population=FILE), or give one record a person and leave out --person."
    )


def _attributes(classes: EquivalenceClasses) -> list[Attribute]:
    """What is known of the quasi-identifiers: kinds, and hierarchies and domains where the classes carry them."""
    if classes.schema is not None:
        return [classes.schema[name] for name in classes.quasi]
    return [Attribute(name, frozenset({Role.QUASI_IDENTIFIER}), classes.kinds[name]) for name in classes.quasi]


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _check(owner: str, k: int, fraction: float, test: str, alpha: float) -> None:
    require(owner, "k", k, "a whole number of at least 2", holds=_whole(k) and k >= 2)
    share = isinstance(fraction, int | float) and not isinstance(fraction, bool) and 0 < fraction <= 1
    require(owner, "fraction", fraction, "a number above 0, at most 1: the share of the population", holds=share)
    require(owner, "test", test, f"one of {', '.join(get_args(Test))}", holds=test in get_args(Test))
    significance = isinstance(alpha, int | float) and not isinstance(alpha, bool) and 0 < alpha < 1
    require(owner, "alpha", alpha, "a number between 0 and 1", holds=significance)
