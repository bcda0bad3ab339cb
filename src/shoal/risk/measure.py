"""What an intruder could do with a table, original or released: everything paper 1 measures, in one look.

Unique records for all that an intruder may know and for every union of named groups of attributes (Eq. 1, Figure S3;
docs/spec.md#uniqueness), the success of a random guess, and attribute disclosure (Eq. 5). Where some quasi-identifier
shows masked cells the worst case counts, by fitting (docs/spec.md#fitting); otherwise equality, which is then the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import polars as pl

from shoal.catalogue import Chunks
from shoal.data.cells import MaskedColumn
from shoal.data.frames import OWN
from shoal.data.microdata import encode
from shoal.data.schema import Person, Role, Schema, need_quasi
from shoal.engines.memory import MemoryTable, table_of
from shoal.engines.table import Table
from shoal.engines.whole import LISTED, look
from shoal.errors import InputError, did_you_mean
from shoal.measure import Fact
from shoal.risk.classes import (
    THRESHOLDS,
    ClassRisk,
    Ints,
    by_class_size,
    class_risk,
    people_by_class_size,
    records_at_risk,
)
from shoal.risk.disclosure import (
    Asked,
    Conditions,
    Disclosure,
    DisclosureByValue,
    Values,
    condition_family,
    expose,
    in_bands,
    named_in,
    of_one_record,
    single,
    value_family,
)
from shoal.risk.people import PeopleInClasses, PeopleRisk, classes_by, people_in
from shoal.risk.people_in_chunks import risk_shown
from shoal.risk.uniques import count_uniques, read_texts
from shoal.show import Bars, Chart, Result, Series, Sheet

MAX_GROUPS = 8  # 255 unions

_FITTING = Chunks("same result; of masked cells up to a million classes, then a bound")
FACTS = {
    "uniques": Fact("riskier", _FITTING),
    "reidentification_risk": Fact("riskier", _FITTING),
    "smallest_class": Fact("safer"),
    "highest_risk": Fact("riskier"),
    "average_risk": Fact("riskier"),
    "attribute_disclosure": Fact("riskier"),
}


@dataclass(frozen=True)
class Known:
    """What an intruder can do who knows the attributes of these groups."""

    groups: tuple[str, ...]
    attributes: tuple[str, ...]
    uniques: int
    records: int
    people_alone: int | None = None  # the only people of some class by these attributes, where people are counted

    @property
    def reidentification_risk(self) -> float:
        """Eq. 1."""
        return self.uniques / self.records if self.records else 0.0


@dataclass(frozen=True)
class Risk(Result):
    """The risk of one table; `classes` by equality of what is shown, `uniques` by `uniques_rule`."""

    records: int
    uniques: int
    uniques_rule: str
    uniques_proven: bool  # otherwise some records count as unique because the search was cut short
    classes: ClassRisk
    sizes: Ints = field(repr=False, compare=False)  # of the classes
    records_at_risk: Mapping[float, int]  # threshold -> records whose class gives a guess a better chance
    attribute_disclosure: tuple[Disclosure, ...] = ()
    disclosure_by_value: tuple[DisclosureByValue, ...] = field(default=(), compare=False)
    attributes_known: tuple[Known, ...] = ()
    of_each: Ints | int = field(default=1, repr=False, compare=False)  # classes of each of the sizes
    engine: str = "memory"
    left_out: Mapping[str, str] = field(default_factory=dict)  # what was not measured, or not as in memory, and why
    people: PeopleRisk | None = None  # where it is known whose each record is; all else is of records

    @property
    def reidentification_risk(self) -> float:
        """Eq. 1."""
        return self.uniques / self.records if self.records else 0.0

    def to_dict(self) -> dict[str, object]:
        """All risks, ready for JSON."""
        return {
            "records": self.records,
            "uniques": self.uniques,
            "uniques_rule": self.uniques_rule,
            "uniques_proven": self.uniques_proven,
            "reidentification_risk": self.reidentification_risk,
            "classes": self.classes.classes,
            "smallest_class": self.classes.smallest_class,
            "highest_risk": self.classes.highest_risk,
            "average_risk": self.classes.average_risk,
            "records_at_risk": {f"{risk:g}": records for risk, records in self.records_at_risk.items()},
            "attribute_disclosure": {d.condition: d.risk for d in self.attribute_disclosure},
            "satisfied_by_nobody": [d.condition for d in self.attribute_disclosure if d.nobody],
            "disclosure_by_value": {
                family.attribute: {
                    "maximum": family.maximum,
                    "condition": family.worst.condition if family.worst else None,
                }
                for family in self.disclosure_by_value
            },
            "attributes_known": {
                " + ".join(known.groups): {
                    "uniques": known.uniques,
                    "reidentification_risk": known.reidentification_risk,
                    **({} if known.people_alone is None else {"people_alone": known.people_alone}),
                }
                for known in self.attributes_known
            },
            "higher_is": {name: fact.higher_is for name, fact in FACTS.items()},
            **({} if self.people is None else {"people": self.people.to_dict()}),
            **({} if self.engine == "memory" else {"engine": self.engine}),
            **({"left_out": dict(self.left_out)} if self.left_out or self.engine != "memory" else {}),
        }

    def sheets(self) -> list[Sheet]:
        """As tables: uniques, classes and what may be learnt."""
        return _sheets(self)

    def charts(self) -> list[Chart]:
        """How large the classes are, how often a guess is right, who is unique if only some attributes are known."""
        labels, (shares,) = by_class_size(self.sizes, classes=self.of_each)
        at_risk, total, who, whose = self.records_at_risk, self.records, "records", "their class"
        if self.people is not None:
            labels, (shares,) = people_by_class_size(self.people.nearest)
            at_risk, total, who, whose = (
                self.people.people_at_risk,
                self.people.people,
                "people",
                "their smallest class",
            )
        chances = [f"{limit:.0%}" for limit in at_risk]
        above = [count / max(total, 1) for count in at_risk.values()]
        groups = [" + ".join(known.groups) for known in self.attributes_known]
        uniques = [known.reidentification_risk for known in self.attributes_known]
        return [
            Bars(f"{who.title()} by the size of {whose}", labels, (Series(who, shares),)),
            Bars(f"{who.title()} that a guess finds more often than", chances, (Series(who, above),)),
            Bars("Unique records, if the intruder knows", groups, (Series("unique", uniques),)),
        ]


def assess_risk(
    table: pl.DataFrame | Table,
    schema: Schema,
    *,
    when: Sequence[str] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    worst_case: bool = True,
    whose: Ints | None = None,
) -> Risk:
    """The risk of a table of any engine, original or read back from a release.

    `when` are the conditions that must not be learnt, such as `charge > 100000`; `groups` names attributes
    that an intruder knows together. Without `worst_case`, masked cells of a table in memory count as equal or not,
    nothing more. Where the schema has a person, people are counted too: by `whose` each record is, or what the table
    shows of that.
    """
    table = table_of(table)
    columns = list(table.schema)
    quasi = need_quasi_identifiers(columns, schema)
    unions = unions_of(groups or {}, quasi)
    _check_conditions(table, when, schema)
    people, alone, uncounted = _people(table, quasi, unions, schema.person, whose)
    learnt = learnt_of(columns, schema)
    needed = {*quasi, *learnt, *(name for condition in when for name in named_in(condition))}
    table = table.select([name for name in columns if name in needed])
    confidential = confidential_values(table, schema, learnt)
    texts = read_texts(table.whole, schema, quasi) if worst_case and table.whole is not None else {}
    seen, keys = _with_cells(table, quasi, texts)
    families = [*map(Asked, when), *confidential.values.values()]
    exposure = expose(seen, [keys[name] for name in quasi], families, confidential.records)
    sizes, answers = exposure.counts, exposure.families
    uniques = count_uniques(table, schema, [quasi, *unions.values()], sizes, texts)
    return Risk(
        records=confidential.records,
        uniques=uniques.known(quasi),
        uniques_rule=uniques.rule,
        uniques_proven=uniques.proven,
        classes=class_risk(*sizes),
        sizes=sizes.size,
        of_each=sizes.classes,
        records_at_risk={limit: records_at_risk(sizes.size, limit, sizes.classes) for limit in THRESHOLDS},
        attribute_disclosure=tuple(map(single, answers[: len(when)])),
        disclosure_by_value=tuple(map(DisclosureByValue, confidential.values, answers[len(when) :])),
        attributes_known=tuple(
            Known(names, attributes, uniques.known(attributes), confidential.records, alone[names])
            for names, attributes in unions.items()
        ),
        engine=table.engine,
        left_out={**({"people": uncounted} if uncounted else {}), **confidential.left_out, **uniques.left_out},
        people=people,
    )


_Unions = Mapping[tuple[str, ...], tuple[str, ...]]


def _people(
    table: Table, quasi: Sequence[str], unions: _Unions, person: Person | None, whose: Ints | None
) -> tuple[PeopleRisk | None, Mapping[tuple[str, ...], int | None], str]:
    """The risk of people, and how many are the only ones of a class by each union; or why nobody can be counted."""
    frame = table.whole
    if frame is None:
        risk, uncounted = risk_shown(table, quasi, person)
        if risk is None or not risk.across:
            return risk, dict.fromkeys(unions), uncounted
        by_union = {union: risk_shown(table, names, person)[0] for union, names in unions.items()}
        return risk, {union: None if part is None else part.alone for union, part in by_union.items()}, ""
    people, uncounted = people_in(table, quasi, person, whose)
    if people is None or not people.across:
        return None if people is None else PeopleRisk.of(people), dict.fromkeys(unions), uncounted
    alone = {union: PeopleInClasses(classes_by(frame, names), people.people).alone() for union, names in unions.items()}
    return PeopleRisk.of(people), alone, uncounted


def _with_cells(
    table: Table, quasi: Sequence[str], texts: Mapping[str, MaskedColumn]
) -> tuple[Table, Mapping[str, str]]:
    """The columns that tell classes apart: in memory the numbers of cells, which are quicker to compare than texts."""
    cells = {name: f"{OWN}cell {name}" for name in texts}
    if table.whole is None or not cells:
        return table, {name: name for name in quasi}
    numbers = (pl.Series(cells[name], column.index) for name, column in texts.items())
    return MemoryTable(table.whole.with_columns(numbers)), {name: cells.get(name, name) for name in quasi}


# ---- what is asked


def need_quasi_identifiers(columns: Sequence[str], schema: Schema) -> list[str]:
    """The quasi-identifiers by name; refused where there is none, or the table lacks one."""
    quasi = schema.quasi_identifiers
    need_quasi(quasi)
    for name in quasi:
        if name not in columns:
            hint = did_you_mean(name, columns) or f" It has {', '.join(map(repr, columns[:20]))}."
            raise InputError(f"The table has no column {name!r}, named as quasi-identifier.{hint}")
    return quasi


def unions_of(groups: Mapping[str, Sequence[str]], quasi: list[str]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Every non-empty union of groups, the smaller first, with its attributes."""
    if len(groups) > MAX_GROUPS:
        raise InputError(
            f"There are {len(groups)} groups of known attributes, and every union of them would be measured: "
            f"give at most {MAX_GROUPS}."
        )
    for group, attributes in groups.items():
        if not attributes:
            raise InputError(f"The group {group!r} of known attributes is empty: name its attributes, or drop it.")
        for name in attributes:
            if name not in quasi:
                hint = did_you_mean(name, quasi)
                raise InputError(f"The group {group!r} names {name!r}, which is not a quasi-identifier.{hint}")
    unions = [union for size in range(1, len(groups) + 1) for union in combinations(groups, size)]
    return {union: tuple(q for q in quasi if any(q in groups[g] for g in union)) for union in unions}


