"""The audit of several releases over the same people, pair by pair and all together (paper 2, section 3.2).

The custodian's view: it is known who stands in which class of each release. Whoever pools the releases and recognises
the common subjects, by confidential values that agree, has the same view.

Defined in docs/spec.md#atoms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from shoal.masking.partition import ABSENT, Labels
from shoal.privacy.classes import counts_of, rows
from shoal.releases.atoms import Counts, Pool
from shoal.releases.budget import Budget
from shoal.releases.changes import Changed, changed
from shoal.releases.differencing import Differenced, differencing
from shoal.releases.published import Published
from shoal.show import Bars, Chart, Result, Series, Sheet

WORST = 10  # atoms shown
_BY_PEOPLE = {
    "subjects": (),
    "people": ("Classes are counted in people. Everybody counts by the record of theirs that tells most.",),
}


@dataclass(frozen=True)
class Pair:
    """Two releases side by side: what their classes have in common, and what comparing them tells."""

    releases: tuple[str, str]
    common_subjects: int
    overlaps: int  # pairs of classes that have subjects in common
    unequal: int  # of these, that differ
    smallest_common: int | None  # k', the fewest that two classes that differ have in common
    smallest_others: int | None  # the fewest of such a class that are not in the other
    smallest_pooled_class: int
    subjects_below_k: int
    differencing: tuple[Differenced, ...]
    changed: tuple[Changed, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON takes them."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        differenced = [each.to_dict() for each in self.differencing]
        return facts | {"differencing": differenced, "changed": [each.to_dict() for each in self.changed]}


@dataclass(frozen=True)
class Audit(Result):
    """How well everybody is hidden when all releases are pooled."""

    releases: tuple[dict[str, Any], ...]
    k: int
    histogram: Mapping[int, int]  # with how many, herself included, a subject is alike in all releases -> subjects
    pairs: tuple[Pair, ...]
    worst: tuple[dict[str, Any], ...]
    budget: Budget | None = None  # of private means, where a ledger knows it
    engine: str = "memory"
    left_out: Mapping[str, str] = field(default_factory=dict)  # what was not asked of tables in chunks, and why
    counts: str = "subjects"  # or people, each by the record of theirs that tells most

    @property
    def subjects(self) -> int:
        """How many people are in some release."""
        return sum(self.histogram.values())

    @property
    def smallest_pooled_class(self) -> int:
        """With how few, herself included, somebody is alike in all releases."""
        return min(self.histogram, default=0)

    @property
    def subjects_below_k(self) -> int:
        """How many people are alike with fewer than k."""
        return sum(subjects for size, subjects in self.histogram.items() if size < self.k)

    @property
    def holds(self) -> bool:
        """Whether nobody falls below k, and private means cost nobody more than they may."""
        return self.subjects_below_k == 0 and (self.budget is None or self.budget.holds)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON takes them."""
        return {
            "view": "custodian",
            "releases": list(self.releases),
            "k": self.k,
            **({} if self.counts == "subjects" else {"counts": self.counts}),
            "subjects": self.subjects,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "smallest_pooled_class": self.smallest_pooled_class,
            "subjects_below_k": self.subjects_below_k,
            "histogram": dict(self.histogram),
            "worst": list(self.worst),
            "epsilon": self.budget.to_dict() if self.budget is not None else None,
            "holds": self.holds,
            **({} if self.engine == "memory" else {"engine": self.engine, "left_out": dict(self.left_out)}),
        }

    def charts(self) -> list[Chart]:
        """How many people are alike with how many."""
        sizes = sorted(self.histogram)
        subjects = Series(self.counts, [float(self.histogram[size]) for size in sizes])
        return [
            Bars(
                f"{self.counts.title()} by how many are alike in all releases",
                [f"{s:,}" for s in sizes],
                (subjects,),
                "number",
            )
        ]

    def _pool(self) -> list[tuple[str, str]]:
        """What is known of all releases together, a row each."""
        pool = [
            (self.counts, f"{self.subjects:,}"),
            ("smallest pooled class", f"{self.smallest_pooled_class:,}"),
            (f"{self.counts} below k = {self.k}", f"{self.subjects_below_k:,}"),
        ]
        if self.budget is not None and self.budget.total:
            limit = "none" if self.budget.limit is None else f"{self.budget.limit:g}"
            pool += [
                ("epsilon of all releases", f"{self.budget.total:g}"),
                (f"epsilon of whoever paid most ({self.budget.subjects:,} subjects)", f"{self.budget.worst:g}"),
                ("its limit", limit),
            ]
        return pool

    def sheets(self) -> list[Sheet]:
        """Each release, each pair, all together, and what attacks find, as tables."""
        counted = ("records", *(["people"] if self.counts == "people" else []), "classes", "smallest_class")
        each = [(release["name"], *(f"{release[name]:,}" for name in counted)) for release in self.releases]
        header = ("", *(name.replace("_", " ") for name in counted))
        pairs = [
            (
                " and ".join(pair.releases),
                f"{pair.common_subjects:,}",
                f"{pair.unequal:,}",
                "-" if pair.smallest_common is None else f"{pair.smallest_common:,}",
                f"{pair.smallest_pooled_class:,}",
                f"{pair.subjects_below_k:,}",
            )
            for pair in self.pairs
        ]
        attacks = [
            (
                f"{attack.attribute} by {attack.published}, {' and '.join(pair.releases)}",
                f"{attack.victims:,}",
                f"{attack.revealed:,}",
                f"{attack.left_open:.1%}",
            )
            for pair in self.pairs
            for attack in pair.differencing
            if attack.victims
        ]
        changes = [
            (
                f"{each.outcome.target}, {' and '.join(pair.releases)}",
                f"{each.outcome.people:,}",
                f"{each.read_off:,}",
                f"{each.outcome.rate:.1%}",
                f"{each.outcome.baseline:.1%}",
            )
            for pair in self.pairs
            for each in pair.changed
            if each.outcome.people
        ]
        return [
            Sheet("Each release", header, each, numbers=len(counted), legend=_BY_PEOPLE[self.counts]),
            Sheet("Pairs", ("", "common", "classes that differ", "least k'", "pooled", "below k"), pairs, numbers=5),
            Sheet("All together", ("", "value"), self._pool()),
            Sheet("Differencing", ("if published", "victims", "revealed", "left open"), attacks, numbers=3),
            Sheet(
                "Changed values", ("", "changed", f"fewer than {self.k} alike", "found", "baseline"), changes, numbers=4
            ),
            Sheet("Left out", ("", "reason"), list(self.left_out.items()), numbers=0),
        ]


