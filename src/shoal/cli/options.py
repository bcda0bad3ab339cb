"""Options that several commands share, and the policy they make."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.quiet import NAME as QUIET

if TYPE_CHECKING:
    from shoal.jobs.layout import Layout
    from shoal.policy import Policy
    from shoal.privacy.model import PrivacyModel

_OF_TEXT_FILES = ("delimiter", "encoding", "decimal", "no_header")
_ROLES, _MODELS, _FILES = "Roles", "Promise and method", "Files"


def _names(what: str, *flags: str) -> Any:
    return typer.Option(*flags, metavar="A,B", help=f"{what}, separated by commas.", rich_help_panel=_ROLES)


PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="All choices as a file; options given beside it win."),
]
Quasi = Annotated[list[str] | None, _names("Columns an intruder may know (quasi-identifiers)", "--quasi")]
Confidential = Annotated[list[str] | None, _names("Columns that must not be learnt", "--confidential")]
Identifiers = Annotated[list[str] | None, _names("Columns never released", "--identifiers")]
Insensitive = Annotated[list[str] | None, _names("Columns released as they are", "--insensitive")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="numeric, ordinal, nominal or date; otherwise inferred.",
        rich_help_panel=_ROLES,
    ),
]
Orders = Annotated[
    list[str] | None,
    typer.Option(
        "--order",
        metavar="COLUMN=A,B,C",
        help="Categories of an ordinal column, the lowest first; quoted as in CSV.",
        rich_help_panel=_ROLES,
    ),
]
Hierarchies = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of COLUMN.csv files: value;level 1;level 2;...", rich_help_panel=_ROLES),
]
Fraction = Annotated[
    float | None, typer.Option(help="Share of the population that the table holds.", rich_help_panel=_MODELS)
]
Population = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="The population: a table of whom an intruder may know.", rich_help_panel=_MODELS),
]
CellsFixed = Annotated[
    bool,
    typer.Option(
        "--cells-fixed",
        help="Of k-map by a fraction: nothing of the cells was drawn from the sample.",
        rich_help_panel=_MODELS,
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what has the names of outputs already; otherwise it is refused.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="CHAR", help="Of a text file; otherwise detected.", rich_help_panel=_FILES),
]
Encoding = Annotated[str | None, typer.Option(help="Of a text file; otherwise UTF-8.", rich_help_panel=_FILES)]
Decimal = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Decimal mark; otherwise detected.", rich_help_panel=_FILES)
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="A,B", help="Columns to read as text.", rich_help_panel=_FILES),
]


def split(values: list[str] | None) -> list[str]:
    """`--quasi a,b --quasi c` gives a, b and c; a name with a comma is quoted as in CSV: `'"age, years",sex'`."""
    from shoal.choices import items_of

    return [item for value in values or [] for item in items_of(value)]


def quoted(name: str) -> str:
    """The name as a list of one."""
    return '"' + name.replace('"', '""') + '"'


def layout(delimiter: str | None, encoding: str | None, decimal: str | None, text: list[str] | None) -> Layout:
    """How text files are to be read."""
    from shoal.jobs.layout import Layout

    return Layout(delimiter, encoding, decimal, tuple(split(text)))


def given(context: typer.Context) -> dict[str, str]:
    """Parameter -> how the command line writes it, for those that the user gave."""
    params = [parameter for parameter in context.command.params if parameter.name != QUIET]  # every command's
    written = {parameter.name or "": max(parameter.opts, key=len) for parameter in params}
    sources = {name: context.get_parameter_source(name) for name in written}
    return {name: written[name] for name, source in sources.items() if source is not None and source.name != "DEFAULT"}


def refuse_all_but(context: typer.Context, carried_out: Collection[str], why: str) -> None:
    """Refuses by name what was given and would be ignored."""
    from shoal.errors import InputError

    for name, option in given(context).items():
        if name not in carried_out:
            raise InputError(f"{option} {why}")


def refuse_of_text(context: typer.Context, files: Sequence[str | Path | None]) -> None:
    """Refuses options about text where none of the files read is text."""
    from shoal.data.files import is_delimited
    from shoal.errors import InputError

    asked = [option for name, option in given(context).items() if name in _OF_TEXT_FILES]
    if asked and not any(is_delimited(path) for path in files if path is not None):
        raise InputError(f"{asked[0]} is of text files, and none is read here: leave it out.")


def make_policy(
    base: Path | Policy | None,
    quasi: list[str] | None = None,
    confidential: list[str] | None = None,
    identifiers: list[str] | None = None,
    insensitive: list[str] | None = None,
    kinds: list[str] | None = None,
    hierarchies: Path | None = None,
    models: Sequence[PrivacyModel] = (),
    orders: list[str] | None = None,
    **others: Any,
) -> Policy:
    """The policy of a file or the one without choices, with what the options say put in its place."""
    from shoal.policy import Policy
    from shoal.privacy import KAnonymity

    # Code is named on the command line, never by a file that may come from somebody else; and so is a file outside its
    # folder, of which a message may quote what it holds.
    path, base = (base, Policy.read(base, own_code=False)) if isinstance(base, Path) else (None, base or Policy())
    choices: dict[str, Any] = {"quasi_identifiers": base.quasi_identifiers}
    roles = {
        "quasi_identifiers": quasi,
        "confidential": confidential,
        "identifiers": identifiers,
        "insensitive": insensitive,
    }
    choices |= {name: tuple(split(values)) for name, values in roles.items() if values}
    choices |= {name: value for name, value in others.items() if value is not None}
    replaced = {type(model) for model in models}
    if any(model.instead_of_k for model in models):
        replaced.add(KAnonymity)
    choices["models"] = [*(model for model in base.models if type(model) not in replaced), *models]
    attributes: dict[str, Any] = dict(base.attributes)
    stated, listed = _kinds(kinds), _hierarchies(hierarchies, choices["quasi_identifiers"])
    for described in (stated, _orders(orders, stated), listed):
        for name, choice in described.items():
            known = attributes.get(name, {})
            attributes[name] = (known if isinstance(known, dict) else known.model_dump()) | choice
    policy = base.changed(**choices | {"attributes": attributes})
    if path is not None:
        own = {choice["hierarchy"] for choice in listed.values()} | {str(model.counted_in) for model in models}
        policy.refuse_elsewhere(path, own)
    return policy


def with_population(k_map: str, population: str | None) -> str:
    """`5` with --population FILE is `5,population=FILE`."""
    return k_map if population is None else f"{k_map},{quoted(f'population={population}')}"


def with_cells_fixed(policy: Policy) -> Policy:
    """The policy whose k-map takes the user's word for how the cells of a file came about."""
    from shoal.errors import InputError

    inferred = [model for model in policy.models if model.inferred]
    if not inferred:
        raise InputError(
            "--cells-fixed is about k-map by a sampling fraction: promise that as well (--k-map 5,fraction=0.1)."
        )
    models = [replace(model, cells_fixed=True) if model in inferred else model for model in policy.models]
    return policy.model_copy(update={"models": tuple(models)})


