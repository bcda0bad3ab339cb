"""Options of commands that keep a ledger: `--ledger ledger.db,key=ledger.key --subject id`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from shoal.catalogue import Entry, parameter

if TYPE_CHECKING:
    from shoal.jobs.ledger import LedgerFile

PANEL = "Several releases"


def _ledger(metavar: str, help: str) -> Any:
    return typer.Option("--ledger", metavar=metavar, help=help, rich_help_panel=PANEL)


Ledger = Annotated[
    str | None,
    _ledger("FILE,key=FILE", "Record and judge releases together; limit=E: of epsilon."),
]
KeptLedger = Annotated[str, _ledger("FILE", "The ledger.")]
KeyedLedger = Annotated[str, _ledger("FILE,key=FILE", "The ledger; its key may be in SHOAL_LEDGER_KEY instead.")]
AuditedLedger = Annotated[str | None, _ledger("FILE", "Audit the releases in a ledger instead.")]
Subject = Annotated[
    str | None,
    typer.Option("--subject", metavar="COLUMN", help="Whom a record is about, for the ledger.", rich_help_panel=PANEL),
]


class _Ledger(Entry):
    """What is chosen of a ledger besides its file."""

    name: ClassVar[str] = "--ledger"

    key: str | None = parameter("the file of its key", default=None)
    limit: float | None = parameter("of a new one: the most that private means may cost anybody", default=None)


def ledger_of(text: str | None, subject: str | None = None, takes: Collection[str] = ("key", "limit")) -> LedgerFile:
    """`ledger.db,key=ledger.key,limit=2` as far as the command takes it; one of no file where none is named."""
    from shoal.choices import items_of, settings
    from shoal.errors import InputError
    from shoal.jobs.ledger import LedgerFile

    if text is None:
        return LedgerFile(None, subject)
    file, *items = items_of(text) or [""]
    chosen = settings(items, _Ledger)
    for name in chosen.chosen():
        if name not in takes:
            raise InputError(f"--ledger is given its {name}, which has no part here: leave it out.")
    return LedgerFile(Path(file), subject, None if chosen.key is None else Path(chosen.key), chosen.limit)


def ledger_path(text: str) -> Path:
    """The file of a ledger that is there."""
    return ledger_of(text, takes=()).path or Path()
