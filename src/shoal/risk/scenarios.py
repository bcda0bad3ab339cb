"""Three intruders, and what each can do (paper 3; docs/spec.md#scenarios).

- The prosecutor knows that a certain person is in the file: a guess among the f records of a class succeeds with 1/f.
- The journalist wants to name anybody: a class that F people fit gives 1/F, and the smallest F is where to try.
- The marketer matches all records with the population and counts on the mean.

F is counted in an identification database, or inferred from the sampling fraction (or from sampling weights): on the
average by Benedetti & Franconi's E[1/F | f]; for a single class, where that is too hopeful, by the people that the
test D4 vouches for. Where nothing is known of the population, F is at least f, and the prosecutor's risk bounds all.
What is inferred presumes cells that were fixed before the sample was drawn; a table does not show whether they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.schema import Attribute, Person, Schema
from shoal.data.weights import need_weights, weights_of
from shoal.engines.memory import table_of
from shoal.engines.table import Table, records_of
from shoal.errors import InputError, require
from shoal.measure import Fact
from shoal.privacy.classes import RECORDS, by_class, class_sizes
from shoal.privacy.k_map import KMap, individual_risk, reached
from shoal.privacy.matching import people_fitting, population_of
from shoal.privacy.people import people_of_classes
from shoal.privacy.weighed import PEOPLE, PeopleByWeights
from shoal.risk.classes import class_risk
from shoal.risk.individual import IndividualRisk
from shoal.risk.measure import need_quasi_identifiers
from shoal.risk.people import PeopleInClasses, people_in
from shoal.risk.people_in_chunks import risk_shown
from shoal.risk.people_scenarios import PeopleScenarios, PersonChance, by_people, by_tally
from shoal.risk.population import PopulationUniques, population_uniques
from shoal.show import Bars, Chart, Result, Series, Sheet

Basis = Literal["population", "sampling fraction", "sampling weights"]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FACTS = dict.fromkeys(("prosecutor", "journalist", "marketer"), Fact("riskier"))
_UNCOUNTED = 10_000  # people: in large overlapping classes no more than these are counted


@dataclass(frozen=True)
class Chance:
    """How often an intruder is right: at best, on the average of all records, and with how many records too often."""

    highest: float
    average: float
    records_above: int


@dataclass(frozen=True)
class Scenarios(Result):
    """The risk of one table for each intruder; `basis` is what is known of the population, None if nothing."""

    records: int
    classes: int
    threshold: float
    prosecutor: Chance
    journalist: Chance | None
    basis: Basis | None = None
    classes_beyond_population: int = 0  # with more records than there are people who fit: the population lacks some
    population_uniques: PopulationUniques | None = None
    individual: IndividualRisk | None = None  # by sampling weights
    people: PeopleScenarios | None = None  # where it is known whose each record is; all else is of records

    @property
    def title(self) -> str:
        """Of how many records the chances are."""
        return f"{self.records:,} records in {self.classes:,} classes"

    @property
    def note(self) -> str:
        """What an inference presumes, in words; empty where nothing is inferred."""
        if self.basis == "population" and self.people is not None and self.people.journalist is None:
            return (
                "How many of the population fit the classes of each person is counted in memory only: whoever wants to "
                "name anybody is right at most as often as whoever knows that a person is in the file."
            )
        if self.basis not in ("sampling fraction", "sampling weights"):
            return ""
        people = "" if self.people is None else "The sampling fraction is the share of people, not of records. "
        return (
            f"{people}Journalist and marketer are inferred from the {self.basis} as if all cells had been fixed before "
            "the sample was drawn. Of ranges that were drawn round the sample's own records this is far too hopeful: "
            "there only the prosecutor's risk is known, or what a population file counts."
        )

    @property
    def marketer(self) -> float:
        """The share of all records that is matched rightly; without a population it counts as the file itself."""
        return (self.journalist or self.prosecutor).average

    def to_dict(self) -> dict[str, object]:
        """The risks from each intruder, ready for JSON."""
        return {
            "records": self.records,
            "classes": self.classes,
            "threshold": self.threshold,
            "prosecutor": vars(self.prosecutor),
            "journalist": vars(self.journalist) if self.journalist else None,
            "marketer": {"average": self.marketer},
            "basis": self.basis,
            "classes_beyond_population": self.classes_beyond_population,
            "population_uniques": self.population_uniques.to_dict() if self.population_uniques else None,
            **({} if self.people is None else {"people": self.people.to_dict()}),
            **({"individual_risk": self.individual.to_dict()} if self.individual else {}),
            "higher_is": FACTS["prosecutor"].higher_is,
            "note": self.note,
        }

    def remarks(self) -> list[str]:
        """What the numbers presume, where they do."""
        return [self.note] if self.note else []

    def sheets(self) -> list[Sheet]:
        """As tables: each intruder's chance, and the uniques of the population."""
        return _sheets(self)

    def charts(self) -> list[Chart]:
        """The highest and the average chance of each intruder, of people where these are counted."""
        of = self if self.people is None else self.people
        at_worst: dict[str, Chance | PersonChance] = {"prosecutor": of.prosecutor}
        at_worst |= {"journalist": of.journalist} if of.journalist else {}
        highest = Series("highest", [chance.highest for chance in at_worst.values()])
        average = [*(chance.average for chance in at_worst.values()), of.marketer]
        return [
            Bars("A guess is right, at worst", list(at_worst), (highest,)),
            Bars("A guess is right, on average", [*at_worst, "marketer"], (Series("average", average),)),
        ]


