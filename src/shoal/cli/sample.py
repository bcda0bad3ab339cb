"""`shoal sample`, `shoal regenerate` and `shoal demo`: tables to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as opt

_sample = typer.Typer(no_args_is_help=True, help="Generate tables to try things on.")


def register(app: typer.Typer) -> None:
    """Adds `shoal sample` with the commands below it, `shoal regenerate` and `shoal demo`."""
    app.add_typer(_sample, name="sample")
    app.command(epilog=_REGENERATE_EXAMPLES)(regenerate)
    app.command(epilog=_DEMO_EXAMPLES)(demo)


@_sample.command(
    epilog="""Examples:

shoal sample discharges --rows 200000 --seed 7 -o d.csv

shoal sample discharges --rows 4000000 -o d.parquet

shoal sample discharges --rows 100000000 -o discharges/"""
)
def discharges(
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where the table goes; a folder gets it in chunks.")
    ],
    rows: Annotated[int, typer.Option(help="How many discharges.")] = 100_000,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the table repeatable.")] = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Synthetic hospital discharges: nine quasi-identifiers, charge and diagnosis."""
    from shoal.cli.console import say, stages
    from shoal.jobs.sample import SampleDischarges

    job = SampleDischarges(output, rows, seed, overwrite)
    with stages("sample", job.stages):
        job.run()
    say(f"{rows:,} discharges written to {output}.")


@_sample.command(
    epilog="""Examples:

shoal sample purchases --customers 400 --seed 7 -o t.csv

shoal sample purchases --customers 100000 -o t.parquet"""
)
def purchases(
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where the table goes.")],
    customers: Annotated[int, typer.Option(help="How many customers; about 95 records each.")] = 400,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the table repeatable.")] = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Synthetic purchase histories: customer, invoice, date, time, good, price and quantity."""
    from shoal.cli.console import say, stages
    from shoal.jobs.sample import SamplePurchases

    job = SamplePurchases(output, customers, seed, overwrite)
    with stages("sample", 3):
        written = job.run()
    say(f"{written.records:,} records of {customers:,} customers written to {output}.")


_REGENERATE_EXAMPLES = """Examples:

shoal regenerate masked.csv -o plain.csv --counts counts.csv

shoal regenerate masked.csv -o plain.csv --counts counts.json --rescale --seed 1"""


def regenerate(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="MASKED", help="A table with masked values.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="Where the table goes.")],
    counts: Annotated[
        Path, typer.Option(metavar="FILE", help="Published counts of masked values: attribute,value,count.")
    ],
    rescale: Annotated[bool, typer.Option("--rescale", help="Fit counts that do not add up.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes a run repeatable.")] = None,
    overwrite: opt.Overwrite = False,
    read: opt.Read = None,
) -> None:
    """Put plausible values in the place of masked ones, from published counts (Algorithm S1)."""
    from shoal.cli.console import say, stages
    from shoal.jobs.sample import Regenerate

    opt.refuse_of_text(context, [source])
    layout = opt.layout(read)
    job = Regenerate(source, output, counts, rescale, seed, overwrite, layout)
    with stages("regenerate", 4):
        job.run()
    say(f"Written to {output}.")


_DEMO_EXAMPLES = """Examples:

shoal demo

shoal demo -o try --rows 200000"""


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where all goes.")] = Path("demo"),
    rows: Annotated[int, typer.Option(help="How many synthetic discharges.")] = 50_000,
) -> None:
    """Generate discharges, anonymize them, and show risk before and after."""
    from shoal.cli.console import put, stages
    from shoal.demo import run

    with stages("demo", 6) as step:
        table = run(output, rows, step)
    put(table)
