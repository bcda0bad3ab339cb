"""What paper 5 says of its methods, held against the measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.compare.result import LINKS
from shoal_studies.driver import DATA, Frames
from shoal_studies.result import Part, Statement, percent, three
from shoal_studies.risk_utility.experiment import (
    CENSUS,
    EIA,
    EMD,
    LEVELS,
    METHODS,
    MICRO,
    MULTIPLIED,
    NOISE,
    SWAP,
    UTILITIES,
    R,
    Reported,
)

SYMBOL = {MICRO: "k", NOISE: "γ", SWAP: "p", MULTIPLIED: "s"}

SAME_RISK = 0.012  # how far the paper's own matches are apart, and ours from them

SAME_PARAMETER = 0.25  # of it: the paper's grids have no finer steps about the matches

_NEAR = 0.05  # of it: methods that the paper has so near each other may change places

_MOSTLY = 0.9  # of the steps: some are as small as chance

SAME_LINKS = 2.0  # factor within which shares of correct links are about the same


def parts(frames: Frames) -> Sequence[Part]:
    """The paper's figure and table, and what is asked besides."""
    tables = measured(frames)
    return (
        _figure_1(tables),
        *_table_1([each for each in tables if each.reported]),
        _equal_risk(tables),
        _other_measures(tables),
        _groups(tables),
    )


@dataclass(frozen=True)
class Measured:
    """A table's rows for each part of the study."""

    name: str
    papers: str | None  # the paper's table that this is, or stands for
    reason: str  # why what is reported need not hold here; nothing for the paper's own table
    curves: pl.DataFrame  # Figure 1: a row a point
    matched: pl.DataFrame  # at the paper's parameters: a row a method
    equal: pl.DataFrame  # at those that give the target: a row a method, the one that loses least first
    groups: pl.DataFrame  # MDAV's loss and mdav+'s: a row a k

    @property
    def reported(self) -> Reported | None:
        return {"Census": CENSUS, "EIA": EIA}.get(self.papers or "")

    @property
    def target(self) -> float:
        """The R at which methods are compared."""
        return float(self.equal["target"][0])

    @property
    def out_of_reach(self) -> list[str]:
        """Methods that cannot be brought to the target."""
        return self.equal.filter(~pl.col("reached"))["method"].to_list()

    def at(self, frame: pl.DataFrame, method: str, column: str) -> float:
        return float(frame.filter(method=method)[column].item())

    def because(self, reason: str) -> str:
        return self.reason or reason


def measured(frames: Frames) -> list[Measured]:
    """The frames' rows, table by table."""
    names = ("curves", "matched", "equal", "groups")
    return [
        Measured(name, papers, reason, *(_rows(frames, frame, name) for frame in names))
        for name, papers, reason in frames[DATA]["name", "papers", "other"].iter_rows()
    ]


def _rows(frames: Frames, frame: str, table: str) -> pl.DataFrame:
    return frames[frame].filter(table=table) if frame in frames else pl.DataFrame()


# ---- Figure 1


def _figure_1(tables: Sequence[Measured]) -> Part:
    title = "Disclosure risk R of the four methods (Eq. 2): the higher, the safer"
    data = pl.concat([each.curves for each in tables])
    matches = (_matches(each, each.reported) for each in tables if each.reported)
    level = "; ".join(_levelling(each) for each in tables)
    note = (
        "R is the mean logarithm of the distance in ranks to the nearest masked record, over the number of attributes. "
        f"Correlated noise soon adds nothing more to it: {level}."
    )
    return Part("Figure 1", title, data, (*matches, _rises(tables)), note=note)


def _matches(each: Measured, reported: Reported) -> Statement:
    risk = {method: each.at(each.matched, method, R) for method in reported.parameters}
    return Statement(
        f"{each.papers}: R = {reported.risk} for {_settings(reported.parameters)}.",
        f"R = {_listed(risk, three)}.",
        all(abs(value - reported.risk) <= SAME_RISK for value in risk.values()),
        each.because(f"Within {SAME_RISK} of R the paper's methods meet; these are farther apart."),
    )


def _rises(tables: Sequence[Measured]) -> Statement:
    steps = np.concatenate([np.diff(curve[R]) for each in tables for _, curve in each.curves.group_by("method")])
    return Statement(
        "The more is masked, the greater the protection (Section 1).",
        f"R rises at {(steps > 0).sum()} of {len(steps)} steps of the parameters.",
        bool((steps > 0).mean() >= _MOSTLY),
        "Where a table is small, or a method masks as much as it can, chance decides.",
    )


def _levelling(each: Measured) -> str:
    *_, (before, less), (last, most) = each.curves.filter(pl.col("method") == NOISE)[["parameter", R]].rows()
    return f"{most:.3f} at γ = {last:g} after {less:.3f} at {before:g} ({each.name})"


# ---- Table 1