def refuse_weighed_people(person: Person | None, weights: str, *, one_each: bool) -> None:
    """Refuses weights where somebody may have several records: each would be weighed as a person of the population."""
    if person is not None and not one_each:
        raise InputError(
            f"Sampling weights ({weights!r}) say how many people a record stands for, and here people "
            f"({person.column!r}) may have several records: give a table with one record a person, or the population "
            "or the sampling fraction in place of weights."
        )


def check_asked(threshold: float, *known: object | None) -> None:
    """Of what is known of the population, one thing may be given."""
    require("scenarios", "threshold", threshold, "a number from 0 to 1", holds=0 <= threshold <= 1)
    if sum(given is not None for given in known) > 1:
        raise InputError("Give the population, or the sampling fraction, or sampling weights, but only one of them.")


def scenarios(
    table: pl.DataFrame | Table,
    schema: Schema,
    *,
    population: object | None = None,
    fraction: float | None = None,
    weights: str | None = None,
    threshold: float = 0.2,
    alpha: float = 0.1,
    whose: Ints | None = None,
) -> Scenarios:
    """The risk of a table of any engine, original or released, for prosecutor, journalist and marketer.

    Of people too where the schema has a person: by `whose` each record is, or what a table in memory shows of that.
    What is known of the population: its file, frame or table, or the share of it that the table holds, or a column of
    sampling weights (how many people each record stands for); at most one of them. `alpha` is the significance of D4.
    """
    check_asked(threshold, population, fraction, weights)
    table = table_of(table)
    quasi = [schema[name] for name in need_quasi_identifiers(list(table.schema), schema)]
    names = [attribute.name for attribute in quasi]
    people, _ = people_in(table, names, schema.person, whose)
    large, _ = risk_shown(table, names, schema.person) if table.whole is None else (None, "")
    if weights is not None:
        one_each = people is not None and people.number == len(people.key)
        one_each = one_each or (large is not None and large.people == large.records)
        refuse_weighed_people(schema.person, weights, one_each=one_each)
        need_weights(table.schema, weights)
        if table.whole is not None:
            weights_of(table.whole, weights)  # of the whole table, so that a record is known by its line
        return _by_weights(table.select(list(dict.fromkeys((*names, weights)))), names, weights, threshold, alpha)
    table = table.select(names)
    if population is not None:
        counted = None if large is None else by_tally(large, threshold)
        return _in_population(table, quasi, population, threshold, people, counted)
    sizes = class_sizes(table, names, records_of(table), nan_is_missing=False)
    counted = None if people is None else by_people(people, threshold, share=fraction, alpha=alpha)
    counted = counted if large is None else by_tally(large, threshold, share=fraction, alpha=alpha)
    if fraction is None:
        return of_sizes(sizes.size, threshold, classes=sizes.classes, people=counted)
    by_records = of_sample(sizes.size, fraction, threshold, alpha, sizes.classes)
    # Records of one person are no people of a sample: from them nothing is estimated of the population's.
    return by_records if counted is None else replace(by_records, population_uniques=None, people=counted)


