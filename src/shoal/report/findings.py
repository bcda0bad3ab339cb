"""What the custodian's report measures, each thing once: risk before and after, what leaks, what was lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

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
from shoal.report.distributions import Distribution, Precision, distribution, precision
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
ATTRIBUTES = 30  # whose distributions, losses and correlations are drawn

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


Part = Literal["risk", "loss", "links", "attacks"]


@dataclass(frozen=True)
class Findings:
    """All that the page shows of a release, each thing measured when it is first asked for, and once."""

    release: Reported

    @property
    def drawn(self) -> int | None:
        """How many records values are compared of, where these are not all."""
        return self.release.drawn

    @property
    def apart(self) -> bool:
        """Whether values were changed and records hide in no group: what counts is who is found again."""
        return self.release.policy.method.perturbs

    @property
    def label(self) -> Callable[[str], str]:
        """What people call a column."""
        return self.release.policy.label

    @cached_property
    def columns(self) -> dict[str, MaskedColumn]:
        """The quasi-identifiers as they are shown, sets with all that they hold."""
        original, columns = self.release.original, self.release.masked.columns
        return {name: _read(column, original[name].values) for name, column in columns.items()}

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """What is shown of the quasi-identifiers as numbers: tells classes as text does, and is quicker."""
        return pl.DataFrame({name: _numbered(self.columns[name]) for name in self.release.schema.quasi_identifiers})

    @cached_property
    def tables(self) -> Tables:
        """All records before and after."""
        return self.release.tables()

    # ---- risk

    @cached_property
    def exposures(self) -> tuple[Exposure, Exposure]:
        """Classes and attribute disclosure before and after."""
        return _exposures(self, list(self._families.values()))

    @cached_property
    def _families(self) -> Mapping[str, Conditions]:
        quasi, schema = self.release.schema.quasi_identifiers, self.release.schema
        values_of = confidential_values if self.drawn is None else listed_values
        learnt = [name for name in schema.confidential if name not in quasi]
        return values_of(self.tables.original, schema, learnt).values

    @cached_property
    def before(self) -> Risk:
        """The risk of the original."""
        schema = self.release.schema
        known = Schema(tuple(schema[name] for name in schema.quasi_identifiers))
        return assess_risk(self.tables.original, known, groups=self.release.policy.groups)

    @cached_property
    def after(self) -> Risk:
        """The risk of the release."""
        return _risk_after(self.release, self.tables.released, self.before, self.exposures[1].counts)

    @cached_property
    def owners(self) -> tuple[BeforeAndAfter, ...]:
        """People, or households, where these are counted."""
        return _owners(self.release, self.tables, self.exposures[0].counts)

    @cached_property
    def sizes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Of the classes, before and after."""
        before, after = self.exposures
        return before.sizes, after.sizes

    @cached_property
    def journalist(self) -> tuple[AnyChance, AnyChance] | tuple[None, None]:
        """Before and after, where the population is known."""
        return _journalist(self.release, self.tables)

    @cached_property
    def weighed(self) -> Weighed | None:
        """By sampling weights, where the policy names them."""
        return weighed(self.release, self.tables, len(self.sizes[1]))

    @cached_property
    def known(self) -> list[Step]:
        """For an intruder who knows ever more."""
        before, after = self.exposures
        return _known(self.release, self.tables, before.counts, after.counts)

    @cached_property
    def disclosed(self) -> dict[str, pl.DataFrame]:
        """Of each confidential attribute, as `_side_by_side` has it."""
        before, after = self.exposures
        values = zip(self._families, before.families, after.families, strict=True)
        return {name: _side_by_side(was, is_) for name, was, is_ in values}

    @property
    def most_learnt(self) -> dict[str, float]:
        """Of each confidential attribute, Eq. 5 of the value that is learnt most from the release."""
        return {name: most(learnt["after"]) for name, learnt in self.disclosed.items()}

    @cached_property
    def attacked(self) -> Attacked:
        """What whoever knows the method finds out."""
        return attacked(self.release, self.exposures[1].counts.smallest)

    # ---- loss

    @cached_property
    def losses(self) -> dict[str, float]:
        """What each quasi-identifier lost."""
        return dict(self.release.attribute_losses)

    @cached_property
    def precisions(self) -> dict[str, Precision]:
        """How exactly each is still shown."""
        return {name: precision(self.columns[name]) for name in self.release.schema.quasi_identifiers}

    @cached_property
    def distributions(self) -> dict[str, Distribution]:
        """Where the records of each lie, of as many as are drawn."""
        quasi = self.release.original.quasi[:ATTRIBUTES]
        return {coded.name: distribution(coded, self.columns[coded.name]) for coded in quasi}

    @cached_property
    def correlations(self) -> Correlations:
        """Which attributes go together."""
        quasi, columns = self.release.original.quasi, self.columns
        return correlations(
            [place_original(coded) for coded in quasi], [place_masked(columns[coded.name]) for coded in quasi]
        )

    @cached_property
    def two_way(self) -> list[TwoWay]:
        """Pairs of attributes, counted before and after."""
        quasi = self.release.original.quasi[:MOST]
        return two_way_tables(quasi, [self.columns[coded.name] for coded in quasi])

    # ---- measures

    @cached_property
    def pair(self) -> Pair:
        """All quasi-identifiers, of which some people are looked for among all records."""
        return self._pair(None)

    @cached_property
    def few(self) -> Pair:
        """So many of them that distances are measured of."""
        return self.pair if len(self.release.schema.quasi_identifiers) <= MOST else self._pair(MOST)

    def _pair(self, most: int | None) -> Pair:
        release = self.release
        columns = {name: self.columns[name] for name in release.schema.quasi_identifiers[:most]}
        return replace(Pair.of(release.original, columns, release.masked.kept), linked_at_most=SAMPLE)

    @cached_property
    def measured(self) -> dict[About, Measured]:
        """Every measure over original and released values, on at most SAMPLE records and MOST attributes."""
        among_all = self.drawn in (None, self.release.read)
        return {
            "risk": _linked(self.pair, self.few, among_all=among_all),
            "utility": evaluate(self.few.sample(SAMPLE), ["all"], "utility"),
        }

    def to_dict(self, *parts: Part) -> dict[str, Any]:
        """The parts asked for, or all of them, ready for JSON; nothing else is measured."""
        return {part: _PARTS[part](self) for part in parts or _PARTS}


