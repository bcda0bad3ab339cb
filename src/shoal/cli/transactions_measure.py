"""`shoal transactions utility` and `audit`: what a release kept, and what two of the same customers tell together."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.transactions import (
    Customer,
    Item,
    NoHeader,
    Price,
    Quantity,
    Seed,
    Time,
    Truth,
    columns_of,
    transactions,
)


@transactions.command(
    epilog="""Examples:

shoal transactions audit t.csv r.csv r.csv --customer id --item good --time date --map m.csv --map m.csv

shoal transactions audit t.csv r.csv r.csv --customer id --item good --map m.csv --map m.csv --known 3 --json"""
)
def audit(
    context: typer.Context,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The transactions that FIRST was made of.")],
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A release.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="A later release of the same customers.")],
    customer: Customer,
    item: Item,
    maps: Annotated[list[str], typer.Option("--map", metavar="FILE", help="Who is who in FIRST, and again in SECOND.")],
    time: Time = None,
    price: Price = None,
    quantity: Quantity = None,
    known: Annotated[int, typer.Option(min=1, help="Goods that the intruder knows of a customer.")] = 5,
    seed: Seed = None,
    no_header: NoHeader = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Attack two releases together: link their customers by what both show, then find them by a few known goods.

    Name the columns that both releases show; without times, prices and quantities goods alone are compared.
    """
    from shoal.cli.console import show, stages
    from shoal.errors import InputError
    from shoal.jobs.transactions import AuditTransactions

    opt.refuse_of_text(context, [original, first, second])
    if len(maps) != 2:
        raise InputError(f"Give --map twice, for the first release and for the second; it was given {len(maps)} times.")
    job = AuditTransactions(original, (first, second), (maps[0], maps[1]), columns_of(context), known, seed)
    with stages("audit", 3):
        pooled = job.run()
    show(pooled, as_json)


@transactions.command(
    epilog="""Examples:

shoal transactions utility t.csv r.csv --customer 1 --item 5 --time 3 --price 6 --quantity 7 --no-header --truth m.csv

shoal transactions utility t.csv r.csv --customer id --item good --time date --json"""
)
def utility(
    context: typer.Context,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The transactions as they were.")],
    masked: Annotated[str, typer.Argument(metavar="MASKED", help="The transactions as released.")],
    customer: Customer,
    item: Item,
    time: Time = None,
    price: Price = None,
    quantity: Quantity = None,
    truth: Truth = None,
    customers: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A customer table, the customer first: cells of the cross tables."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns of the customer table that make the cells; otherwise all."),
    ] = None,
    no_header: NoHeader = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Measure what released purchase histories kept: cross tables, RFM scores, goods bought together, sales."""
    from shoal.cli.console import show, stages
    from shoal.errors import InputError
    from shoal.jobs.transactions import TransactionsUtility

    opt.refuse_of_text(context, [original, masked])
    if by and customers is None:
        raise InputError("--by names columns of the customer table: give --customers as well.")
    job = TransactionsUtility(original, masked, columns_of(context), truth, customers, tuple(opt.split(by)))
    with stages("utility", 3):
        kept = job.run()
    show(kept, as_json)
