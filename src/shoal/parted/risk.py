"""What an intruder could do with a large table: the measures of `shoal.risk`, by sums over classes.

Each batch tells of its classes how many records they have and which conditions these satisfy; how many classes there
are of each size, and who is exposed, follows part by part (`shoal.parted.classes`).

Worst-case uniqueness (by fitting) compares classes with each other. It asks for the distinct classes only: where these
can be listed it is exact; otherwise the classes of one record bound it from above, and `left_out` says so.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import Coded, Whole, encode
from shoal.data.schema import Attribute, Role, Schema
from shoal.engines.table import COUNTED, Batch, Table
from shoal.engines.whole import LISTED, Marginal
from shoal.errors import InputError
from shoal.parted.classes import (
    CLASS,
    RECORDS,
    ByHash,
    Sizes,
    added_up,
    class_sizes,
    count_sizes,
    frame_of,
    in_classes,
    of_told,
    parts_of,
    records_of,
    rows,
    shown,
    sizes_of,
)
from shoal.policy import Policy
from shoal.privacy.matching import Population, beside_people, count_people
from shoal.risk.classes import class_risk, records_at_risk
from shoal.risk.disclosure import (
    NONE,
    Banded,
    Disclosure,
    DisclosureByValue,
    answers,
    as_it_stands,
    condition_family,
    in_bands,
    named_in,
    of_one_record,
)
from shoal.risk.measure import (
    EQUALITY,
    FITTING,
    THRESHOLDS,
    Known,
    Risk,
    assess_risk,
    learnt_of,
    need_quasi_identifiers,
    shows_masks,
    unions_of,
)
from shoal.risk.scenarios import Chance, Scenarios, chance, check_asked, inferred, of_sample, of_sizes, weights_of
from shoal.show import Sheet


@dataclass(frozen=True)
class PartedRisk(Risk):
    """The risk of a table on an engine; `left_out` says what was not measured as in memory, and why."""

    engine: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        return super().to_dict() | {"engine": self.engine, "left_out": dict(self.left_out)}

    def sheets(self) -> list[Sheet]:
        return [*super().sheets(), Sheet("Left out", ("measure", "reason"), list(self.left_out.items()), numbers=0)]


def assess(table: Table, policy: Policy, *, when: Sequence[str] = ()) -> PartedRisk:
    """The risk of a table, original or released; `when` are the conditions that must not be learnt."""
    columns = pl.DataFrame(schema=table.schema)
    schema = policy.schema(columns, released=True)
    quasi = need_quasi_identifiers(columns.columns, schema)
    unions = unions_of(policy.groups, quasi)
    _check_conditions(columns, when, schema, table.engine)
    learnt = learnt_of(columns.columns, schema)
    asked = {*quasi, *learnt, *(name for condition in when for name in named_in(condition))}
    table = table.select([name for name in columns.columns if name in asked])
    whole = _whole(table, schema, learnt)
    tell = _Tell(tuple(quasi), tuple(when), whole.values)
    told = added_up(table, tell, tell.schema, _AddUp(len(tell.when), len(tell.values)), whole.records)
    sizes = sizes_of(told)
    found = _uniques(table, schema, policy.groups, unions, sizes)
    return PartedRisk(
        records=whole.records,
        uniques=found.uniques,
        uniques_rule=found.rule,
        uniques_proven=found.proven,
        classes=class_risk(*sizes),
        sizes=sizes.size,
        of_each=sizes.classes,
        records_at_risk={limit: records_at_risk(sizes.size, limit, sizes.classes) for limit in THRESHOLDS},
        attribute_disclosure=tuple(
            Disclosure(condition, _count(told, f"satisfied {i}"), _count(told, f"alike {i}"))
            for i, condition in enumerate(when)
        ),
        disclosure_by_value=tuple(
            DisclosureByValue(one.name, answers(one.banded.conditions, one.banded.records, _exposed(told, one, j)))
            for j, one in enumerate(whole.values)
        ),
        attributes_known=tuple(
            Known(names, attributes, found.known[names], whole.records) for names, attributes in unions.items()
        ),
        engine=table.engine,
        left_out=whole.left_out | found.left_out,
    )


def _check_conditions(columns: pl.DataFrame, when: Sequence[str], schema: Schema, engine: str) -> None:
    for condition in when:
        condition_family(columns, condition, schema.with_role(Role.IDENTIFIER))
        if not of_one_record(condition):
            raise InputError(
                f"The condition {condition!r} compares records with each other, which the {engine} engine cannot: "
                "write the numbers themselves, as in charge > 100000."
            )


# ---- what the whole table shows of its confidential attributes


@dataclass(frozen=True)
class _Values:
    """A confidential attribute, its values under conditions."""

    attribute: Attribute
    whole: Whole
    banded: Banded

    @property
    def name(self) -> str:
        return self.attribute.name

    def satisfied(self, column: pl.Series) -> npt.NDArray[np.int32]:
        return self.banded.of_code[encode(column, self.attribute, self.whole).codes]


class Shown(NamedTuple):
    """How many records there are, and what they show of some attributes."""

    records: int
    marginals: dict[str, Marginal]

    def plus(self, other: Shown) -> Shown:
        marginals = {name: one.plus(other.marginals[name]) for name, one in self.marginals.items()}
        return Shown(self.records + other.records, marginals)


@dataclass(frozen=True)
class _Look:
    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> Shown:
        return Shown(batch.frame.height, {name: Marginal.of(batch.frame[name]) for name in self.names})


def look(table: Table, names: Sequence[str]) -> Shown:
    """One pass."""
    return table.fold(_Look(tuple(names)), Shown.plus) or Shown(0, {})


@dataclass(frozen=True)
class _Whole:
    records: int
    values: tuple[_Values, ...]
    left_out: dict[str, str]


def _whole(table: Table, schema: Schema, learnt: Sequence[str]) -> _Whole:
    found = look(table, learnt)
    values, left_out = [], {}
    for name, marginal in found.marginals.items():
        if marginal.counts is None:
            left_out[f"disclosure_by_value of {name}"] = (
                f"it has more than {LISTED:,} values; ask for what must not be learnt, as {name} > 100000 (--when)"
            )
            continue
        attribute = as_it_stands(table.schema[name], schema[name])
        whole = marginal.whole(attribute)
        values.append(_Values(attribute, whole, in_bands(without_records(attribute, whole))))
    return _Whole(found.records, tuple(values), left_out)


def without_records(attribute: Attribute, whole: Whole) -> Coded:
    """The attribute of the whole table, its values listed."""
    assert whole.values is not None
    return encode(whole.values.clear(), attribute, whole)


# ---- what classes tell


@dataclass(frozen=True)
class _Tell:
    """What a batch tells of its classes."""

    quasi: tuple[str, ...]
    when: tuple[str, ...]
    values: tuple[_Values, ...]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        frame = batch.frame
        conditions = {
            f"when {i}": condition_family(frame, condition).satisfied != NONE for i, condition in enumerate(self.when)
        }
        values = {f"value {j}": one.satisfied(frame[one.name]) for j, one in enumerate(self.values)}
        satisfied = (pl.Series(name, column) for name, column in (conditions | values).items())
        classes = in_classes(shown(frame, self.quasi), self.quasi).with_columns(satisfied)
        return classes.group_by(CLASS).agg(
            RECORDS,
            *(pl.col(name).sum().cast(pl.Int64) for name in conditions),
            *(pl.col(name).min().alias(f"{name} least") for name in values),
            *(pl.col(name).max().alias(f"{name} most") for name in values),
        )

    @property
    def schema(self) -> pl.Schema:
        return pl.Schema(
            {CLASS: pl.String()}
            | dict.fromkeys(("@records", *(f"when {i}" for i in range(len(self.when)))), pl.Int64())
            | {f"value {j} {end}": pl.Int32() for end in ("least", "most") for j in range(len(self.values))}
        )


@dataclass(frozen=True)
class _AddUp:
    """What a part's classes come to: for each thing that is counted, a key and a count."""

    conditions: int
    values: int

    def __call__(self, frame: pl.DataFrame, part: int) -> pl.DataFrame:
        whens = [f"when {i}" for i in range(self.conditions)]
        classes = frame.group_by(CLASS).agg(
            pl.col("@records", *whens).sum(),
            pl.col("^value .* least$").min(),
            pl.col("^value .* most$").max(),
        )
        records = pl.col("@records")
        told = [count_sizes(classes)]
        for i, name in enumerate(whens):
            alike = classes.filter(pl.col(name) == records)
            told.append(rows(f"satisfied {i}", classes.select(key=0, count=pl.col(name).sum())))
            told.append(rows(f"alike {i}", alike.select(key=0, count=records.sum())))
        for j in range(self.values):
            least, most = pl.col(f"value {j} least"), pl.col(f"value {j} most")
            alike = classes.filter(least == most, least != NONE)
            told.append(rows(f"exposed {j}", alike.group_by(least.alias("key")).agg(records.sum().alias("count"))))
        return pl.concat(told)


