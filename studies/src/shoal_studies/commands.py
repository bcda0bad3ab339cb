"""`shoal study`: each paper's experiments, the paper's statement beside ours; all five as one tour."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.errors import InputError

commands = typer.Typer(no_args_is_help=True, invoke_without_command=True)

Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where figures and tables go.")]


def _examples(*lines: str) -> str:
    return "\n\n".join(("Examples:", *lines))


@commands.callback(epilog=_examples("shoal study --all -o studies", "shoal study big-data -o study"))
def tour(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="All five, with an index page; about 10 minutes.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Of --all: where the studies' folders go.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Repeat the papers' experiments: one of them by its name, or all as one tour.

    An interrupted tour goes on where it stopped: studies that finished with the same settings are not run again.
    """
    if context.invoked_subcommand is not None:
        if every or output is not None or as_json:
            raise InputError(
                f"Options before {context.invoked_subcommand!r} are those of the tour: give them after the study's "
                "name, or --all without one."
            )
        return
    if not every or output is None:
        raise InputError("A tour takes --all and -o DIR: `shoal study --all -o studies`; or name one study.")
    from shoal.cli.console import say, show
    from shoal_studies.tour import STUDIES, finished, take_tour

    try:
        with _bar(sum(study.seconds for study in STUDIES)) as step:
            result = take_tour(output, STUDIES, step)
    except KeyboardInterrupt:
        done = sum(finished(study, output / study.name) is not None for study in STUDIES)
        say(f"{done} of {len(STUDIES)} studies are finished and kept in {output}: ask again to go on.")
        raise
    show(result, as_json)


def _run(name: str, output: Path, as_json: bool, **asked: object) -> None:
    from shoal.cli.console import show, stages
    from shoal_studies.tour import STUDIES

    study = replace(next(study for study in STUDIES if study.name == name), asked=asked)
    with stages("study", study.stages) as step:
        result = study.run(output, step)
    show(result, as_json)


@contextmanager
def _bar(seconds: float) -> Iterator[Callable[[str, float], None]]:
    """A bar over so many seconds of work, with the time left; silent when not on a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, seconds: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    from shoal.cli.console import err

    columns = (
        TextColumn("tour"),
        BarColumn(18),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", max_width=36)),
    )
    with Progress(*columns, console=err, transient=True, speed_estimate_period=seconds) as progress:
        task = progress.add_task("starting", total=seconds)
        behind = 0.0

        def step(stage: str, share: float) -> None:
            nonlocal behind
            progress.update(task, advance=behind, description=stage)  # what was begun before is done now
            behind = share

        yield step


@commands.command(
    "proper-anonymization",
    epilog=_examples(
        "shoal study proper-anonymization -o study", "shoal study proper-anonymization --rows 3985166 -o study"
    ),
)
def proper_anonymization(
    output: Output,
    data: Annotated[str | None, typer.Option(metavar="FILE", help="A table of paper 1's attributes.")] = None,
    rows: Annotated[int, typer.Option(help="Size of the generated table.")] = 400_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the generated table.")] = 1,
    as_json: opt.Json = False,
) -> None:
    """Paper 1: Figures S3 to S7 and Tables S4, S5, S9."""
    _run("proper-anonymization", output, as_json, data=data, rows=rows, seed=seed)


@commands.command("k-map", epilog=_examples("shoal study k-map -o study", "shoal study k-map --samples 1000 -o study"))
def k_map(
    output: Output,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="A population; all its columns are quasi-identifiers.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="At each sampling fraction.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the samples and of generated populations.")] = 1,
    as_json: opt.Json = False,
) -> None:
    """Paper 3: Figures 3 to 5, k-anonymity against k-map. Interrupted, it goes on where it stopped."""
    _run("k-map", output, as_json, data=data, samples=samples, seed=seed)


@commands.command(
    "risk-utility",
    epilog=_examples("shoal study risk-utility -o study", "shoal study risk-utility --data tables --runs 20 -o study"),
)
def risk_utility(
    output: Output,
    data: Annotated[
        str | None, typer.Option(metavar="DIR", help="A folder of tables (CSV), or one; numbers are masked.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Random methods are averaged over so many.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the runs and of generated tables.")] = 1,
    as_json: opt.Json = False,
) -> None:
    """Paper 5: Figure 1, equal risk, Table 1. Interrupted, it goes on where it stopped."""
    _run("risk-utility", output, as_json, data=data, runs=runs, seed=seed)


@commands.command(
    "purchases",
    epilog=_examples("shoal study purchases -o study", "shoal study purchases --data purchases --seeds 5 -o study"),
)
def purchases(
    output: Output,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder with the paper's transactions_400.csv and customers_400.csv; otherwise purchases in "
            "SHOAL_DATA, or generated histories.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each setting of Table 2.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The first of them; of generated histories too.")] = 1,
    as_json: opt.Json = False,
) -> None:
    """Paper 4: Tables 1 and 2, Figures 3 to 6; what intruders achieve, before and after."""
    _run("purchases", output, as_json, data=data, seeds=seeds, seed=seed)


@commands.command(
    "big-data", epilog=_examples("shoal study big-data -o study", "shoal study big-data --rows 100000 -o study")
)
def big_data(
    output: Output,
    rows: Annotated[int, typer.Option(help="Size of the generated table.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the generated table; private noise has none.")] = 1,
    as_json: opt.Json = False,
) -> None:
    """Paper 2 in numbers: many attributes, aggregates, several releases."""
    _run("big-data", output, as_json, rows=rows, seed=seed)
