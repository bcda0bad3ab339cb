"""`shoal hierarchy`: show, build and check the trees by which values are made coarser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    from rich.tree import Tree

    from shoal.data.hierarchy import Hierarchy

_hierarchy = typer.Typer(no_args_is_help=True, help="Show, build and check hierarchies: value;level 1;level 2;...")
_BY = "One way to build"
_SIBLINGS = 4  # shown of each node's children


def register(app: typer.Typer) -> None:
    """Adds `shoal hierarchy` and the commands below it."""
    app.add_typer(_hierarchy, name="hierarchy")


File = Annotated[Path, typer.Argument(metavar="FILE", help="Lines of value;level 1;level 2;..., no header.")]


@_hierarchy.command(
    epilog="""Examples:

shoal hierarchy show age.csv

shoal hierarchy show age.csv --json"""
)
def show(file: File, as_json: opt.Json = False) -> None:
    """Show a hierarchy's levels and a part of its tree."""
    from shoal.cli.console import out
    from shoal.cli.console import show as put
    from shoal.jobs.hierarchy import ShowHierarchy

    hierarchy = ShowHierarchy(file).run()
    put(hierarchy, as_json)
    if not as_json:
        out.print(_excerpt(hierarchy))


@_hierarchy.command(
    epilog="""Examples:

shoal hierarchy build d.csv age -o hierarchies/age.csv --steps 5,10,20

shoal hierarchy build d.csv zip -o hierarchies/zip.csv --mask

shoal hierarchy build d.csv income -o hierarchies/income.csv --cuts 20000,50000,90000 --cuts 50000"""
)
def build(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="DATA", help="A table that holds the values.")],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="Whose hierarchy to build.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where the hierarchy goes.")],
    steps: Annotated[
        str | None, typer.Option(metavar="A,B", help="Bands of these widths: 5,10,20.", rich_help_panel=_BY)
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Bands this wide, then twice as wide, ...", rich_help_panel=_BY)
    ] = None,
    frequency: Annotated[
        int | None,
        typer.Option(metavar="N", help="N bands of like frequency, then half as many, ...", rich_help_panel=_BY),
    ] = None,
    cuts: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Where bands begin; once a level, finest first.", rich_help_panel=_BY),
    ] = None,
    mask: Annotated[bool, typer.Option("--mask", help="Codes: 93722, 9372*, 937**, ...", rich_help_panel=_BY)] = False,
    mask_left: Annotated[
        bool, typer.Option("--mask-left", help="Codes masked from the left: *3722, ...", rich_help_panel=_BY)
    ] = False,
    dates: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="day, week, month, quarter, year, decade.", rich_help_panel=_BY),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="All categories in order, merged in pairs.", rich_help_panel=_BY),
    ] = None,
    overwrite: opt.Overwrite = False,
    tree: Annotated[
        Path | None, typer.Option(metavar="PAIRS", help="A file of lines child;parent.", rich_help_panel=_BY)
    ] = None,
    auto: Annotated[
        bool, typer.Option("--auto", help="By what the values are and how often.", rich_help_panel=_BY)
    ] = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Build the hierarchy of a column and write it."""
    from shoal.cli.console import say, stages
    from shoal.cli.console import show as put
    from shoal.errors import InputError
    from shoal.jobs.hierarchy import BuildHierarchy

    ways: dict[str, tuple[object, dict[str, Any]]] = {
        "--steps": (steps, {"type": "steps", "steps": _numbers("--steps", steps)}),
        "--width": (width, {"type": "width", "width": width}),
        "--frequency": (frequency, {"type": "frequency", "bands": frequency}),
        "--cuts": (cuts, {"type": "cuts", "cuts": [_numbers("--cuts", level) for level in cuts or []]}),
        "--mask": (mask or None, {"type": "mask"}),
        "--mask-left": (mask_left or None, {"type": "mask", "side": "left"}),
        "--dates": (dates, {"type": "dates", "levels": opt.split([dates or ""])}),
        "--order": (order, {"type": "order", "order": opt.split([order or ""])}),
        "--tree": (tree, {"type": "tree", "parents": _pairs(tree)}),
        "--auto": (auto or None, {"type": "auto"}),
    }
    chosen = {name: spec for name, (given, spec) in ways.items() if given is not None}
    if len(chosen) != 1:
        raise InputError(f"Got {' and '.join(chosen) or 'no way'} to build by: choose one of {', '.join(ways)}.")
    opt.refuse_of_text(context, [source])
    layout = opt.layout(read)
    job = BuildHierarchy(source, column, next(iter(chosen.values())), output, overwrite, layout, (tree,))
    with stages("hierarchy", 3):
        hierarchy = job.run()
    say(f"Written to {output}.")
    put(hierarchy, as_json)


@_hierarchy.command(
    epilog="""Examples:

