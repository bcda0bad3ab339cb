"""What an intruder could do with a table, original or released: everything paper 1 measures, in one look.

Unique records for all that an intruder may know and for every union of named groups of attributes (Eq. 1, Figure S3;
docs/spec.md#uniqueness), the success of a random guess, and attribute disclosure (Eq. 5). Where some quasi-identifier
shows masked cells the worst case counts, by fitting (docs/spec.md#fitting); otherwise equality, which is then the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError, did_you_mean
from shoal.risk.classes import ClassRisk, Ints, by_class_size, class_risk, records_at_risk
from shoal.risk.disclosure import (
    Disclosure,
    DisclosureByValue,
    Exposure,
    Family,
    condition_family,
    expose,
    single,
    value_family,
)
from shoal.show import Bars, Chart, Result, Series, Sheet

THRESHOLDS = (0.33, 0.2, 0.09, 0.05)  # highest risks that custodians commonly accept: classes of 3, 5, 11, 20
MAX_GROUPS = 8  # 255 unions

EQUALITY = "class equality"
FITTING = "worst case (fitting)"

HIGHER_IS: dict[str, Literal["riskier", "safer"]] = {
    "uniques": "riskier",
    "reidentification_risk": "riskier",
    "smallest_class": "safer",
    "highest_risk": "riskier",
    "average_risk": "riskier",
    "attribute_disclosure": "riskier",
}


@dataclass(frozen=True)
class Known:
    """What an intruder can do who knows the attributes of these groups."""

    groups: tuple[str, ...]
    attributes: tuple[str, ...]
    uniques: int
    records: int

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

    @property
    def reidentification_risk(self) -> float:
        """Eq. 1."""
        return self.uniques / self.records if self.records else 0.0

    def to_dict(self) -> dict[str, object]:
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
                }
                for known in self.attributes_known
            },
            "higher_is": dict(HIGHER_IS),
        }

    def sheets(self) -> list[Sheet]:
        return _sheets(self)

    def charts(self) -> list[Chart]:
        """How large the classes are, how often a guess is right, who is unique if only some attributes are known."""
        labels, (shares,) = by_class_size(self.sizes, classes=self.of_each)
        chances = [f"{limit:.0%}" for limit in self.records_at_risk]
        above = [records / max(self.records, 1) for records in self.records_at_risk.values()]
        groups = [" + ".join(known.groups) for known in self.attributes_known]
        uniques = [known.reidentification_risk for known in self.attributes_known]
        return [
            Bars("Records by the size of their class", labels, (Series("records", shares),)),
            Bars("Records that a guess finds more often than", chances, (Series("records", above),)),
            Bars("Unique records, if the intruder knows", groups, (Series("unique", uniques),)),
        ]


def assess_risk(
    frame: pl.DataFrame,
    schema: Schema,
    *,
    when: Sequence[str] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    worst_case: bool = True,
) -> Risk:
    """The risk of a table, original or read back from a release.

    `when` are the conditions that must not be learnt, such as `charge > 100000`; `groups` names attributes
    that an intruder knows together. Without `worst_case`, masked cells count as equal or not, nothing more.
    """
    quasi = need_quasi_identifiers(frame.columns, schema)
    unions = unions_of(groups or {}, quasi)
    hidden = schema.with_role(Role.IDENTIFIER)
    asked = [condition_family(frame, condition, hidden) for condition in when]
    values = _confidential_values(frame, schema)
    texts = _read_texts(frame, schema, quasi) if worst_case else {}
    shown = frame.with_columns(pl.Series(name, column.index) for name, column in texts.items())
    exposure = expose(shown, quasi, [*asked, *values.values()])
    cells = _masked_cells(frame, schema, quasi, texts)
    found = {frozenset(quasi): _uniques(shown, quasi, cells, exposure)}
    for attributes in unions.values():
        if frozenset(attributes) not in found:
            found[frozenset(attributes)] = _uniques(shown, attributes, cells)
    families = zip(values, exposure.families[len(asked) :], strict=True)
    return Risk(
        records=frame.height,
        uniques=found[frozenset(quasi)].count,
        uniques_rule=FITTING if cells else EQUALITY,
        uniques_proven=all(uniques.proven for uniques in found.values()),
        classes=class_risk(exposure.sizes),
        sizes=exposure.sizes,
        records_at_risk={threshold: records_at_risk(exposure.sizes, threshold) for threshold in THRESHOLDS},
        attribute_disclosure=tuple(map(single, exposure.families[: len(asked)])),
        disclosure_by_value=tuple(DisclosureByValue(name, family) for name, family in families),
        attributes_known=tuple(
            Known(names, attributes, found[frozenset(attributes)].count, frame.height)
            for names, attributes in unions.items()
        ),
    )


# ---- what is asked


def need_quasi_identifiers(columns: Sequence[str], schema: Schema) -> list[str]:
    quasi = schema.quasi_identifiers
    if not quasi:
        raise InputError("No quasi-identifier is named: name the columns that an intruder may know.")
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


def _confidential_values(frame: pl.DataFrame, schema: Schema) -> dict[str, Family]:
    """What may be learnt of each confidential attribute; of one that is a quasi-identifier too, nothing."""
    return {name: value_family(frame[name], schema[name]) for name in learnt_of(frame.columns, schema)}


def learnt_of(columns: Sequence[str], schema: Schema) -> list[str]:
    """The confidential attributes of which something may be learnt."""
    return [name for name in schema.confidential if name not in schema.quasi_identifiers and name in columns]


# ---- unique records


@dataclass(frozen=True)
class _Found:
    count: int
    proven: bool


def _uniques(
    frame: pl.DataFrame,
    attributes: Sequence[str],
    cells: Mapping[str, MaskedColumn],
    exposure: Exposure | None = None,
) -> _Found:
    """Eq. 1's numerator, by fitting where there are masked cells, otherwise the classes of one record."""
    if cells:
        from shoal.risk.uniqueness import worst_case_uniques

        found = worst_case_uniques([cells[name] for name in attributes])
        return _Found(int(found.unique.sum()), found.proven)
    sizes = (exposure or expose(frame, attributes)).sizes
    return _Found(int((sizes == 1).sum()), True)


