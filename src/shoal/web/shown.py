"""How numbers, sizes and figures are shown on screens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shoal.show.charts import Bars, Series
from shoal.show.markup import cut
from shoal.show.numbers import number, percent

if TYPE_CHECKING:
    from markupsafe import Markup


def size(amount: float) -> str:
    """Bytes in the largest unit that leaves a number above one."""
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def day(seconds: float) -> str:
    """The day and time of a file."""
    return f"{datetime.fromtimestamp(seconds):%d %b %Y, %H:%M}"


def losses(by_column: Mapping[str, float]) -> Markup:
    """What each column lost, as bars, the most first."""
    from shoal.show.svg import figure

    worst = sorted(by_column, key=lambda name: -by_column[name])[:30]
    lost = Series("loss", [by_column[name] for name in worst])
    return figure(Bars("What each column lost, in standard deviations", worst, (lost,), "number"))


def count(value: int | float) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "size": size,
    "day": day,
    "losses": losses,
    "count": count,
    "percent": percent,
    "number": number,
    "cut": cut,
}
