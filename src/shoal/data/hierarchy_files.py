"""Hierarchies in files: one line a value, `value;level 1;level 2;...`, no header."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.csv_layout import TextFile, broken_quoting, likely_delimiter, records
from shoal.data.decoded import utf8_source
from shoal.data.hierarchy import Hierarchy, hierarchy_of
from shoal.data.paths import atomic_write, check_readable

DELIMITERS = ";\t,|"
HEAD = 100  # lines that show the delimiter


def read_hierarchy(path: str | Path, attribute: str) -> Hierarchy:
    """The hierarchy in a file of lines `value;level 1;...`."""
    return hierarchy_of(read_rows(path), attribute)


def read_rows(path: str | Path) -> list[list[str]]:
    """The lines of a file, parted by semicolons, tabs, commas or bars; blank lines say nothing."""
    path = Path(path)
    check_readable(path)
    file = TextFile(str(path), utf8_source(path, None), DELIMITERS[0], header=False)
    try:
        file = replace(file, delimiter=_delimiter(file))
        return [fields for _, fields in records(file) if fields]
    except csv.Error as error:
        raise broken_quoting(error) from None


def _delimiter(file: TextFile) -> str:
    """The first that parts all of the first lines alike and cuts no interval, as a comma would cut `[0,4]`."""
    for delimiter in DELIMITERS:
        try:
            head = [fields for _, fields in islice(records(replace(file, delimiter=delimiter)), HEAD) if fields]
        except csv.Error:  # quotes make no sense by this delimiter
            continue
        # A line whose brackets pair up as a whole, but not in its cells, has been cut through an interval.
        odd = [[sum(map(cell.count, "[](){}")) % 2 for cell in fields] for fields in head]
        cut = any(any(cells) and sum(cells) % 2 == 0 for cells in odd)
        widths = {len(fields) for fields in head}
        if len(widths) == 1 and widths != {1} and not cut:
            return delimiter
    return likely_delimiter(file)


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, overwrite: bool = False) -> None:
    """Writes a file that `read_hierarchy` reads."""
    often = np.repeat(np.arange(len(hierarchy.lines)), hierarchy.lines)
    levels = [hierarchy.shown(level).gather(often).alias(str(level)) for level in range(hierarchy.levels)]
    with atomic_write(path, private=True, overwrite=overwrite) as temporary:
        pl.DataFrame(levels).write_csv(temporary, separator=DELIMITERS[0], include_header=False)
