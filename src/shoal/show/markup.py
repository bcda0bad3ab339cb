"""HTML by templates that escape whatever they are given, and elements for what is drawn.

A package's templates lie in its folder `templates`; those of `shoal.show` can be used from any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from shoal.show.charts import COLOURS
from shoal.show.sheet import Sheet

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_INVISIBLE = dict.fromkeys([*range(32), 127], " ")
LONGEST = 200  # characters of a name or a value on a page


@cache
def templates(*packages: str) -> Environment:
    """The templates of these packages and of `shoal.show`; a name that a template lacks is an error."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    from shoal.show.svg import figure

    loaders = [PackageLoader(package) for package in (*packages, __package__ or "shoal.show")]
    environment = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["cut"] = cut
    environment.globals |= {"colours": COLOURS, "figure": figure}
    return environment


def cut(text: object, longest: int = LONGEST) -> str:
    """A value as text of one line; what is too long ends in an ellipsis."""
    plain = str(text).translate(_INVISIBLE)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def element(tag: str, *content: str, **attributes: object) -> Markup:
    """An element of HTML or SVG. Content and attributes are escaped; `css` is the class, `_` in a name stands for `-`.

    Numbers are written to a tenth, which is finer than a screen; an attribute that is None is left out.
    """
    from markupsafe import Markup

    named = {("class" if name == "css" else name.replace("_", "-")): _short(v) for name, v in attributes.items()}
    start = Markup("").join(Markup(' {}="{}"').format(name, v) for name, v in named.items() if v is not None)
    inside = Markup("").join(content)
    return Markup("<{0}{1}>{2}</{0}>").format(tag, start, inside) if content else Markup("<{}{}/>").format(tag, start)


def _short(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def for_notebook(sheets: Sequence[Sheet], notes: Sequence[str] = ()) -> str:
    """Tables, and sentences below them; colours are the notebook's own, light or dark."""
    return (
        templates().get_template("notebook.html").render(sheets=[sheet for sheet in sheets if sheet.rows], notes=notes)
    )
