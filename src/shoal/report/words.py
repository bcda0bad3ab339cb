"""What models promise, what methods do, and what both leave open, in words for whoever signs a release."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.schema import Kind, Role, Schema
from shoal.masking.publishing.confidential import LEAVES_OPEN
from shoal.measure import find_measure
from shoal.privacy import KAnonymity, KMap, LDiversity, MeasuredRisk, PrivacyModel, TCloseness

if TYPE_CHECKING:
    from shoal.release import Release
    from shoal.report.distributions import Precision

PAPER = "Sánchez et al. 2016"


# ---- models


def promised(model: PrivacyModel) -> str:
    """What it means that the model holds."""
    if isinstance(model, KAnonymity):
        return (
            f"Every released record shows the same in all quasi-identifiers as at least {model.k - 1} others. "
            f"Whoever knows these of a person is left with at least {model.k} records, any of which may be "
            "that person's."
        )
    if isinstance(model, TCloseness):
        return (
            f"In every class, {model.attribute} is distributed nearly as in the whole table: knowing someone's "
            "class tells little about it. The distance of the two distributions (0: the same, 1: as far as "
            f"can be) is nowhere above {model.t:g}."
        )
    if isinstance(model, LDiversity):
        return f"In every class, {_diverse(model)}. Knowing someone's class does not give the value away."
    if isinstance(model, KMap):
        basis = (
            "counted in the population given"
            if model.fraction is None
            else f"inferred for each class by itself, from a share of {model.fraction:.3g} of the population"
            if model.cells_fixed
            else "as many as its records"
        )
        return (
            f"At least {model.k} people of the population fit every class ({basis}). Whoever does not know who is in "
            f"the file is left with at least {model.k} people; whoever does, with the class's records alone."
        )
    if isinstance(model, MeasuredRisk):
        measure = find_measure(model.measure, "risk")
        if measure.name == MeasuredRisk.measure:
            return (
                f"At most {model.level:.1%} of the people are found again by the best of the attacks that Shoal knows, "
                "carried out beside the original: by ranks, by distance, one to one, by values and gaps that survived. "
                "No record hides in a class: against an attack that nobody thought of, nothing is promised."
            )
        side = "at least" if measure.higher_is == "safer" else "at most"
        return (
            f"Measured between the original table and what is released, {measure.name.replace('_', ' ')} is {side} "
            f"{model.level:g}. {measure.meaning} No record hides in a class: by this measure alone is it hard to link."
        )
    return f"{model.name} at the level {model.asked:g}."


def _diverse(model: LDiversity) -> str:
    if model.variant == "distinct":
        return f"{model.attribute} takes at least {model.l:g} different values"
    if model.variant == "entropy":
        return f"{model.attribute} is as mixed as {model.l:g} values that are equally frequent"
    return (
        f"the most frequent value of {model.attribute} occurs less than {model.c:g} times as often as all but "
        f"the {model.l - 1:g} most frequent together"
    )


def asked(model: PrivacyModel) -> str:
    """The level as the field writes it: k ≥ 5, t ≤ 0.1."""
    if isinstance(model, MeasuredRisk):
        safer = find_measure(model.measure, "risk").higher_is == "safer"
        return f"{model.measure} {'≥' if safer else '≤'} {model.level:g}"
    letter = model.name.partition("-")[0]
    sign = "≤" if isinstance(model, TCloseness) else "≥"
    return f"{letter} {sign} {model.asked:g}" if len(letter) == 1 else f"{model.asked:g}"


# ---- methods

_METHODS = {
    "hilbert": "Records were put in order along a Hilbert curve through all quasi-identifiers at once, so that "
    "neighbours are alike, and the line was cut where least is lost.",
    "sorted": f"Records were put in order by distance from zero and cut into runs of k ({PAPER}, Algorithm S2).",
    "stratified": "Records were divided into strata by the confidential attribute, and every class took one "
    f"record from each stratum ({PAPER}, Algorithm S4).",
    "kd": "Records were divided in two at the middle of the attribute that varies most, again and again.",
    "kd-median": "Records were divided in two at the median of the attribute that varies most, again and again.",
    "mdav": "Records farthest from the middle were grouped with their nearest, again and again (MDAV).",
    "mdav+": "Records farthest from the middle were grouped with their nearest (MDAV), and groups then exchanged "
    "records as long as that brought them nearer together.",
    "microaggregation": "Records were grouped with their nearest and show the centre of their group: means of numbers, "
    "medians of ordered categories, the most frequent of others.",
    "noise": "Random noise was added to every value, correlated as the values are unless said otherwise.",
    "multiplicative-noise": "Every value was multiplied by a random factor near one, and moments were restored.",
    "rank-swapping": "Every value was exchanged with one of near rank, attribute by attribute.",
    "pram": "Categories were redrawn at random so that their expected frequencies stay (PRAM).",
    "shuffling": "Values were shuffled among records by ranks that a model of their dependence drew.",
    "resampling": "Values were replaced by averages of samples drawn with replacement, rank by rank.",
    "recode": "Every quasi-identifier was raised to one level of its hierarchy, the same for all records: the "
    "cheapest combination of levels that keeps the promise (El Emam & Dankar 2008).",
    "cut-points": "Every quasi-identifier was cut into intervals, the same for all records: the cheapest set of cuts "
    "found that keeps the promise (El Emam & Dankar 2008).",
    "coarsen": f"Each quasi-identifier was recoded by itself into a fixed number of intervals ({PAPER}, Algorithm S3).",
    "safe-harbor": f"Records that were still unique were masked step by step, in a fixed order ({PAPER}, Table S3).",
}
_SHOWN = (
    " Each class shows the range of its numbers, dates and ordered categories, the set of its other "
    "categories or, where a hierarchy is given, their lowest common ancestor. A class that mixes missing and "
    "present shows *."
)


_CENTRED = (
    " Each class shows the {0} of its numbers and dates, the median of ordered categories and the most frequent of the "
    "others. A class that mixes missing and present shows *."
)


def done(method: Any) -> str:
    """What the method did; nothing of one that is not among Shoal's own."""
    grouping = getattr(method, "grouping", None)
    said = _METHODS.get(grouping or method.name, "")
    if not (grouping and said):
        return said
    return said + (_SHOWN if method.shown_by == "range" else _CENTRED.format(method.shown_by))


