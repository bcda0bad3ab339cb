"""`shoal transactions audit`: what two releases of the same customers' purchases tell together."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.transactions import Customer, Item, NoHeader, Price, Quantity, Seed, Time, transactions


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
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    as_json: opt.Json = False,
) -> None:
    """Attack two releases together: link their customers by what both show, then find them by a few known goods.

    Name the columns that both releases show; without times, prices and quantities goods alone are compared.
    """
    from functools import partial

    from shoal.cli.console import show, stages
    from shoal.errors import InputError
    from shoal.transactions.attack import read_truth
    from shoal.transactions.histories import read_histories
    from shoal.transactions.pooled import pooled_attack

    opt.refuse_of_text(context, [original, first, second])
    if len(maps) != 2:
        raise InputError(f"Give --map twice, for the first release and for the second; it was given {len(maps)} times.")
    with stages("audit", 3) as step:
        step("reading")
        read = partial(
            read_histories, customer=customer, item=item, header=not no_header, delimiter=delimiter, encoding=encoding,
            decimal=decimal,
        )  # fmt: skip
        shown = partial(read, time=time, price=price, quantity=quantity)
        releases = shown(first), shown(second)
        truths = read_truth(maps[0]), read_truth(maps[1])
        step("linking and finding")
        result = pooled_attack(read(original), *releases, truths, known=known, seed=seed)
        step("done")
    show(result, as_json)
