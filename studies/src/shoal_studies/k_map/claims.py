"""What paper 3 says of its figures, held against the simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from shoal_studies.driver import DATA, Frames
from shoal_studies.k_map.experiment import CRITERIA, DISCLOSED, FIXED, LEVELS, OPTIMAL, thresholds
from shoal_studies.k_map.lowess import lowess
from shoal_studies.k_map.populations import PATIENTS
from shoal_studies.result import Part, Statement, percent, three


def parts(frames: Frames) -> Sequence[Part]:
    """A part for each figure, one for recodings that suppress as the paper's did, one for the criteria."""
    points = _smoothed(frames["points"])
    optimal, fixed = (measured(points, recoding) for recoding in (OPTIMAL, FIXED))
    recodings = "; ".join(f"{name}: {words}" for name, words in frames[DATA]["population", "fixed"].iter_rows())
    return (
        _figures_1_and_2(frames["example"]),
        _figure_3(optimal, fixed),
        _figure_4(optimal),
        _figure_5(optimal),
        _fixed_recoding(fixed, recodings),
        _thresholds(points["fraction"].unique().sort().to_list()),
    )


def _smoothed(points: pl.DataFrame) -> pl.DataFrame:
    """With the lowess curve of each measure beside it."""
    series = []
    for _, curve in points.group_by("recoding", "population", "k", "criterion", maintain_order=True):
        x = curve["fraction"].to_numpy()
        series.append(
            curve.with_columns(
                pl.Series(f"{name}_lowess", lowess(x, curve[name].to_numpy(), x))
                for name in ("risk", "discernibility", "suppressed")
            )
        )
    return pl.concat(series)


# ---- looking things up


@dataclass(frozen=True)
class Measured:
    """The points of one way of recoding."""

    points: pl.DataFrame
    populations: list[str]

    def curve(self, population: str, k: int, criterion: str, column: str) -> dict[float, float]:
        """fraction -> value"""
        points = self.points.filter(
            pl.col("population") == population, pl.col("k") == k, pl.col("criterion") == criterion
        )
        return dict(points[["fraction", column]].iter_rows())

    def values(
        self, column: str, criteria: str | Iterable[str], *, k: int = 5, first: float = 0.0, last: float = 1.0
    ) -> list[float]:
        """Of all populations, at fractions from `first` to `last`."""
        wanted = [criteria] if isinstance(criteria, str) else list(criteria)
        points = self.points.filter(
            pl.col("k") == k, pl.col("criterion").is_in(wanted), pl.col("fraction").is_between(first, last)
        )
        return points[column].to_list()

    def listed(
        self,
        column: str,
        criterion: str,
        show: Callable[[float], str],
        *,
        first: float = 0.1,
        last: float | None = None,
    ) -> str:
        """`0.03 (crashes), 0.03 (veterans)` at one fraction, or the least and greatest of several; k = 5."""
        parts = []
        for population in self.populations:
            curve = self.curve(population, LEVELS[0], criterion, column)
            within = [value for fraction, value in curve.items() if first <= fraction <= (last or first)]
            low, high = show(min(within)), show(max(within))
            parts.append(f"{low if low == high else f'{low} to {high}'} ({population})")
        return ", ".join(parts)


def measured(points: pl.DataFrame, recoding: str) -> Measured:
    return Measured(points.filter(recoding=recoding), points["population"].unique(maintain_order=True).to_list())


def _columns(measured: Measured, column: str) -> pl.DataFrame:
    shared = ["population", "k", "criterion", "fraction", "class_size"]
    own = [column, f"{column}_deviation", f"{column}_lowess"]
    return measured.points.select(*shared, *own, *(["above_threshold"] if column == "risk" else []), "most_often")


# ---- the figures


def _figures_1_and_2(data: pl.DataFrame) -> Part:
    (_, _, gone, _, risk), (_, _, gone_by_map, _, risk_by_map) = data.rows()
    statements = (
        Statement(
            "Figure 1: 2-anonymized by decades of birth, 3 of 14 records are suppressed, and the risk is 0.25: half of "
            "what was accepted.",
            f"{gone} of {DISCLOSED} suppressed, highest journalist risk {risk:g}.",
            (gone, risk) == (3, 0.25),
            "Other records share a class.",
        ),
        Statement(
            "Figure 2: by k-map nobody is suppressed, bands have 5 years, and the risk is the accepted 0.5.",
            f"{gone_by_map} of {DISCLOSED} suppressed, highest journalist risk {risk_by_map:g}.",
            (gone_by_map, risk_by_map) == (0, 0.5),
            "Other records share a class.",
        ),
    )
    return Part(
        "Figures 1 and 2",
        "The paper's example: fourteen people in a database of 31",
        data,
        statements,
        on="the paper's own example",
    )


def _figure_3(optimal: Measured, fixed: Measured) -> Part:
    title = "Actual risk: the highest in the journalist scenario, against the threshold 1/k"
    reason = (
        "The best recoding suppresses hardly anything (Figure 5), so it has few small classes for an intruder to pick. "
        "With fixed recodings that suppress as much as the paper reports, the risk is {}."
    )
    statements = (*_risks(optimal, fixed, reason), _other_k(optimal))
    return Part("Figure 3", title, _columns(optimal, "risk"), statements, note=_MADE)


