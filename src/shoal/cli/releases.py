"""`shoal releases`: several releases over the same people, judged together (paper 2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from shoal.cli import engines as opt_engines
from shoal.cli import ledger as opt_ledger
from shoal.cli import options as opt

if TYPE_CHECKING:
    import polars as pl

    from shoal.policy import Policy
    from shoal.releases.audit import Audit
    from shoal.releases.linking import Linkage, Linked

releases = typer.Typer(no_args_is_help=True, help="Several releases over the same people: are they safe together?")

LedgerFile = Annotated[Path, typer.Option("--ledger", metavar="FILE", help="The ledger.")]
K = Annotated[int | None, typer.Option("--k", min=2, help="How many must be alike; 5, or as the ledger's releases.")]


def register(app: typer.Typer) -> None:
    app.add_typer(releases, name="releases")


@releases.command(
    "list",
    epilog="""Examples:

shoal releases list --ledger ledger.db

shoal releases list --ledger ledger.db --json""",
)
def list_(ledger: LedgerFile, as_json: opt.Json = False) -> None:
    """What the ledger holds, the first release first."""
    from shoal.cli.console import put, say, show
    from shoal.releases.ledger import budget, entries
    from shoal.show import Sheet

    found = [entry.to_dict() for entry in entries(ledger)]
    rows = [
        (
            f"{entry['release']} {Path(entry['file']).name}",
            f"{entry['records']:,}",
            f"{entry['classes']:,}",
            f"{entry['k']}",
            f"{entry['epsilon']:g}" if entry["epsilon"] else "",
            entry["state"],
            entry["made_at"],
        )
        for entry in found
    ]
    cost = budget(ledger)
    title = "Releases" + (f", private means of epsilon {cost.total:g} together" if cost.total else "")
    title += f", limit {cost.limit:g} a person" if cost.limit is not None else ""
    sheet = Sheet(title, ("", "records", "classes", "k", "epsilon", "state", "made at"), rows, numbers=4)
    for number in (entry["release"] for entry in found if entry["state"] == "pending"):
        say(
            f"Release {number} is pending: its process was killed, and its file is not where it was to be. It counts "
            f"as released until you say whether it got out: `shoal releases settle {number} --ledger {ledger}` with "
            "--released or --never-released."
        )
    facts = {"releases": found, "epsilon_spent": cost.total, "epsilon_worst": cost.worst, "epsilon_limit": cost.limit}
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
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="Audit the releases in a ledger instead.")
    ] = None,
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
    order: opt.Orders = None,
    k: K = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    engine: opt_engines.Engine = None,
    master: opt_engines.Master = None,
    as_json: opt.Json = False,
) -> None:
    """Judge several releases together: exit code 0 if everybody is still one of k, 1 if somebody is not."""
    from shoal.cli.console import show, stages
    from shoal.engines.opening import engine_for
    from shoal.errors import InputError

    used = engine_for(files or [ledger], engine)
    opt_engines.refuse_options(context, used, files or [])
    if (ledger is None) == (not files):
        raise InputError("Say what to audit: released files, or --ledger FILE.")
    if ledger is not None:
        opt.refuse_all_but(
            context,
            ("ledger", "k", "engine", "as_json"),
            "is about released files, and a ledger holds what was judged of its own: leave it out, or --ledger.",
        )
    if key is not None and (kind or order):
        raise InputError(
            f"{'--kind' if kind else '--order'} says how an intruder compares values, and with --key nobody has to: "
            "leave one of them out."
        )
    if len(files or []) == 1:
        raise InputError("One release alone is judged by shoal check: name at least two files.")
    if used != "memory":
        chosen = opt.make_policy(policy, quasi, confidential, None, None, kind, orders=order)
        _audit_in_parts(files or [], chosen, used, master, key, k or 5, as_json=as_json)
    with stages("audit", 3) as step:
        step("reading")
        result: Audit | Linkage
        if ledger is not None:
            result = _audit_ledger(ledger, k)
        else:
            named = [*(text or []), *([opt.quoted(key)] if key else [])]
            tables = {path: opt.read(path, delimiter, encoding, decimal, named) for path in files or []}
            step("judging")
            chosen = opt.make_policy(policy, quasi, confidential, None, None, kind, orders=order)
            result = _audit_keyed(tables, chosen, key, k or 5) if key else _audit_linked(tables, chosen, k or 5)
        step("done")
    show(result, as_json)
    raise typer.Exit(0 if result.holds else 1)


def _audit_in_parts(
    files: Sequence[str], chosen: Policy, engine: str, master: str | None, key: str | None, k: int, *, as_json: bool
) -> NoReturn:
    from shoal.cli.console import show, stages
    from shoal.engines.opening import open_table
    from shoal.errors import InputError
    from shoal.releases.audit_tables import audit_tables

    if key is None:
        raise InputError(
            f"The engine {engine!r} audits releases that still say whom a record is about: name that column (--key), "
            "or use --engine memory. To link releases by what they show, every record of one is compared with every "
            "record of the other."
        )
    with stages("audit", 3) as step:
        step("opening")
        text = [*chosen.quasi_identifiers, key]
        tables = {path: open_table(path, engine, master=master, text=text) for path in files}
        step("judging")
        result = audit_tables(tables, chosen.quasi_identifiers, key, k, confidential=bool(chosen.confidential))
        step("done")
    show(result, as_json)
    raise typer.Exit(0 if result.holds else 1)


def _audit_ledger(path: Path, k: int | None) -> Audit:
    from dataclasses import replace

    from shoal.errors import InputError
    from shoal.releases.audit import audit
    from shoal.releases.ledger import budget, entries

    found = entries(path)
    if not found:
        raise InputError(f"The ledger {str(path)!r} holds no release yet: make one with --ledger first.")
    result = audit([entry.published for entry in found], k or max(entry.k for entry in found))
    return replace(result, budget=budget(path))


def _audit_keyed(tables: dict[str, pl.DataFrame], policy: Policy, key: str, k: int) -> Audit:
    from shoal.releases.audit import audit
    from shoal.releases.published import published

    _need_quasi(policy.quasi_identifiers)
    quasi, confidential = policy.quasi_identifiers, policy.confidential
    return audit([published(name, table, key, quasi, confidential) for name, table in tables.items()], k, confidential)


def _audit_linked(tables: dict[str, pl.DataFrame], policy: Policy, k: int) -> Linkage:
    import polars as pl

    from shoal.releases.linking import Linkage, as_shown, both_columns, link
    from shoal.releases.published import need_columns

    _need_quasi(policy.quasi_identifiers)
    names = [*policy.quasi_identifiers, *policy.confidential]
    for path, table in tables.items():
        need_columns(path, table, names)
    pairs: list[Linked] = []
    for (a, first), (b, second) in combinations(tables.items(), 2):
        both = pl.DataFrame([both_columns(first, second, name) for name in names])
        schema = policy.schema(both, released=True)
        stated = {name for name, choice in policy.attributes.items() if choice.kind is not None}
        attributes = [each if each.name in stated else as_shown(each, both[each.name]) for each in schema]
        pairs += link((a, b), first, second, attributes, k)
    facts = tuple({"name": path, "records": table.height} for path, table in tables.items())
    return Linkage(k, tuple(pairs), facts)


def _need_quasi(names: Sequence[str]) -> None:
    from shoal.errors import InputError

    if not names:
        raise InputError("No quasi-identifier is named: name the columns that make the classes (--quasi a,b).")


@releases.command(
    epilog="""Examples:

