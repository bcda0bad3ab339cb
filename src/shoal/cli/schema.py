"""`shoal schema`: what `--json` prints, declared. One JSON Schema a command, in `shoal/schemas`; a policy has one, too.

Keys are only ever added; each is declared where it is fixed, so that a test notices one that is new or gone.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Annotated, Any

import typer

SCHEMAS = files("shoal") / "schemas"
POLICY = "policy"
ERROR = "error"  # what a command prints instead of its result, if it fails


def register(app: typer.Typer) -> None:
    """Adds `shoal schema`."""
    app.command(epilog=_EXAMPLES)(schema)


_EXAMPLES = """Examples:

shoal schema

shoal schema anonymize > anonymize.schema.json

shoal schema hierarchy check

shoal schema policy"""


def schema(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="A command, error or policy; none: a list of them."),
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json, or of a policy."""
    if not command:
        for name in names():
            typer.echo(name)
        return
    typer.echo(json.dumps(schema_of(" ".join(command)), indent=2, ensure_ascii=False))


def names() -> list[str]:
    """Everything that has a schema, by the words of its command."""
    stems = (entry.name.removesuffix(".json") for entry in SCHEMAS.iterdir())
    return [*sorted(_command(name) for name in stems), POLICY]


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints, by its words, or of a policy; a hint where there is none."""
    from shoal.errors import InputError, did_you_mean
    from shoal.policy import Policy

    if name not in names():
        hint = did_you_mean(name, names()) or f" There is one of {', '.join(names())}."
        raise InputError(f"There is no schema of {name!r}.{hint}")
    if name == POLICY:
        return Policy.model_json_schema()
    declared: dict[str, Any] = json.loads((SCHEMAS / f"{name.replace(' ', '-')}.json").read_text(encoding="utf-8"))
    return declared


def _command(file: str) -> str:
    """`hierarchy-check` is a command of a group, `k-prime` one word."""
    group, _, rest = file.partition("-")
    return f"{group} {rest}" if group in ("hierarchy", "pseudonym", "releases", "transactions") else file