def audit(releases: Sequence[Published], k: int, confidential: Sequence[str] = ()) -> Audit:
    """Every pair and the pool of all; confidential attributes that the releases hold are attacked by differencing."""
    pool = Pool.of(releases)
    pairs = [
        _pair(releases[i], releases[j], pool.labels[i], pool.labels[j], k, list(confidential))
        for i, j in combinations(range(len(releases)), 2)
    ]
    summaries = tuple(_summary(release) for release in releases)
    of_people = any(release.of_people for release in releases)
    return Audit(
        summaries, k, _histogram(pool.least), tuple(pairs), _worst(pool, releases, k),
        counts="people" if of_people else "subjects",
    )  # fmt: skip


def _histogram(anonymity: Counts) -> dict[int, int]:
    size, number = np.unique(anonymity, return_counts=True)
    return dict(zip(size.tolist(), number.tolist(), strict=True))


def _summary(release: Published) -> dict[str, Any]:
    return {
        "name": release.name,
        "records": release.members.height,
        **({"people": release.people} if release.of_people else {}),
        "classes": release.shown.height,
        "smallest_class": int(release.sizes.min(initial=release.members.height)),
    }


def overlapping(first: Labels, second: Labels) -> pl.DataFrame:
    """Classes that share subjects: `first`, `second`, k' = `common`, and how many `others` each holds."""
    both = (first != ABSENT) & (second != ABSENT)
    overlaps = pl.DataFrame({"first": first[both], "second": second[both]}).group_by("first", "second").len("common")
    for name, label in (("first", first), ("second", second)):
        sizes = np.bincount(label[label != ABSENT])
        overlaps = overlaps.with_columns(
            (pl.Series(sizes[overlaps[name].to_numpy()]) - overlaps["common"]).alias(f"{name}_others")
        )
    return overlaps.with_columns(pl.col("common", "first_others", "second_others").cast(pl.Int64)).sort(
        "first", "second"
    )


