"""The documentation site: Markdown guides and the reference from docstrings, built by `make docs`."""

from __future__ import annotations

from typing import Any

import shoal

project = "Shoal"
author = "the Shoal authors"
release = version = shoal.__version__

COLOURED = ("color-brand-primary", "color-brand-content", "color-api-name", "color-api-pre-name")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Shoal"
html_static_path = ["_static"]
html_css_files = ["shoal.css"]
html_show_sphinx = html_show_copyright = html_copy_source = False
html_theme_options = {
    "light_css_variables": dict.fromkeys(COLOURED, "#0b6b6b"),
    "dark_css_variables": dict.fromkeys(COLOURED, "#4fc3bd"),
}

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence"]
myst_heading_anchors = 3
default_role = "literal"  # docstrings are plain prose with `names` in it
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 80


def list_fields(app: object, what: str, name: str, thing: Any, options: object, lines: list[str]) -> None:
    """A policy's choices say themselves what they are."""
    for field, about in getattr(thing, "model_fields", {}).items():
        if about.description:
            lines += ["", f"- `{field}`: {about.description}."]


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", list_fields)
