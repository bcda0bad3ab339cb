"""Options for confidential attributes: shown class by class, or a table for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.policy import Policy

PANEL = "Confidential columns"

Show = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="COLUMN=HOW",
        help="What each class shows of it: range, mean, median or private-mean.",
        rich_help_panel=PANEL,
    ),
]
Epsilon = Annotated[float | None, typer.Option(help="Budget of all private means together.", rich_help_panel=PANEL)]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="confidential",
        help="A table for each confidential column, over the same classes: OUT.COLUMN.csv and so on.",
        rich_help_panel=PANEL,
    ),
]
Independent = Annotated[
    bool,
    typer.Option("--independent", help="Of --split: share classes only where columns depend.", rich_help_panel=PANEL),
]
Merge = Annotated[
    bool, typer.Option("--merge", help="Of --split: write all columns in one table too.", rich_help_panel=PANEL)
]


def showing(pairs: list[str] | None) -> dict[str, str] | None:
    """`charge=mean,los=range`; None where nothing is said."""
    from typing import get_args

    from shoal.errors import InputError, did_you_mean
    from shoal.masking.publishing.confidential import Showing

    found: dict[str, str] = {}
    known = get_args(Showing)
    for pair in opt.split(pairs):
        name, _, by = pair.rpartition("=")
        if not name or by not in known:
            raise InputError(f"--show {pair!r} is not COLUMN=HOW by {', '.join(known)}.{did_you_mean(by, known)}")
        found[name] = by
    return found or None


def beforehand(policy: Policy) -> tuple[str, ...]:
    """What private means will cost and how far off they will be."""
    from shoal.masking.publishing.private_mean import budget

    k = max((model.smallest_class for model in policy.models), default=1)
    return budget(policy.private_means(), k)


def check_options(
    split: str | None, *, independent: bool, merge: bool, incremental: bool, explain: bool, disarm: bool
) -> None:
    """Refuses options that are about one table, or about several, where it is the other."""
    from shoal.errors import InputError

    if split is None and (independent or merge):
        raise InputError(f"--{'independent' if independent else 'merge'} is about --split confidential: give both.")
    if split not in (None, "confidential"):
        raise InputError(f"--split {split!r} is not known: a release is split by its columns that are 'confidential'.")
    if split is not None and (incremental or explain):
        raise InputError(f"--{'incremental' if incremental else 'explain'} is about one table: leave out --split.")
    if split is not None and disarm:
        raise InputError("--disarm-formulas is for one table: leave out --split, or disarm its files yourself.")
