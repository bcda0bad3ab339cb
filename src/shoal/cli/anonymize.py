"""`shoal anonymize` and `shoal check`: make a release, and judge one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.release import Release

_METHODS = "hilbert, sorted, stratified, kd, kd-median, coarsen or safe-harbor"
_HOW = "Promise and method"


def register(app: typer.Typer) -> None:
    app.command(epilog=_ANONYMIZE_EXAMPLES)(anonymize)
    app.command(epilog=_CHECK_EXAMPLES)(check)


_ANONYMIZE_EXAMPLES = """Examples:

shoal anonymize d.csv -o r.csv --quasi age,sex,zip --confidential charge --k 5

shoal anonymize d.csv -o r.parquet --policy shoal.toml --report report.html --certificate r.json"""


def anonymize(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="CSV, Parquet, Arrow, Excel, ... file, or a database table.")
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="Where the release goes.")],
    policy: opt.PolicyFile = None,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
    identifiers: opt.Identifiers = None,
    insensitive: opt.Insensitive = None,
    rest: Annotated[
        str | None,
        typer.Option(help="What becomes of other columns: drop or insensitive.", rich_help_panel="Roles"),
    ] = None,
    kind: opt.Kinds = None,
    hierarchies: opt.Hierarchies = None,
    k: opt.K = None,
    t: opt.T = None,
    l: opt.L = None,  # noqa: E741
    l_variant: opt.LVariant = "distinct",
    method: Annotated[str | None, typer.Option(help=f"{_METHODS}.", rich_help_panel=_HOW)] = None,
    resolution: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N|COLUMN=N",
            help="Of coarsen: intervals for all columns, or for one.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    remainder: Annotated[
        str | None,
        typer.Option(help="Of stratified: central, or last as printed in the paper.", rich_help_panel=_HOW),
    ] = None,
    suppress: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Largest share of records to leave out.", rich_help_panel=_HOW),
    ] = None,
    keep_order: Annotated[bool, typer.Option("--keep-order", help="Do not shuffle the records.")] = False,
    seed: Annotated[int | None, typer.Option(help="Makes a run repeatable; never released.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the custodian's report (HTML).")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the public certificate (JSON).")
    ] = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    as_json: opt.Json = False,
) -> None:
    """Mask a table, check the result, and write it; or refuse."""
    from shoal.cli.console import say, show, stages
    from shoal.data.files import same_file
    from shoal.errors import InputError
    from shoal.release import anonymize as make

    if same_file(source, output):
        raise InputError(
            f"The output {output!r} is the input: choose another name, the input is never changed."
        )
    chosen = opt.make_policy(
        policy, quasi, confidential, identifiers, insensitive, kind, hierarchies, k, t, l, l_variant,
        rest=rest, method=_method(method, resolution, remainder), suppression=suppress,
    )  # fmt: skip
    with stages("anonymize", 7) as step:
        step("reading")
        table = opt.read(source, delimiter, encoding, decimal, text)
        release = make(table, chosen, seed=seed, progress=step)
        step("writing and judging the file")
        if report is not None:
            release.report(report)
        release.write(output, keep_order=keep_order, certificate=certificate, seed=seed)
        step("done")
    for note in release.notes:
        say(note)
    show(release.to_dict() if as_json else _summary(release, output), as_json)


def _method(name: str | None, resolution: list[str] | None, remainder: str | None) -> dict[str, Any] | None:
    from shoal.errors import InputError, did_you_mean

    groupings = ("hilbert", "sorted", "stratified", "kd", "kd-median")
    if name is None:
        return None
    if name in groupings:
        return {"name": "grouped", "grouping": name} | ({"remainder": remainder} if remainder else {})
    if name == "coarsen":
        return {"name": "coarsen"} | ({"resolution": _resolution(resolution)} if resolution else {})
    if name == "safe-harbor":
        return {"name": "safe-harbor"}
    hint = did_you_mean(name, (*groupings, "coarsen", "safe-harbor")) or f" Known are {_METHODS}."
    raise InputError(f"There is no method {name!r}.{hint}")


def _resolution(choices: list[str]) -> int | dict[str, int]:
    from shoal.errors import InputError

    found: dict[str, int] = {}
    for choice in opt.split(choices):
        column, _, number = choice.rpartition("=")
        if not number.isdigit():
            raise InputError(f"--resolution {choice!r} is not a number of intervals, nor COLUMN=NUMBER.")
        found[column] = int(number)
    return found[""] if list(found) == [""] else found


def _summary(release: Release, output: str) -> Any:
    from rich.table import Table

    facts = release.to_dict()
    table = Table(
        title=f"Released: {output}", title_justify="left", show_header=False, box=None, padding=(0, 2)
    )
    rows = {
        "records": f"{facts['records']:,}",
        "suppressed": f"{facts['suppressed']:,}",
        "classes": f"{facts['classes']:,}",
        "smallest class": f"{facts['smallest_class']:,}",
        "information loss": f"{facts['information_loss']:.4f}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    for verdict in release.verdicts:
        of = f" of {verdict.attribute}" if verdict.attribute else ""
        state = "[green]holds[/]" if verdict.holds else "[red]does not hold[/]"
        table.add_row(
            f"{verdict.model}{of}", f"asked {verdict.asked:g}, reached {verdict.achieved:.4g}: {state}"
        )
    return table


_CHECK_EXAMPLES = """Examples:

shoal check r.csv --policy shoal.toml

shoal check r.csv --quasi age,sex,zip --k 5 && publish r.csv"""


def check(
    source: Annotated[str, typer.Argument(metavar="FILE", help="A released table.")],
    policy: opt.PolicyFile = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate that the file must match.")
    ] = None,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
    identifiers: opt.Identifiers = None,
    kind: opt.Kinds = None,
    k: opt.K = None,
    t: opt.T = None,
    l: opt.L = None,  # noqa: E741
    l_variant: opt.LVariant = "distinct",
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    as_json: opt.Json = False,
) -> None:
    """Judge a released file against a policy: exit code 0 if every promise holds, 1 if not."""
    from shoal.cli.console import show, stages
    from shoal.report.certificate import verify_certificate
    from shoal.release import check as judge

    with stages("check", 3) as step:
        step("reading")
        table = opt.read(source, delimiter, encoding, decimal, text)
        step("judging")
        if certificate is not None:
            verdicts = verify_certificate(certificate, source, table)
        else:
            chosen = opt.make_policy(
                policy, quasi, confidential, identifiers, None, kind, None, k, t, l, l_variant
            )
            verdicts = judge(table, chosen)
        step("done")
    holds = all(verdict.holds for verdict in verdicts)
    facts = {"records": table.height, "holds": holds, "models": [verdict.to_dict() for verdict in verdicts]}
    show(facts if as_json else _judgement(source, verdicts), as_json)
    raise typer.Exit(0 if holds else 1)


def _judgement(source: str, verdicts: Any) -> Any:
    from rich.table import Table

    table = Table(
        "promise", "asked", "reached", "", title=source, title_justify="left", box=None, padding=(0, 2)
    )
    for verdict in verdicts:
        of = f" of {verdict.attribute}" if verdict.attribute else ""
        state = "[green]holds[/]" if verdict.holds else "[red]does not hold[/]"
        table.add_row(f"{verdict.model}{of}", f"{verdict.asked:g}", f"{verdict.achieved:.4g}", state)
    return table