def _read_texts(frame: pl.DataFrame, schema: Schema, quasi: Sequence[str]) -> dict[str, MaskedColumn]:
    """The quasi-identifiers that may show masks: those given as text, or as categories."""
    plain = [name for name in quasi if frame[name].dtype.is_numeric() or frame[name].dtype.is_temporal()]
    return {name: _read(frame[name], schema[name]) for name in quasi if name not in plain}


def _masked_cells(
    frame: pl.DataFrame, schema: Schema, quasi: Sequence[str], texts: Mapping[str, MaskedColumn]
) -> dict[str, MaskedColumn]:
    """What each record admits in each quasi-identifier; nothing where all show plain values."""
    if not any(_shows_masks(column) for column in texts.values()):
        return {}
    return {q: texts[q] if q in texts else read_cells(frame[q], schema[q]) for q in quasi}


def shows_masks(frame: pl.DataFrame, schema: Schema, quasi: Sequence[str]) -> bool:
    """Whether some quasi-identifier shows what admits more than one value."""
    return any(_shows_masks(column) for column in _read_texts(frame, schema, quasi).values())


def _read(column: pl.Series, attribute: Attribute) -> MaskedColumn:
    """Nominal values are never shown as intervals: text with intervals stands for numbers or dates.

    So a release can be measured by itself, where nothing but its text tells what the attributes were.
    """
    unclear = attribute.kind is Kind.NOMINAL and attribute.domain is None and attribute.hierarchy is None
    if unclear and column.unique().cast(pl.String).str.contains(r"^\[.*;.*\]$").any():
        for kind in (Kind.NUMERIC, Kind.DATE):
            try:
                return read_cells(column, replace(attribute, kind=kind))
            except InputError:
                continue
    return read_cells(column, attribute)


def _shows_masks(column: MaskedColumn) -> bool:
    """Whether some cell admits more than one position."""
    runs = column.runs
    several = column.low < column.high
    return bool(several.any() or (runs is not None and runs.whole.any()))


# ---- showing


def _sheets(risk: Risk) -> list[Sheet]:
    proven = "" if risk.uniques_proven else ", not all proven"
    classes = risk.classes
    whole = [
        ("unique records", f"{risk.uniques:,}", f"{risk.uniques_rule}{proven}"),
        ("re-identification risk", f"{risk.reidentification_risk:.2%}", "unique records / records (Eq. 1)"),
        ("classes", f"{classes.classes:,}", "records that show the same"),
        ("smallest class", f"{classes.smallest_class:,}", "higher is safer"),
        ("highest risk", f"{classes.highest_risk:.2%}", "a guess in the smallest class"),
        ("average risk", f"{classes.average_risk:.2%}", "a guess in everybody's class"),
        *(
            (f"records at risk > {limit:g}", f"{records:,}", "a guess succeeds more often")
            for limit, records in risk.records_at_risk.items()
        ),
    ]
    learnt = [_disclosure_row(d) for d in risk.attribute_disclosure]
    worst = [
        (family.attribute, f"{family.maximum:.2%}", family.worst.condition if family.worst else "no value")
        for family in risk.disclosure_by_value
    ]
    known = [(" + ".join(k.groups), f"{k.uniques:,}", f"{k.reidentification_risk:.2%}") for k in risk.attributes_known]
    return [
        Sheet(f"Risk of {risk.records:,} records", ("", "value", "meaning"), whole),
        Sheet("What would be learnt (Eq. 5)", ("condition", "risk", "records exposed"), learnt),
        Sheet("Of all values, the one learnt most", ("attribute", "risk", "value"), worst),
        Sheet("If the intruder knows", ("attributes", "uniques", "risk"), known, numbers=2),
    ]


def _disclosure_row(disclosure: Disclosure) -> tuple[str, str, str]:
    exposed = f"{disclosure.exposed:,} of {disclosure.records:,}"
    note = "no record satisfies it" if disclosure.nobody else exposed
    return disclosure.condition, f"{disclosure.risk:.2%}", note