def _count(told: pl.DataFrame, what: str) -> int:
    return int(of_told(told, what)["count"].sum())


def _exposed(told: pl.DataFrame, values: _Values, j: int) -> npt.NDArray[np.int64]:
    found = of_told(told, f"exposed {j}")
    exposed = np.zeros(len(values.banded.conditions), np.int64)
    exposed[found["key"].to_numpy()] = found["count"].to_numpy()
    return exposed


@dataclass(frozen=True)
class _Shown:
    quasi: tuple[str, ...]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return shown(batch.frame, self.quasi)


def _list_classes(table: Table, quasi: Sequence[str]) -> pl.DataFrame:
    """What each class shows, and how many records it has (`COUNTED`)."""
    schema = pl.Schema({name: table.schema[name] for name in quasi})
    return table.map(_Shown(tuple(quasi)), schema).counts(quasi)


# ---- unique records


@dataclass(frozen=True)
class _Uniques:
    uniques: int
    rule: str
    proven: bool
    known: dict[tuple[str, ...], int]  # union of groups -> uniques
    left_out: dict[str, str] = field(default_factory=dict)


def _uniques(
    table: Table,
    schema: Schema,
    groups: Mapping[str, Sequence[str]],
    unions: Mapping[tuple[str, ...], tuple[str, ...]],
    sizes: Sizes,
) -> _Uniques:
    """Exactly where the classes can be listed: of records that show the same, two stand for all."""
    quasi = schema.quasi_identifiers
    if sizes.classes.sum() <= LISTED:
        listed = _list_classes(table, quasi)
        several = listed.filter(pl.col(COUNTED) > 1)
        risk = assess_risk(pl.concat([listed, several]).drop(COUNTED), schema, groups=groups)
        known = {one.groups: one.uniques for one in risk.attributes_known}
        return _Uniques(risk.uniques, risk.uniques_rule, risk.uniques_proven, known)
    counted = {attributes: _single(class_sizes(table, attributes, sizes.records)) for attributes in unions.values()}
    known = {union: counted[attributes] for union, attributes in unions.items()}
    single = _single(sizes)
    if not table.fold(_Masks(schema, tuple(quasi)), bool.__or__):
        return _Uniques(single, EQUALITY, True, known)
    reason = (
        f"which masked records fit others is searched among at most {LISTED:,} classes; the count is of classes of "
        "one record, an upper bound"
    )
    left_out = {"worst-case uniques": reason} if single or any(known.values()) else {}
    return _Uniques(single, FITTING, not left_out, known, left_out)


