"""`shoal anonymize` and `shoal check`: make a release, and judge one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import engines as opt_engines
from shoal.cli import ledger as opt_ledger
from shoal.cli import options as opt
from shoal.cli import pseudonym_option as opt_pseudonym
from shoal.cli import split as opt_split
from shoal.cli.method import (
    PANEL,
    K,
    KMapK,
    L,
    MethodWord,
    Promises,
    SortsOfColumns,
    T,
    method_of,
    promises_of,
    with_columns,
)


def register(app: typer.Typer) -> None:
    """Adds `shoal anonymize` and `shoal check`."""
    app.command(epilog=_ANONYMIZE_EXAMPLES)(anonymize)
    app.command(epilog=_CHECK_EXAMPLES)(check)


_ANONYMIZE_EXAMPLES = """Examples:

shoal anonymize d.csv -o r.csv --quasi age,sex,zip --confidential charge --k 5

shoal anonymize visits.csv -o r.csv --quasi age,sex --pseudonym id=person:code,key=k.txt

shoal anonymize d.csv -o r.parquet --policy shoal.toml --report report.html --certificate r.json

shoal anonymize d.csv -o r.csv --quasi age,sex --confidential charge,days --split confidential:merge"""


def anonymize(
    context: typer.Context,
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
        typer.Option(help="The other columns: drop or insensitive.", rich_help_panel="Roles"),
    ] = None,
    person: opt.Person = None,
    pseudonym: opt_pseudonym.Pseudonyms = None,
    release_text: opt.ReleaseText = None,
    mask_text: opt.MaskText = None,
    kind: opt.Kinds = None,
    hierarchies: opt.Hierarchies = None,
    k: K = None,
    t: T = None,
    l: L = None,  # noqa: E741
    k_map: KMapK = None,
    promise: Promises = None,
    weights: opt.Weights = None,
    method: MethodWord = None,
    suppress: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Largest share of records to leave out.", rich_help_panel=PANEL),
    ] = None,
    overwrite: opt.Overwrite = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes a run repeatable; keep it secret.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the custodian's report (HTML).")] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the public certificate (JSON).")
    ] = None,
    shown: opt_split.Show = None,
    split: opt_split.Split = None,
    ledger: opt_ledger.Ledger = None,
    subject: opt_ledger.Subject = None,
    incremental: Annotated[
        bool,
        typer.Option("--incremental", help="Go on from the releases in the ledger.", rich_help_panel=opt_ledger.PANEL),
    ] = False,
    engine: opt_engines.Engine = None,
    read: opt.Read = None,
    write: opt.Write = None,
    number_people: Annotated[
        bool, typer.Option("--show-person-in-class", help="As --write person-in-class.", hidden=True)
    ] = False,
    sorts: SortsOfColumns = None,
    as_json: opt.Json = False,
) -> None:
    """Mask a table, check the result, and write it; or refuse."""
    from shoal.cli.console import say, show, stages
    from shoal.jobs.anonymize import Anonymize, Split
    from shoal.jobs.tables import Tables
    from shoal.split_tables import SplitTables

    used, master = opt_engines.engine_and_master(engine, [source])
    opt_engines.refuse_options(context, used, [source])
    k_map, promise = opt.with_weights(k_map, weights, promise)
    models = promises_of(promise, k=k, t=t, l=l, k_map=k_map)
    chosen = opt.make_policy(
        policy, quasi, confidential, identifiers, insensitive, kind, hierarchies, models, rest=rest, weights=weights,
        text=opt.texts(policy, release_text, mask_text),
        suppression=suppress, method=method_of(with_columns(method, sorts), models), person=person,
        **opt_split.showing(shown),
    )  # fmt: skip
    chosen, key = opt_pseudonym.with_pseudonyms(chosen, pseudonym)
    subject = subject or (chosen.person if ledger is not None else None)
    book, layout, writing = opt_ledger.ledger_of(ledger, subject), opt.layout(read), opt.writing(write)
    explain, disarm = writing.folder, writing.disarm_formulas
    numbered = writing.person_in_class or number_people
    reads = (policy,)
    job: Anonymize | Split | Tables = Anonymize(
        source, chosen, output, certificate, report, explain, book, incremental, writing.keep_order, disarm,
        seed, overwrite, used, master, layout, reads, writing.trees, key, numbered, writing.text,
    )  # fmt: skip
    if (parts := opt_split.splitting(split)) is not None:
        opt_split.refuse_of_one_table(
            incremental=incremental,
            explain=explain is not None,
            hierarchies=writing.trees is not None,
            disarm=disarm,
            numbered=numbered,
        )
        job = Split(
            source, chosen, output, parts.independent, parts.merge, certificate, report, book, writing.keep_order, seed,
            overwrite, used, master, layout, reads, writing.text,
        )  # fmt: skip
    if chosen.tables:
        opt_split.refuse_of_several(split=parts is not None, ledger=ledger is not None, explain=explain is not None)
        job = Tables(
            source, chosen, output, certificate, report, writing.keep_order, disarm, seed, overwrite, used, layout,
            reads, writing.text,
        )  # fmt: skip
    job.refuse()
    book.refuse()
    remarks = opt_split.beforehand(chosen)
    for sentence in remarks:
        say(sentence)
    with stages("anonymize", 7):
        release = job.run()
    sheets = release.sheets(f"Released: {output}") if not isinstance(release, SplitTables) else None
    show(release, as_json, sheets=sheets, seen=remarks)


_CHECK_EXAMPLES = """Examples:

shoal check r.csv --policy shoal.toml

shoal check r.csv --quasi age,sex,zip --k 5 && publish r.csv"""


def check(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A released table.")],
    policy: opt.PolicyFile = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate that the file must match.")
    ] = None,
    original: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The original, for what is measured beside it.")
    ] = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Row i of the file and of the original is the same person.")
    ] = False,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
    identifiers: opt.Identifiers = None,
    person: opt.Person = None,
    kind: opt.Kinds = None,
    k: K = None,
    t: T = None,
    l: L = None,  # noqa: E741
    k_map: KMapK = None,
    promise: Promises = None,
    population: opt.Population = None,
    cells_fixed: opt.CellsFixed = False,
    read: opt.Read = None,
    engine: opt_engines.Engine = None,
    as_json: opt.Json = False,
) -> None:
    """Judge a released file against a policy: exit code 0 if every promise holds, 1 if not."""
    from shoal.cli.console import show, stages
    from shoal.errors import InputError
    from shoal.jobs.check import Check

    used, master = opt_engines.engine_and_master(engine, [source])
    opt_engines.refuse_options(context, used, [source, original])
    chosen = None
    if certificate is not None:
        opt_engines.refuse_beside_certificate(context)
    else:
        chosen = opt.make_policy(
            policy, quasi, confidential, identifiers, None, kind, None,
            promises_of(promise, k=k, t=t, l=l, k_map=k_map and opt.with_population(k_map, population)), person=person,
        )  # fmt: skip
        if population is not None and k_map is None:
            raise InputError("--population is that of a certificate, or of --k-map: give one of them as well.")
        if cells_fixed:
            chosen = opt.with_cells_fixed(chosen)
    layout = opt.layout(read)
    job = Check(
        source, chosen, certificate, population, original, paired, policy is not None, used, master, layout, person
    )
    with stages("check", 3):
        judgement = job.run()
    show(judgement, as_json)
    raise typer.Exit(0 if judgement.holds else 1)
