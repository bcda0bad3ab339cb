"""What a study found: each statement of the paper beside ours, with its figures and tables.

On a terminal it is one table of 80 columns; in a folder a page (`index.html`) that works offline, every figure
as PNG and SVG, every table and every figure's numbers as CSV, and all of it for machines in `results.json`.
"""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

WIDTH = 80


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


@dataclass(frozen=True)
class Part:
    """One figure or table of the paper, made again; `data` is the table, or what the figure shows."""

    name: str
    title: str
    data: pl.DataFrame
    statements: tuple[Statement, ...] = ()
    figure: Figure | None = None
    note: str = ""  # how it was made, where that needs saying

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")


@dataclass(frozen=True)
class StudyResult:
    title: str
    table: str  # which table was studied, in words
    records: int
    parts: tuple[Part, ...]
    output: Path

    @property
    def statements(self) -> list[tuple[str, Statement]]:
        return [(part.name, statement) for part in self.parts for statement in part.statements]

    def to_dict(self) -> dict[str, object]:
        return {
            "study": self.title,
            "table": self.table,
            "records": self.records,
            "statements": [
                {"where": where, "paper": s.paper, "ours": s.ours, "agrees": s.agrees, "reason": s.reason}
                for where, s in self.statements
            ],
            "parts": {
                part.name: {"title": part.title, "note": part.note, "data": part.data.to_dicts()} for part in self.parts
            },
        }

    def __rich__(self) -> Group:
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, width=WIDTH, pad_edge=False, show_lines=False)
        table.add_column("", width=9)
        table.add_column("The paper", ratio=1)
        table.add_column("Here", ratio=1)
        table.add_column("", width=7)
        for where, s in self.statements:
            table.add_row(Text(where), Text(s.paper), Text(s.ours), Text(s.verdict), end_section=True)
        reasons = [Text(f"{where} differs: {s.reason}") for where, s in self.statements if not s.agrees]
        head = Text(f"{self.title}: {self.table}", style="bold")
        tail = Text(f"Figures, tables and all numbers: {self.output / 'index.html'}")
        return Group(*(_narrow(part) for part in (head, table, *reasons, tail)))

    def write(self) -> None:
        """Everything into the output folder, the page last."""
        try:
            self.output.mkdir(parents=True, exist_ok=True)
            drawings = {part.slug: _drawn(part, part.figure) for part in self.parts if part.figure}
            for part in self.parts:
                part.data.write_csv(self.output / f"{part.slug}.csv")
                for kind, drawing in drawings.get(part.slug, {}).items():
                    (self.output / f"{part.slug}.{kind}").write_bytes(drawing)
            results = json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)
            (self.output / "results.json").write_text(results + "\n", encoding="utf-8")
            (self.output / "index.html").write_text(_page(self, drawings), encoding="utf-8")
        except OSError as error:
            raise unwritable(self.output, error) from None


def check_folder(output: Path) -> None:
    """Better said now than after minutes of work."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(output, error) from None


def unwritable(output: Path, error: OSError) -> InputError:
    return InputError(f"The study cannot be written to {str(output)!r}: {error.strerror}. Name another folder with -o.")


def _narrow(part: Any) -> Any:
    from rich.constrain import Constrain

    return Constrain(part, WIDTH)


Drawing = dict[str, bytes]  # format -> file


def _drawn(part: Part, figure: Figure) -> Drawing:
    import matplotlib

    files = {kind: io.BytesIO() for kind in ("png", "svg")}
    with matplotlib.rc_context({"svg.hashsalt": part.slug}):  # the same figure gives the same file
        figure.savefig(files["png"], format="png", dpi=160)
        figure.savefig(files["svg"], format="svg", metadata={"Date": None})
    return {kind: file.getvalue() for kind, file in files.items()}


# ---- the page

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; padding: 24px; max-width: 1000px; color: #17232e; background: #fff;
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 8px; }
h2 { font-size: 21px; margin: 44px 0 6px; }
p { max-width: 75ch; } .soft { color: #52616f; }
img { display: block; width: 100%; height: auto; margin: 12px 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 15px; margin: 12px 0; }
th, td { text-align: left; vertical-align: top; padding: 6px 14px 6px 0; border-bottom: 1px solid #dfe5ea; }
table.numbers th, table.numbers td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.numbers th:first-child, table.numbers td:first-child { text-align: left; }
.verdict { font-weight: 650; white-space: nowrap; } .agrees { color: #0a6d65; } .differs { color: #a8321d; }
"""


def _page(result: StudyResult, drawings: Mapping[str, Drawing]) -> str:
    agreed = sum(statement.agrees for _, statement in result.statements)
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(result.title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{html.escape(result.title)}</h1>",
            f'<p class="soft">{html.escape(result.table)}. Of {len(result.statements)} statements compared, '
            f"{agreed} agree; where one differs, the reason stands beside it.</p>",
            *(line for part in result.parts for line in _section(part, drawings.get(part.slug, {}))),
            '<p class="soft">All numbers: <a href="results.json">results.json</a>.</p></body></html>\n',
        ]
    )


def _section(part: Part, drawing: Drawing) -> Iterator[str]:
    title = "" if drawing else f": {html.escape(part.title)}"  # a figure shows its title itself
    yield f'<h2 id="{part.slug}">{html.escape(part.name)}{title}</h2>'
    if drawing:
        svg = base64.b64encode(drawing["svg"]).decode()
        yield f'<img alt="{html.escape(_spoken(part))}" src="data:image/svg+xml;base64,{svg}">'
    else:
        yield _numbers(part.data)
    if part.note:
        yield f'<p class="soft">{html.escape(part.note)}</p>'
    yield '<div class="wide"><table><tr><th>The paper</th><th>Here</th><th></th></tr>'
    yield from map(_row, part.statements)
    links = ", ".join(f'<a href="{part.slug}.{kind}">{part.slug}.{kind}</a>' for kind in ("csv", *drawing))
    yield f'</table></div><p class="soft">{links}</p>'


def _row(s: Statement) -> str:
    reason = f'<br><span class="soft">{html.escape(s.reason)}</span>' if s.reason else ""
    return (
        f"<tr><td>{html.escape(s.paper)}</td><td>{html.escape(s.ours)}{reason}</td>"
        f'<td class="verdict {s.verdict}">{s.verdict}</td></tr>'
    )


def _spoken(part: Part) -> str:
    """The figure for those who cannot see it: what was found, in words."""
    return f"{part.title}. " + " ".join(statement.ours for statement in part.statements)


def _numbers(data: pl.DataFrame) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in data.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in data.iter_rows()
    )
    return f'<div class="wide"><table class="numbers"><tr>{head}</tr>{rows}</table></div>'


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
