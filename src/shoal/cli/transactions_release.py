"""`shoal transactions anonymize` and `check`: release histories, and judge releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import ledger as opt_ledger
from shoal.cli import options as opt
from shoal.cli.transactions import COLUMNS, Basket, NoHeader, Price, Quantity, Seed, Time, columns_of, transactions

AnyCustomer = Annotated[
    str | None, typer.Option("--customer", metavar="COLUMN", help="Who bought.", rich_help_panel=COLUMNS)
]
AnyItem = Annotated[
    str | None, typer.Option("--item", metavar="COLUMN", help="What was bought.", rich_help_panel=COLUMNS)
]
Baskets = Annotated[
    bool,
    typer.Option(
        "--baskets",
        help="One basket a line, its goods separated by a comma, or by --read delimiter.",
        rich_help_panel="Files",
    ),
]
_KM = "k^m-anonymity of baskets"
_READING = ("source", "customer", "item", "baskets", "no_header", "read", "as_json")
_RECODING = (
    *_READING,
    "output",
    "overwrite",
    "k",
    "m",
    "taxonomy",
    "key",
)  # what k^m-anonymity of a release carries out
_COUNTING = (*_READING, "k", "m", "goods_only")  # and what judging it does
K = Annotated[int | None, typer.Option("--k", help="Baskets that hold any m goods known.", rich_help_panel=_KM)]
M = Annotated[int | None, typer.Option("--m", help="Goods that an intruder may know.", rich_help_panel=_KM)]
MinSize = Annotated[int | None, typer.Option(help="Customers, at least, who share a set of goods.")]


@transactions.command(
    epilog="""Examples:

shoal transactions anonymize t.csv -o r.csv --customer 1 --item 5 --no-header --clusters 50 --min-size 8

shoal transactions anonymize t.csv -o r.csv --customer id --item good --min-size 5 --map m.csv

shoal transactions anonymize t.csv -o r.csv --customer id --item good --time date --show date --min-size 5

shoal transactions anonymize baskets.csv -o r.csv --baskets --k 5 --m 2 --taxonomy goods.csv"""
)
def anonymize(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="IN", help="A table of transactions.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="Where the release goes.")],
    customer: AnyCustomer = None,
    item: AnyItem = None,
    time: Time = None,
    price: Price = None,
    quantity: Quantity = None,
    basket: Basket = None,
    shown: Annotated[
        list[str] | None,
        typer.Option(
            "--show",
            metavar="A,B",
            help="Columns to show beside customer and item, of those named above; otherwise none.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    clusters: Annotated[int | None, typer.Option(help="Sets of goods that will be told apart.")] = None,
    min_size: MinSize = None,
    k: K = None,
    m: M = None,
    taxonomy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Groups of goods to recode to: good;group;...", rich_help_panel=_KM),
    ] = None,
    method: Annotated[
        str, typer.Option(help="balanced (fewest dummies), method-2 or method-1 as in the paper.")
    ] = "balanced",
    dummies: Annotated[
        str,
        typer.Option(
            help="With --show: scattered (nobody is told apart, and nothing says what was bought together), visits "
            "(nobody is told apart, visits are whole) or records (the paper's; no rate is promised)."
        ),
    ] = "scattered",
    delete: Annotated[
        float, typer.Option(metavar="SHARE", help="Of records that may be deleted where that costs less than dummies.")
    ] = 0.0,
    alter: Annotated[
        float, typer.Option(metavar="SHARE", help="Of records that may be altered where that costs less than dummies.")
    ] = 0.0,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Secret key of the pseudonyms; otherwise a fresh one.")
    ] = None,
    secret_map: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="Write who is who, for you alone (CSV).")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write which records are dummies, for you alone (CSV).")
    ] = None,
    ledger: opt_ledger.Ledger = None,
    incremental: Annotated[
        bool,
        typer.Option(
            "--incremental", help="Clusters go on from those in the ledger.", rich_help_panel=opt_ledger.PANEL
        ),
    ] = False,
    overwrite: opt.Overwrite = False,
    seed: Seed = None,
    baskets: Baskets = False,
    no_header: NoHeader = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Add dummy records until nobody stands alone with a set of goods, check the result, and write it; or refuse.

    Customer and good alone are shown, a record a pair, unless --show names more columns.

    With --k and --m goods are recoded or taken out instead, until any m of them are those of at least k baskets.
    """
    from shoal.cli.console import show, stages
    from shoal.errors import InputError
    from shoal.jobs.transactions import AnonymizeBaskets, AnonymizeTransactions

    known = _known_goods(k, m)
    if ledger is not None and known is not None:
        raise InputError("A ledger judges clusters of customers: leave out --ledger, or --k, --m and --baskets.")
    if known is None and taxonomy is not None:
        raise InputError("A taxonomy recodes goods for k^m-anonymity: give --k and --m as well.")
    if known is not None:
        opt.refuse_all_but(context, _RECODING, "has no part in recoding goods (--k, --m): leave it out.")
    columns = columns_of(context)
    job: AnonymizeTransactions | AnonymizeBaskets
    if known is not None:
        job = AnonymizeBaskets(source, output, columns, *known, taxonomy, key, overwrite)
    else:
        job = AnonymizeTransactions(
            source, output, columns, tuple(opt.split(shown)), clusters, min_size, method, dummies, delete,  # type: ignore[arg-type]
            alter, key, secret_map, log, opt_ledger.ledger_of(ledger, takes=("key",)), incremental, seed, overwrite,
        )  # fmt: skip
    job.refuse()
    _refuse_unread(context, source, baskets)
    with stages("anonymize", 6):
        release = job.run()
    show(release, as_json)