shoal releases add keyed.csv --ledger ledger.db --ledger-key key --subject id --quasi age,sex,zip --k 5

shoal releases add old.parquet --ledger ledger.db --ledger-key key --subject id --quasi age,sex --json"""
)
def add(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="A release made elsewhere, with the subjects' column beside it.")
    ],
    ledger: LedgerFile,
    subject: Annotated[str, typer.Option("--subject", metavar="COLUMN", help="Whom a record is about.")],
    quasi: opt.Quasi = None,
    k: K = None,
    ledger_key: opt_ledger.LedgerKey = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    as_json: opt.Json = False,
) -> None:
    """Record a release that was made elsewhere: exit code 1 if it left somebody below k, recorded all the same."""
    from dataclasses import replace

    from shoal.cli.console import out, say, show, stages
    from shoal.privacy.check import classes_of
    from shoal.releases.published import from_classes, need_columns
    from shoal.releases.store import Promised

    opt.refuse_of_text(context, [source])
    names = opt.split(quasi)
    _need_quasi(names)
    book = opt_ledger.open_ledger(ledger, subject, ledger_key)
    assert book is not None
    with stages("add", 4) as step:
        step("reading")
        table = opt.read(source, delimiter, encoding, None, [opt.quoted(subject)])
        need_columns(source, table, names)
        step("finding its classes")
        subjects = book.digests(table)
        values = book.own(subjects, table.drop(subject, *names))
        release = replace(from_classes(source, subjects, classes_of(table, names, {}), table), values=values)
        step("judging it beside the others")
        found = book.add(release, Promised(k or 5), source)
        step("done")
    facts = {
        "records": table.height,
        "classes": release.shown.height,
        "smallest_class": int(release.sizes.min()),
        "subjects_pushed_below_k": found.subjects if found else 0,
    }
    if found is not None:
        say(f"It left {found.subjects:,} subjects with fewer than {k or 5} over the pool, {found.smallest} at least.")
    if as_json:
        show(facts, as_json)
    else:
        out.print(" ".join(f"{name.replace('_', ' ')}: {fact:,}" for name, fact in facts.items()))
    raise typer.Exit(0 if found is None else 1)


@releases.command(
    epilog="""Examples:

shoal releases settle 3 --ledger ledger.db --released

shoal releases settle 4 --ledger ledger.db --never-released"""
)
def settle(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Of the release, as `shoal releases list` has it.")],
    ledger: LedgerFile,
    released: Annotated[
        bool, typer.Option("--released/--never-released", help="Whether its file got out.", show_default=False)
    ],
) -> None:
    """Say of a pending release, left by a killed process, whether it got out; until then it counts as released."""
    from shoal.cli.console import say
    from shoal.releases.ledger import confirm, withdraw

    if released:
        confirm(ledger, number)
        say(f"Release {number} is done: it was released.")
    else:
        withdraw(ledger, number)
        say(f"Release {number} is forgotten: it was never released.")


@releases.command(
    epilog="""Examples:

shoal releases limit 2 --ledger ledger.db

shoal releases limit 0.5 --ledger ledger.db"""
)
def limit(
    epsilon: Annotated[float, typer.Argument(metavar="EPSILON", help="The most they may cost anybody.")],
    ledger: LedgerFile,
) -> None:
    """Set what private means may cost anybody over all releases; a release beyond it is refused."""
    from shoal.cli.console import say
    from shoal.releases.ledger import budget, set_limit

    set_limit(ledger, epsilon)
    spent = budget(ledger)
    say(f"The limit is {epsilon:g}; {spent.worst:g} is spent of whoever paid most.")
