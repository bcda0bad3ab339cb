"""What paper 1 says of its figures, held against the measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal_studies.driver import DATA, Frames
from shoal_studies.proper_anonymization.experiment import (
    GRID,
    HARBOR,
    LEVELS,
    S2,
    S3,
    S4,
    SHOAL,
    SHOAL_T,
)
from shoal_studies.proper_anonymization.tables import table_of_intervals, table_s4, table_s5, table_s6, table_s9
from shoal_studies.result import Part, Statement, percent, three

PAPER_RACE_MASKED = 568_394 + 136_264 + 10_761 + 130_597 + 193_477 + 32_857  # of 3,985,166 records
PAPER_ROWS = 3_985_166


def parts(frames: Frames) -> Sequence[Part]:
    """A part for each figure and table."""
    records = int(frames[DATA]["records"][0])
    (original,) = frames["original"].to_dicts()
    releases, regenerated = frames["releases"], frames["regenerated"]
    return (
        _masked("Figure S1", "race", frames["masked"], _race_masked(*regenerated["race_masked"])),
        _masked("Figure S2", "age", frames["masked"]),
        _figure_s3(by_knowledge(frames), original, records, *of(releases, HARBOR)["reidentification_risk"]),
        _figure_s4(releases.drop("by_groups"), original["wealthy"], records),
        _figure_s5(frames["grid"]),
        _figure_s6(frames["grid"], releases),
        _figure_s7(releases.drop("by_groups"), original["least_closeness"]),
        table_s4(frames["correlations"], regenerated),
        table_s5(frames["correlations"], regenerated),
        table_s6(frames["example"]),
        *(table_of_intervals(resolution, frames["intervals"]) for resolution in (16, 8)),
        table_s9(records),
    )


# ---- who was masked


def _race_masked(printed: float, nine: float) -> Statement:
    paper = PAPER_RACE_MASKED / PAPER_ROWS
    return Statement(
        f"The race of {PAPER_RACE_MASKED:,} of {PAPER_ROWS:,} records is masked: {percent(paper)}.",
        f"{percent(printed)} where records are masked while unique by the seven attributes of Table S3, "
        f"{percent(nine)} by all nine.",
        abs(printed - paper) <= 0.05,
        "The smaller a table, the more of its records are unique and must be masked.",
    )


def _masked(name: str, attribute: str, masked: pl.DataFrame, *more: Statement) -> Part:
    data = masked.filter(attribute=attribute).drop("attribute")
    title = f"Records by {attribute}, and how many of each had it masked"
    rank = data.select(pl.corr("records", "masked", method="spearman")).item()
    rarest, commonest = (data.sort("records", descending=down).row(0, named=True) for down in (False, True))
    statement = Statement(
        "The less frequent a value, the larger the share of its records that is masked.",
        f"{percent(rarest['masked'])} of the rarest ({rarest['value']}), {percent(commonest['masked'])} of the most "
        f"frequent ({commonest['value']}); rank correlation of frequency and share {rank:.2f}.",
        rank <= -0.8,
        "Here rarity is not all that decides: a value that goes with rare others is masked with them.",
    )
    note = "Masked while unique by the seven attributes of Table S3; ages are masked to a range before they are hidden."
    return Part(name, title, data, (*more, statement), note=note)


# ---- Figure S3


def by_knowledge(frames: Frames) -> pl.DataFrame:
    """The share of unique records by what an intruder knows, of the original and of both readings of Table S3."""
    harbor = of(frames["releases"], HARBOR)
    original = frames["original"].select("known", SPD="by_groups").explode("known", "SPD")
    shares = dict(harbor["setting", "by_groups"].iter_rows())
    return original.with_columns(pl.Series(f"PD, {reading}", share) for reading, share in shares.items())


def _figure_s3(data: pl.DataFrame, original: dict[str, Any], records: int, printed: float, nine: float) -> Part:
    risk = original["risk"]
    beyond = (
        "Table S3 masks neither hospital nor length of stay, and "
        f"{percent(original['by_hospital_and_stay'])} of the records are unique by these two alone."
    )
    statements = (
        Statement(
            "Almost 75% of the records (nearly 3 million of 3,985,166) are unique to whoever knows all nine "
            "attributes.",
            f"{percent(risk)} ({original['uniques']:,} of {records:,}).",
            abs(risk - 0.75) <= 0.05,
            "The larger a table, the more of its records share a combination: "
            f"{original['trend']}, {percent(risk)} of {records:,}. Generated tables are made so that it is "
            "close to 75% at the paper's size.",
        ),
        Statement(
            "Safe-harbor masking (PD) makes that much lower.",
            f"{risk / max(nine, 1 / records):.0f} times lower where records are masked while unique by all nine "
            "attributes.",
            nine <= risk / 10,
            beyond,
        ),
        Statement(
            "In the worst case the risk of the safe-harbor table (PD) is 0.26%.",
            f"{percent(nine)}.",
            nine <= 2 * 0.0026,
            beyond,
        ),
        Statement(
            "Table S3: records are masked until no longer unique by the attributes it lists.",
            f"Read so, {percent(printed)} stay unique.",
            printed <= risk / 10,
            "Hospital and length of stay are not listed, and whoever knows them too finds most records unique; masking "
            f"that looks at all nine attributes leaves {percent(nine)}.",
        ),
    )
    note = "Masked records are counted by the worst case: unique if one of the values they admit fits no other record."
    return Part("Figure S3", "Unique records, by what an intruder knows", data, statements, note=note)


# ---- Figure S4


def _figure_s4(releases: pl.DataFrame, wealthy: float, records: int) -> Part:
    title = "What an intruder could do, and what each masking costs"
    data = of(releases, S2, SHOAL, S3, HARBOR)
    statements = (
        *_k_anonymous(data),
        Statement(
            "Coarsening to intervals of 1/32, 1/16 and 1/8 never eliminates unique records.",
            f"{_listed(data, S3, 'uniques', _count)} unique records.",
            bool((of(data, S3)["uniques"] > 0).all()),
        ),
        Statement(
            "Nor does safe harbor.",
            f"{_listed(data, HARBOR, 'uniques', _count)} unique records (two readings of Table S3).",
            bool((of(data, HARBOR)["uniques"] > 0).all()),
        ),
        _cheaper_than_coarsening(
            data,
            S2,
            "2-anonymity loses less information than 1/8 coarsening.",
            "Algorithm S2's order, by the distance to zero, puts records together that are far apart: classes of near "
            f"neighbours lose {three(value_of(data, SHOAL, 'k = 2', 'information_loss'))}.",
        ),
        _cheaper_than_coarsening(
            data, SHOAL, _SAME, f"Among {records:,} records even the nearest neighbours are far apart."
        ),
        Statement("About 10% of the charges are above $100,000.", percent(wealthy) + ".", abs(wealthy - 0.1) <= 0.02),
        _none_free_of_disclosure(
            data, S2, "None of these is free of attribute disclosure, but k-anonymity has the least."
        ),
        _none_free_of_disclosure(data, SHOAL, _SAME),
    )
    note = (
        "Safe harbor in two readings of Table S3: a record is masked while unique by the seven attributes that the "
        "table masks, or by all nine. A generated table is made so that about a tenth of its charges are above "
        "$100,000."
    )
    return Part("Figure S4", title, data, statements, note=note)


_SAME = "The same, asked of Shoal's default."


def _k_anonymous(data: pl.DataFrame) -> tuple[Statement, Statement]:
    grouped = of(data, S2, SHOAL)
    guesses = [_by_k(data, family, "highest_risk") for family in (S2, SHOAL)]
    return (
        Statement(
            "k-anonymity leaves zero unequivocal re-identifications (k = 2, 3, 5, 10).",
            f"{grouped['uniques'].sum():,} unique records in {grouped.height} k-anonymous releases.",
            grouped["uniques"].sum() == 0,
        ),
        Statement(
            "A random guess is right at a rate of 1/k in the worst case.",
            f"At most {_listed(data, S2, 'highest_risk', percent)} by Algorithm S2, "
            f"{_listed(data, SHOAL, 'highest_risk', percent)} by Shoal's default.",
            all(guess <= 1 / k for by_k in guesses for k, guess in by_k.items()),
        ),
    )


def _cheaper_than_coarsening(data: pl.DataFrame, family: str, paper: str, if_not: str) -> Statement:
    ours, theirs = (value_of(data, f, s, "information_loss") for f, s in ((family, "k = 2"), (S3, "1/8")))
    return Statement(paper, f"{three(ours)} against {three(theirs)}.", ours < theirs, if_not)


def _none_free_of_disclosure(data: pl.DataFrame, family: str, paper: str) -> Statement:
    free = of(data, family, S3, HARBOR).filter(pl.col("attribute_disclosure") == 0)
    least = of(data, S3, HARBOR)["attribute_disclosure"].min()
    worse = of(data, family).filter(pl.col("attribute_disclosure") > least)
    reasons = []
    if free.height:
        reasons.append(f"Free of it: {_names(free)}.")
    if worse.height:
        reasons.append(
            f"More than coarsening or safe harbor at their best: {_names(worse)}. Small classes of near neighbours, "
            "who stay about as long, have similar charges; k-anonymity does not look at charges, t-closeness does."
        )
    return Statement(
        paper,
        "; ".join(f"{name}: {_listed(data, name, 'attribute_disclosure', percent)}" for name in (family, S3, HARBOR))
        + ".",
        not reasons,
        " ".join(reasons),
    )


# ---- Figures S5 and S6


def _figure_s5(grid: pl.DataFrame) -> Part:
    title = "Unique records left by coarsening"
    risk = square(grid, "reidentification_risk")
    coarsest = int(grid["uniques"][0])
    together = np.diag(risk)[::-1]
    steps = -np.diff(together)
    statements = (
        Statement(
            "Even with every attribute in only two intervals some records are unique: 51 records.",
            f"{coarsest:,} records.",
            coarsest > 0,
            "So few combinations are left that none belongs to one record only.",
        ),
        Statement(
            "The risk declines sharply at intervals of 1/32.",
            f"From {percent(together[0])} to {percent(together[1])}, all attributes together.",
            bool(steps[0] == steps.max()),
            "Here most combinations are still unique at 1/32, and the decline comes later.",
        ),
        Statement(
            "Then it declines almost linearly with each doubling of the intervals.",
            f"{', '.join(map(percent, together[1:]))} (1/32, 1/16, 1/8, 1/4, 1/2).",
            bool(steps[1:].max() <= 2 * steps[1:].min()),
            "Here each doubling leaves less than half of the unique records, all attributes together; the paper prints "
            "no numbers to compare with.",
        ),
    )
    return Part("Figure S5", title, grid.drop("information_loss"), statements)


def square(grid: pl.DataFrame, column: str) -> npt.NDArray[np.float64]:
    """A row a resolution of the spatiotemporal attributes, a column one of the census attributes."""
    return grid[column].to_numpy().reshape(len(GRID), len(GRID))


def _figure_s6(grid: pl.DataFrame, releases: pl.DataFrame) -> Part:
    title = "Information lost by coarsening (Eq. 3)"
    lost = square(grid, "information_loss")
    spatiotemporal, census = lost[0, -1], lost[-1, 0]
    coarsened = lost.ravel()[:-1]  # the last cell is the table as it is
    grouped = {family: value_of(releases, family, "k = 2", "information_loss") for family in (S2, SHOAL)}
    dearer = {family: int((coarsened > value).sum()) for family, value in grouped.items()}
    statements = (
        Statement(
            "Coarsening the spatiotemporal features loses very much, coarsening the census features much less.",
            f"Into two intervals: {three(spatiotemporal)} against {three(census)}.",
            bool(census <= spatiotemporal / 2),
            "Eq. 3 counts in standard deviations, in which six census attributes add up to more here.",
        ),
        Statement(
            "In most cases the loss is significantly greater than with k-anonymity.",
            f"Of {len(coarsened)} coarsenings, {dearer[S2]} lose more than 2-anonymity by Algorithm S2, "
            f"{dearer[SHOAL]} more than by Shoal's default.",
            2 * dearer[S2] > len(coarsened),
            f"Algorithm S2 loses {three(grouped[S2])} because its order puts distant records together; Shoal's "
            f"default loses {three(grouped[SHOAL])}.",
        ),
    )
    return Part("Figure S6", title, grid.drop("uniques", "reidentification_risk"), statements)


# ---- Figure S7


def _figure_s7(releases: pl.DataFrame, least: float) -> Part:
    title = "k-anonymity with and without t-closeness of charges"
    data = of(releases, S2, S4, SHOAL, SHOAL_T)
    coarse = value_of(releases, S3, "1/8", "information_loss")
    statements = (
        _free_of_disclosure(data, S4, "t-closeness lowers attribute disclosure to zero in all cases.", least),
        _free_of_disclosure(data, SHOAL_T, _SAME, least),
        _price(
            data,
            S2,
            S4,
            "t-closeness increases the information loss slightly.",
            "Eq. 6 takes all charges for different, but many are equal; classes that therefore miss t are merged here "
            "until they keep it, and the paper's are not.",
        ),
        _price(
            data,
            SHOAL,
            SHOAL_T,
            _SAME,
            "Near neighbours have similar charges, so a class that mirrors all charges must reach farther; the closer "
            "classes were without t-closeness, the more that costs.",
        ),
        _below_coarsening(data, S4, coarse, "In most cases the loss stays below that of 1/8 coarsening."),
        _below_coarsening(data, SHOAL_T, coarse, _SAME),
    )
    note = (
        f"t is that of Table S9. A class in which every charge is above $100,000 lies at least {least:.3f} from the "
        "whole table, so every smaller t rules out that such a charge is learnt."
    )
    return Part("Figure S7", title, data, statements, note=note)


def _free_of_disclosure(data: pl.DataFrame, family: str, paper: str, least: float) -> Statement:
    exposed = _by_k(data, family, "attribute_disclosure")
    return Statement(
        paper,
        f"{_listed(data, family, 'attribute_disclosure', percent)}.",
        not any(exposed.values()),
        f"Only a t below {least:.3f} rules out classes in which every charge is high.",
    )


def _price(data: pl.DataFrame, without: str, family: str, paper: str, if_not: str) -> Statement:
    before, after = (_by_k(data, f, "information_loss") for f in (without, family))
    pairs = ", ".join(f"{three(before[k])} to {three(after[k])} (k = {k})" for k in LEVELS)
    return Statement(paper, f"From {pairs}.", all(after[k] <= 1.25 * before[k] for k in LEVELS), if_not)


def _below_coarsening(data: pl.DataFrame, family: str, coarse: float, paper: str) -> Statement:
    below = sum(lost < coarse for lost in _by_k(data, family, "information_loss").values())
    return Statement(
        paper,
        f"{_listed(data, family, 'information_loss', three)} against {three(coarse)}.",
        2 * below > len(LEVELS),
        "Algorithm S4 orders records as S2 does, by the distance to zero, and so puts distant ones together."
        if family == S4
        else "A class that mirrors all charges must reach past a record's nearest neighbours.",
    )


# ---- looking things up


def of(data: pl.DataFrame, *families: str) -> pl.DataFrame:
    """The rows of these families, in this order."""
    return pl.concat([data.filter(pl.col("family") == family) for family in families])


def value_of(data: pl.DataFrame, family: str, setting: str, column: str) -> float:
    """One number of one release."""
    return float(data.filter(pl.col("family") == family, pl.col("setting") == setting)[column].item())


def _by_k(data: pl.DataFrame, family: str, column: str) -> dict[int, float]:
    return {k: value_of(data, family, f"k = {k}", column) for k in LEVELS}


def _listed(data: pl.DataFrame, family: str, column: str, show: Callable[[float], str]) -> str:
    return ", ".join(map(show, of(data, family)[column]))


def _names(data: pl.DataFrame) -> str:
    return ", ".join(f"{family} {setting}" for family, setting in data[["family", "setting"]].rows())


def _count(number: float) -> str:
    return f"{number:,.0f}"
