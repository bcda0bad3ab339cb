"""Options for confidential attributes: shown class by class, or a table for each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from shoal.catalogue import Entry, parameter
from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.policy import Policy

PANEL = "Confidential columns"

Show = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="COLUMN=HOW",
        help="What a class shows: range, mean, median, private-mean:epsilon=1.",
        rich_help_panel=PANEL,
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="confidential",
        help="A table each: OUT.COLUMN.csv; confidential:merge: one of all too; confidential:independent: "
        "classes shared only where columns depend.",
        rich_help_panel=PANEL,
    ),
]


class Splitting(Entry):
    """What is chosen of `--split`."""

    name: ClassVar[str] = "--split confidential"

    independent: bool = parameter("share classes only where columns depend", default=False)
    merge: bool = parameter("write all columns in one table too", default=False)


def splitting(text: str | None) -> Splitting | None:
    """`confidential:independent,merge`; None where nothing is split."""
    from shoal.choices import word_with_settings
    from shoal.errors import InputError

    if text is None:
        return None
    word, chosen = word_with_settings(text, Splitting)
    if word != "confidential":
        raise InputError(f"--split {word!r} is not known: a release is split by its columns that are 'confidential'.")
    return chosen


class _PrivateMean(Entry):
    """What is chosen of a private mean."""

    name: ClassVar[str] = "--show COLUMN=private-mean"

    epsilon: float | None = parameter("its budget", default=None, above=0)


def showing(pairs: list[str] | None) -> dict[str, Any]:
    """`charge=mean,los=private-mean:epsilon=1` as choices of a policy: `show`, and the budget of all private means."""
    from typing import get_args

    from shoal.choices import word_with_settings
    from shoal.errors import InputError, did_you_mean
    from shoal.masking.publishing.confidential import Showing

    shown: dict[str, str] = {}
    budgets: dict[str, float | None] = {}
    known = get_args(Showing)
    for pair in opt.split(pairs):
        stated = re.fullmatch(rf"(.+?)=(({'|'.join(known)})(?::.*)?)", pair, re.DOTALL)
        if stated is None:
            hint = did_you_mean(pair.partition("=")[2].partition(":")[0], known)
            raise InputError(f"--show {pair!r} is not COLUMN=HOW by {', '.join(known)}.{hint}")
        name, how, by = stated.groups()
        shown[name] = by
        if by == "private-mean":
            budgets[name] = word_with_settings(how, _PrivateMean)[1].epsilon
        elif how != by:
            raise InputError(f"--show {pair!r}: {by} has no parameters, only private-mean has its epsilon.")
    return {"show": shown or None, "epsilon": _budget(budgets)}


def _budget(budgets: Mapping[str, float | None]) -> float | None:
    """Of all private means together, None where it is left to the policy; they have equal shares of it."""
    from shoal.errors import InputError

    stated = {epsilon for epsilon in budgets.values() if epsilon is not None}
    if not stated:
        return None
    if len(stated) > 1 or None in budgets.values():
        raise InputError(
            "Private means have equal shares of one budget: give each of them the same, as --show "
            + ",".join(f"{name}=private-mean:epsilon={max(stated):g}" for name in budgets)
            + "."
        )
    return stated.pop() * len(budgets)


def beforehand(policy: Policy) -> tuple[str, ...]:
    """What private means will cost and how far off they will be."""
    from shoal.masking.publishing.private_mean import budget

    k = max((model.smallest_class for model in policy.models), default=1)
    return budget(policy.private_means(), k)


def refuse_of_one_table(*, incremental: bool, explain: bool, hierarchies: bool, disarm: bool, numbered: bool) -> None:
    """Refuses beside `--split` what is about one table."""
    from shoal.errors import InputError

    written = {"explain": explain, "hierarchies": hierarchies, "person-in-class": numbered}
    options = {"--incremental": incremental, **{f"--write {word}": stated for word, stated in written.items()}}
    for option in (option for option, stated in options.items() if stated):
        raise InputError(f"{option} is about one table: leave out --split.")
    if disarm:
        raise InputError("--write disarm-formulas is for one table: leave out --split, or disarm its files yourself.")


def refuse_of_several(*, split: bool, ledger: bool, explain: bool) -> None:
    """Refuses beside a policy of several tables what is about one."""
    from shoal.errors import InputError

    for option, stated in (("--split", split), ("--ledger", ledger), ("--write explain", explain)):
        if stated:
            raise InputError(f"{option} is about one table, and the policy names several (tables): leave it out.")
