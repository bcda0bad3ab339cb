"""`shoal transactions anonymize` and `utility`: release purchase histories, and measure what the release kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.transactions import Customer, Item, NoHeader, Price, Quantity, Seed, Time, transactions

_COLUMNS = "Columns (names, or numbers from 1 with --no-header)"
Basket = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Which records were one purchase.", rich_help_panel=_COLUMNS),
]


@transactions.command(
    epilog="""Examples:

shoal transactions anonymize t.csv -o r.csv --customer 1 --item 5 --no-header --clusters 50 --min-size 8

shoal transactions anonymize t.csv -o r.csv --customer id --item good --time date --min-size 5 --map m.csv"""
)
def anonymize(
    source: Annotated[str, typer.Argument(metavar="IN", help="A table of transactions.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="Where the release goes.")],
    customer: Customer,
    item: Item,
    time: Time = None,
    price: Price = None,
    quantity: Quantity = None,
    basket: Basket = None,
    clusters: Annotated[int | None, typer.Option(help="Sets of goods that will be told apart.")] = None,
    min_size: Annotated[int | None, typer.Option(help="Customers, at least, who share a set of goods.")] = None,
    method: Annotated[
        str, typer.Option(help="balanced (fewest dummies), method-2 or method-1 as in the paper.")
    ] = "balanced",
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
    seed: Seed = None,
    no_header: NoHeader = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    as_json: opt.Json = False,
) -> None:
    """Add dummy records until nobody stands alone with a set of goods, check the result, and write it; or refuse."""
    from shoal.cli.console import say, show, stages
    from shoal.transactions.histories import read_histories
    from shoal.transactions.pseudonyms import read_key
    from shoal.transactions.release import anonymize_transactions

    opt.check_paths([source, key], output, [secret_map, log])
    with stages("anonymize", 6) as step:
        step("reading")
        histories = read_histories(
            source, customer=customer, item=item, time=time, price=price, quantity=quantity, basket=basket,
            header=not no_header, delimiter=delimiter, encoding=encoding, decimal=decimal,
        )  # fmt: skip
        release = anonymize_transactions(
            histories,
            clusters=clusters,
            min_size=min_size,
            method=method,  # type: ignore[arg-type]
            delete=delete,
            alter=alter,
            key=read_key(key) if key is not None else None,
            seed=seed,
            progress=step,
        )
        step("writing and judging the file")
        release.write(output, header=not no_header, secret_map=secret_map, log=log)
        step("attacking the release")
        facts = release.to_dict()
    for note in release.notes:
        say(note)
    show(facts if as_json else release, as_json)


@transactions.command(
    epilog="""Examples:

shoal transactions utility t.csv r.csv --customer 1 --item 5 --time 3 --price 6 --quantity 7 --no-header --truth m.csv

shoal transactions utility t.csv r.csv --customer id --item good --price price --json"""
)
def utility(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The transactions as they were.")],
    masked: Annotated[str, typer.Argument(metavar="MASKED", help="The transactions as released.")],
    customer: Customer,
    item: Item,
    time: Time = None,
    price: Price = None,
    quantity: Quantity = None,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Who is who: a table of pseudonym and customer. Otherwise names are the same."
        ),
    ] = None,
    customers: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A customer table, the customer first: cells of the cross tables."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns of the customer table that make the cells; otherwise all."),
    ] = None,
    no_header: NoHeader = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    as_json: opt.Json = False,
) -> None:
    """Measure what released purchase histories kept: cross tables, RFM scores, goods bought together, sales."""
    from functools import partial

    from shoal.cli.console import show, stages
    from shoal.transactions.attack import read_truth
    from shoal.transactions.histories import read_histories
    from shoal.transactions.utility import read_people, transaction_utility

    with stages("utility", 3) as step:
        step("reading")
        read = partial(
            read_histories, customer=customer, item=item, time=time, price=price, quantity=quantity,
            header=not no_header, delimiter=delimiter, encoding=encoding, decimal=decimal,
        )  # fmt: skip
        secret = read_truth(truth) if truth is not None else None
        people = read_people(customers, opt.split(by), header=not no_header) if customers is not None else None
        before, after = read(original), read(masked)
        step("measuring")
        result = transaction_utility(before, after, truth=secret, people=people)
        step("done")
    show(result, as_json)
