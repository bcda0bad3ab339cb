"""`shoal study`: the papers' experiments, by a package of their own; this is the only place that knows it."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from shoal.errors import InputError


def register(app: typer.Typer) -> None:
    """Adds the studies' commands, or one that says what to install."""
    if find_spec("shoal_studies") is None:
        anything = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command(name="study", context_settings=anything, epilog=_EXAMPLES)(missing)
        return
    from shoal_studies.commands import commands

    app.add_typer(commands, name="study")


_EXAMPLES = """Examples:

pip install ./studies

shoal study --all -o studies"""


def missing() -> None:
    """Repeat the papers' experiments: they are a package of their own, shoal-studies."""
    raise InputError(
        "The studies are a package of their own, shoal-studies, which is not installed: in a copy of Shoal's "
        "repository, `pip install ./studies`."
    )