shoal hierarchy check hierarchies/age.csv

shoal hierarchy check hierarchies/age.csv --data d.csv --column age"""
)
def check(
    context: typer.Context,
    file: File,
    data: Annotated[str | None, typer.Option(metavar="FILE", help="A table whose values must all be listed.")] = None,
    column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The table's column; otherwise the file's name.")
    ] = None,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Judge a hierarchy: exit code 0 if it is a tree that lists every value, 2 if not."""
    from shoal.cli.console import out, stages
    from shoal.cli.console import show as put
    from shoal.jobs.hierarchy import CheckHierarchy

    opt.refuse_of_text(context, [data])
    if data is None:
        opt.refuse_all_but(context, ("file", "column", "as_json"), "is about a table: give --data as well.")
    job = CheckHierarchy(file, column or file.stem, data, opt.layout(read))
    with stages("check", 4):
        facts = job.run().to_dict()
    if as_json:
        put(facts, as_json)
        return
    listed = "" if data is None else f", and lists every value of the {facts['records']:,} records"
    sentences = [f"{file} is a tree of {facts['values']:,} values in {len(facts['levels'])} levels{listed}."]
    for value, times in facts["repeated"].items():
        sentences.append(f"{value!r} stands on {times} equal lines, and counts {times} times in shares.")
    out.print("\n".join(sentences), markup=False, highlight=False, soft_wrap=True)


def _numbers(option: str, text: str | None) -> list[float]:
    """`5,10` as numbers, whole ones as such."""
    from shoal.errors import InputError

    try:
        return [float(part) if "." in part or "e" in part.lower() else int(part) for part in opt.split([text or ""])]
    except ValueError:
        raise InputError(f"{option} {text!r} is not a list of numbers: give them as in 5,10,20.") from None


def _pairs(file: Path | None) -> list[list[str]]:
    from shoal.data.hierarchy_files import read_rows
    from shoal.errors import InputError

    pairs = read_rows(file) if file is not None else []
    for pair in pairs:
        if len(pair) != 2:
            raise InputError(f"{file} has {len(pair)} entries on the line of {pair[0]!r}: give child;parent.")
    return pairs


def _excerpt(hierarchy: Hierarchy) -> Tree:
    """From the top down along the first child of each node, with some of its siblings."""
    from rich.text import Text
    from rich.tree import Tree

    root = branch = Tree(Text(hierarchy.top))
    for level in range(hierarchy.levels - 2, -1, -1):
        labels, below = hierarchy.labels(level), hierarchy.counts(level)
        children = int(hierarchy.ancestors[level, hierarchy.starts(level + 1)[1] - 1]) + 1
        nodes = []
        for child in range(min(children, _SIBLINGS)):
            size = f"  ({below[child]:,} value{'s' if below[child] > 1 else ''})" if level else ""
            nodes.append(branch.add(Text(labels[child]) + Text(size, style="dim")))
        if children > _SIBLINGS:
            branch.add(Text(f"... {children - _SIBLINGS:,} more", style="dim"))
        branch = nodes[0]
    return root
