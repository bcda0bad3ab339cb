"""Options for confidential attributes: shown class by class, or a table for each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    import polars as pl

    from shoal.data.notation import Spelling
    from shoal.policy import Policy
    from shoal.releases.ledger import Ledger

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


def check_options(split: str | None, *, independent: bool, merge: bool, incremental: bool, explain: bool) -> None:
    from shoal.errors import InputError

    if split is None and (independent or merge):
        raise InputError(f"--{'independent' if independent else 'merge'} is about --split confidential: give both.")
    if split not in (None, "confidential"):
        raise InputError(f"--split {split!r} is not known: a release is split by its columns that are 'confidential'.")
    if split is not None and (incremental or explain):
        raise InputError(f"--{'incremental' if incremental else 'explain'} is about one table: leave out --split.")


def anonymize_split(
    policy: Policy,
    spelled: Callable[[], Spelling | None],
    read: Callable[[], pl.DataFrame],
    output: str,
    *,
    said: Collection[str],
    reads: list[str | Path | None],
    independent: bool,
    merge: bool,
    keep_order: bool,
    report: Path | None,
    certificate: Path | None,
    seed: int | None,
    ledger: Ledger | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """One table for each confidential column; all are written, or none."""
    from shoal.cli.console import show, stages
    from shoal.report.certificate import refuse_uncertified
    from shoal.split import beside, beside_which, split_draft

    first, *others = [beside(output, name) for name in policy.confidential] or [Path(output)]
    certificates = [beside(certificate, name) for name in policy.confidential] if certificate is not None else []
    merged = [Path(output), certificate] if merge else []
    opt.check_paths(reads, str(first), [*others, report, *certificates, *merged], overwrite=overwrite)
    for name in policy.confidential:
        paper = None if certificate is None else beside(certificate, name)
        asked_by = partial(beside_which, name=name)
        refuse_uncertified(beside(output, name), [paper], overwrite=overwrite, asked_by=asked_by)
    with stages("anonymize", 7) as step:
        step("reading")
        spelling = spelled()
        made = split_draft(read(), policy, independent=independent, seed=seed, spelling=spelling)
        if ledger is not None:
            made = made.noted(ledger)
        release = made.write(
            output, merge=merge, keep_order=keep_order, certificate=certificate, report=report, seed=seed,
            ledger=ledger, overwrite=overwrite,
        )  # fmt: skip
        step("done")
    show(release, as_json, said=said)