def _table_1(tables: Sequence[Measured]) -> tuple[Part, ...]:
    """Of tables of which the paper reports something."""
    if not tables:
        return ()
    statements = []
    rows = []
    for each in tables:
        reported = each.reported
        assert reported is not None
        ours = {method: each.at(each.matched, method, EMD) for method in reported.emd}
        additive = [method for method in ours if method != MULTIPLIED]
        statements += [
            _distances(each, reported, {method: ours[method] for method in additive}, "The draw."),
            _distances(each, reported, {MULTIPLIED: ours[MULTIPLIED]}, _UNTOLD),
            _same_order(each, reported, _ascending(ours)),
        ]
        rows += [
            {
                "table": each.name,
                "method": method,
                "parameter": setting_of(method, reported.parameters[method]),
                "R": each.at(each.matched, method, R),
                "EMD, paper": paper,
                "EMD": ours[method],
                "± s.e.": each.at(each.matched, method, f"{EMD}_se"),
                "difference": f"{ours[method] / paper - 1:+.1%}",
                "correct links": percent(each.at(each.matched, method, LINKS[1])),
            }
            for method, paper in reported.emd.items()
        ]
    title = "Earth mover's distance at the paper's parameters"
    return (Part("Table 1", title, pl.DataFrame(rows), statements, note=_MADE_1),)


_MADE_1 = (
    "Exact transport between all records, attributes scaled by the original's range. Numbers agree that differ by no "
    "more than one in the last digit that the paper prints. Correct links: people whose nearest masked record by ranks "
    "is their own."
)

_UNTOLD = (
    "The paper does not say which variant of multiplicative noise was used; normal factors within ±s, with each "
    "attribute's mean and variance restored, come nearest to both tables."
)


def _distances(each: Measured, reported: Reported, ours: Mapping[str, float], reason: str) -> Statement:
    papers = {method: reported.emd[method] for method in ours}
    off = [ours[method] / paper - 1 for method, paper in papers.items()]
    unit = 10.0**-reported.digits
    return Statement(
        f"{each.papers}: {_listed(papers, lambda emd: f'{emd:.{reported.digits}f}')}.",
        f"{_listed(ours, three)}: off by {', '.join(f'{share:+.1%}' for share in off)}.",
        all(abs(ours[method] - paper) <= unit for method, paper in papers.items()),
        each.because(reason),
    )


def _same_order(each: Measured, reported: Reported, order: Sequence[str], also: str = "") -> Statement:
    return Statement(
        f"{each.papers}, least loss first: {', '.join(reported.ranking)}.",
        f"{', '.join(order)}.",
        list(order) == reported.ranking,
        each.because(_near_tie(reported, order) + also),
    )


def _near_tie(reported: Reported, order: Sequence[str]) -> str:
    """Who changed places, and how near each other the paper has them."""
    moved = [method for method, was in zip(order, reported.ranking, strict=True) if method != was]
    values = [reported.emd[method] for method in moved]
    apart = max(values, default=0.0) / min(values, default=1.0) - 1
    near = ", nearer than its rounding and a variant of noise that it does not tell can decide"
    small = apart <= _NEAR
    return f"{_spoken(moved)} changed places: in the paper they are {apart:.1%} apart{near if small else ''}."


# ---- at equal risk


def _equal_risk(tables: Sequence[Measured]) -> Part:
    title = "What is lost at equal risk, and how many people are found all the same"
    data = pl.concat([each.equal for each in tables])
    statements = []
    for each in tables:
        if each.reported:
            order = each.equal["method"].to_list()
            risks = _listed({method: each.at(each.matched, method, R) for method in METHODS}, three)
            also = f" Its own parameters do not give quite the same R: {risks}."
            statements += [_parameters(each, each.reported), _same_order(each, each.reported, order, also)]
    statements += [_best(tables), *_changes(tables), *map(_links, tables)]
    targets = ", ".join(f"{each.target:.3f} ({each.name})" for each in tables)
    short = [
        f" Out of reach of {' and '.join(each.out_of_reach)} on {each.name}: last, whatever they lose."
        for each in tables
        if each.out_of_reach
    ]
    note = (
        f"Parameters found by calibration to R = {targets}; a whole k comes as near as it can. They agree with the "
        f"paper's within {SAME_PARAMETER:.0%}: its grids (Figure 1) have no finer steps.{''.join(short)}"
    )
    return Part("Equal risk", title, data.drop(set(UTILITIES) - {EMD}, "target", "reached"), statements, note=note)


def _parameters(each: Measured, reported: Reported) -> Statement:
    ours = {method: each.at(each.equal, method, "parameter") for method in reported.parameters}
    near = {m: abs(ours[m] / paper - 1) <= SAME_PARAMETER for m, paper in reported.parameters.items()}
    gives = _listed({m: each.at(each.matched, m, R) for m, same in near.items() if not same}, three)
    return Statement(
        f"{each.papers}: {_settings(reported.parameters)} give R = {reported.risk}.",
        f"{_settings(ours)} give R = {each.target:.2f}.",
        all(near.values()),
        each.because(f"With the paper's parameter R = {gives}, which the paper takes for a match."),
    )


def _best(tables: Sequence[Measured]) -> Statement:
    first = {each.name: each.equal["method"][0] for each in tables}
    return Statement(
        "Microaggregation always had the best utility at the given risk.",
        f"{'; '.join(f'{name}: {method}' for name, method in first.items())}.",
        set(first.values()) == {MICRO},
        "Which method loses least depends on the table: that is why several are compared.",
    )


