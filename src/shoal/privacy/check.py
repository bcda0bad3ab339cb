"""The independent check: judges a finished release by nothing but what it shows.

Classes are found from what is shown, column by column, in Polars; nothing of any method is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from shoal import events
from shoal.data.schema import Kind, Schema
from shoal.errors import PromiseError
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Source, Verdict
from shoal.show import Sheet

_COUNTED = ("records", "suppressed", "classes", "smallest_class")
_LOSSES = ("information_loss", "separation_loss")
_OF_OWNERS = {"suppressed": "records withheld", "smallest_class": "smallest class, in records"}


def classes_of(frame: pl.DataFrame, quasi: Sequence[str], kinds: Mapping[str, Kind]) -> EquivalenceClasses:
    """The classes of a table that nothing else is known of."""
    return EquivalenceClasses(frame, tuple(quasi), dict(kinds))


def released_classes(
    table: pl.DataFrame | pl.LazyFrame,
    schema: Schema,
    source: Source | None = None,
    whole: Mapping[str, pl.DataFrame] | None = None,
    written: pl.DataFrame | pl.LazyFrame | None = None,
) -> EquivalenceClasses:
    """The classes of a released table; `whole` where it is a part of one, with every class in one part.

    Of a file, `written` is what stands there of the quasi-identifiers (`shoal.data.released`).
    """
    kinds = {attribute.name: attribute.kind for attribute in schema}
    return EquivalenceClasses(table, tuple(schema.quasi_identifiers), kinds, schema, source, whole, written)


@events.apart
def judge(classes: EquivalenceClasses, models: Sequence[PrivacyModel]) -> tuple[Verdict, ...]:
    """What each model says of the classes."""
    return tuple(model.verdict(classes) for model in events.ticking(models))


def refuse_broken(verdicts: Sequence[Verdict]) -> None:
    """Raises unless every promise holds."""
    for verdict in verdicts:
        if not verdict.holds:
            of = f" of {verdict.attribute!r}" if verdict.attribute else ""
            raise PromiseError(
                f"The result does not keep {verdict.model}{of}: {verdict.asked:g} was asked for, "
                f"{verdict.achieved:.4g} is reached. Nothing was released. "
                f"{_remedy(verdict)}"
            )


def _remedy(verdict: Verdict) -> str:
    if verdict.model == "measured-risk":
        return "Mask more strongly."
    return (
        "Choose a method that groups records, or allow more suppression; "
        "of a method that perturbs, promise a measured risk (--promise measured-risk:level=0.05)."
    )


def judgement(verdicts: Sequence[Verdict], legend: Sequence[str] = ()) -> Sheet:
    """Promise by promise, as a table, with sentences below."""
    rows = [
        (
            verdict.model + (f" of {verdict.attribute}" if verdict.attribute else ""),
            f"{verdict.asked:g}",
            f"{verdict.achieved:.4g}",
            "holds" if verdict.holds else "does not hold",
        )
        for verdict in verdicts
    ]
    return Sheet("Judged on what is shown", ("promise", "asked", "reached", ""), rows, numbers=2, legend=tuple(legend))


def labelled(verdicts: Sequence[Verdict], label: Callable[[str], str]) -> list[Verdict]:
    """The verdicts with attributes as people call them, to be shown."""
    return [replace(each, attribute=label(each.attribute)) if each.attribute else each for each in verdicts]


def released_sheets(
    title: str,
    facts: Mapping[str, Any],
    more: Sequence[tuple[str, str]],
    verdicts: Sequence[Verdict],
    *,
    owners: Sequence[tuple[str, str]] = (),
    legend: Sequence[str] = (),
) -> list[Sheet]:
    """What was released, by any engine, and how it was judged; `facts` is the release for machines.

    `owners` are rows about the people or households whose records they are, `legend` says in words what was judged.
    """
    names = _OF_OWNERS if owners else {}
    counts = [(names.get(name, name.replace("_", " ")), f"{facts[name]:,}") for name in _COUNTED]
    losses = [(name.replace("_", " "), f"{facts[name]:.4f}") for name in _LOSSES if facts[name] is not None]
    rows = [*counts, *owners, *losses, *more]
    return [Sheet(title, ("", "value"), rows), judgement(verdicts, legend)]
