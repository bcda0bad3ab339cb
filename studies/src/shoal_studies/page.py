"""A study as a page: every figure and table made again, each statement of the paper beside ours.

It looks like the custodian's report, whose style sheet it takes; `study.css` adds what studies alone have. Figures
stand in the page, which needs nothing beside itself.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from shoal_studies.result import Part, Statement, StudyResult

_FISH = (
    '<svg viewBox="0 0 64 28" aria-hidden="true"><path d="M2 14c7-9 16-9 23 0-7 9-16 9-23 0zm22 0 6-5v10z"/>'
    '<path d="M30 7c5-6 11-6 16 0-5 6-11 6-16 0zm15 0 4-3.5v7z" opacity=".6"/>'
    '<path d="M36 21c5-6 11-6 16 0-5 6-11 6-16 0zm15 0 4-3.5v7z" opacity=".35"/></svg>'
)


def sheet(title: str, kind: str, header: Iterable[str], main: Iterable[str], footer: str) -> str:
    """A whole page in the studies' style."""
    style = "".join((files(package) / name).read_text(encoding="utf-8") for package, name in _STYLES)
    lines = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{text(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<header>",
        f'<p class="brand">{_FISH}Shoal <span>{text(kind)}</span></p>\n<h1>{text(title)}</h1>',
        *header,
        "</header>\n<main>",
        *main,
        f"</main>\n<footer>{footer}</footer>\n</body>\n</html>\n",
    ]
    return "\n".join(lines)


_STYLES = (("shoal.report", "page.css"), ("shoal_studies", "study.css"))


def text(words: str) -> str:
    return html.escape(words)


def badge(verdict: str) -> str:
    return f'<span class="badge {verdict.replace(" ", "-")}">{verdict}</span>'


def because(reason: str) -> str:
    return f'<p class="because"><b>Why:</b> {text(reason)}</p>' if reason else ""


# ---- one study


def study_page(result: StudyResult) -> str:
    agree = sum(statement.agrees for _, statement in result.statements)
    links = "".join(f'<a href="#{part.slug}">{text(part.name)}</a>' for part in result.parts)
    header = [
        f'<p class="lead">{text(result.table)}. Of {len(result.statements)} statements compared, {agree} agree with '
        "the paper; where one differs, the reason stands beside it.</p>",
        f"<nav>{links}</nav>",
    ]
    main = (line for part in result.parts for line in _section(part, result.drawings.get(part.slug, {})))
    footer = 'All numbers, for machines: <a href="results.json">results.json</a>.'
    return sheet(result.title, "study", header, main, footer)


def _section(part: Part, drawing: dict[str, bytes]) -> Iterator[str]:
    yield f'<section id="{part.slug}">\n<h2>{text(part.name)}</h2>'
    if drawing:  # which shows its title itself
        svg = base64.b64encode(drawing["svg"]).decode()
        yield f'<figure tabindex="0"><img alt="{text(_spoken(part))}" src="data:image/svg+xml;base64,{svg}"></figure>'
    else:
        yield f"<p>{text(part.title)}.</p>"
        yield _numbers(part)
    if part.note:
        yield f'<p class="note">{text(part.note)}</p>'
    if part.statements:
        yield '<div class="card"><table class="statements">'
        yield "<thead><tr><th>The paper says</th><th>Found here</th><th></th></tr></thead><tbody>"
        yield from map(_row, part.statements)
        yield "</tbody></table></div>"
    links = ", ".join(f'<a href="{part.slug}.{kind}">{kind.upper()}</a>' for kind in ("csv", *drawing))
    yield f'<p class="files">Files: {links}</p>\n</section>'


def _row(s: Statement) -> str:
    return (
        f'<tr><td data-of="The paper says">{text(s.paper)}</td>'
        f'<td data-of="Found here">{text(s.ours)}{because(s.reason)}</td><td>{badge(s.verdict)}</td></tr>'
    )


def _spoken(part: Part) -> str:
    """The figure for those who cannot see it: what was found, in words."""
    return f"{part.title}. " + " ".join(statement.ours for statement in part.statements)


def _numbers(part: Part) -> str:
    data = part.data
    numeric = ["" if dtype == pl.String else ' class="num"' for dtype in data.dtypes]
    head = "".join(f"<th{c}>{text(name)}</th>" for c, name in zip(numeric, data.columns, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{c}>{text(_cell(value))}</td>" for c, value in zip(numeric, row, strict=True)) + "</tr>"
        for row in data.iter_rows()
    )
    return (
        f'<div class="card" tabindex="0" role="region" aria-label="{text(part.name)}"><table class="numbers">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) >= 2 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
