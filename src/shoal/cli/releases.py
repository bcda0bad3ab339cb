"""`shoal releases`: several releases over the same people, judged together (paper 2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import engines as opt_engines
from shoal.cli import ledger as opt_ledger
from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.releases.audit import Audit

releases = typer.Typer(no_args_is_help=True, help="Several releases over the same people: are they safe together?")

K = Annotated[int | None, typer.Option("--k", min=2, help="How many must be alike; 5, or as the ledger's releases.")]


def register(app: typer.Typer) -> None:
    """Adds `shoal releases` and the commands below it."""
    app.add_typer(releases, name="releases")


@releases.command(
    "list",
    epilog="""Examples:

shoal releases list --ledger ledger.db

shoal releases list --ledger ledger.db --json""",
)
def list_(ledger: opt_ledger.KeptLedger, as_json: opt.Json = False) -> None:
    """What the ledger holds, the first release first."""
    from shoal.cli.console import put, say, show
    from shoal.releases.ledger import budget, entries
    from shoal.show import Sheet

    path = opt_ledger.ledger_path(ledger)
    listed = [entry.to_dict() for entry in entries(path)]
    of_people = any("people" in entry for entry in listed)
    rows = [
        (
            f"{entry['release']} {Path(entry['file']).name}",
            f"{entry['records']:,}",
            *([f"{entry['people']:,}"] if of_people else []),
            f"{entry['classes']:,}",
            f"{entry['k']}",
            f"{entry['epsilon']:g}" if entry["epsilon"] else "",
            entry["state"],
            entry["made_at"],
        )
        for entry in listed
    ]
    cost = budget(path)
    title = "Releases" + (f", private means of epsilon {cost.total:g} together" if cost.total else "")
    title += f", limit {cost.limit:g} a person" if cost.limit is not None else ""
    counted = ("records", *(["people"] if of_people else []), "classes", "k", "epsilon")
    sheet = Sheet(title, ("", *counted, "state", "made at"), rows, numbers=len(counted))
    for number in (entry["release"] for entry in listed if entry["state"] == "pending"):
        say(
            f"Release {number} is pending: its process was killed, and its file is not where it was to be. It counts "
            f"as released until you say whether it got out: `shoal releases settle {number} --ledger {ledger}` with "
            "--released or --never-released."
        )
    facts = {"releases": listed, "epsilon_spent": cost.total, "epsilon_worst": cost.worst, "epsilon_limit": cost.limit}
    if as_json:
        show(facts, as_json)
    else:
        put(sheet)


@releases.command(
    epilog="""Examples:

shoal releases audit --ledger ledger.db

shoal releases audit A.csv B.csv --key id --quasi age,sex,zip --confidential charge --k 5 --json

shoal releases audit A.csv B.csv --quasi age,sex,zip --confidential charge

shoal releases audit A.csv B.csv --key id --quasi age,sex,zip --engine disk"""
)
def audit(
    context: typer.Context,
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", help="Released tables.")] = None,
    ledger: opt_ledger.AuditedLedger = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Whom a record is about, where the files still say so; without it, what an intruder can link.",
        ),
    ] = None,
    policy: opt.PolicyFile = None,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
    kind: opt.Kinds = None,
    k: K = None,
    read: opt.Read = None,
    engine: opt_engines.Engine = None,
    as_json: opt.Json = False,
) -> None:
    """Judge several releases together: exit code 0 if everybody is still one of k, 1 if somebody is not."""
    from shoal.cli.console import show, stages
    from shoal.errors import InputError
    from shoal.jobs.audit import Audit, AuditLedger
    from shoal.jobs.audit import K as K_ANYWAY

    used, master = opt_engines.engine_and_master(engine, files or [None])
    opt_engines.refuse_options(context, used, files or [])
    if (ledger is None) == (not files):
        raise InputError("Say what to audit: released files, or --ledger FILE.")
    if ledger is not None:
        opt.refuse_all_but(
            context,
            ("ledger", "k", "engine", "as_json"),
            "is about released files, and a ledger holds what was judged of its own: leave it out, or --ledger.",
        )
    if key is not None and kind:
        raise InputError(
            "--kind says how an intruder compares values, and with --key nobody has to: leave one of them out."
        )
    job: AuditLedger | Audit
    if ledger is not None:
        job = AuditLedger(opt_ledger.ledger_path(ledger), k)
    else:
        chosen = opt.make_policy(policy, quasi, confidential, None, None, kind)
        layout = opt.layout(read)
        job = Audit(tuple(files or ()), chosen, key, k or K_ANYWAY, used, master, layout)
    with stages("audit", 3):
        audited = job.run()
    show(audited, as_json)
    raise typer.Exit(0 if audited.holds else 1)


@releases.command(
    epilog="""Examples:

