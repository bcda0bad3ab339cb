"""`shoal sample`, `shoal regenerate` and `shoal demo`: tables to try things on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from shoal.cli import options as opt
from shoal.cli.every import completed

if TYPE_CHECKING:
    from shoal.data.generators import Generator


def register(app: typer.Typer) -> None:
    """Adds `shoal sample` with a command for each generator, `shoal regenerate` and `shoal demo`."""
    words = typer.Typer(cls=_Generators, no_args_is_help=True, help="Generate tables to try things on.")
    app.add_typer(words, name="sample")
    app.command(epilog=_REGENERATE_EXAMPLES)(regenerate)
    app.command(epilog=_DEMO_EXAMPLES)(demo)


class _Commands(Mapping[str, Any]):
    """A command for each generator, made of what it says of itself when it is asked for."""

    def __getitem__(self, word: str) -> Any:
        from shoal.data.generators import GENERATORS

        if word not in GENERATORS and ":" not in word:
            raise KeyError(word)
        kind = GENERATORS.find(word)
        epilog = "\n\n".join(["Examples:", *(f"shoal sample {word} {example}" for example in kind.examples)])
        info = CommandInfo(word, callback=_command(kind), help=kind.sentence(), epilog=epilog)
        return get_command_from_info(completed(info), pretty_exceptions_short=False, rich_markup_mode="rich")

    def __iter__(self) -> Iterator[str]:
        from shoal.data.generators import GENERATORS

        return iter(GENERATORS.words)

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Generators(TyperGroup):
    """The group of the generators' commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]


def _command(kind: type[Generator]) -> Callable[..., None]:
    """Its parameters as options."""

    def command(output: str, seed: int | None, overwrite: bool, **parameters: Any) -> None:
        from shoal.cli.console import say, stages
        from shoal.jobs.sample import Sample

        job = Sample(kind(**parameters), output, seed, overwrite)
        with stages("sample", 3):
            written = job.run()
        say(f"{job.generator.made(written.records)} written to {output}.")

    where = "Where the table goes; a folder gets it in chunks." if kind.in_chunks.can else "Where the table goes."
    options = [_option("output", str, typer.Option("-o", "--output", metavar="FILE", help=where))]
    for each in kind.parameters():
        help_ = typer.Option(help=f"{each.help[0].upper()}{each.help[1:]}.")
        options.append(_option(each.name, each.type, help_, inspect.Parameter.empty if each.required else each.default))
    options.append(_option("seed", int | None, typer.Option(min=0, help="Makes the table repeatable."), None))
    options.append(_option("overwrite", opt.Overwrite, None, False))
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return command


def _option(name: str, kind: Any, option: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    annotation = kind if option is None else Annotated[kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


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
    from shoal.jobs.demo import Demo

    with stages("demo", 12):
        shown = Demo(output, rows).run()
    put(*shown.sheets())
