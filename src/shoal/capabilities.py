"""What each engine can do, as data: printed by `shoal engines`, asked before any work starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.catalogue import ALL_PAIRS, INSIDE, SAME, Catalogue, Chunks, Entry
from shoal.errors import InputError
from shoal.masking import METHODS
from shoal.masking.whole_histories import refuse_other_methods, refuse_whole, whole_of
from shoal.policy import Policy
from shoal.privacy import MODELS


@dataclass(frozen=True)
class Capability:
    """One thing that a table in memory can have, and how a table in chunks has it, by disk and Spark alike."""

    sort: str
    name: str
    in_chunks: Chunks


# What is no entry of a catalogue.
_OTHERS = {
    "private means, values shown alike": INSIDE,
    "pooled audit by key": SAME,
    "audit by linking": Chunks(because=ALL_PAIRS),
    "audit by differencing, changed values": SAME,
    "ledger": SAME,
    "incremental": Chunks("the same people; new ones grouped inside chunks"),
    "split, over shared classes": Chunks("to folders of this machine; without a report"),
    "split, with classes of their own": Chunks(because="what all tables leave of each person is judged together"),
    "several tables, rules of consistency": Chunks(because="all rows of everybody are put side by side"),
    "report": Chunks("counts of all records, values of some that are drawn"),
    "the order of the input": Chunks("on disk; a table of Spark has no order"),
}


def capabilities() -> list[Capability]:
    """Everything, by sort, as each says of itself."""
    from shoal.data.files import FORMATS
    from shoal.data.generators import GENERATORS
    from shoal.measure import MEASURES
    from shoal.risk import measure as risk
    from shoal.risk import scenarios
    from shoal.risk.attack import ATTACKS
    from shoal.utility import measure as utility

    facts = {**risk.FACTS, **scenarios.FACTS, **utility.FACTS}
    known: list[Capability] = []
    for catalogue in (METHODS, MODELS, MEASURES, ATTACKS, FORMATS, GENERATORS):
        sort = catalogue.sort
        unnamed = facts if sort == "measure" else {}  # always told beside those that are named
        known += [Capability(sort, name, fact.in_chunks) for name, fact in unnamed.items()]
        known += [Capability(sort, each.name, each.in_chunks) for each in catalogue.listed()]
    return [*known, *(Capability("other", name, way) for name, way in _OTHERS.items())]


def refuse_what_cannot(policy: Policy, engine: str) -> None:
    """By name, before any work."""
    _refuse(METHODS, policy.method, engine)
    for model in policy.models:
        _refuse(MODELS, model, engine)


def _refuse(catalogue: Catalogue[Any], asked: Entry, engine: str) -> None:
    if asked.name not in catalogue or not asked.in_chunks.can:
        known = ", ".join(each.name for each in catalogue if each.in_chunks.can)
        instead = asked.in_chunks.instead or f"choose one that it knows ({known})"
        raise InputError(f"The engine {engine!r} cannot do the {catalogue.sort} {asked.name!r}: {instead}.")


def refuse_together(policy: Policy, engine: str, *, incremental: bool) -> None:
    """Refuses what is made of several tables, or of all rows of an owner at once, before anything is read."""
    if policy.tables or policy.consistent:
        raise InputError(
            f"The engine {engine!r} releases one table and checks no rules of consistency: leave out the policy's "
            "tables and consistent, or use --engine memory."
        )
    whole = whole_of(policy.models)
    if whole is None:
        return
    refuse_other_methods(policy.method, whole)
    if incremental:
        refuse_whole(whole, "goes on from earlier releases class by class (--incremental)")
