"""Options that several commands share, and the policy they make."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from shoal.catalogue import Entry, parameter
from shoal.cli.every import NAME as QUIET

if TYPE_CHECKING:
    from shoal.data.reading import Reading
    from shoal.jobs.layout import Layout
    from shoal.policy import Policy
    from shoal.privacy.model import PrivacyModel

_ROLES, _MODELS, FILES = "Roles", "Promise and method", "Files and engine"


def _names(what: str, *flags: str) -> Any:
    return typer.Option(*flags, metavar="A,B", help=f"{what}.", rich_help_panel=_ROLES)


PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="All choices as a file; options win."),
]
Quasi = Annotated[list[str] | None, _names("What an intruder may know: quasi-identifiers", "--quasi")]
Confidential = Annotated[list[str] | None, _names("What must not be learnt", "--confidential")]
Identifiers = Annotated[list[str] | None, _names("Columns never released", "--identifiers")]
Insensitive = Annotated[list[str] | None, _names("Columns released as they are", "--insensitive")]
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="Whom a record is about: k, l and t then count people.",
        rich_help_panel=_ROLES,
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="numeric, nominal, date, text, ordinal, ordinal:low,mid,high.",
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
Weights = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Sampling weights: people each record stands for.", rich_help_panel=_MODELS),
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
ReleaseText = Annotated[list[str] | None, _names("Free text released as it is", "--release-text")]
MaskText = Annotated[
    list[str] | None,
    _names("Free text to mask; masker=MODULE:FUNCTION", "--mask-text"),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace outputs that are there already.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="KEY=VALUE",
        help="encoding=latin-1, decimal=., text=ID, sheet=NAME, names=numbered, date-format=d/m/yy, missing=-",
        rich_help_panel=FILES,
    ),
]

Write = Annotated[
    list[str] | None,
    typer.Option(
        "--write",
        metavar="KEY",
        help="keep-order; person-in-class; disarm-formulas; encoding=cp1252; recode: explain=DIR.",
        rich_help_panel=FILES,
    ),
]


class Writing(Entry):
    """What is chosen of how a release is written."""

    name: ClassVar[str] = "--write"

    keep_order: bool = parameter("do not shuffle the records", default=False)
    disarm_formulas: bool = parameter("of CSV: an apostrophe before texts such as =1+1", default=False)
    person_in_class: bool = parameter("a column more: the people of each class as 1, 2, ...", default=False)
    explain: str | None = parameter("of recode: a folder for cost against suppression", default=None)

    hierarchies: str | None = parameter("of recode: a folder for the hierarchies that it built", default=None)
    delimiter: str | None = parameter("of text files: what parts fields, where not as in the input", default=None)
    encoding: str | None = parameter("of text files, where not that of the input", default=None)
    decimal: str | None = parameter("of text files: the decimal mark, where not that of the input", default=None)

    @property
    def text(self) -> Reading:
        """How a text file is laid out, where not as the input."""
        from shoal.data.reading import Reading

        return Reading(delimiter=self.delimiter, encoding=self.encoding, decimal=self.decimal)

    @property
    def trees(self) -> Path | None:
        """Where hierarchies that were built are kept."""
        return None if self.hierarchies is None else Path(self.hierarchies)

    @property
    def folder(self) -> Path | None:
        """Where recoding is explained."""
        return None if self.explain is None else Path(self.explain)


def writing(write: list[str] | None) -> Writing:
    """How a release is to be written, as `--write` says."""
    from shoal.choices import settings

    return settings(split(write), Writing)


def split(values: list[str] | None) -> list[str]:
    """`--quasi a,b --quasi c` gives a, b and c; a name with a comma is quoted as in CSV: `'"age, years",sex'`."""
    from shoal.choices import items_of

    return [item for value in values or [] for item in items_of(value)]


def layout(read: list[str] | None) -> Layout:
    """How text files are to be read, as `--read` says."""
    from shoal.choices import settings
    from shoal.jobs.layout import Layout

    return settings(split(read), Layout)


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
    """Refuses choices about text where none of the files read is text."""
    from shoal.data.files import is_delimited
    from shoal.errors import InputError

    stated = [f"--read {name}" for name in layout(context.params.get("read")).of_text_files]
    stated += ["--no-header"] if context.params.get("no_header") else []
    if stated and not any(is_delimited(path) for path in files if path is not None):
        raise InputError(f"{stated[0]} is of text files, and none is read here: leave it out.")


def make_policy(
    base: Path | Policy | None,
    quasi: list[str] | None = None,
    confidential: list[str] | None = None,
    identifiers: list[str] | None = None,
    insensitive: list[str] | None = None,
    kinds: list[str] | None = None,
    hierarchies: Path | None = None,
    models: Sequence[PrivacyModel] = (),
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
    listed = _hierarchies(hierarchies, choices["quasi_identifiers"])
    for described in (_kinds(kinds), listed):
        for name, choice in described.items():
            known = attributes.get(name, {})
            attributes[name] = (known if isinstance(known, dict) else known.model_dump()) | choice
    policy = base.changed(**choices | {"attributes": attributes})
    if path is not None:
        own = {choice["hierarchy"] for choice in listed.values()} | {str(model.counted_in) for model in models}
        policy.refuse_elsewhere(path, own)
    return policy


def texts(policy: Path | None, release: list[str] | None, mask: list[str] | None) -> dict[str, Any] | None:
    """What the options say of free text, in the place of what a policy's file does; None where they say nothing."""
    if not release and not mask:
        return None
    stated: dict[str, Any] = {}
    if policy is not None:
        from shoal.policy import Policy

        stated = Policy.read(policy, own_code=False).text.model_dump()
    columns = [item for item in split(mask) if not item.startswith("masker=")]
    maskers = [item.removeprefix("masker=") for item in split(mask) if item.startswith("masker=")]
    chosen = {"release": split(release) or None, "mask": columns or None, "masker": maskers[-1] if maskers else None}
    return stated | {key: value for key, value in chosen.items() if value is not None}


