"""What a study found: each statement of the paper beside ours, with its figures and tables.

On a terminal it is one table of 80 columns; in a folder a page (`index.html`) that works offline, every figure
as PNG and SVG, every table and every figure's numbers as CSV, and all of it for machines in `results.json`. That file
is written last and says what the study was run with: a folder that has it is finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from shoal.compare.cache import key
from shoal.errors import InputError
from shoal.show import Chart, Result, Sheet
from shoal.show.figure import as_files

RESULTS, PAGE = "results.json", "index.html"


@dataclass(frozen=True)
class Statement:
    """What the paper says, what was found here, whether that is the same, and why if it is not."""

    paper: str
    ours: str
    agrees: bool
    if_not: str = ""  # the reason, given only where it differs

    @property
    def reason(self) -> str:
        return "" if self.agrees else self.if_not

    @property
    def verdict(self) -> str:
        return "agrees" if self.agrees else "differs"


def percent(share: float) -> str:
    """A share that never rounds to nothing or to all."""
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.0001:
        return "<0.01%"
    if share > 0.9999:
        return ">99.99%"
    return f"{share:.2%}" if share < 0.0995 else f"{share:.1%}"


def three(value: float) -> str:
    """Three decimals, as the papers print losses and risks."""
    return f"{value:.3f}"


@dataclass(frozen=True)
class Part:
    """One figure or table of the paper, made again; `data` is the table, or what the figure shows."""

    name: str
    title: str
    data: pl.DataFrame
    statements: Sequence[Statement] = ()
    charts: Sequence[Chart] = ()  # of a figure
    note: str = ""  # how it was made, where that needs saying
    on: str = ""  # the data, where they are not those of the whole study

    def is_number(self, column: str) -> bool:
        """Whether a column of the data holds numbers."""
        return self.data.schema[column] != pl.String

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")


@dataclass(frozen=True)
class StudyResult(Result):
    title: str
    table: str  # which table was studied, in words
    records: int
    parts: tuple[Part, ...]
    output: Path
    settings: Mapping[str, object]  # what the study was asked for, by its parameters' names

    @property
    def statements(self) -> list[tuple[str, Statement]]:
        return [(part.name, statement) for part in self.parts for statement in part.statements]

    @cached_property
    def drawings(self) -> dict[str, dict[str, bytes]]:
        """Each figure's files, by the part's slug and the format."""
        return {part.slug: as_files(part.slug, part.charts) for part in self.parts if part.charts}

    def to_dict(self) -> dict[str, Any]:
        return {
            "study": self.title,
            "table": self.table,
            "records": self.records,
            "settings": self.settings,
            "run": run_key(self.title, self.settings),
            "statements": [
                {"where": where, "paper": s.paper, "ours": s.ours, "agrees": s.agrees, "reason": s.reason}
                for where, s in self.statements
            ],
            "parts": {
                part.name: {
                    "title": part.title,
                    "on": part.on or self.table,
                    "note": part.note,
                    "anchor": part.slug,
                    "figure": f"{part.slug}.png" if part.charts else None,
                    "data": part.data.to_dicts(),
                }
                for part in self.parts
            },
        }

    def sheets(self) -> list[Sheet]:
        rows = [(where, s.paper, s.ours, s.verdict) for where, s in self.statements]
        return [Sheet(f"{self.title}: {self.table}", ("", "The paper", "Here", ""), rows, numbers=0)]

    def remarks(self) -> list[str]:
        reasons = [f"{where} differs: {s.reason}" for where, s in self.statements if not s.agrees]
        return [*reasons, f"Figures, tables and all numbers: {self.output / PAGE}"]

    def write(self) -> None:
        """Everything into the output folder, each file whole or not at all; what says that all is there comes last."""
        from shoal_studies.page import study_page

        files: dict[str, bytes] = {}
        for part in self.parts:
            files[f"{part.slug}.csv"] = part.data.write_csv().encode()
            files |= {f"{part.slug}.{kind}": drawing for kind, drawing in self.drawings.get(part.slug, {}).items()}
        files[PAGE] = study_page(self).encode()
        try:
            self.output.mkdir(parents=True, exist_ok=True)
            (self.output / RESULTS).unlink(missing_ok=True)
            for name, content in files.items():
                write_whole(self.output / name, content)
            write_json(self.output / RESULTS, self.to_dict())
        except OSError as error:
            raise unwritable(self.output, error) from None


def run_key(title: str, settings: Mapping[str, object]) -> str:
    """Of all that a study's results depend on: what was asked for, the code, and the real data it may read."""
    settled = json.dumps(settings, sort_keys=True, default=str)
    return key(title, _code(), settled, *data_files(settings.get("data")))


@cache
def _code() -> str:
    """A digest of this package as it stands; `key` adds that of Shoal."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def data_files(*named: object) -> list[tuple[str, int, int]]:
    """Name, size and time of each file below SHOAL_DATA and below what a user named."""
    places = [Path(str(place)) for place in (os.environ.get("SHOAL_DATA"), *named) if place]
    files = [path for place in places for path in (place, *sorted(place.rglob("*"))) if path.is_file()]
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]


def write_whole(path: Path, content: bytes) -> None:
    from shoal.data.paths import atomic_write

    with atomic_write(path, private=False, overwrite=True) as partial:
        partial.write_bytes(content)


def write_json(path: Path, content: object) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
    write_whole(path, (text + "\n").encode())


def check_folder(output: Path) -> None:
    """Better said now than after minutes of work."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(output, error) from None


def unwritable(output: Path, error: OSError) -> InputError:
    return InputError(f"The study cannot be written to {str(output)!r}: {error.strerror}. Name another folder with -o.")
