"""What the custodian's report measures, each thing once: risk before and after, what leaks, what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.parse_cells import exactly
from shoal.data.schema import Schema
from shoal.engines.table import Table
from shoal.measure import About, Measured, Pair, evaluate, measures
from shoal.privacy import MeasuredRisk
from shoal.privacy.classes import Sizes
from shoal.report.attacked import attacked
from shoal.report.distributions import Precision, precision
from shoal.report.reported import Reported, Tables
from shoal.report.two_way import TwoWay, two_way_tables
from shoal.report.weighed import Weighed, weighed
from shoal.risk.attack import Attacked
from shoal.risk.classes import class_risk, records_at_risk
from shoal.risk.disclosure import Conditions, Exposure, Family, expose
from shoal.risk.measure import Risk, assess_risk, confidential_values, listed_values
from shoal.risk.owners import Owners, owner_columns, tally_of
from shoal.risk.people import PeopleRisk, Tally
from shoal.risk.people_in_chunks import risk_of_people
from shoal.risk.people_scenarios import PersonChance
from shoal.risk.scenarios import Chance, scenarios
from shoal.risk.uniques import uniques_of_nested
from shoal.utility.correlations import Correlations, correlations, place_masked, place_original

AnyChance = Chance | PersonChance  # over records, or over people where these are counted
SAMPLE, MOST = 2_000, 12  # records and attributes that measures of distances are taken on


STEPS = 10  # attributes that an intruder gets to know one after the other


@dataclass(frozen=True)
class Step:
    """The share of unique records once an intruder knows this attribute and those of the steps before."""

    attribute: str
    before: float
    after: float


@dataclass(frozen=True)
class BeforeAndAfter:
    """How exposed people, or households, were and are."""

    before: PeopleRisk
    after: Owners

    @property
    def tally_before(self) -> Tally:
        """With how many each owner was confused, by what the release lets an intruder know."""
        return tally_of(self.before, together=self.after.together)


@dataclass(frozen=True)
class Findings:
    """All that the page shows of a release, measured."""

    before: Risk
    after: Risk
    columns: Mapping[str, MaskedColumn]  # the quasi-identifiers as they are shown, sets with all that they hold
    owners: tuple[BeforeAndAfter, ...]  # people, or households, where these are counted
    sizes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # of the classes, before and after
    journalist: tuple[AnyChance, AnyChance] | tuple[None, None]  # before and after, where the population is known
    weighed: Weighed | None  # by sampling weights, where the policy names them
    known: list[Step]
    disclosed: dict[str, pl.DataFrame]  # of each confidential attribute, as `_side_by_side` has it
    losses: dict[str, float]
    precisions: dict[str, Precision]
    correlations: Correlations
    two_way: list[TwoWay]
    attacked: Attacked
    measured: dict[
        About, Measured
    ]  # every measure over original and released values, on at most SAMPLE records and MOST attributes
    drawn: int | None  # records that values were compared of, where these were not all

    @property
    def most_learnt(self) -> dict[str, float]:
        """Of each confidential attribute, Eq. 5 of the value that is learnt most from the release."""
        return {name: most(learnt["after"]) for name, learnt in self.disclosed.items()}


def most(risks: pl.Series) -> float:
    """The highest of these risks, 0 where there is none."""
    return float(risks.max() or 0.0)  # type: ignore[arg-type]


def measure(release: Reported) -> Findings:
    """Measures all that the page shows of a release."""
    original, kept, quasi = release.original, release.masked.kept, release.schema.quasi_identifiers
    columns = {name: _read(column, original[name].values) for name, column in release.masked.columns.items()}
    learnt = [name for name in release.schema.confidential if name not in quasi]
    tables = release.tables()
    values_of = confidential_values if release.drawn is None else listed_values
    families = values_of(tables.original, release.schema, learnt).values
    before, after = _exposures(release, tables, list(families.values()))
    values = zip(families, before.families, after.families, strict=True)
    known = Schema(tuple(release.schema[name] for name in quasi))
    risk = assess_risk(tables.original, known, groups=release.policy.groups)
    pair = replace(Pair.of(original, columns, kept), linked_at_most=SAMPLE)
    few = pair
    if len(quasi) > MOST:
        first = {name: columns[name] for name in quasi[:MOST]}
        few = replace(Pair.of(original, first, kept), linked_at_most=SAMPLE)
    return Findings(
        before=risk,
        after=_risk_after(release, tables.released, risk, after.counts),
        columns=columns,
        owners=_owners(release, tables, before.counts),
        sizes=(before.sizes, after.sizes),
        journalist=_journalist(release, tables),
        weighed=weighed(release, tables, len(after.sizes)),
        known=_known(release, tables, before.counts, after.counts),
        disclosed={name: _side_by_side(before, after) for name, before, after in values},
        losses=dict(release.attribute_losses),
        precisions={name: precision(columns[name]) for name in quasi},
        correlations=correlations(
            [place_original(original[name]) for name in quasi], [place_masked(columns[name]) for name in quasi]
        ),
        two_way=two_way_tables([original[name] for name in quasi[:MOST]], [columns[name] for name in quasi[:MOST]]),
        attacked=attacked(release, after.counts.smallest),
        measured={
            "risk": _linked(pair, few, among_all=release.drawn in (None, release.read)),
            "utility": evaluate(few.sample(SAMPLE), ["all"], "utility"),
        },
        drawn=release.drawn,
    )


def _read(column: MaskedColumn, values: pl.Series) -> MaskedColumn:
    """Sets with all values that they hold, read once for all that compares them."""
    return exactly(column, values) if (column.size > 1).any() else column


def _linked(every: Pair, few: Pair, *, among_all: bool) -> Measured:
    """Some people, looked for among all that is released: among a few, hardly anybody would have their like.

    By every attribute, or by a few of them where the measure only compares. Where not all records are at hand, nobody
    is looked for.
    """
    linked = [name for name, measure in measures("risk").items() if measure.how is not None]
    by_all = [name for name in linked if name == MeasuredRisk.measure]
    compared = evaluate(few.sample(SAMPLE), [name for name in measures("risk") if name not in linked], "risk")
    if not among_all:
        return compared
    parts = (
        evaluate(every, by_all, "risk"),
        evaluate(few, [name for name in linked if name not in by_all], "risk"),
        compared,
    )
    return Measured(*(_merged([getattr(part, item.name) for part in parts]) for item in fields(Measured)))


def _merged(mappings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: value for mapping in mappings for name, value in mapping.items()}


def _exposures(release: Reported, tables: Tables, families: Sequence[Conditions]) -> tuple[Exposure, Exposure]:
    """Classes and attribute disclosure before and after, of the same values and bands of values."""
    quasi, kept = release.schema.quasi_identifiers, release.masked.kept
    before = expose(tables.original, quasi, families, release.read)
    if release.drawn is not None:
        return before, expose(tables.released, quasi, families, release.records)
    shown = pl.DataFrame({name: _numbered(release.masked.columns[name]) for name in quasi})
    left = [
        Family(family.conditions, family.of(shown) if kept is None else family.of(shown)[kept]) for family in families
    ]
    return before, expose(shown, quasi, left)


def _risk_after(release: Reported, released: Table, before: Risk, sizes: Sizes) -> Risk:
    """Where every record has its like, none is unique whatever the intruder knows, and no search is needed."""
    if 0 < sizes.smallest < 2:
        return assess_risk(released, release.schema, groups=release.policy.groups)
    return replace(
        before,
        records=sizes.records,
        uniques=0,
        classes=class_risk(*sizes),
        sizes=sizes.size,
        of_each=sizes.classes,
        records_at_risk={limit: records_at_risk(sizes.size, limit, sizes.classes) for limit in before.records_at_risk},
        attributes_known=tuple(replace(known, uniques=0, records=sizes.records) for known in before.attributes_known),
    )


def _owners(release: Reported, tables: Tables, sizes: Sizes) -> tuple[BeforeAndAfter, ...]:
    """Of those whom the release counts, how exposed they were in the original, whose classes have these sizes."""
    quasi, columns = (
        release.schema.quasi_identifiers,
        owner_columns(release.policy.person, release.policy.household_column),
    )
    return tuple(
        BeforeAndAfter(risk_of_people(tables.original, quasi, columns[each.who], sizes), each)
        for each in release.owners
    )


def _journalist(release: Reported, tables: Tables) -> tuple[AnyChance, AnyChance] | tuple[None, None]:
    """What one can do who does not know who is in the file, if a promise tells of the population."""
    known = next((promise.people for promise in release.promises if promise.people is not None), None)
    if known is None or (release.drawn is not None and release.owners):  # whom an engine counts by their own classes
        return None, None
    people, kept = release.original.people, release.masked.kept
    before = scenarios(tables.original, release.schema, whose=people, **known._asdict())
    people = people if people is None or kept is None else people[kept]
    after = scenarios(tables.released, release.schema, whose=people, **known._asdict())
    chances = [side.journalist if side.people is None else side.people.journalist for side in (before, after)]
    return (chances[0], chances[1]) if chances[0] and chances[1] else (None, None)


def _known(release: Reported, tables: Tables, before: Sizes, after: Sizes) -> list[Step]:
    """Attributes with most values first, until one more singles nobody out."""
    original, schema = release.original, release.schema
    ordered = sorted(schema.quasi_identifiers, key=lambda name: -len(original[name].values))
    every = int(before.classes[before.size == 1].sum())
    steps: list[Step] = []
    for count, uniques in enumerate(uniques_of_nested(tables.original, ordered[:STEPS], release.read), 1):
        attributes = Schema(tuple(schema[name] for name in ordered[:count]))
        alone = 0 if after.smallest >= 2 else assess_risk(tables.released, attributes).uniques
        steps.append(Step(ordered[count - 1], uniques / release.read, alone / max(release.records, 1)))
        if uniques == every:
            break
    return steps


def _numbered(column: MaskedColumn) -> npt.NDArray[np.int64]:
    """Record -> a number, the same where the same is shown: tells classes as text does, and is quicker."""
    number = column.text.cast(pl.String).cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return number[column.index]


def _side_by_side(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Eq. 5 of each value: its risk before and after, and how many records are exposed."""
    return before.select(
        "condition",
        before="risk",
        after=after["risk"],
        exposed_before="exposed",
        exposed_after=after["exposed"],
    )