_MADE = (
    "Dots are averages over the samples, curves their lowess. The threshold, 1/k, is what the custodian meant to "
    "allow. Where criteria ask for the same class size, their curves are one."
)


def _risks(measured: Measured, fixed: Measured, reason: str) -> tuple[Statement, ...]:
    """The paper's statements on Figure 3, k = 5."""

    def listed(criterion: str, **fractions: float) -> str:
        return measured.listed("risk", criterion, three, **fractions)

    def if_not(criterion: str, **fractions: float) -> str:
        return reason.format(fixed.listed("risk", criterion, three, **fractions))

    d4, d1 = measured.values("risk", "D4", last=0.1), measured.values("risk", "D1", last=0.1)
    d3 = measured.values("risk", "D3", last=0.3)
    return (
        Statement(
            "The actual risk of k-anonymity (D1) is far below the threshold of 0.2 at small fractions.",
            f"At 0.1: {listed('D1')}.",
            max(d1) <= 0.1,
            "In this population even classes of 5 in the sample are small ones of the population.",
        ),
        Statement(
            "All four converge to 0.2 as the fraction approaches 1.",
            f"At 0.9: {listed('D1', first=0.9)}, for D1, D3 and D4 alike; D2 {listed('D2', first=0.9)}.",
            all(abs(risk - 0.2) <= 0.02 for risk in measured.values("risk", CRITERIA, first=0.9)),
            "A fraction of 0.9 is not yet 1, and classes of just 5 must occur for the risk to be 0.2.",
        ),
        Statement(
            "D2's risk is particularly large, for fractions as high as 0.6.",
            f"At 0.1 to 0.6: {listed('D2', last=0.6)}.",
            min(measured.values("risk", "D2", last=0.6)) > 0.2,
            if_not("D2", last=0.6),
        ),
        Statement(
            "D3's risk is above the threshold by a wide gap at fractions of 0.3 and less.",
            f"At 0.1 to 0.3: {listed('D3', last=0.3)}.",
            min(d3) > 0.2 and max(d3) >= 0.3,
            if_not("D3", last=0.3),
        ),
        Statement(
            "D4 keeps the risk below the threshold or very close to it.",
            f"At 0.1 to 0.9: {listed('D4', last=0.9)}.",
            max(measured.values("risk", "D4")) <= 0.22,
            "The test errs in one class of ten at most, and the intruder picks the worst of thousands.",
        ),
        Statement(
            "D4's risk is higher than D1's.",
            f"At 0.1: {listed('D4')} against {listed('D1')}.",
            all(a > b for a, b in zip(d4, d1, strict=True)),
            "Both chose the same smallest class.",
        ),
    )


def _other_k(measured: Measured) -> Statement:
    rows = []
    for k in LEVELS[1:]:
        d1, d4 = (measured.values("risk", c, k=k, last=last) for c, last in (("D1", 0.1), ("D4", 0.9)))
        rows.append((k, max(d1), max(d4)))
    return Statement(
        "The results for k = 10 and 15 support those for k = 5.",
        "; ".join(f"k = {k}, threshold {1 / k:.3f}: D1 at 0.1 at most {a:.3f}, D4 at most {b:.3f}" for k, a, b in rows)
        + ".",
        all(a <= 0.5 / k and b <= 1.1 / k for k, a, b in rows),
        "The test errs in one class of ten at most, and the intruder picks the worst.",
    )


def _figure_4(measured: Measured) -> Part:
    title = "Information lost, as a share of what D1 loses (discernibility)"
    d2, d3, d4 = (measured.values("discernibility", c) for c in CRITERIA[1:])
    smallest = measured.values("discernibility", "D4", last=0.1)
    statements = (
        Statement(
            "D1 has the largest loss of all four: the others are always below 100%.",
            f"At most {percent(max(d2 + d3 + d4))}; at 0.1 {_shares(measured, 'D2')} by D2.",
            max(d2 + d3 + d4) <= 1,
        ),
        Statement(
            "At higher fractions all approaches converge.",
            f"At 0.9: {_shares(measured, 'D2', first=0.9)} by D2, {_shares(measured, 'D4', first=0.9)} by D4.",
            min(measured.values("discernibility", CRITERIA, first=0.9)) >= 0.95,
            "D2 still asks for smaller classes there.",
        ),
        Statement(
            "D4 loses more than D3, and D2 the least.",
            f"At 0.1: D4 {_shares(measured, 'D4')}; D3 {_shares(measured, 'D3')}; D2 {_shares(measured, 'D2')}.",
            all(a <= b <= c for a, b, c in zip(d2, d3, d4, strict=True)),
        ),
        _little_more(measured),
        Statement(
            "D4 is a significant improvement on D1 for low fractions.",
            f"At 0.1 its loss is {_shares(measured, 'D4')} of D1's.",
            max(smallest) <= 0.9,
            "Hierarchies have few levels: the best recoding for classes of 5 is often that for classes of 3.",
        ),
        _loses_45(
            measured,
            "Where hardly anything is suppressed, classes are mostly larger than asked for, and asking for less gains "
            "less: see Fixed recoding.",
        ),
    )
    return Part("Figure 4", title, _columns(measured, "discernibility"), statements, note=_MADE_4)