def _refuse_unread(context: typer.Context, source: str, baskets: bool) -> None:
    """Refuses what is about columns or text where the file has none."""
    from shoal.errors import InputError

    if not baskets:
        opt.refuse_of_text(context, [source])
        return
    of_tables = ("customer", "item", "time", "price", "quantity", "basket", "shown")
    others = [parameter.name or "" for parameter in context.command.params if parameter.name not in of_tables]
    why = "is about tables, and a line of baskets has goods alone: leave it out."
    opt.refuse_all_but(context, others, why)
    for name in opt.layout(context.params["read"]).chosen():
        if name != "delimiter":
            raise InputError(f"--read {name} {why}")


def _known_goods(k: int | None, m: int | None) -> tuple[int, int] | None:
    from shoal.errors import InputError

    if k is None and m is None:
        return None
    if k is None or m is None:
        raise InputError(
            "k^m-anonymity needs both --k, how many baskets, and --m, how many goods are known: give the other."
        )
    return k, m


@transactions.command(
    epilog="""Examples:

shoal transactions check r.csv --customer 1 --item 5 --no-header --min-size 8

shoal transactions check r.csv --customer id --item good --time date --min-size 5

shoal transactions check r.csv --customer id --item good --min-size 5 --goods-only

shoal transactions check r.csv --customer id --item good --k 5 --m 2 && publish r.csv"""
)
def check(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="Transactions as released.")],
    customer: AnyCustomer = None,
    item: AnyItem = None,
    time: Time = None,
    price: Price = None,
    quantity: Quantity = None,
    basket: Basket = None,
    min_size: MinSize = None,
    k: K = None,
    m: M = None,
    goods_only: Annotated[
        bool, typer.Option("--goods-only", help="Judge the sets of goods alone, whatever else the file shows.")
    ] = False,
    baskets: Baskets = False,
    no_header: NoHeader = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Judge released histories: exit code 0 if nobody stands alone, 1 if somebody does.

    Sets of goods are compared; with more columns named, whole histories as these columns show them. A file that shows
    other columns does not pass, as nobody has judged what they tell, unless --goods-only says that they do not matter.
    """
    from shoal.cli.console import out, say, show, stages
    from shoal.jobs.check_transactions import CheckTransactions

    job = CheckTransactions(source, columns_of(context), min_size, _known_goods(k, m), goods_only)
    job.refuse()
    if min_size is None:
        opt.refuse_all_but(context, _COUNTING, "is about whole histories: leave it out, or give --min-size as well.")
    _refuse_unread(context, source, baskets)
    with stages("check", 4):
        judged = job.run()
    facts = judged.to_dict()
    if as_json:
        show(facts, as_json)
    else:
        for name, fact in facts.items():
            out.print(f"{name.replace('_', ' ')}: {fact}", highlight=False, markup=False)
    for note in judged.remarks():
        say(note)
    raise typer.Exit(0 if judged.holds else 1)
