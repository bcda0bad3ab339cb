"""The tour's page: every figure and table of the five papers, what the paper says of it, ours, and the verdict.

Figures lie beside it, in the studies' folders. Differences alone can be shown without a script: a style rule hides
the rest while the box is ticked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal_studies.page import badge, because, sheet, text
from shoal_studies.result import PAGE, RESULTS
from shoal_studies.tour import Found, Tour


def index_page(tour: Tour) -> str:
    header = [
        '<p class="lead">Shoal repeats the experiments of the papers it is built on. Every figure and every table of '
        "theirs is listed here: what the paper says, what we find, and whether the two agree. Where they differ, or "
        "where nothing could be repeated, the reason stands beside it.</p>",
        f"<nav>{''.join(map(_link, tour.found))}</nav>",
    ]
    footer = (
        f'For machines: <a href="{RESULTS}">{RESULTS}</a>. Made by <code>shoal study --all</code>; each study\'s own '
        "page has its figures in full, and their numbers as files."
    )
    main = [
        _tiles(tour),
        _only_differences(),
        *(line for one in tour.found for line in _section(one)),
    ]
    return sheet("Five papers, repeated", "the studies", header, main, footer)


def _link(one: Found) -> str:
    return f'<a href="#{one.study.name}">{text(one.study.title)}</a>'


def _tiles(tour: Tour) -> str:
    agree, differ = tour.counts
    repeated, items = tour.items
    tiles = (
        ("Statements compared", agree + differ, "Sentences and numbers of the papers that can be held against a run."),
        ("Agree", agree, "The same finding and, where the paper prints a number, near it."),
        ("Differ", differ, "Each with its reason: other data, a gap in the paper, or a slip in it."),
        (
            "Figures and tables made again",
            f"{repeated} of {items}",
            "The rest are examples, descriptions and supplements that cannot be had.",
        ),
    )
    return f'<div class="tiles">{"".join(_tile(*tile) for tile in tiles)}</div>'


def _tile(name: str, value: int | str, words: str) -> str:
    kind = "tile differing" if name == "Differ" else "tile"
    return f'<div class="{kind}"><h2>{name}</h2><p class="value">{value}</p><p>{words}</p></div>'


def _only_differences() -> str:
    return '<p class="only"><label><input type="checkbox" id="differences">Show only what differs</label></p>'


def _section(one: Found) -> Iterator[str]:
    study, paper = one.study, one.study.paper
    agree, differ = one.counts
    total = max(1, agree + differ)
    doi = f' <a href="https://doi.org/{paper.doi}">doi:{paper.doi}</a>' if paper.doi else ""
    yield f'<section id="{study.name}">\n<h2>{text(study.title)}</h2>'
    yield f'<div class="paper-card"><p class="reference">{text(paper.authors)}: <i>{text(paper.title)}</i>. '
    yield f"{text(paper.published)}.{doi}</p><p>{text(paper.asks)}</p>"
    yield (
        f'<div class="tally" role="img" aria-label="{agree} statements agree, {differ} differ">'
        f'<i style="width:{agree / total:.1%}"></i><i class="differs" style="width:{differ / total:.1%}"></i></div>'
    )
    made = f"{len(one.repeated)} of {len(paper.items)} figures and tables made again" if paper.items else ""
    counts = (f"<b>{agree}</b> agree", f"<b>{differ}</b> differ", made)
    yield f'<p class="counts">{"".join(f"<span>{words}</span>" for words in counts if words)}'
    yield f'<span>on {text(one.results["table"])}</span><a href="{study.name}/{PAGE}">The study in full</a></p></div>'
    yield from _thumbnails(one)
    yield from _table(one)
    yield "</section>"


def _thumbnails(one: Found) -> Iterator[str]:
    yield '<div class="thumbs">'
    for name, part in one.results["parts"].items():
        if part["figure"]:
            where = f"{one.study.name}/{PAGE}#{part['anchor']}"
            picture = f'<span><img alt="" src="{one.study.name}/{part["figure"]}"></span>'
            yield f'<a href="{where}">{picture}<b>{text(name)}</b><small>{text(part["title"])}</small></a>'
    yield "</div>"


def _table(one: Found) -> Iterator[str]:
    parts = one.results["parts"]
    where = "In the paper" if one.study.paper.items else "In our study"
    yield f'<div class="card"><table class="items"><thead><tr><th>{where}</th><th>The paper says</th>'
    yield "<th>Ours</th><th>Verdict</th></tr></thead>"
    shown: dict[str, list[str]] = {}  # items that one part makes again stand together
    for item in one.study.paper.items:
        shown.setdefault(item.part or item.name, []).append(item.name)
    for item in one.study.paper.items:
        names = shown.pop(item.part or item.name, None)
        if names is None:
            continue
        told = [other.shows for other in one.study.paper.items if other.name in names]
        if item.part:
            yield from _rows(_head(one, item.part, ", ".join(names), " ".join(told)), one.statements(item.part))
        else:
            yield from _missing(item.name, item.shows, item.why_not)
    if one.beyond and one.study.paper.items:
        words = "In the paper's text, and what we ask besides"
        yield f'<tbody class="beyond"><tr class="group"><th colspan="4">{words}</th></tr></tbody>'
    for name in one.beyond:
        yield from _rows(_head(one, name, name, parts[name]["title"]), one.statements(name))
    yield "</table></div>"


def _head(one: Found, part: str, name: str, shows: str) -> str:
    where = f"{one.study.name}/{PAGE}#{one.results['parts'][part]['anchor']}"
    return f'<a href="{where}">{text(name)}</a><small>{text(shows)}</small>'


def _rows(head: str, statements: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    same = "" if any(not s["agrees"] for s in statements) else ' class="same"'
    yield f"<tbody{same}>"
    for place, s in enumerate(statements):
        verdict = "agrees" if s["agrees"] else "differs"
        first = f'<th scope="rowgroup" rowspan="{len(statements)}">{head}</th>' if place == 0 else ""
        yield (
            f'<tr class="{verdict}">{first}<td data-of="The paper says">{text(s["paper"])}</td>'
            f'<td data-of="Ours">{text(s["ours"])}{because(s["reason"])}</td><td>{badge(verdict)}</td></tr>'
        )
    yield "</tbody>"


def _missing(name: str, shows: str, why: str) -> Iterator[str]:
    yield (
        f'<tbody class="same"><tr class="none"><th scope="rowgroup">{text(name)}<small>{text(shows)}</small></th>'
        f'<td colspan="2">{text(why)}</td><td>{badge("not repeated")}</td></tr></tbody>'
    )
