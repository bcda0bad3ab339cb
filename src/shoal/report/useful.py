"""One verdict on what the release is good for, by what an analyst would do with it: count, average, relate.

Each is held to a limit for good use and one for use with care. Counting spreads ranges evenly over
what they admit, averages take their middles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple, Self

from shoal.report.findings import Findings
from shoal.show.numbers import number, percent


class _Limits(NamedTuple):
    """Up to where a use is good, and up to where it is possible with care."""

    good: float
    care: float


ALL = 0.999  # of the cells
_COUNTS, _PAIRS = _Limits(0.02, 0.1), _Limits(0.05, 0.2)
_MEANS, _RELATIONS = _Limits(0.02, 0.1), _Limits(0.02, 0.1)


@dataclass(frozen=True)
class Use:
    """Something an analyst does, and how far the answer is off; `level`: 0 good, 1 with care, 2 rather not."""

    name: str
    says: str
    level: int

    @classmethod
    def of(cls, name: str, off: float, limits: _Limits, says: str) -> Self:
        """Held to its limits."""
        return cls(name, says, 0 if off <= limits.good else 1 if off <= limits.care else 2)


@dataclass(frozen=True)
class Useful:
    """The verdict, and what it is made of."""

    verdict: str
    good: bool
    uses: list[Use]
    why: str

    @classmethod
    def of(cls, findings: Findings) -> Self:
        """By the attributes that are drawn, and measures of a sample."""
        uses = [*_counts(findings), *_pairs(findings), *_values(findings)]
        return cls(_verdict(uses), all(use.level == 0 for use in uses), uses, _why(findings))


def _verdict(uses: Sequence[Use]) -> str:
    """`Good for averages and relations, with care for counts`."""
    by_level = [[use.name for use in uses if use.level == level] for level in range(3)]
    named = [
        f"{how} {_listed(names)}"
        for how, names in zip(("good for", "with care for", "not for"), by_level, strict=True)
        if names
    ]
    if not (by_level[0] or by_level[1]):
        return "For an overview only"
    verdict = ", ".join(named)
    return verdict[0].upper() + verdict[1:]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _of_hundred(share: float) -> str:
    return "fewer than 1" if share < 0.005 else f"{share * 100:.0f}"


def _counts(findings: Findings) -> list[Use]:
    moved = {name: drawn.moved for name, drawn in findings.distributions.items()}
    if not moved:
        return []
    worst, typical = max(moved, key=lambda name: moved[name]), median(moved.values())
    says = (
        f"By one column, {_of_hundred(moved[worst])} of 100 records are counted elsewhere at worst "
        f"({findings.label(worst)}), {_of_hundred(typical)} in a typical column"
    )
    return [Use.of("counts", moved[worst], _COUNTS, says)]


def _pairs(findings: Findings) -> list[Use]:
    if not findings.two_way:
        return []
    worst = max(findings.two_way, key=lambda table: table.moved)
    names = " by ".join(map(findings.label, worst.names))
    says = f"{_of_hundred(worst.moved).capitalize()} of 100 records are counted elsewhere at worst ({names})"
    return [Use.of("tables of two columns", worst.moved, _PAIRS, says)]


def _values(findings: Findings) -> list[Use]:
    values, uses = findings.measured["utility"].values, []
    if (off := values.get("mean_difference")) is not None:
        uses.append(Use.of("averages", off, _MEANS, f"Means moved by {number(off, 2)} standard deviations"))
    if (off := values.get("correlation_difference")) is not None:
        uses.append(Use.of("relations", off, _RELATIONS, f"Correlations of two columns moved by {number(off, 2)}"))
    return uses


def _why(findings: Findings) -> str:
    """What a single cell is worth, and why measures that sound alike differ, where they do."""
    shown = findings.precisions.values()
    exact = sum(each.exact for each in shown) / max(len(shown), 1)
    if findings.apart:
        text, by = "The values of a single record were changed, and mean nothing: look nobody up.", "what was changed"
    elif exact > ALL:
        text, by = "Each cell shows one value, which stands for a group: look nobody up.", "values of groups"
    else:
        text = f"A single value is shown exactly in {percent(exact)} of the cells: look nobody up in the release."
        by = "ranges where values were"
    if findings.measured["utility"].values.get("pmse_ratio", 0.0) > 10:
        text += (
            f" A model tells released records from original ones with ease, by {by}: that says how they are written, "
            "and the lines above what counts and averages lose."
        )
    return text
