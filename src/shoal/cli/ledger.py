"""Options of commands that keep a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.releases.ledger import Ledger as OpenLedger

PANEL = "Several releases"

Ledger = Annotated[
    Path | None,
    typer.Option("--ledger", metavar="FILE", help="Record releases here, judge them together.", rich_help_panel=PANEL),
]
Subject = Annotated[
    str | None,
    typer.Option("--subject", metavar="COLUMN", help="Whom a record is about, for the ledger.", rich_help_panel=PANEL),
]
LedgerKey = Annotated[
    Path | None,
    typer.Option(
        "--ledger-key", metavar="FILE", help="Its key; otherwise that in SHOAL_LEDGER_KEY.", rich_help_panel=PANEL
    ),
]
EpsilonLimit = Annotated[
    float | None,
    typer.Option(
        "--epsilon-limit",
        metavar="E",
        help="Of a new ledger: the most that private means may cost anybody over all releases.",
        rich_help_panel=PANEL,
    ),
]


def without_subject(policy: Policy, subject: str) -> Policy:
    """The policy with the subject as an identifier; it is refused in any role that would release it."""
    from shoal.errors import InputError

    if subject in (*policy.quasi_identifiers, *policy.confidential, *policy.insensitive):
        raise InputError(f"Column {subject!r} says whom a record is about and must not be released: give it no role.")
    if subject in policy.identifiers or policy.rest == "drop":
        return policy
    return policy.model_copy(update={"identifiers": (*policy.identifiers, subject)})


def open_ledger(
    ledger: Path | None, subject: str | None, key: Path | None, epsilon_limit: float | None = None
) -> OpenLedger | None:
    """The ledger to write to, None where none is asked for."""
    from shoal.errors import InputError
    from shoal.releases.ledger import Ledger as OpenLedger
    from shoal.releases.ledger import ledger_key

    if ledger is None:
        if subject is not None or key is not None or epsilon_limit is not None:
            raise InputError("--subject, --ledger-key and --epsilon-limit are about a ledger: give --ledger as well.")
        return None
    if subject is None:
        raise InputError("A ledger must know whom each record is about: name the column (--subject COLUMN).")
    return OpenLedger(ledger, ledger_key(key, ledger), subject, epsilon_limit)