shoal releases add keyed.csv --ledger ledger.db,key=key --subject id --quasi age,sex,zip --k 5

shoal releases add old.parquet --ledger ledger.db,key=key --subject id --quasi age,sex --json"""
)
def add(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="A release made elsewhere, with the subjects' column beside it.")
    ],
    ledger: opt_ledger.KeyedLedger,
    subject: Annotated[str, typer.Option("--subject", metavar="COLUMN", help="Whom a record is about.")],
    quasi: opt.Quasi = None,
    k: K = None,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Record a release that was made elsewhere: exit code 1 if it left somebody below k, recorded all the same."""
    from shoal.cli.console import out, say, show, stages
    from shoal.jobs.audit import K as K_ANYWAY
    from shoal.jobs.audit import RecordRelease

    opt.refuse_of_text(context, [source])
    book, layout = opt_ledger.ledger_of(ledger, subject, takes=("key",)), opt.layout(read)
    with stages("add", 4):
        recorded = RecordRelease(source, book, tuple(opt.split(quasi)), k or K_ANYWAY, layout).run()
    for note in recorded.notes:
        say(note)
    if as_json:
        show(recorded.to_dict(), as_json)
    else:
        facts = recorded.to_dict()
        out.print(" ".join(f"{name.replace('_', ' ')}: {fact:,}" for name, fact in facts.items()))
    raise typer.Exit(0 if recorded.subjects_pushed_below_k == 0 else 1)


@releases.command(
    epilog="""Examples:

shoal releases settle 3 --ledger ledger.db --released

shoal releases settle 4 --ledger ledger.db --never-released"""
)
def settle(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Of the release, as `shoal releases list` has it.")],
    ledger: opt_ledger.KeptLedger,
    released: Annotated[
        bool, typer.Option("--released/--never-released", help="Whether its file got out.", show_default=False)
    ],
) -> None:
    """Say of a pending release, left by a killed process, whether it got out; until then it counts as released."""
    from shoal.cli.console import say
    from shoal.releases.ledger import confirm, withdraw

    path = opt_ledger.ledger_path(ledger)
    if released:
        confirm(path, number)
        say(f"Release {number} is done: it was released.")
    else:
        withdraw(path, number)
        say(f"Release {number} is forgotten: it was never released.")


@releases.command(
    epilog="""Examples:

shoal releases limit 2 --ledger ledger.db

shoal releases limit 0.5 --ledger ledger.db"""
)
def limit(
    epsilon: Annotated[float, typer.Argument(metavar="EPSILON", help="The most they may cost anybody.")],
    ledger: opt_ledger.KeptLedger,
) -> None:
    """Set what private means may cost anybody over all releases; a release beyond it is refused."""
    from shoal.cli.console import say
    from shoal.releases.ledger import budget, set_limit

    path = opt_ledger.ledger_path(ledger)
    set_limit(path, epsilon)
    spent = budget(path)
    say(f"The limit is {epsilon:g}; {spent.worst:g} is spent of whoever paid most.")
