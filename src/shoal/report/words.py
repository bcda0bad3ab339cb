"""What models promise, what methods do, and what both leave open, in words for whoever signs a release."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.people import what_counts
from shoal.data.schema import Kind, Person, Role, Schema
from shoal.masking.publishing.confidential import LEAVES_OPEN
from shoal.policy import Policy
from shoal.privacy.model import PrivacyModel
from shoal.report.reported import Reported
from shoal.show.numbers import number

if TYPE_CHECKING:
    from shoal.report.distributions import Precision

PAPER = "Sánchez et al. 2016"


# ---- methods


def parameters(method: Any) -> dict[str, str]:
    """Those that say something: what is None was left to the method."""
    if not dataclasses.is_dataclass(method):
        return {}
    values = {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}
    return {name: str(value) for name, value in values.items() if value is not None}


def shown(column: MaskedColumn, precision: Precision, level: int | None) -> str:
    """What the cells of an attribute hold, and the most frequent of those that hold something."""
    kind, hierarchy = column.attribute.kind, column.attribute.hierarchy
    if level is not None and hierarchy is not None:
        how = f"Recoded: {hierarchy.describe(level)}"
    elif precision.exact == 1:
        how = "Single values"
    elif kind is Kind.NOMINAL:
        how = f"Values and sets of values, {number(precision.width)} on average"
    elif kind is Kind.NUMERIC:
        how = f"Values and intervals, {number(precision.width)} wide on average"
    else:
        how = "Values and intervals"
    hidden = f"; * in {precision.whole:.1%} of the records" if precision.whole else ""
    return f"{how}; {_most_often(column)}{hidden}."


def _most_often(column: MaskedColumn) -> str:
    records = np.bincount(column.index, minlength=len(column.text))
    cells = pl.DataFrame({"text": column.text, "records": records}).filter(~pl.Series(column.hidden()))
    cells = cells.filter(pl.col("records") > 0).drop_nulls().group_by("text", maintain_order=True).sum()
    if not cells.height:
        return "nothing else"
    first = cells["text"][int(cells["records"].arg_max() or 0)]
    return f"{cells.height:,} different, most often {first}" if cells.height > 1 else f"always {first}"


# ---- promises


def in_words(promises: Sequence[PrivacyModel], columns: Collection[str], policy: Policy) -> tuple[str, ...]:
    """What each promise means, and what was counted, from what; as the certificate has it."""
    return (*(promise.in_words for promise in promises), what_was_counted(columns, policy))


def what_was_counted(columns: Collection[str], policy: Policy) -> str:
    """Whether records, people or households, and from what that was judged; `columns` are those of the release."""
    person = None if policy.person is None else Person(policy.person)
    return f"Counted are {what_counts(columns, person, policy.household_column)}."


# ---- what stays open


@dataclasses.dataclass(frozen=True)
class Limit:
    """Something that the promises leave open, as a title and a paragraph; `always`: of every release."""

    title: str
    text: str
    always: bool = False


def limits(release: Reported, most_learnt: Mapping[str, float]) -> list[Limit]:
    """What the promises do not say; `most_learnt` is Eq. 5 of the worst value of each confidential attribute."""
    left_open = [Limit(*open_) for open_ in dict.fromkeys(model.leaves_open for model in release.promises) if open_]
    if not release.promises:
        left_open.append(Limit("Nothing was promised", "The policy names no model: all there is are the numbers."))
    shown = [*_shown_by(release), *_grouped_by_secrets(release), *_pseudonymous(release)]
    homogeneous = _homogeneous(release.promises, most_learnt, release.policy.label)
    return [*homogeneous, *left_open, *shown, _knowledge(release.schema, release.policy.label), *_ALWAYS]


def _shown_by(release: Reported) -> list[Limit]:
    """What each way of showing a class's confidential values leaves open (paper 2, section 3.2)."""
    ways = sorted(set(release.policy.show.values()))
    by_way = {way: [name for name, by in release.policy.show.items() if by == way] for way in ways}
    return [Limit(f"{', '.join(names)} by {way.replace('-', ' ')}", LEAVES_OPEN[way]) for way, names in by_way.items()]