def parameters(method: Any) -> dict[str, str]:
    """Those that say something: what is None was left to the method."""
    if not dataclasses.is_dataclass(method):
        return {}
    found = {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}
    return {name: str(value) for name, value in found.items() if value is not None}


def shown(column: MaskedColumn, precision: Precision, level: int | None) -> str:
    """What the cells of an attribute hold, and the most frequent of those that hold something."""
    kind, hierarchy = column.attribute.kind, column.attribute.hierarchy
    if level is not None and hierarchy is not None:
        how = f"Recoded: {hierarchy.describe(level)}"
    elif precision.exact == 1:
        how = "Single values"
    elif kind is Kind.NOMINAL:
        how = f"Values and sets of values, {precision.width:.3g} on average"
    elif kind is Kind.NUMERIC:
        how = f"Values and intervals, {precision.width:.3g} wide on average"
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


# ---- what stays open


@dataclasses.dataclass(frozen=True)
class Limit:
    title: str
    text: str


def limits(release: Release, most_learnt: Mapping[str, float]) -> list[Limit]:
    """What the promises do not say; `most_learnt` is Eq. 5 of the worst value of each confidential attribute."""
    found = [limit for kind, limit in _OF_MODELS.items() if any(isinstance(m, kind) for m in release.promises)]
    if not release.promises:
        found.append(Limit("Nothing was promised", "The policy names no model: all there is are the numbers."))
    shown = [*_shown_by(release), *_grouped_by_secrets(release)]
    return [*_homogeneous(release.promises, most_learnt), *found, *shown, _knowledge(release.schema), *_ALWAYS]


def _shown_by(release: Release) -> list[Limit]:
    """What each way of showing a class's confidential values leaves open (paper 2, section 3.2)."""
    ways = sorted(set(release.policy.show.values()))
    by_way = {way: [name for name, by in release.policy.show.items() if by == way] for way in ways}
    return [Limit(f"{', '.join(names)} by {way.replace('-', ' ')}", LEAVES_OPEN[way]) for way, names in by_way.items()]