def _little_more(measured: Measured) -> Statement:
    d3, d4 = ([loss for k in LEVELS for loss in measured.values("discernibility", c, k=k)] for c in ("D3", "D4"))
    near = sum(more <= 1.05 * less for less, more in zip(d3, d4, strict=True))
    return Statement(
        "In many cases the difference between D3 and D4 is not very pronounced.",
        f"At {near} of {len(d3)} points, k = 5 to 15, D4 loses at most 5% more than D3.",
        near >= len(d3) / 3,
        "The tests ask for different class sizes, and here these lead to different recodings.",
    )


_MADE_4 = "The average, over the samples, of a criterion's discernibility divided by D1's on the same sample."


def _loses_45(measured: Measured, reason: str) -> Statement:
    """Asked of those who stand for the physicians; the others are shown beside them."""
    curve = measured.curve(PATIENTS, LEVELS[0], "D4", "discernibility")
    share = curve[min(curve)]
    return Statement(
        "For the physicians D4's loss is 45% of D1's at a fraction of 0.1.",
        f"{_shares(measured, 'D4')}; {PATIENTS} stand for the physicians.",
        abs(share - 0.45) <= 0.05,
        reason,
    )


def _shares(measured: Measured, criterion: str, column: str = "discernibility", **fractions: float) -> str:
    return measured.listed(column, criterion, percent, **fractions)


def _figure_5(measured: Measured) -> Part:
    title = "Suppressed records"
    d1 = measured.values("suppressed", "D1", last=0.1)
    statements = (
        Statement(
            "D1 suppresses much of small samples, in some cases as much as 50%.",
            f"At 0.1: {_shares(measured, 'D1', 'suppressed')}.",
            max(d1) >= 0.4,
            "A suppressed record costs n, as if it could be any of the sample's. Half of them suppressed cost n * n/2, "
            "as much as showing nothing but the sex does, and there are far better recodings than that.",
        ),
        _suppresses_less(
            measured, "Where hardly anything is suppressed, D4 uses its freedom for finer recodings instead."
        ),
    )
    note = "Records in classes that are smaller than the criterion asks for, as a share of the sample."
    return Part("Figure 5", title, _columns(measured, "suppressed"), statements, note=note)


def _suppresses_less(measured: Measured, reason: str) -> Statement:
    d1, d4 = (measured.values("suppressed", criterion, last=0.1) for criterion in ("D1", "D4"))
    return Statement(
        "D4 reduces that considerably, most of all for small fractions.",
        f"At 0.1: {_shares(measured, 'D4', 'suppressed')} against {_shares(measured, 'D1', 'suppressed')} by D1.",
        all(less <= 0.75 * much for less, much in zip(d4, d1, strict=True)),
        reason,
    )


def _fixed_recoding(measured: Measured, recodings: str) -> Part:
    title = "With one recoding that suppresses as much as the paper reports, k = 5"
    reason = "Few classes are near the threshold here."
    statements = (
        *_risks(measured, measured, reason),
        _loses_45(measured, "Most of the loss is suppression, and D4 suppresses nearly as much as D1 here."),
        _suppresses_less(
            measured, "Most of what is suppressed is rare even in the population, and fails any criterion."
        ),
    )
    note = (
        "Nothing is searched for: every sample is recoded alike, in the way with which D1 should suppress as near as "
        f"possible to half of the records at a fraction of 0.1 ({recodings}). That is the paper's own figure: so this "
        "shows what recodings of that kind lead to, not that the paper's were these."
    )
    return Part("Fixed recoding", title, measured.points.drop("recoding", "most_often"), statements, note=note)


def _thresholds(fractions: Sequence[float]) -> Part:
    asked = {(k, fraction): thresholds(k, fraction) for k in LEVELS for fraction in fractions}
    data = pl.DataFrame(
        [
            {"k": k, "criterion": c} | {str(fraction): asked[k, fraction][c] for fraction in fractions}
            for k in LEVELS
            for c in CRITERIA
        ]
    )
    never = all(sizes["D2"] <= sizes["D3"] <= sizes["D4"] <= sizes["D1"] for sizes in asked.values())
    same = sum(sizes["D3"] == sizes["D4"] for sizes in asked.values())
    statement = Statement(
        "D1 asks for the most, D4 for no less than D3, and D2 for the least (Proposed Improvements, Results).",
        f"In {'all' if never else 'not all'} of {len(asked)} cases; D3 and D4 ask for the same size in {same}.",
        never,
        "The tests were read otherwise.",
    )
    title = "The smallest class that each criterion releases, by sampling fraction"
    return Part("Class size", title, data, (statement,))
