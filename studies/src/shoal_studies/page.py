"""The studies as pages: every figure and table made again, each statement of the paper beside ours.

They look like the custodian's report, whose templates they extend; `study.css` adds what studies alone have. A study's
own page needs nothing beside itself. Figures of the tour's page lie in the studies' folders; differences alone can be
shown there without a script: a style rule hides the rest while the box is ticked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.show.markup import templates

if TYPE_CHECKING:
    from jinja2 import Template

    from shoal_studies.result import StudyResult
    from shoal_studies.tour import Tour


def study_page(result: StudyResult) -> str:
    """The page of one study."""
    agree = sum(statement.agrees for _, statement in result.statements)
    return _template("study.html").render(result=result, title=result.title, agree=agree)


def tour_page(tour: Tour) -> str:
    """The page over all studies."""
    from shoal_studies.result import PAGE, RESULTS

    return _template("tour.html").render(tour=tour, title="Five papers, repeated", page_name=PAGE, results_name=RESULTS)


def _template(name: str) -> Template:
    environment = templates("shoal_studies")
    environment.filters["cell"] = _cell
    return environment.get_template(name)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) >= 2 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