def _overlapping_people(first: Labels, second: Labels, persons: Labels, overlaps: pl.DataFrame) -> pl.DataFrame:
    """The same overlaps, counted in people whose records they are."""
    records = pl.DataFrame({"first": first, "second": second, "person": persons})
    people = pl.col("person").n_unique().cast(pl.Int64)
    pairs = overlaps.select("first", "second")
    counted = pairs.join(records.group_by("first", "second").agg(people.alias("common")), on=["first", "second"])
    for name, facing in (("first", "second"), ("second", "first")):
        elsewhere = pairs.join(records.rename({facing: "there"}), on=name).filter(pl.col("there") != pl.col(facing))
        others = elsewhere.group_by("first", "second").agg(people.alias(f"{name}_others"))
        counted = counted.join(others, on=["first", "second"], how="left")
    return counted.fill_null(0).sort("first", "second")


def _in_both(first: Labels, second: Labels, persons: Labels) -> int:
    """How many people have a record in both."""
    return len(np.intersect1d(persons[first != ABSENT], persons[second != ABSENT]))


def _pair(first: Published, second: Published, a: Labels, b: Labels, k: int, confidential: list[str]) -> Pair:
    overlaps = of_records = overlapping(a, b)
    pool = Pool.of([first, second])
    common = None
    if pool.persons is not None:
        overlaps, common = _overlapping_people(a, b, pool.persons, overlaps), _in_both(a, b, pool.persons)
    names, pooled = (first.name, second.name), _histogram(pool.least)
    pair = pair_of(names, count_overlaps(overlaps), pooled, k, common)
    attacks = tuple(differencing(first, second, of_records, confidential))
    return replace(pair, differencing=attacks, changed=tuple(changed(first, second, k)))


def count_overlaps(overlaps: pl.DataFrame) -> pl.DataFrame:
    """What is counted of classes that share subjects, as `COUNTS`: their k', and what stands in one of them alone."""
    differ = overlaps.filter(pl.any_horizontal(pl.col("first_others", "second_others") > 0))
    others = pl.concat([differ["first_others"], differ["second_others"].alias("first_others")])
    each = {"common": overlaps["common"], "unequal": differ["common"], "others": others.filter(others > 0)}
    return pl.concat([rows(what, counted(numbers)) for what, numbers in each.items()])


def counted(numbers: pl.Series) -> pl.DataFrame:
    """How often each number occurs."""
    return numbers.alias("key").to_frame().group_by("key").agg(pl.len().alias("count"))


def pair_of(
    names: tuple[str, str], counts: pl.DataFrame, pooled: Mapping[int, int], k: int, common: int | None = None
) -> Pair:
    """Two releases by what was counted of their overlaps, and with how many so many subjects are alike in both.

    Subjects may be people of several records: then `common` says how many of them are in both.
    """
    shared, unequal, others = (counts_of(counts, what) for what in ("common", "unequal", "others"))
    return Pair(
        names,
        int((shared["key"] * shared["count"]).sum()) if common is None else common,
        int(shared["count"].sum()),
        int(unequal["count"].sum()),
        _least(unequal["key"]),
        _least(others["key"]),
        min(pooled, default=0),
        sum(subjects for size, subjects in pooled.items() if size < k),
        (),
    )


def _least(numbers: pl.Series) -> int | None:
    return int(numbers.min()) if len(numbers) else None  # type: ignore[arg-type]


def _worst(pool: Pool, releases: Sequence[Published], k: int) -> tuple[dict[str, Any], ...]:
    """The smallest atoms below k: how many they are, and what each release shows of them."""
    smallest = np.argsort(pool.sizes, kind="stable")[:WORST]
    smallest = smallest[pool.sizes[smallest] < k]
    _, first = np.unique(pool.atoms, return_index=True)
    return tuple(
        {
            "subjects": int(pool.sizes[atom]),
            "shown": {
                release.name: None
                if label[first[atom]] == ABSENT
                else release.shown.row(int(label[first[atom]]), named=True)
                for release, label in zip(releases, pool.labels, strict=True)
            },
        }
        for atom in smallest
    )
