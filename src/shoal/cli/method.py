"""`--method` and `--promise`: words of the catalogue, with their parameters behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

PANEL = "Promise and method"

MethodWord = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="WORD[:KEY=VALUE]",
        help="How: hilbert, mdav:publish=median, recode:levels.zip=2, ... (shoal methods), your own module:Class.",
        rich_help_panel=PANEL,
    ),
]
Promises = Annotated[
    list[str] | None,
    typer.Option(
        "--promise",
        metavar="WORD[:KEY=VALUE]",
        help="measured-risk:level=0.05, ... (shoal models). May be repeated.",
        rich_help_panel=PANEL,
    ),
]

SortsOfColumns = Annotated[
    list[str] | None,
    typer.Option("--as", metavar="SORT=COLUMN", help="As --method safe-harbor:columns.SORT=COLUMN.", hidden=True),
]


def _shortcut(option: str, metavar: str, word: str) -> Any:
    return typer.Option(option, metavar=metavar, help=word, rich_help_panel=PANEL)


K = Annotated[str | None, _shortcut("--k", "K", "k-anonymity: least class size.")]
T = Annotated[str | None, _shortcut("--t", "T", "t-closeness of every confidential column.")]
L = Annotated[str | None, _shortcut("--l", "L", "l-diversity of every confidential column; 2,variant=entropy.")]
KMapK = Annotated[
    str | None,
    _shortcut("--k-map", "K,KEY=VALUE", "k-map: 5,population=FILE, 5,fraction=0.1, or by --weights."),
]
SHORTCUTS = {"k": "k-anonymity:k=", "t": "t-closeness:t=", "l": "l-diversity:l=", "k_map": "k-map:k="}


def method_of(text: str | None, models: Iterable[Any] = ()) -> Any:
    """The method that the option names; None where it names none.

    A method that is told how many to group, as it makes no classes itself, goes by the k that is promised.
    """
    from shoal.catalogue import made
    from shoal.choices import read_choice
    from shoal.masking import METHODS

    if text is None:
        return None
    kind, parameters = read_choice(text, METHODS)
    k = max((model.smallest_class for model in models), default=1)
    if kind.name == "individual-ranking" and k > 1:
        parameters.setdefault("k", k)
    return made(kind, parameters, "method")


def with_columns(method: str | None, sorts: list[str] | None) -> str | None:
    """`safe-harbor` with --as age=years is `safe-harbor:columns.age=years`."""
    from shoal.choices import items_of, quoted_item
    from shoal.errors import InputError

    if not sorts:
        return method
    word, _, listed = (method or "").partition(":")
    if word != "safe-harbor":
        raise InputError("--as says which column is what for safe-harbor masking: give --method safe-harbor as well.")
    items = [item for text in sorts for item in items_of(text)]
    for item in items:
        if not all(item.partition("=")):
            raise InputError(f"--as {item!r} is not SORT=COLUMN, such as age=years: give it so.")
    return f"{word}:" + ",".join([*([listed] if listed else []), *(quoted_item(f"columns.{item}") for item in items)])


def promises_of(promises: list[str] | None = None, **shortcuts: str | None) -> list[Any]:
    """The models that the options name."""
    from shoal.choices import chosen
    from shoal.privacy import MODELS

    texts = [SHORTCUTS[name] + value for name, value in shortcuts.items() if value is not None]
    return [chosen(text, MODELS) for text in (*texts, *(promises or []))]


# Option -> where its choice is given now.
_FORMER = {
    "--delimiter": "--read delimiter=...",
    "--encoding": "--read encoding=...",
    "--decimal": "--read decimal=...",
    "--text": "--read text=...",
    "--missing": "--read missing=...",
    "--names": "--read names=numbered",
    "--order": "--kind COLUMN=ordinal:A,B,C",
    "--explain": "--write explain=DIR",
    "--keep-order": "--write keep-order",
    "--disarm-formulas": "--write disarm-formulas",
    "--epsilon": "--show COLUMN=private-mean:epsilon=...",
    "--independent": "--split confidential:independent",
    "--merge": "--split confidential:merge",
    "--ledger-key": "--ledger FILE,key=FILE",
    "--epsilon-limit": "--ledger FILE,key=FILE,limit=...",
    "--master": "--engine spark:master=...",
}


def moved(option: str, known: Collection[str]) -> str:
    """Where an option went that rides with another now, one that the command knows; empty where it is none of them."""
    from shoal.masking import METHODS
    from shoal.privacy import MODELS

    if option in _FORMER:
        return f" Did you mean {_FORMER[option]}?" if _FORMER[option].split()[0] in known else ""
    word = option.lstrip("-")
    name = {"l-variant": "variant"}.get(word, word).replace("-", "_")
    for catalogue, given in ((MODELS, "--promise"), (METHODS, "--method")):
        for kind in catalogue if given in known else ():
            required = [each.name for each in kind.parameters() if each.required]
            if kind.name == word:
                return f" Did you mean {given} {word}:{','.join(f'{each}=...' for each in required)}?"
            if any(each.name == name for each in kind.parameters()):
                keys = dict.fromkeys([*required, name])
                return f" Did you mean {given} {kind.name}:{','.join(f'{each}=...' for each in keys)}?"
    return ""