def _changes(tables: Sequence[Measured]) -> tuple[Statement, ...]:
    if len(tables) < 2:
        return ()
    orders = {tuple(method for method in each.equal["method"] if method != MICRO) for each in tables}
    return (
        Statement(
            "The order of the other methods changed from table to table.",
            f"{len(orders)} orders on {len(tables)} tables.",
            len(orders) > 1,
            "These tables are alike.",
        ),
    )


def _links(each: Measured) -> Statement:
    share = {method: each.at(each.equal, method, LINKS[1]) for method in METHODS}
    return Statement(
        "At such parameters the methods yield the same risk of disclosure.",
        f"{each.name}: the same R, but {_listed(share, percent)} of the people are found by ranks.",
        max(share.values()) <= SAME_LINKS * min(share.values()),
        "R asks how near the nearest masked record is, whoever it belongs to. Look at the correct links beside it.",
    )


def _other_measures(tables: Sequence[Measured]) -> Part:
    title = "Other measures of what was lost, at equal risk"
    data = pl.concat([each.equal for each in tables])
    order = {each.name: {name: _ascending(_losses_by(each, name)) for name in UTILITIES} for each in tables}
    distinct = {table: len({tuple(o) for o in orders.values()}) for table, orders in order.items()}
    won = {table: sum(o[0] == MICRO for o in orders.values()) for table, orders in order.items()}
    count = len(UTILITIES)
    statements = (
        Statement(
            "The choice of measures shapes the outcome of the evaluation (Section 3).",
            "; ".join(f"{table}: {n} different orders by {count} measures" for table, n in distinct.items()) + ".",
            max(distinct.values()) > 1,
            "All measures agree on these tables.",
        ),
        Statement(
            "Microaggregation always had the best utility: asked of each measure.",
            "; ".join(f"{table}: best by {n} of {count}" for table, n in won.items()) + ".",
            set(won.values()) == {count},
            f"Others lose least by some: {'; '.join(_winners(table, orders) for table, orders in order.items())}. "
            "Centres of groups have less spread than records and are more alike; noise keeps correlations but widens "
            "what it is added to; swapping keeps each attribute by itself and weakens what links them.",
        ),
    )
    shown = data.select("table", "method", "parameter", *UTILITIES)
    note = "Of every measure less is better; 0 where nothing was lost."
    return Part("Other measures", title, shown, statements, note=note)


def _losses_by(each: Measured, measure: str) -> dict[str, float]:
    return {method: each.at(each.equal, method, measure) for method in METHODS}


def _winners(table: str, orders: Mapping[str, Sequence[str]]) -> str:
    by_method: dict[str, list[str]] = {}
    for measure, order in orders.items():
        by_method.setdefault(order[0], []).append(measure.replace("_", " "))
    return f"{table}: " + ", ".join(f"{m} by {' and '.join(ms)}" for m, ms in by_method.items() if m != MICRO)


# ---- groups


def _groups(tables: Sequence[Measured]) -> Part:
    data = pl.concat([each.groups for each in tables])
    statements = [_known_loss(each, each.reported) for each in tables if each.reported]
    less = data["less"].to_list()
    statements.append(
        Statement(
            "MDAV is a heuristic.",
            f"Groups bettered by exchanges (mdav+) lose {percent(min(less))} to {percent(max(less))} less.",
            min(less) > 0,
            "No better groups were found.",
        )
    )
    shown = data.with_columns(pl.col("less").map_elements(percent, return_dtype=pl.String))
    note = "100 SSE / SST of standardised attributes; for EIA the literature has the utility's number for the month."
    return Part("Groups", "Information loss of microaggregation", shown, statements, note=note)


def _known_loss(each: Measured, reported: Reported) -> Statement:
    ours = each.groups["mdav"].to_list()
    levels = ", ".join(map(str, LEVELS))
    return Statement(
        f"In the literature MDAV loses {', '.join(f'{v:.2f}' for v in reported.loss.values())} % of the variance of "
        f"{each.papers} (k = {levels}).",
        f"{', '.join(f'{v:.2f}' for v in ours)} %.",
        all(round(value, 2) == reported.loss[k] for k, value in zip(LEVELS, ours, strict=True)),
        each.because("Ties, or the scaling of attributes, were treated otherwise."),
    )


# ---- in words


def setting_of(method: str, parameter: float) -> str:
    return f"{SYMBOL[method]} = {parameter:.3g}"


def _settings(parameters: Mapping[str, float]) -> str:
    return ", ".join(setting_of(method, value) for method, value in parameters.items())


def _listed(values: Mapping[str, float], show: Callable[[float], str]) -> str:
    """`0.16 (microaggregation), 0.38 (correlated noise)`"""
    return ", ".join(f"{show(value)} ({method})" for method, value in values.items())


def _spoken(methods: Sequence[str]) -> str:
    return " and ".join(methods).capitalize()


def _ascending(values: Mapping[str, float]) -> list[str]:
    return sorted(values, key=lambda method: values[method])
