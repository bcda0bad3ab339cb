"""`shoal pseudonym`: pseudonyms opened by the key holder, led over to a new key, and the key renewed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as opt

_pseudonym = typer.Typer(no_args_is_help=True, help="For the key holder: open pseudonyms, go over to a new key.")

Column = Annotated[str, typer.Option(metavar="COLUMN", help="The column that shows, or identifies, people.")]
Domain = Annotated[str, typer.Option(metavar="WORD", help="What it identifies, as the release had it.")]
KeyFile = Annotated[
    Path | None, typer.Option("--key-file", metavar="FILE", help="The secret key; else SHOAL_PSEUDONYM_KEY.")
]
Output = Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="Where it goes, for its owner alone.")]


def register(app: typer.Typer) -> None:
    """Adds `shoal pseudonym` and the commands below it."""
    app.add_typer(_pseudonym, name="pseudonym")


@_pseudonym.command(
    epilog="""Examples:

shoal pseudonym reveal sealed.csv --column id --domain person --key-file k.txt -o o.csv

shoal pseudonym reveal sealed.csv --column id --key-file k.txt --version 1 -o o.csv --json"""
)
def reveal(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A table that shows pseudonyms.")],
    output: Output,
    column: Column,
    domain: Domain = "person",
    form: Annotated[str, typer.Option(metavar="WORD", help="sealed or like.")] = "sealed",
    key_file: KeyFile = None,
    version: Annotated[
        int | None, typer.Option(min=1, help="Of the key they were made with; unless given the last.")
    ] = None,
    overwrite: opt.Overwrite = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Put identifiers again in the place of pseudonyms, by the secret key."""
    from shoal.cli.console import show, stages
    from shoal.jobs.pseudonym import RevealPseudonyms

    opt.refuse_of_text(context, [source])
    layout = opt.layout(read)
    job = RevealPseudonyms(source, column, output, key_file, domain, form, version, overwrite, layout)
    with stages("reveal", 4):
        revealed = job.run()
    show(revealed, as_json)


@_pseudonym.command(
    "map",
    epilog="""Examples:

shoal pseudonym map sealed.csv --from 1 --to 2 --form sealed --column id --key-file k2.txt -o o.csv

shoal pseudonym map keyed.csv --from 1 --to 2 --form code --column id --key-file k2.txt -o o.csv""",
)
def map_(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="A table that shows them; of codes one of the identifiers.")
    ],
    output: Output,
    column: Column,
    form: Annotated[str, typer.Option(metavar="WORD", help="sealed, like or code.")],
    old: Annotated[int, typer.Option("--from", min=1, metavar="VERSION", help="Of the key that made them.")],
    new: Annotated[int, typer.Option("--to", min=1, metavar="VERSION", help="Of the key that makes them now.")],
    domain: Domain = "person",
    length: Annotated[int | None, typer.Option(help="Of codes: characters, where they are not 16.")] = None,
    key_file: KeyFile = None,
    overwrite: opt.Overwrite = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """List each pseudonym of one version of the key with that of another."""
    from shoal.cli.console import show, stages
    from shoal.jobs.pseudonym import MapPseudonyms

    opt.refuse_of_text(context, [source])
    layout = opt.layout(read)
    job = MapPseudonyms(source, column, output, key_file, old, new, domain, form, length, overwrite, layout)
    with stages("map", 4):
        mapped = job.run()
    show(mapped, as_json)


@_pseudonym.command(
    epilog="""Examples:

shoal pseudonym rotate k.txt

shoal pseudonym rotate k.txt --json"""
)
def rotate(
    key_file: Annotated[Path, typer.Argument(metavar="KEYFILE", help="The file of the secret key.")],
    as_json: opt.Json = False,
) -> None:
    """Add a version to a key, used from now on; what earlier ones made is still opened by them."""
    from shoal.cli.console import say, show
    from shoal.jobs.pseudonym import RotateKey

    rotated = RotateKey(key_file).run()
    say(f"Version {rotated.keys.current.version} is in use from now on: keep a copy of {key_file}, for nobody else.")
    show(rotated, as_json)