def _grouped_by_secrets(release: Release) -> list[Limit]:
    names = [name for name in release.schema.confidential if name in release.schema.quasi_identifiers]
    names = [name for name in names if name not in release.policy.show]
    if not names:
        return []
    return [
        Limit(
            "The more attributes, the coarser the classes",
            f"Classes were made by {', '.join(names)} too, which are confidential as well. With many attributes nobody "
            "is like anybody else, and classes must span much to hold k. A table for each confidential attribute over "
            "classes of the others (split) avoids it.",
        )
    ]


def _homogeneous(models: Sequence[PrivacyModel], most_learnt: Mapping[str, float]) -> list[Limit]:
    """The limit of k-anonymity, where no other model guards the attribute, with what was measured of it."""
    guarded = {model.attribute for model in models}
    bare = {name: risk for name, risk in most_learnt.items() if name not in guarded}
    if not bare:
        return []
    measured = " ".join(
        f"Of {name}, this is so for {risk:.2%} of the records with the value that is learnt most."
        for name, risk in list(bare.items())[:6]
        if risk
    )
    measured = measured or "No class of this release is such."
    return [
        Limit(
            "Everybody in a class may share a secret",
            "k-anonymity hides which record is whose, not what the records of a class have in common: where all "
            f"have the same confidential value, it is known without knowing the record. {measured} l-diversity "
            "and t-closeness are promises against it.",
        )
    ]


def _knowledge(schema: Schema) -> Limit:
    quasi = schema.quasi_identifiers
    unmasked = [name for name in schema.confidential if name not in quasi]
    unmasked += schema.with_role(Role.INSENSITIVE)
    text = (
        "The promises are about intruders who know some or all of the quasi-identifiers. One who knows more "
        "can do more than the numbers say."
    )
    if unmasked:
        more = f" and {len(unmasked) - 12} more" if len(unmasked) > 12 else ""
        text += f" Released as they are, so that they may single someone out: {', '.join(unmasked[:12])}{more}."
    return Limit("What else an intruder may know", text)


_OF_MODELS: dict[type, Limit] = {
    MeasuredRisk: Limit(
        "A measure is not a crowd",
        "Perturbed records stand apart: an intruder who knows more, or links otherwise than the measure does, may find "
        "more people than it says; and who is found is not found at random: people unlike all others are found first.",
    ),
    KMap: Limit(
        "Who knows that somebody is in the file",
        "k-map counts the people of the population who fit a class. An intruder who knows that a person is among the "
        "records is left with the class's records alone, which may be fewer than k. Where people are not counted but "
        "inferred from the share of the population, a few classes that fewer people fit may have passed.",
    ),
    LDiversity: Limit(
        "Different values may mean the same",
        "l-diversity counts values, not meanings: a class of three different cancers is diverse. And a rare "
        "value may be far more frequent in a class than in the whole table.",
    ),
    TCloseness: Limit(
        "Close is not equal",
        "t-closeness bounds how far a class lies from the whole table over all values together: one rare value "
        "may still be several times as frequent in a class. Each confidential attribute is looked at by "
        "itself, not two of them together.",
    ),
}
_ALWAYS = (
    Limit(
        "Several releases together",
        "Each promise is about this file alone. Two releases with some of the same people, or this one and a "
        "table published elsewhere, can be laid side by side, and what fits both may be fewer than k records.",
    ),
    Limit(
        "A guess may be better than random",
        "Average and highest risk suppose that all records of a class are equally likely to be the right one. "
        "Who knows how attributes go together may find some likelier.",
    ),
    Limit(
        "What a law asks",
        "No law names a k. HIPAA knows a list of what to remove (safe harbor) and the judgement of an expert; the GDPR "
        "asks whether a person can be identified by means reasonably likely to be used, and leaves open how to tell.",
    ),
    Limit(
        "Being in the table at all",
        "Nothing hides that a person is among the records. Where that alone is sensitive these models are not "
        "enough, and differential privacy is the one to look at.",
    ),
)
