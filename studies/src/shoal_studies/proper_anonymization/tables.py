"""What paper 1 says in its tables: correlations, worked examples, the t that comes with k."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.privacy.t_closeness import t_of_k
from shoal_studies.proper_anonymization.examples import INTERVALS, TABLE_S2
from shoal_studies.proper_anonymization.experiment import LEVELS, NINE, PRINTED, QUASI
from shoal_studies.result import Part, Statement, percent

PAPER_T = {2: 0.25, 3: 0.17, 5: 0.10, 10: 0.05}
TABLE_S6 = {
    "age": ("[42;52]", "[57;70]"),
    "ZIP code": ("[93561;93722]", "[93551;93560]"),
    "quarter": ("[1;2]", "[2;4]"),
    "stay": ("[13;47]", "[1;2]"),
}

EXAMPLE = "the paper's own example"


def table_s4(correlations: pl.DataFrame, regenerated: pl.DataFrame) -> Part:
    left = dict(regenerated["reading", "left"].iter_rows())
    pairs = correlations.filter(reading=PRINTED).sort(pl.col("before").abs(), descending=True, nulls_last=True)
    first, second = (f"{a} and {b}" for a, b in pairs[["attribute", "other"]].rows()[:2])
    strong, weaker = pairs["before"].fill_null(0.0)[:2]
    statements = (
        Statement(
            "Only hospital and county of residence are highly correlated (0.811).",
            f"{first}: {strong:.3f}; next {second}: {weaker:.3f}.",
            first == "oshpd_id and patcnty" and abs(strong - 0.811) <= 0.05 and abs(weaker) < 0.6,
            f"Only {percent(left[PRINTED])} of the values are left to correlate, and not by chance which.",
        ),
        Statement(
            "On average over the attributes, 3,142,313 of 3,985,166 values (79%) were not masked.",
            f"{percent(left[PRINTED])} where records are masked while unique by the seven attributes of Table S3, "
            f"{percent(left[NINE])} by all nine.",
            abs(left[PRINTED] - 0.79) <= 0.05,
            "How many records are unique, and so must be masked, depends on the table's size and on what counts as "
            "unique: the paper does not say.",
        ),
    )
    title = "Correlations of the values that safe harbor left"
    note = (
        "A generated table is made so that its attributes correlate in the order of Table S4: where it agrees, it is a "
        "fair stand-in for the paper's patients, no more."
    )
    return Part("Table S4", title, _triangle(correlations, "before"), statements, note=note)


def table_s5(correlations: pl.DataFrame, regenerated: pl.DataFrame) -> Part:
    agreement = dict(regenerated["reading", "agreement"].iter_rows())
    printed = agreement[PRINTED]
    left = regenerated.filter(reading=PRINTED)["left"].item()
    statement = Statement(
        "The correlation of the two sets of correlations is 0.957.",
        f"{_three(printed)} ({_three(agreement[NINE])} where records are masked while unique by all nine).",
        printed is not None and abs(printed - 0.957) <= 0.03,
        "Algorithm S1 draws each attribute by itself, so correlations shrink where much was masked: "
        f"{percent(1 - left)} of the values here.",
    )
    title = "Correlations after masked values were drawn anew (Algorithm S1)"
    return Part("Table S5", title, _triangle(correlations, "after"), (statement,))


def _three(agreement: float | None) -> str:
    return "none" if agreement is None else f"{agreement:.3f}"


def _triangle(correlations: pl.DataFrame, column: str) -> pl.DataFrame:
    """The upper triangle, as the paper prints it."""
    pairs = correlations.filter(reading=PRINTED)
    known = {(a, b): value for a, b, value in pairs["attribute", "other", column].iter_rows()}
    columns = {b: pl.Series([known.get((a, b)) for a in QUASI[:-1]], dtype=pl.Float64) for b in QUASI[1:]}
    return pl.DataFrame({"attribute": QUASI[:-1], **columns})


def table_s6(shown: pl.DataFrame) -> Part:
    """The six records as Algorithm S2 groups them; the first three and the last three, as in the paper."""
    ours = {name: (shown[name][0], shown[name][-1]) for name in TABLE_S2.columns}
    data = pl.DataFrame(
        [
            {"group": group, "attribute": name, "paper": TABLE_S6[name][place], "ours": ours[name][place]}
            for place, group in enumerate(("first three", "last three"))
            for name in ours
        ]
    )
    differing = data.filter(pl.col("paper") != pl.col("ours"))
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
            differing.is_empty(),
            "The second record of Table S2 is 35 years old, so that the first class's ages are 35 to 52: the paper's "
            "[42;52] leaves it out.",
        ),
    )
    note = "Of the attributes that are numbers; the others are coded in the paper's data, but not in its example."
    return Part("Table S6", "The example records of Table S2, 3-anonymous", data, statements, note=note, on=EXAMPLE)


def _ranges(ranges: Mapping[str, tuple[str, str]]) -> str:
    return "; ".join(f"{name} {first} and {last}" for name, (first, last) in ranges.items())


def table_of_intervals(resolution: int, intervals: pl.DataFrame) -> Part:
    name, ends = INTERVALS[resolution]
    ours = intervals.filter(resolution=resolution)["ours"].to_list()
    paper = [f"[{first};{last}]" for first, last in zip((0, *(end + 1 for end in ends)), ends, strict=False)]
    data = pl.DataFrame({"interval": range(1, len(paper) + 1), "paper": paper, "ours": ours})
    same = sum(a == b for a, b in zip(paper, ours, strict=True))
    statement = Statement(
        f"Coarsened to {resolution} intervals, ages 0 to 85 become {paper[0]}, {paper[1]}, ... {paper[-1]}.",
        f"{same} of {len(paper)} intervals are the paper's.",
        same == len(paper),
        "Intervals are cut elsewhere.",
    )
    title = f"Intervals of age at resolution {resolution} (Algorithm S3)"
    return Part(name, title, data, (statement,), on="ages 0 to 85")


def table_s9(records: int) -> Part:
    t = {k: t_of_k(records, k) for k in LEVELS}
    data = pl.DataFrame({"k": list(t), "t": list(t.values()), "paper": [PAPER_T[k] for k in t]})
    statement = Statement(
        "t = 0.25, 0.17, 0.10, 0.05 for k = 2, 3, 5, 10 (n = 3,985,166).",
        f"{', '.join(f'{value:.2f}' for value in t.values())} (n = {records:,}).",
        all(abs(t[k] - PAPER_T[k]) <= 0.005 for k in t),
        "By Eq. 6 t depends on n too, which shows where n is small.",
    )
    return Part("Table S9", "The t that comes with k (Eq. 6)", data, (statement,), on="the number of records alone")