def with_population(k_map: str, population: str | None) -> str:
    """`5` with --population FILE is `5,population=FILE`."""
    from shoal.choices import quoted_item

    return k_map if population is None else f"{k_map},{quoted_item(f'population={population}')}"


def with_weights(k_map: str | None, weights: str | None, promises: list[str] | None) -> tuple[str | None, list[str]]:
    """`--k-map 5 --weights w` promises k-map by weights: nothing else tells of the population."""
    from shoal.choices import quoted_item

    known = "population=" in (k_map or "") or "fraction=" in (k_map or "")
    if k_map is None or weights is None or known:
        return k_map, promises or []
    return None, [f"k-map-by-weights:k={k_map},{quoted_item(f'weights={weights}')}", *(promises or [])]


def with_cells_fixed(policy: Policy) -> Policy:
    """The policy whose k-map takes the user's word for how the cells of a file came about."""
    from shoal.errors import InputError

    if not any(model.inferred for model in policy.models):
        raise InputError(
            "--cells-fixed is about k-map by a sampling fraction or weights: promise that as well (--k-map "
            "5,fraction=0.1)."
        )
    models = [model.with_cells("the file", fixed=True, smallest_class=1) for model in policy.models]
    return policy.model_copy(update={"models": tuple(models)})


def _kinds(options: list[str] | None) -> dict[str, dict[str, Any]]:
    """Column -> its kind; behind `ordinal:` stand its categories, the lowest first, to the end of the option."""
    attributes: dict[str, dict[str, Any]] = {}
    for option in options or []:
        others, ordinal, categories = option.partition("=ordinal:")
        items = split([others])
        name = items.pop() if ordinal and items else ""
        for item in items:
            attributes |= _kind(item)
        if ordinal:
            attributes[name] = {"kind": "ordinal", "domain": _in_order(name, tuple(split([categories])))}
    return attributes


def _kind(item: str) -> dict[str, dict[str, Any]]:
    from shoal.data.schema import Kind
    from shoal.errors import InputError, did_you_mean

    name, _, kind = item.rpartition("=")
    if not name or kind not in list(Kind):
        hint = did_you_mean(kind, Kind)
        raise InputError(f"--kind {item!r} is not COLUMN=KIND with a kind of {', '.join(Kind)}.{hint}")
    return {name: {"kind": kind}}


def _in_order(name: str, categories: tuple[str, ...]) -> tuple[str, ...]:
    """The categories of a column; what reads as another column's kind is refused, as it was hardly meant so."""
    from shoal.data.schema import Kind
    from shoal.errors import InputError, did_you_mean

    if not name or len(categories) < 2:
        raise InputError(
            f"--kind '{name}=ordinal:{','.join(categories)}' is not COLUMN=ordinal:A,B,C: name the column, then its "
            "categories from the lowest on."
        )
    for category in categories:
        kind = category.rpartition("=")[2]
        if "=" in category and (kind in list(Kind) or did_you_mean(kind, Kind)):
            raise InputError(
                f"--kind {name}=ordinal:... is followed by its categories, and {category!r} reads as another column's "
                "kind: give that with --kind of its own, or the categories in a policy."
            )
    return categories


def _hierarchies(folder: Path | None, quasi: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    from shoal.errors import InputError

    if folder is None:
        return {}
    if not folder.is_dir():
        raise InputError(f"--hierarchies {str(folder)!r} is not a folder: name that of the COLUMN.csv files.")
    return {name: {"hierarchy": str(folder / f"{name}.csv")} for name in quasi if (folder / f"{name}.csv").exists()}