def _grouped_by_secrets(release: Reported) -> list[Limit]:
    names = [name for name in release.schema.confidential if name in release.schema.quasi_identifiers]
    names = [name for name in names if name not in release.policy.show]
    if not names:
        return []
    return [
        Limit(
            "The more columns, the coarser the groups",
            f"Classes were made by {', '.join(names)} too, which are confidential as well. With many attributes nobody "
            "is like anybody else, and classes must span much to hold k. A table for each confidential attribute over "
            "classes of the others (split) avoids it.",
        )
    ]


def _pseudonymous(release: Reported) -> list[Limit]:
    """What pseudonyms and shifted dates leave open."""
    policy, limits = release.policy, []
    if policy.pseudonyms:
        text = (
            f"{', '.join(policy.pseudonyms)}: without the key nobody learns a value from its pseudonym, but equality "
            "shows. Records with the same pseudonym can be put together, and somebody with many of them stands out; "
            "releases with the same domain and key can be joined by anybody. These are personal data still (GDPR). "
            "The key must be kept, and kept apart from the release."
        )
        limits.append(Limit("Pseudonyms are not anonymity", text))
    if policy.shift is not None:
        text = (
            f"{', '.join(policy.shift.columns)}: order, season and gaps of a history stay, and whoever knows one date "
            "of a person knows by how much all others were moved."
        )
        limits.append(Limit("Shifted dates still tell", text))
    return limits


def _homogeneous(
    models: Sequence[PrivacyModel], most_learnt: Mapping[str, float], label: Callable[[str], str]
) -> list[Limit]:
    """The limit of k-anonymity, where no other model guards the attribute, with what was measured of it."""
    guarded = {model.attribute for model in models}
    bare = {name: risk for name, risk in most_learnt.items() if name not in guarded}
    if not bare:
        return []
    measured = " ".join(
        f"Of {label(name)}, this is so for {risk:.2%} of the records with the value that is learnt most."
        for name, risk in list(bare.items())[:6]
        if risk
    )
    measured = measured or "No group of this release is such."
    return [
        Limit(
            "Everybody in a group may share a secret",
            "k-anonymity hides which record is whose, not what look-alikes have in common: where all "
            f"have the same confidential value, it is known without knowing the record. {measured} l-diversity "
            "and t-closeness are promises against it.",
        )
    ]


def _knowledge(schema: Schema, label: Callable[[str], str]) -> Limit:
    quasi = schema.quasi_identifiers
    unmasked = [name for name in schema.confidential if name not in quasi]
    unmasked += schema.with_role(Role.INSENSITIVE)
    text = (
        "The promises are about intruders who know some or all of the columns named for that. One who knows more "
        "can do more than the numbers say."
    )
    if unmasked:
        more = f" and {len(unmasked) - 12} more" if len(unmasked) > 12 else ""
        text += (
            f" Released as they are, so that they may single someone out: {', '.join(map(label, unmasked[:12]))}{more}."
        )
    return Limit("What else an intruder may know", text)


_ALWAYS = (
    Limit(
        "Several releases together",
        "Each promise is about this file alone. Two releases with some of the same people, or this one and a "
        "table published elsewhere, can be laid side by side, and what fits both may be fewer than k records.",
        always=True,
    ),
    Limit(
        "A guess may be better than random",
        "Average and highest risk suppose that all look-alikes are equally likely to be the right one. "
        "Who knows how attributes go together may find some likelier.",
        always=True,
    ),
    Limit(
        "What a law asks",
        "No law names a k. HIPAA knows a list of what to remove (safe harbor) and the judgement of an expert; the GDPR "
        "asks whether a person can be identified by means reasonably likely to be used, and leaves open how to tell.",
        always=True,
    ),
    Limit(
        "Being in the table at all",
        "Nothing hides that a person is among the records. Where that alone is sensitive these models are not "
        "enough, and differential privacy is the one to look at.",
        always=True,
    ),
)


def each_note_once(notes: Sequence[Sequence[str]]) -> Iterator[str]:
    """The chunks' notes, each sentence once; of those that differ in their numbers only, the first."""
    alike: dict[str, list[str]] = {}
    for note in (note for chunk in notes for note in dict.fromkeys(chunk)):
        alike.setdefault(re.sub(r"[\d.,]*\d", "#", note), []).append(note)
    for same in alike.values():
        others = len(same) - 1 if len(set(same)) > 1 else 0
        yield f"{same[0]} So or alike in {others:,} other chunks." if others else same[0]