def learnt_of(columns: Sequence[str], schema: Schema) -> list[str]:
    """The confidential attributes of which something may be learnt."""
    return [name for name in schema.confidential if name not in schema.quasi_identifiers and name in columns]


def _check_conditions(table: Table, when: Sequence[str], schema: Schema) -> None:
    """Refuses a condition that cannot be asked, before any work."""
    columns = pl.DataFrame(schema=table.schema)
    for condition in when:
        condition_family(columns, condition, schema.with_role(Role.IDENTIFIER))
        if table.whole is None and not of_one_record(condition):
            raise InputError(
                f"The condition {condition!r} compares records with each other, which the {table.engine} engine "
                "cannot: write the numbers themselves, as in charge > 100000."
            )


# ---- what the whole table shows of its confidential attributes


@dataclass(frozen=True)
class Confidential:
    """The values of confidential attributes as conditions, and why some attributes are left out."""

    records: int
    values: Mapping[str, Conditions]
    left_out: Mapping[str, str] = field(default_factory=dict)


def confidential_values(table: Table, schema: Schema, learnt: Sequence[str]) -> Confidential:
    """What may be learnt of each confidential attribute; of one that is a quasi-identifier too, nothing."""
    if (frame := table.whole) is not None:
        return Confidential(frame.height, {name: value_family(frame[name], schema[name]) for name in learnt})
    return listed_values(table, schema, learnt)