def _in_population(
    table: Table, quasi: Sequence[Attribute], population: object, threshold: float, classes: PeopleInClasses | None,
    counted: PeopleScenarios | None,
) -> Scenarios:  # fmt: skip
    """By the people of the population who fit each class; what is `counted` of people is so without it."""
    fitting = people_of_classes(table, quasi, population, enough=_UNCOUNTED)
    people = np.maximum(fitting.people, fitting.sizes)  # at least those in the table exist
    journalist = chance(fitting.sizes, 1.0 / people, 1.0 / people, threshold)
    beyond = int((fitting.people < fitting.sizes).sum())
    if classes is not None and table.whole is not None:
        shown = table.whole[np.unique(classes.key, return_index=True)[1]]
        fit = people_fitting(shown, quasi, population_of(population), enough=_UNCOUNTED)
        beyond = int((fit < classes.sizes).sum())
        counted = by_people(classes, threshold, fitting=fit)
    return of_sizes(
        fitting.sizes, threshold, journalist, "population", classes_beyond_population=beyond, people=counted
    )


def of_sample(sizes: Ints, fraction: float, threshold: float, alpha: float, classes: Ints | int = 1) -> Scenarios:
    """Of a table that holds this share of the population: of `classes` classes of each size."""
    KMap(2, fraction, alpha=alpha)  # refuses what cannot be
    uniques = population_uniques(np.repeat(sizes, classes), fraction) if len(sizes) else None
    journalist = inferred(sizes, np.full(len(sizes), fraction), threshold, alpha, classes)
    return of_sizes(sizes, threshold, journalist, "sampling fraction", classes, population_uniques=uniques)


def of_sizes(
    sizes: Ints,
    threshold: float,
    journalist: Chance | None = None,
    basis: Basis | None = None,
    classes: Ints | int = 1,
    **more: object,
) -> Scenarios:
    """From the sizes of the classes, the journalist's chance being known or not."""
    prosecutor = chance(sizes, 1.0 / sizes, 1.0 / sizes, threshold, classes)
    risk = class_risk(sizes, classes)
    return Scenarios(risk.records, risk.classes, threshold, prosecutor, journalist, basis, **more)  # type: ignore[arg-type]


def chance(sizes: Ints, single: Floats, mean: Floats, threshold: float, classes: Ints | int = 1) -> Chance:
    """From each class's risk, for one guess in it and on the average; an empty release gives no chance."""
    if not len(sizes):
        return Chance(0.0, 0.0, 0)
    records = sizes * classes
    above = int(records[single > threshold * (1 + 1e-12)].sum())
    return Chance(float(single.max()), float(records @ mean / records.sum()), above)


def inferred(sizes: Ints, share: Floats, threshold: float, alpha: float, classes: Ints | int = 1) -> Chance:
    """A single guess as D4 bounds it, the mean as Benedetti and Franconi estimate it."""
    known, which = np.unique(np.column_stack([sizes, share]), axis=0, return_inverse=True)
    people = np.array([reached(int(f), float(p), alpha=alpha) for f, p in known])
    mean = individual_risk(known[:, 0], known[:, 1])
    return chance(sizes, 1.0 / people[which], mean[which], threshold, classes)


