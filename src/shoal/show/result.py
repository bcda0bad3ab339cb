"""The base of every result: it says what it is made of, and gets terminal, notebook, JSON and figure for it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.show.charts import Chart
from shoal.show.markup import for_notebook
from shoal.show.sheet import Sheet
from shoal.show.terminal import as_text, for_terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group


def as_line(content: Mapping[str, Any]) -> str:
    """One line of JSON; NumPy's numbers as what they are."""
    return json.dumps(content, ensure_ascii=False, default=lambda value: value.item())


class Result(ABC):
    """What Shoal hands back. `print` shows it as tables of plain text, Rich and notebooks as tables of their own.

    A subclass says what there is: `sheets`, `to_dict` and, where it has them, `charts` and `remarks`. All four are
    cheap: what takes minutes is measured before, and kept.
    """

    def __init_subclass__(cls, **options: object) -> None:
        """A dataclass would write a `__repr__` of all fields; what the class has already, it leaves alone."""
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    @abstractmethod
    def sheets(self) -> list[Sheet]:
        """What was found, as tables."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What was found, ready for JSON."""

    def charts(self) -> list[Chart]:
        """What was found, as charts; none where numbers say it better."""
        return []

    def remarks(self) -> Sequence[str]:
        """Sentences that a reader should know beside the tables."""
        return ()

    def to_json(self) -> str:
        """What was found, as one line of JSON."""
        return as_line(self.to_dict())

    def plot(self) -> Figure:
        """The charts side by side, as a figure of matplotlib (the extra `plot`) that shows itself in a notebook."""
        from shoal.show.figure import as_figure

        charts = self.charts()
        if not charts:
            raise InputError(f"There is no figure of {type(self).__name__}: print it, its numbers say it all.")
        return as_figure(charts)

    def __str__(self) -> str:
        return as_text(self.sheets(), self.remarks())

    def __repr__(self) -> str:
        return str(self) or object.__repr__(self)

    def __rich__(self) -> Group:
        return for_terminal(self.sheets(), self.remarks())

    def _repr_html_(self) -> str:
        return for_notebook(self.sheets(), self.remarks())