def listed_values(table: Table, schema: Schema, learnt: Sequence[str]) -> Confidential:
    """The same by the values themselves, so that it can be asked of any records: of those of a release, too."""
    records, marginals = look(table, learnt)
    values, left_out = {}, {}
    for name, marginal in marginals.items():
        if marginal.counts is None:
            left_out[f"disclosure_by_value of {name}"] = (
                f"it has more than {LISTED:,} values; ask for what must not be learnt, as {name} > 100000 (--when)"
            )
            continue
        attribute = schema[name].as_it_stands(table.schema[name])
        whole = marginal.whole(attribute)
        assert whole.values is not None
        values[name] = Values(attribute, whole, in_bands(encode(whole.values.clear(), attribute, whole)))
    return Confidential(records, values, left_out)


# ---- showing


def _sheets(risk: Risk) -> list[Sheet]:
    learnt = [_disclosure_row(d) for d in risk.attribute_disclosure]
    worst = [
        (family.attribute, f"{family.maximum:.2%}", family.worst.condition if family.worst else "no value")
        for family in risk.disclosure_by_value
    ]
    return [
        *_whole(risk),
        Sheet("What would be learnt (Eq. 5)", ("condition", "risk", "records exposed"), learnt),
        Sheet("Of all values, the one learnt most", ("attribute", "risk", "value"), worst),
        _known_sheet(risk.attributes_known),
        Sheet("Left out", ("measure", "reason"), list(risk.left_out.items()), numbers=0),
    ]