def _single(sizes: Sizes) -> int:
    return int(sizes.classes[sizes.size == 1].sum())


@dataclass(frozen=True)
class _Masks:
    schema: Schema
    quasi: tuple[str, ...]

    def __call__(self, batch: Batch) -> bool:
        return shows_masks(batch.frame, self.schema, self.quasi)


# ---- intruders


def intruders(
    table: Table,
    policy: Policy,
    *,
    population: Table | None = None,
    fraction: float | None = None,
    weights: str | None = None,
    threshold: float = 0.2,
    alpha: float = 0.1,
) -> Scenarios:
    """Prosecutor, journalist and marketer, as `shoal.risk.scenarios` has them; the population is a table as well."""
    check_asked(threshold, population, fraction, weights)
    columns = list(table.schema)
    schema = policy.schema(pl.DataFrame(schema=table.schema), released=True)
    quasi = need_quasi_identifiers(columns, schema)
    if weights is not None:
        weights_of(pl.DataFrame(schema=table.schema), weights)
        asked = list(dict.fromkeys((*quasi, weights)))
        return _by_weights(table.select(asked), _Weighed(tuple(quasi), weights), threshold, alpha)
    table = table.select(quasi)
    sizes = class_sizes(table, quasi, records_of(table))
    if population is not None:
        return _by_population(table, [schema[name] for name in quasi], sizes, population, threshold)
    if fraction is not None:
        return of_sample(sizes.size, fraction, threshold, alpha, sizes.classes)
    return of_sizes(sizes.size, threshold, classes=sizes.classes)


