"""`shoal anonymize` and `shoal check`: make a release, and judge one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import engines as opt_engines
from shoal.cli import ledger as opt_ledger
from shoal.cli import options as opt
from shoal.cli import split as opt_split
from shoal.cli.method import PANEL, K, KMapK, L, MethodWord, Promises, T, method_of, promises_of

if TYPE_CHECKING:
    from shoal.release import Release


_LARGE = 1 << 25  # bytes


def register(app: typer.Typer) -> None:
    app.command(epilog=_ANONYMIZE_EXAMPLES)(anonymize)
    app.command(epilog=_CHECK_EXAMPLES)(check)


_ANONYMIZE_EXAMPLES = """Examples:

shoal anonymize d.csv -o r.csv --quasi age,sex,zip --confidential charge --k 5

shoal anonymize d.csv -o r.parquet --policy shoal.toml --report report.html --certificate r.json

shoal anonymize d.csv -o r.csv --quasi age,sex --confidential charge,days --k 5 --split confidential"""


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
        typer.Option(help="What becomes of other columns: drop or insensitive.", rich_help_panel="Roles"),
    ] = None,
    kind: opt.Kinds = None,
    order: opt.Orders = None,
    hierarchies: opt.Hierarchies = None,
    k: K = None,
    t: T = None,
    l: L = None,  # noqa: E741
    k_map: KMapK = None,
    promise: Promises = None,
    method: MethodWord = None,
    explain: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Of recode: write cost against suppression.", rich_help_panel=PANEL),
    ] = None,
    suppress: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Largest share of records to leave out.", rich_help_panel=PANEL),
    ] = None,
    overwrite: opt.Overwrite = False,
    keep_order: Annotated[bool, typer.Option("--keep-order", help="Do not shuffle the records.")] = False,
    disarm: Annotated[
        bool, typer.Option("--disarm-formulas", help="Of CSV: an apostrophe before texts such as =1+1.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes a run repeatable; keep it secret.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the custodian's report (HTML).")] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the public certificate (JSON).")
    ] = None,
    shown: opt_split.Show = None,
    epsilon: opt_split.Epsilon = None,
    split: opt_split.Split = None,
    independent: opt_split.Independent = False,
    merge: opt_split.Merge = False,
    ledger: opt_ledger.Ledger = None,
    subject: opt_ledger.Subject = None,
    ledger_key: opt_ledger.LedgerKey = None,
    epsilon_limit: opt_ledger.EpsilonLimit = None,
    incremental: Annotated[
        bool,
        typer.Option("--incremental", help="Go on from the releases in the ledger.", rich_help_panel=opt_ledger.PANEL),
    ] = False,
    engine: opt_engines.Engine = None,
    master: opt_engines.Master = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    as_json: opt.Json = False,
) -> None:
    """Mask a table, check the result, and write it; or refuse."""
    from secrets import randbits

    from shoal.cli.console import say, show, stages
    from shoal.cli.kernels import load_kernels
    from shoal.draft import draft
    from shoal.engines.opening import engine_of
    from shoal.errors import InputError
    from shoal.release import write
    from shoal.report.certificate import refuse_uncertified
    from shoal.show.figure import need_matplotlib

    used = engine_of(source, engine)
    opt_engines.refuse_options(context, used, [source])
    models = promises_of(promise, k=k, t=t, l=l, k_map=k_map)
    chosen = opt.make_policy(
        policy, quasi, confidential, identifiers, insensitive, kind, hierarchies, models, order, rest=rest,
        suppression=suppress, show=opt_split.showing(shown), epsilon=epsilon, method=method_of(method, models),
    )  # fmt: skip
    if explain is not None and chosen.method.name != "recode":
        raise InputError("--explain shows the recodings to choose from: it is for --method recode.")
    if explain is not None:
        need_matplotlib()
    reads: list[str | Path | None] = [source, policy, ledger, ledger_key, *chosen.files]
    if used != "memory":
        opt_engines.anonymize_parts(
            source, chosen, output, used, master=master, seed=seed, certificate=certificate, overwrite=overwrite,
            keep_order=keep_order, report=report, reads=reads, as_json=as_json,
            ledger=partial(opt_ledger.open_ledger, ledger, subject, ledger_key, epsilon_limit),
        )  # fmt: skip
        return
    if split is None:
        opt.check_paths(reads, output, [report, certificate, *_frontier_in(explain)], overwrite=overwrite)
        refuse_uncertified(output, [certificate], overwrite=overwrite)
    opt_split.check_options(
        split, independent=independent, merge=merge, incremental=incremental, explain=explain is not None
    )
    book = opt_ledger.open_ledger(ledger, subject, ledger_key, epsilon_limit)
    if incremental and book is None:
        raise InputError("--incremental goes on from earlier releases: name their --ledger.")
    if book is not None:
        chosen = opt_ledger.without_subject(chosen, book.subject)
        text = [*(text or []), opt.quoted(book.subject)]  # known by what stands there, not by a number it reads as
        seed = seed if seed is not None else randbits(63)  # the ledger keeps it
    said = opt_split.beforehand(chosen)
    for sentence in said:
        say(sentence)
    if split is not None:
        if disarm:
            raise InputError("--disarm-formulas is for one table: leave out --split, or disarm its files yourself.")
        opt_split.anonymize_split(
            chosen, lambda: opt.spelling_of(source, delimiter, encoding, decimal),
            lambda: opt.read(source, delimiter, encoding, decimal, text, chosen), output, said=said,
            reads=reads, independent=independent, merge=merge, keep_order=keep_order, report=report,
            certificate=certificate, seed=seed, ledger=book, overwrite=overwrite, as_json=as_json,
        )  # fmt: skip
        return
    with stages("anonymize", 7) as step:
        step("reading")
        if Path(source).is_file() and Path(source).stat().st_size > _LARGE:
            load_kernels()
        spelling = opt.spelling_of(source, delimiter, encoding, decimal)
        table = opt.read(source, delimiter, encoding, decimal, text, chosen)
        made = draft(table, chosen, seed=seed, after=book if incremental else None, spelling=spelling)
        if book is not None:
            made = made.noted(book)
        release = write(
            made, output, keep_order=keep_order, certificate=certificate, report=report, seed=seed, ledger=book,
            disarm=disarm, overwrite=overwrite,
        )  # fmt: skip
        if explain is not None:
            _explain(release, explain, overwrite)
        step("done")
    show(release, as_json, sheets=release.sheets(f"Released: {output}"), said=said)


def _frontier_in(folder: Path | None) -> list[Path]:
    """What --explain writes, if its folder is there already."""
    from shoal.report.figures import FRONTIER

    return [folder / name for name in FRONTIER] if folder is not None and folder.is_dir() else []


def _explain(release: Release, folder: Path, overwrite: bool) -> None:
    from shoal.masking.recoding.frontier import frontier
    from shoal.report.figures import write_frontier

    method = release.policy.method
    table = frontier(release.original, method, release.promises)
    write_frontier(folder, table, method.cost, release.suppressed, overwrite=overwrite)


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
    kind: opt.Kinds = None,
    order: opt.Orders = None,
    k: K = None,
    t: T = None,
    l: L = None,  # noqa: E741
    k_map: KMapK = None,
    promise: Promises = None,
    population: opt.Population = None,
    cells_fixed: opt.CellsFixed = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    engine: opt_engines.Engine = None,
    master: opt_engines.Master = None,
    as_json: opt.Json = False,
) -> None:
    """Judge a released file against a policy: exit code 0 if every promise holds, 1 if not."""
    from shoal.check import check_table
    from shoal.cli.console import stages
    from shoal.data.released import read_released
    from shoal.engines.opening import engine_of
    from shoal.errors import InputError
    from shoal.report.certificate import read_certificate
    from shoal.report.inspection import inspect_released

    used = engine_of(source, engine)
    opt_engines.refuse_options(context, used, [source, original])
    if paired and original is None:
        raise InputError("--paired is about the original: give --original as well.")
    if certificate is not None:
        opt_engines.refuse_beside_certificate(context)
    stated = read_certificate(certificate, source, population) if certificate is not None else None
    if paired and stated is not None and stated.content.get("record_order") == "shuffled":
        raise InputError(
            f"{str(certificate)!r} says that the release was shuffled, so that no row is known to be the original's: "
            "leave out --paired, or release with --keep-order."
        )
    chosen = stated.policy if stated else opt.make_policy(
        policy, quasi, confidential, identifiers, None, kind, None,
        promises_of(promise, k=k, t=t, l=l, k_map=k_map and opt.with_population(k_map, population)), order,
    )  # fmt: skip
    if population is not None and stated is None and k_map is None:
        raise InputError("--population is that of a certificate, or of --k-map: give one of them as well.")
    if cells_fixed:
        chosen = opt.with_cells_fixed(chosen)
    if used != "memory":
        found = opt_engines.check_parts(
            source,
            chosen,
            used,
            master=master,
            stated=stated,
            original=str(original) if original else None,
            paired=paired,
        )
        inspect_released(source)
        opt_engines.tell_judged(found, chosen, by_policy=policy is not None, as_json=as_json)
    with stages("check", 3) as step:
        step("reading")
        table, written = read_released(
            source, chosen.quasi_identifiers, delimiter=delimiter, encoding=encoding, decimal=decimal,
            text=opt.split(text),
        )  # fmt: skip
        beside = opt.read(str(original), delimiter, encoding, decimal, text) if original else None
        step("judging")
        found = check_table(table, written, chosen, original=beside, paired=paired)
        if stated is not None:
            stated.verify(table, found.verdicts, written)
        inspect_released(source)
        step("done")
    opt_engines.tell_judged(found, chosen, by_policy=policy is not None, as_json=as_json)
