"""The frontier of global recodings as a plot and a table."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from shoal.data.files import write_table
from shoal.data.paths import atomic_write
from shoal.sheet import blank_figure

FILES = ("frontier.csv", "frontier.png")


def write_frontier(folder: Path, table: pl.DataFrame, cost: str, chosen: int, *, overwrite: bool = False) -> None:
    """`frontier.csv` and `frontier.png`; the node with so many suppressed records is marked."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(table, folder / FILES[0], private=True, overwrite=overwrite)
    figure = blank_figure(7.5, 4.5)
    axes = figure.add_subplot()
    share = table["share"].to_numpy() * 100
    axes.step(share, table["cost"].to_numpy(), where="post", color="#0b6e63", linewidth=2)
    axes.plot(share, table["cost"].to_numpy(), "o", color="#0b6e63", markersize=4)
    marked = table.filter(pl.col("suppressed") <= chosen).tail(1)
    if marked.height:
        x, y = float(marked["share"][0]) * 100, float(marked["cost"][0])
        axes.plot([x], [y], "o", color="#c2410c", markersize=9)
        axes.annotate(f"chosen: {y:.4g}", (x, y), textcoords="offset points", xytext=(10, 8), color="#c2410c")
    axes.set_xlabel("records suppressed (%)")
    axes.set_ylabel(cost)
    axes.set_title("The best recoding for each share of suppressed records", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e7eb")
    with atomic_write(folder / FILES[1], private=True, overwrite=overwrite) as temporary:
        figure.savefig(temporary, dpi=150)
