"""Figures as files: PNG for documents, SVG for pages, where ink and paper follow the reader's light or dark."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from shoal_studies.charts import IN_THE_DARK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawing = dict[str, bytes]  # format -> file


def drawn(name: str, figure: Figure) -> Drawing:
    import matplotlib

    files = {kind: io.BytesIO() for kind in ("png", "svg")}
    with matplotlib.rc_context({"svg.hashsalt": name}):  # the same figure gives the same file
        figure.savefig(files["png"], format="png", dpi=160)
        figure.savefig(files["svg"], format="svg", metadata={"Date": None})
    return {"png": files["png"].getvalue(), "svg": _by_scheme(files["svg"].getvalue().decode()).encode()}


_COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")


def _by_scheme(svg: str) -> str:
    """Colours of `IN_THE_DARK` become variables; programs that know none take the colour before it."""
    light, dark = (
        "".join(f"{_variable(colour)}:{value};" for colour, value in colours)
        for colours in (((colour, colour) for colour in IN_THE_DARK), IN_THE_DARK.items())
    )
    style = f"<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    svg = _COLOUR.sub(lambda found: _themed(found[1], found[2]), svg)
    return svg.replace("<defs>", f"{style}<defs>", 1)


def _themed(what: str, colour: str) -> str:
    plain = f"{what}: {colour}"
    return f"{plain}; {what}: var({_variable(colour)})" if colour in IN_THE_DARK else plain


def _variable(colour: str) -> str:
    return f"--c{colour[1:]}"