@dataclass(frozen=True)
class _Inferred:
    """The chances of a chunk's classes."""

    threshold: float
    alpha: float

    def __call__(self, classes: pl.DataFrame) -> pl.DataFrame:
        records, people = classes[RECORDS].to_numpy(), classes[PEOPLE].to_numpy()
        risk = inferred(records, np.minimum(records / people, 1.0), self.threshold, self.alpha)
        own = IndividualRisk.of(records, people, self.threshold)
        size, number = np.unique(records, return_counts=True)
        nothing = [0.0] * (len(size) - 1)  # the chances stand in the first row
        return pl.DataFrame(
            {
                "size": size,
                "classes": number,
                "highest": [risk.highest, *nothing],
                "right": [risk.average * int(records.sum()), *nothing],
                "above": [risk.records_above, *map(int, nothing)],
                "riskiest": [own.highest, *nothing],
                "risky": [own.records_above, *map(int, nothing)],
            },
            schema=self.schema,
        )

    schema = pl.Schema(
        {
            **{name: pl.Int64() for name in ("size", "classes", "above", "risky")},
            **{name: pl.Float64() for name in ("highest", "right", "riskiest")},
        }
    )


def _by_weights(table: Table, quasi: Sequence[str], weights: str, threshold: float, alpha: float) -> Scenarios:
    finish = _Inferred(threshold, alpha)
    people, records = PeopleByWeights(weights), records_of(table)
    chances = by_class(table, quasi, people, finish, finish.schema, records, nan_is_missing=False)
    if not chances.height:
        return of_sizes(np.zeros(0, np.int64), threshold, Chance(0.0, 0.0, 0), "sampling weights")
    sizes = chances.group_by("size").agg(pl.col("classes").sum())
    size, classes = sizes["size"].to_numpy(), sizes["classes"].to_numpy()
    records, expected = int(size @ classes), float(chances["right"].sum())
    most = chances.select(pl.col("highest", "riskiest").max(), pl.col("above", "risky").sum()).row(0, named=True)
    journalist = Chance(most["highest"], expected / records, most["above"])
    individual = IndividualRisk(records, most["riskiest"], expected, most["risky"])
    return of_sizes(size, threshold, journalist, "sampling weights", classes, individual=individual)


# ---- showing


def _sheets(risks: Scenarios) -> list[Sheet]:
    above = f"above {risks.threshold:g}"
    of = risks if risks.people is None else risks.people
    known = {
        "population": "names anybody; people counted",
        "sampling fraction": "names anybody; inferred by D4",
        "sampling weights": "names anybody; inferred by D4",
        None: "at most as the prosecutor",
    }
    rows = [
        ("prosecutor", *_shown(of.prosecutor), "knows the person is in the file"),
        ("journalist", *(_shown(of.journalist) if of.journalist else ("-", "-", "-")), known[risks.basis]),
        ("marketer", "-", f"{of.marketer:.2%}", "-", "matches as many as possible"),
    ]
    title = f"Intruders ({of.title})"
    sheets = [Sheet(title, ("", "highest", "average", above, ""), rows, numbers=3)]
    if risks.classes_beyond_population:
        who = "records" if risks.people is None else "people"
        lacking = [(f"with more {who} than people who fit", f"{risks.classes_beyond_population:,}")]
        sheets.append(Sheet("The population lacks people of the table", ("", "classes"), lacking))
    if risks.individual is not None:
        sheets.append(risks.individual.sheet(risks.threshold))
    if risks.population_uniques is not None:
        sheets.append(_uniques_sheet(risks.population_uniques))
    return sheets


def _shown(chance: Chance | PersonChance) -> tuple[str, str, str]:
    above = chance.records_above if isinstance(chance, Chance) else chance.people_above
    return f"{chance.highest:.2%}", f"{chance.average:.2%}", f"{above:,}"


def _uniques_sheet(uniques: PopulationUniques) -> Sheet:
    estimates = {name: getattr(uniques, name) for name in ("zayatz", "pitman", "negative_binomial")}
    rows = [
        (
            name.replace("_", " "),
            "-" if value is None else f"{value:,.0f}",
            "-" if value is None else f"{value / uniques.people:.2%}",
            "chosen" if name == uniques.chosen else "",
        )
        for name, value in estimates.items()
    ]
    return Sheet(f"Unique among {uniques.people:,.0f} people, estimated", ("", "people", "share", ""), rows, numbers=2)
