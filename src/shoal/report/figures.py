"""Figures as files: a result's own, and the frontier of global recodings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from shoal.data.files import write_table
from shoal.data.paths import atomic_write
from shoal.show import Line, Lines
from shoal.show.figure import as_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRONTIER = ("frontier.csv", "frontier.png")


def write_figure(figure: Figure, path: str | Path, *, overwrite: bool = False) -> None:
    """In the format that the file's name tells; whole or not at all."""
    with atomic_write(path, private=True, overwrite=overwrite) as temporary:
        figure.savefig(temporary, dpi=150)


def write_frontier(folder: Path, table: pl.DataFrame, cost: str, chosen: int, *, overwrite: bool = False) -> None:
    """The files of `FRONTIER`; the node with so many suppressed records is marked."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(table, folder / FRONTIER[0], private=True, overwrite=overwrite)
    points = [(share * 100, cost_) for share, cost_ in table.select("share", "cost").iter_rows()]
    marked = table.filter(pl.col("suppressed") <= chosen).tail(1)
    at = [(share * 100, cost_) for share, cost_ in marked.select("share", "cost").iter_rows()]
    lines = [Line("the best for each share", points, steps=True, colour="after")]
    lines += [Line(f"chosen: {y:.4g}", [], [(x, y)], colour="third") for x, y in at]
    title = "The best recoding for each share of suppressed records"
    chart = Lines(title, tuple(lines), "records suppressed (%)", cost)
    write_figure(as_figure([chart]), folder / FRONTIER[1], overwrite=overwrite)
