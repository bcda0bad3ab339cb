"""What each engine can do, as data: printed by `shoal engines`, asked before any work starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shoal.catalogue import Catalogue
from shoal.errors import InputError
from shoal.masking import METHODS
from shoal.policy import Policy
from shoal.privacy import MODELS

Sort = Literal["method", "model", "measure", "other"]


@dataclass(frozen=True)
class Capability:
    """One thing that a table in memory can have, and how a table in parts has it; empty: not at all."""

    sort: Sort
    name: str
    in_parts: str  # disk and Spark alike: both run the same code
    instead: str = ""  # what to do where they cannot

    @property
    def can(self) -> bool:
        """Whether disk and Spark can do it."""
        return bool(self.in_parts)


def _of(catalogue: Catalogue[Any]) -> list[Capability]:
    chunks = ((thing.name, thing.in_chunks) for thing in catalogue)
    return [Capability(catalogue.sort, name, way.how, way.instead) for name, way in chunks]  # type: ignore[arg-type]


_SAME = "same result"
_OTHERS = (
    Capability("measure", "class sizes, uniques, records at risk", _SAME),
    Capability("measure", "prosecutor, journalist, marketer", _SAME),
    Capability("measure", "attribute disclosure", _SAME),
    Capability("measure", "worst-case uniques of masked cells", f"{_SAME} up to a million classes, then a bound"),
    Capability(
        "measure", "information loss, sse", "by the release itself; on disk beside an original in the same order"
    ),
    Capability("measure", "discernibility, average class size", _SAME),
    Capability("measure", "correlations, means", _SAME),
    Capability("measure", "moments, marginals", f"{_SAME} up to a million values"),
    Capability("measure", "pooled audit by key", _SAME),
    Capability("measure", "earth mover's distance, pmse", "of records drawn evenly from each table"),
    Capability("measure", "audit by linking, differencing", "", "audit in memory"),
    Capability("other", "private means, values shown alike", "inside chunks"),
    Capability("other", "ledger", _SAME),
    Capability("other", "incremental, split", "", "use --engine memory"),
    Capability("other", "report", "counts of all records, values of some that are drawn"),
    Capability("other", "the order of the input", "on disk; a table of Spark has no order"),
)


def capabilities() -> list[Capability]:
    """Everything, by sort: methods and models as their catalogues have them."""
    return [*_of(METHODS), *_of(MODELS), *_OTHERS]


def find(sort: Sort, name: str) -> Capability | None:
    """The capability of that sort and name; None where there is none."""
    return next((each for each in capabilities() if (each.sort, each.name) == (sort, name)), None)


def refuse_what_cannot(policy: Policy, engine: str) -> None:
    """By name, before any work."""
    _refuse([("method", policy.method.name), *(("model", model.name) for model in policy.models)], engine)


def _refuse(asked: Sequence[tuple[Sort, str]], engine: str) -> None:
    for sort, name in asked:
        found = find(sort, name)
        if found is None or not found.can:
            instead = (
                found.instead if found is not None and found.instead else f"choose one that it knows ({_known(sort)})"
            )
            raise InputError(f"The engine {engine!r} cannot do the {sort} {name!r}: {instead}.")


def _known(sort: Sort) -> str:
    return ", ".join(one.name for one in capabilities() if one.sort == sort and one.can)
