"""Options of commands that keep a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
