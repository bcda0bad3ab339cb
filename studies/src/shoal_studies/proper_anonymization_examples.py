"""Paper 1's worked examples (Tables S6 to S8) and its counts of masked values (Figures S1 and S2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.anonymize import anonymize
from shoal.data.microdata import Microdata
from shoal.data.schema import Kind
from shoal.draft import prepare
from shoal.masking.grouped import Grouping
from shoal.masking.grouping.sorted import Sorted
from shoal.masking.recoding.coarsening import Coarsen
from shoal.masking.recoding.safe_harbor import TABLE_S3
from shoal.policy import AttributeChoice, Policy
from shoal.privacy import KAnonymity
from shoal_studies import figures
from shoal_studies.figures import percent
from shoal_studies.result import Part, Statement

Shown = Mapping[str, npt.NDArray[np.bool_]]  # attribute -> which records show its value

# ---- Table S6

TABLE_S2 = pl.DataFrame(  # its attributes that are numbers
    {
        "age": [42, 35, 52, 70, 57, 61],
        "ZIP code": [93722, 93611, 93561, 93560, 93555, 93551],
        "quarter": [1, 2, 2, 2, 4, 2],
        "stay": [33, 47, 13, 1, 2, 2],
    }
)
TABLE_S6 = {
    "age": ("[42;52]", "[57;70]"),
    "ZIP code": ("[93561;93722]", "[93551;93560]"),
    "quarter": ("[1;2]", "[2;4]"),
    "stay": ("[13;47]", "[1;2]"),
}


def table_s6() -> Part:
    """The six records as Algorithm S2 groups them; the first three and the last three, as in the paper."""
    release = anonymize(TABLE_S2, _all_numbers(TABLE_S2, Sorted(), KAnonymity(3)))
    shown = release.table.cast(pl.String)
    ours = {name: (shown[name][0], shown[name][-1]) for name in TABLE_S2.columns}
    data = pl.DataFrame(
        [
            {"group": group, "attribute": name, "paper": TABLE_S6[name][place], "ours": ours[name][place]}
            for place, group in enumerate(("first three", "last three"))
            for name in ours
        ]
    )
    other = data.filter(pl.col("paper") != pl.col("ours"))
    two_groups = shown.n_unique() == 2 and shown[:3].n_unique() == 1
    statements = (
        Statement(
            "3-anonymous, the first three of the example records are one class, the last three the other.",
            f"{shown.n_unique()} classes; Algorithm S2 puts the same records together."
            if two_groups
            else f"{shown.n_unique()} classes, of other records.",
            two_groups,
            "By these four attributes other records are near each other.",
        ),
        Statement(
            f"The ranges of the two classes: {_ranges(TABLE_S6)}.",
            f"{_ranges(ours)}.",
            other.is_empty(),
            "The second record of Table S2 is 35 years old, so that the first class's ages are 35 to 52: the paper's "
            "[42;52] leaves it out.",
        ),
    )
    note = "Of the attributes that are numbers; the others are coded in the paper's data, but not in its example."
    return Part("Table S6", "The example records of Table S2, 3-anonymous", data, statements, note=note)


def _ranges(found: Mapping[str, tuple[str, str]]) -> str:
    return "; ".join(f"{name} {first} and {last}" for name, (first, last) in found.items())


def _all_numbers(table: pl.DataFrame, method: Grouping | Coarsen, *models: KAnonymity) -> Policy:
    numeric = AttributeChoice(kind=Kind.NUMERIC)
    return Policy(
        quasi_identifiers=tuple(table.columns),
        models=models,
        method=method,
        attributes=dict.fromkeys(table.columns, numeric),
    )


# ---- Tables S7 and S8

AGES = pl.DataFrame({"age": range(86)})
INTERVALS = {  # resolution -> the table, and the last year of each of its intervals
    16: ("Table S7", (4, 9, 15, 20, 25, 31, 36, 42, 47, 52, 58, 63, 68, 74, 79, 85)),
    8: ("Table S8", (9, 20, 31, 42, 52, 63, 74, 85)),
}


def table_of_intervals(resolution: int) -> Part:
    name, ends = INTERVALS[resolution]
    microdata, _ = prepare(AGES, _all_numbers(AGES, Coarsen(resolution)))
    column = Coarsen(resolution).mask(microdata, ()).columns["age"]
    ours = [column.text[int(cell)] for cell in dict.fromkeys(column.index.tolist())]
    paper = [f"[{first};{last}]" for first, last in zip((0, *(end + 1 for end in ends)), ends, strict=False)]
    data = pl.DataFrame({"interval": range(1, len(paper) + 1), "paper": paper, "ours": ours})
    same = sum(a == b for a, b in zip(paper, ours, strict=True))
    statement = Statement(
        f"Coarsen to {resolution} intervals, ages 0 to 85 become {paper[0]}, {paper[1]}, ... {paper[-1]}.",
        f"{same} of {len(paper)} intervals are the paper's.",
        same == len(paper),
        "Intervals are cut elsewhere.",
    )
    return Part(name, f"Intervals of age at resolution {resolution} (Algorithm S3)", data, (statement,))


# ---- Figures S1 and S2

PAPER_RACE_MASKED = 568_394 + 136_264 + 10_761 + 130_597 + 193_477 + 32_857  # of 3,985,166 records
PAPER_ROWS = 3_985_166


def figure_s1(original: Microdata, printed: Shown, nine: Shown) -> Part:
    race = original.frame["race"]
    data = _masked_by(race.cast(pl.String), printed["race"])
    paper = PAPER_RACE_MASKED / PAPER_ROWS
    ours = [1 - float(shown["race"].mean()) for shown in (printed, nine)]
    amount = Statement(
        f"The race of {PAPER_RACE_MASKED:,} of {PAPER_ROWS:,} records is masked: {percent(paper)}.",
        f"{percent(ours[0])} where records are masked while unique by the seven attributes of Table S3, "
        f"{percent(ours[1])} by all nine.",
        abs(ours[0] - paper) <= 0.05,
        "The smaller a table, the more of its records are unique and must be masked.",
    )
    return _masked_part("Figure S1", "race", data, amount)


def figure_s2(original: Microdata, printed: Shown) -> Part:
    cuts = [int(cut) for cut in TABLE_S3[0].cuts]
    ends = [f"{cut - 1}" for cut in cuts[1:]]
    names = ["0", *(f"{cut} to {end}" for cut, end in zip(cuts, ends, strict=False)), f"{cuts[-1]}+"]
    ages = original.frame["age_yrs"]
    band = pl.Series(np.searchsorted(cuts, ages.fill_null(0).to_numpy(), side="right"))
    bands = pl.Series(names).gather(band.set(ages.is_null(), None))
    return _masked_part("Figure S2", "age", _masked_by(bands, printed["age_yrs"], names))


def _masked_by(values: pl.Series, shown: npt.NDArray[np.bool_], order: list[str] | None = None) -> pl.DataFrame:
    """How many records have each value, and what share of them is masked."""
    table = (
        pl.DataFrame({"value": values, "masked": ~shown})
        .drop_nulls("value")
        .group_by("value")
        .agg(records=pl.len(), masked=pl.col("masked").mean())
    )
    places = {name: place for place, name in enumerate(order or sorted(table["value"]))}
    table = table.sort(pl.col("value").replace_strict(places, return_dtype=pl.Int64))
    return table.with_columns(share=pl.col("records") / pl.col("records").sum())


def _masked_part(name: str, attribute: str, data: pl.DataFrame, *more: Statement) -> Part:
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
    series = {
        "of all records": (figures.GREY, data["share"].to_list()),
        f"of these, {attribute} masked": (figures.ORANGE, data["masked"].to_list()),
    }
    figure = figures.grouped_bars(title, data["value"].to_list(), series)
    note = "Masked while unique by the seven attributes of Table S3; ages are masked to a range before they are hidden."
    return Part(name, title, data, (*more, statement), figure, note)