def _risk_part(findings: Findings) -> dict[str, Any]:
    owners = [{"who": each.after.who, **_chances_of(each)} for each in findings.owners]
    known = [asdict(step) for step in findings.known]
    return {
        "before": findings.before.to_dict(),
        "after": findings.after.to_dict(),
        "owners": owners,
        "known": known,
        "most_learnt": findings.most_learnt,
    }


def _chances_of(each: BeforeAndAfter) -> dict[str, Any]:
    sides = {"before": each.tally_before, "after": each.after.tally}
    return {
        side: {"number": tally.number, "alone": tally.alone, "highest_risk": tally.highest_risk}
        for side, tally in sides.items()
    }


def _loss_part(findings: Findings) -> dict[str, Any]:
    shown = findings.precisions
    return {
        "information_loss": findings.release.information_loss,
        "separation_loss": findings.release.separation_loss,
        "correlation_agreement": findings.correlations.agreement,
        "attributes": {name: {"loss": loss, **asdict(shown[name])} for name, loss in findings.losses.items()},
        "counted_elsewhere": {name: drawn.moved for name, drawn in findings.distributions.items()},
        "two_way": [{"attributes": list(table.names), "moved": table.moved} for table in findings.two_way],
    }


_PARTS: dict[Part, Callable[[Findings], dict[str, Any]]] = {
    "risk": _risk_part,
    "loss": _loss_part,
    "links": lambda findings: {about: measured.to_dict() for about, measured in findings.measured.items()},
    "attacks": lambda findings: findings.attacked.to_dict(),
}


def most(risks: pl.Series) -> float:
    """The highest of these risks, 0 where there is none."""
    return float(risks.max() or 0.0)  # type: ignore[arg-type]


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


def _exposures(findings: Findings, families: Sequence[Conditions]) -> tuple[Exposure, Exposure]:
    """Classes and attribute disclosure before and after, of the same values and bands of values."""
    release, tables = findings.release, findings.tables
    quasi, kept = release.schema.quasi_identifiers, release.masked.kept
    before = expose(tables.original, quasi, families, release.read)
    if release.drawn is not None:
        return before, expose(tables.released, quasi, families, release.records)
    shown = findings.numbers
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
    """Record -> a number, the same where the same is shown."""
    if column.text.n_unique() == len(column.text):
        return column.index.astype(np.int64)
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
