"""How numbers are written for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

Unit = Literal["share", "number", "correlation"]


def percent(share: float) -> str:
    """A share in percent that never rounds to nothing or to all."""
    if 0 < share < 0.0001:
        return "≤0.01%"
    if 0.9999 < share < 1:
        return "≥99.99%"
    digits = 2 if share < 0.1 or share > 0.999 else 1
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + "%" if share else "0%"


def number(value: float, digits: int = 3) -> str:
    """So many digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def counted(count: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def brief(value: float, unit: Unit) -> str:
    """At most five characters, for a small cell; of shares, none at all is told from hardly any."""
    if unit == "share":
        return f"{value:.0%}" if value >= 0.0995 else f"{value:.1%}" if value > 1e-9 else "0"
    if unit == "number":
        return number(value)
    two = f"{value:.2f}".replace("0.", ".", 1)
    return {"-.00": ".00", "1.00": "1", "-1.00": "-1"}.get(two, two)


WRITTEN: Mapping[Unit, Callable[[float], str]] = {
    "share": percent,
    "number": number,
    "correlation": lambda value: f"{value:.2f}",
}