@dataclass(frozen=True)
class _Fit:
    """How many of a batch of people fit each class."""

    classes: pl.DataFrame
    attributes: tuple[Attribute, ...]

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        people = Population(batch.frame)
        read = [beside_people(self.classes[a.name], a, people.column(a.name)) for a in self.attributes]
        return count_people([side for side, _ in read], [cells for _, cells in read])


def _by_population(
    table: Table, quasi: Sequence[Attribute], sizes: Sizes, population: Table, threshold: float
) -> Scenarios:
    if sizes.classes.sum() > LISTED:
        raise InputError(
            f"The people who fit each class are counted for at most {LISTED:,} classes, and there are "
            f"{sizes.classes.sum():,}: give the sampling fraction instead."
        )
    listed = _list_classes(table, [attribute.name for attribute in quasi])
    found = population.fold(_Fit(listed.drop(COUNTED), tuple(quasi)), operator.add)
    if found is None:
        raise InputError("The population has no records: nobody could be matched.")
    records = listed[COUNTED].to_numpy()
    people = np.maximum(found, records)  # at least those in the table exist
    journalist = chance(records, 1.0 / people, 1.0 / people, threshold)
    return of_sizes(
        records, threshold, journalist, "population", classes_beyond_population=int((found < records).sum())
    )


@dataclass(frozen=True)
class _Weighed:
    """The records of each class of a batch, and the people they stand for."""

    quasi: tuple[str, ...]
    weights: str

    def __call__(self, batch: Batch) -> pl.DataFrame:
        weight = pl.Series("@people", weights_of(batch.frame, self.weights))
        classes = in_classes(shown(batch.frame, self.quasi), self.quasi).with_columns(weight)
        return classes.group_by(CLASS).agg(RECORDS, pl.col("@people").sum())

    schema = pl.Schema({CLASS: pl.String(), "@records": pl.Int64(), "@people": pl.Float64()})


@dataclass(frozen=True)
class _Inferred:
    """The chances of a part's classes."""

    threshold: float
    alpha: float

    def __call__(self, frame: pl.DataFrame, part: int) -> pl.DataFrame:
        classes = frame.group_by(CLASS).agg(pl.col("@records", "@people").sum())
        records, people = classes["@records"].to_numpy(), classes["@people"].to_numpy()
        found = inferred(records, np.minimum(records / people, 1.0), self.threshold, self.alpha)
        size, number = np.unique(records, return_counts=True)
        nothing = [0.0] * (len(size) - 1)  # the chances stand in the first row
        return pl.DataFrame(
            {
                "size": size,
                "classes": number,
                "highest": [found.highest, *nothing],
                "right": [found.average * int(records.sum()), *nothing],
                "above": [found.records_above, *map(int, nothing)],
            },
            schema=self.schema,
        )

    schema = pl.Schema(
        {"size": pl.Int64(), "classes": pl.Int64(), "highest": pl.Float64(), "right": pl.Float64(), "above": pl.Int64()}
    )


def _by_weights(table: Table, work: _Weighed, threshold: float, alpha: float) -> Scenarios:
    parts = parts_of(records_of(table))
    divided = table.map(work, _Weighed.schema).exchange(ByHash(parts), parts)
    told = divided.map(_Inferred(threshold, alpha), _Inferred.schema).fold(frame_of, _beside)
    if told is None:
        return of_sizes(np.zeros(0, np.int64), threshold, Chance(0.0, 0.0, 0), "sampling weights")
    sizes = told.group_by("size").agg(pl.col("classes").sum())
    size, classes = sizes["size"].to_numpy(), sizes["classes"].to_numpy()
    highest, right, above = (told[name].to_numpy() for name in ("highest", "right", "above"))
    journalist = Chance(float(highest.max()), float(right.sum() / (size @ classes)), int(above.sum()))
    return of_sizes(size, threshold, journalist, "sampling weights", classes)


def _beside(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([one, other])
