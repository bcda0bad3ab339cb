"""`shoal transactions`: purchase histories, many records a customer (paper 4)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.jobs.transactions import Columns

transactions = typer.Typer(no_args_is_help=True, help="Purchase histories: how exposed they are, and safe releases.")


def register(app: typer.Typer) -> None:
    """Adds `shoal transactions` and the commands below it, of three files."""
    from shoal.cli import transactions_measure, transactions_release  # noqa: F401  # they add their commands

    app.add_typer(transactions, name="transactions")


COLUMNS = "Columns (names, or numbers from 1 with --no-header)"
Customer = Annotated[str, typer.Option(metavar="COLUMN", help="Who bought.", rich_help_panel=COLUMNS)]
Item = Annotated[str, typer.Option(metavar="COLUMN", help="What was bought.", rich_help_panel=COLUMNS)]
Time = Annotated[str | None, typer.Option(metavar="COLUMN", help="When, as a date or more.", rich_help_panel=COLUMNS)]
Price = Annotated[str | None, typer.Option(metavar="COLUMN", help="Price of one.", rich_help_panel=COLUMNS)]
Quantity = Annotated[str | None, typer.Option(metavar="COLUMN", help="How many.", rich_help_panel=COLUMNS)]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line is a record already.", rich_help_panel="Files")
]
Basket = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Which records were one purchase.", rich_help_panel=COLUMNS),
]
Truth = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Who is who: a table of pseudonym and customer. Otherwise names are the same."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Makes a run repeatable; keep it secret.")]


def columns_of(context: typer.Context) -> Columns:
    """Which columns say what, and how the file is read, by a command's own options."""
    from shoal.errors import InputError
    from shoal.jobs.transactions import Columns

    given = context.params
    named = {role: given.get(role) for role in ("customer", "item", "time", "price", "quantity", "basket")}
    layout = opt.layout(given["read"])
    if layout.text:
        raise InputError("--read text has no part in reading purchases: leave it out.")
    return Columns(**named, header=not given["no_header"], baskets=given.get("baskets", False), layout=layout)


@transactions.command(
    epilog="""Examples:

shoal transactions attack t.csv released.csv --customer 1 --item 5 --no-header --truth pseudonyms.csv

shoal transactions attack t.csv released.csv --customer id --item good --known 3 --seed 1 --json

shoal transactions attack t.csv r.csv --customer id --item good --quantity quantity --truth m.csv --trained"""
)
def attack(
    context: typer.Context,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The transactions as they were.")],
    masked: Annotated[str, typer.Argument(metavar="MASKED", help="The transactions as released.")],
    customer: Customer,
    item: Item,
    time: Time = None,
    price: Price = None,
    quantity: Quantity = None,
    basket: Basket = None,
    truth: Truth = None,
    known: Annotated[int | None, typer.Option(metavar="M", help="The intruder knows M items of each customer.")] = None,
    first: Annotated[
        dt.datetime | None,
        typer.Option("--from", formats=["%Y-%m-%d"], help="The intruder knows what was bought from this day on."),
    ] = None,
    last: Annotated[
        dt.datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Until this day, itself included.")
    ] = None,
    similarity: Annotated[str, typer.Option(help="jaccard, tfidf (cosine) or weighted (by quantity).")] = "jaccard",
    one_to_one: Annotated[bool, typer.Option("--one-to-one", help="Also link every original only once.")] = False,
    trained: Annotated[
        bool,
        typer.Option(
            "--trained",
            help="Also the intruder who learns from other clusters to tell dummies, by the columns named, and then "
            "finds customers by M goods (10).",
        ),
    ] = False,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where each customer's guess goes.")
    ] = None,
    overwrite: opt.Overwrite = False,
    seed: Seed = None,
    no_header: NoHeader = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Link each released customer to the most similar original, and count how many are found (Algorithm 1)."""
    from shoal.cli.console import show, stages
    from shoal.jobs.transactions import AttackTransactions

    opt.refuse_of_text(context, [original, masked])
    _refuse_unused_columns(
        {
            "--time": (time, trained or first or last, "--trained, --from or --to"),
            "--price": (price, trained, "--trained"),
            "--basket": (basket, trained, "--trained"),
            "--quantity": (quantity, trained or similarity == "weighted", "--trained or --similarity weighted"),
        }
    )
    window = (
        None if first is None and last is None else (first.date() if first else None, last.date() if last else None)
    )
    job = AttackTransactions(
        original, masked, columns_of(context), truth, known, window, similarity, one_to_one, trained, output,  # type: ignore[arg-type]
        seed, overwrite,
    )  # fmt: skip
    with stages("attack", 3):
        attacked = job.run()
    show(attacked, as_json)


def _refuse_unused_columns(columns: Mapping[str, tuple[str | None, object, str]]) -> None:
    """Option -> the column it names, whether something looks at it, and what would: one that is not looked at."""
    from shoal.errors import InputError

    for option, (column, used, by) in columns.items():
        if column is not None and not used:
            raise InputError(f"{option} names a column that nothing looks at: give {by} as well, or leave it out.")


@transactions.command(
    epilog="""Examples:

shoal transactions risk t.csv --customer 1 --item 5 --time 3 --price 6 --no-header

shoal transactions risk t.parquet --customer CustomerID --item StockCode --time InvoiceDate --json"""
)
def risk(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A table of transactions.")],
    customer: Customer,
    item: Item,
    time: Time = None,
    price: Price = None,
    customers: Annotated[
        str | None, typer.Option(metavar="FILE", help="A table of all customers: each must have bought something.")
    ] = None,
    seed: Seed = None,
    no_header: NoHeader = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Show how alike customers are, and whom a few known purchases single out."""
    from shoal.cli.console import show, stages
    from shoal.jobs.transactions import TransactionsRisk

    opt.refuse_of_text(context, [source, customers])
    _refuse_unused_columns({"--price": (price, time, "--time")})
    job = TransactionsRisk(source, columns_of(context), customers, seed)
    with stages("risk", 4):
        exposed = job.run()
    show(exposed, as_json)