def _kinds(pairs: list[str] | None) -> dict[str, dict[str, Any]]:
    from shoal.data.schema import Kind
    from shoal.errors import InputError, did_you_mean

    found: dict[str, dict[str, Any]] = {}
    for pair in split(pairs):
        name, _, kind = pair.rpartition("=")
        if not name or kind not in list(Kind):
            hint = did_you_mean(kind, Kind)
            raise InputError(f"--kind {pair!r} is not COLUMN=KIND with a kind of {', '.join(Kind)}.{hint}")
        found[name] = {"kind": kind}
    return found


def _orders(choices: list[str] | None, kinds: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """`education=Preschool,Primary`: a name that holds `=` is quoted, `'"a=b"=low,high'`."""
    from shoal.errors import InputError

    found: dict[str, dict[str, Any]] = {}
    for choice in choices or []:
        parts = re.fullmatch(r'(?s)\s*(?:"((?:[^"]|"")+)"|([^=]+?))\s*=(.*)', choice)
        categories = split([parts[3]]) if parts else []
        if parts is None or len(categories) < 2:
            raise InputError(
                f"--order {choice!r} is not COLUMN=A,B,C: name the column, then its categories from the lowest on."
            )
        name = parts[1].replace('""', '"') if parts[1] else parts[2]
        if (kind := kinds.get(name, {}).get("kind", "ordinal")) != "ordinal":
            raise InputError(
                f"--order is about ordinal columns, but --kind declares {name!r} {kind}: give one of them."
            )
        found[name] = {"kind": "ordinal", "domain": tuple(categories)}
    return found


def _hierarchies(folder: Path | None, quasi: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    from shoal.errors import InputError

    if folder is None:
        return {}
    if not folder.is_dir():
        raise InputError(f"--hierarchies {str(folder)!r} is not a folder: name that of the COLUMN.csv files.")
    return {name: {"hierarchy": str(folder / f"{name}.csv")} for name in quasi if (folder / f"{name}.csv").exists()}