def _whole(risk: Risk) -> list[Sheet]:
    """Of people where these are counted, and of records what is about records alone."""
    proven = "" if risk.uniques_proven else ", not all proven"
    unique = [
        ("unique records", f"{risk.uniques:,}", f"{risk.uniques_rule}{proven}"),
        ("re-identification risk", f"{risk.reidentification_risk:.2%}", "unique records / records (Eq. 1)"),
    ]
    head = ("", "value", "meaning")
    if risk.people is not None:
        return [risk.people.sheet(), Sheet(f"Of {risk.records:,} records, whosever they are", head, unique)]
    classes = risk.classes
    rows = [
        *unique,
        ("classes", f"{classes.classes:,}", "records that show the same"),
        ("smallest class", f"{classes.smallest_class:,}", "higher is safer"),
        ("highest risk", f"{classes.highest_risk:.2%}", "a guess in the smallest class"),
        ("average risk", f"{classes.average_risk:.2%}", "a guess in everybody's class"),
        *(
            (f"records at risk > {limit:g}", f"{records:,}", "a guess succeeds more often")
            for limit, records in risk.records_at_risk.items()
        ),
    ]
    return [Sheet(f"Risk of {risk.records:,} records", head, rows)]


def _known_sheet(unions: Sequence[Known]) -> Sheet:
    if any(known.people_alone is not None for known in unions):
        rows = [(" + ".join(k.groups), f"{k.people_alone or 0:,}", f"{k.uniques:,}") for k in unions]
        return Sheet("If the intruder knows", ("attributes", "people alone", "unique records"), rows, numbers=2)
    rows = [(" + ".join(k.groups), f"{k.uniques:,}", f"{k.reidentification_risk:.2%}") for k in unions]
    return Sheet("If the intruder knows", ("attributes", "uniques", "risk"), rows, numbers=2)


def _disclosure_row(disclosure: Disclosure) -> tuple[str, str, str]:
    exposed = f"{disclosure.exposed:,} of {disclosure.records:,}"
    note = "no record satisfies it" if disclosure.nobody else exposed
    return disclosure.condition, f"{disclosure.risk:.2%}", note
