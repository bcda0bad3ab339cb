"""`shoal sample`, `shoal regenerate` and `shoal demo`: tables to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as opt

_sample = typer.Typer(no_args_is_help=True, help="Generate tables to try things on.")


def register(app: typer.Typer) -> None:
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
    from shoal.data.discharges import discharges as generate
    from shoal.data.files import write_table
    from shoal.jobs.paths import check_paths

    if not Path(output).suffix:
        _discharges_in_chunks(Path(output), rows, seed, overwrite)
        say(f"{rows:,} discharges written to {output}.")
        return
    check_paths([], output, overwrite=overwrite)
    with stages("sample", 3) as step:
        step("generating")
        table = generate(rows, seed)
        step("writing")
        write_table(table, output, overwrite=overwrite)
        step("done")
    say(f"{rows:,} discharges written to {output}.")


def _discharges_in_chunks(folder: Path, rows: int, seed: int | None, overwrite: bool) -> None:
    """A million at a time: however many they are, memory holds one chunk."""
    from shoal.cli.console import stages
    from shoal.data.discharges import discharge_chunks
    from shoal.engines.disk import new_folder

    million = 1_000_000
    made = new_folder(folder, overwrite=overwrite, certified=False)
    with stages("sample", -(-rows // million) + 1) as step, made as partial:
        for number, chunk in enumerate(discharge_chunks(rows, seed, million)):
            step(f"{number + 1} million")
            chunk.write_parquet(partial / f"part-{number:05d}.parquet")
        step("done")


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
    from shoal.data.files import write_table
    from shoal.data.purchases import purchases as generate
    from shoal.jobs.paths import check_paths

    check_paths([], output, overwrite=overwrite)
    with stages("sample", 3) as step:
        step("generating")
        table = generate(customers, seed)
        step("writing")
        write_table(table, output, overwrite=overwrite)
        step("done")
    say(f"{table.height:,} records of {customers:,} customers written to {output}.")


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
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
) -> None:
    """Put plausible values in the place of masked ones, from published counts (Algorithm S1)."""
    from shoal.cli.console import say, stages
    from shoal.data.files import write_table
    from shoal.jobs.paths import check_paths
    from shoal.masking.regenerate import read_counts
    from shoal.masking.regenerate import regenerate as fill

    opt.refuse_of_text(context, [source])
    check_paths([source, counts], output, overwrite=overwrite)
    with stages("regenerate", 4) as step:
        step("reading")
        table = opt.layout(delimiter, encoding, decimal, text).read(source)
        step("drawing values")
        filled = fill(table, read_counts(counts), seed=seed, rescale=rescale)
        step("writing")
        write_table(filled, output, overwrite=overwrite)
        step("done")
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
