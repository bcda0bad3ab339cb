"""Paper 1's experiments (the supplement to the Science comment of 2016): Figures S1 to S7, Tables S4 to S9.

The paper's patients cannot be had any more, so the table is a generated one with the same attributes, or a file
of them. The table itself stands for the paper's original data (SPD); masked by safe-harbor rules it stands for
what the state released (PD). Everything on our side is computed: releases are made as a custodian makes them
(`anonymize`), judged on the finished output, and measured on what they show (`Release.risk`).

The paper does not say whether a record counts as unique for Table S3's masking by the attributes that Table S3
masks, as the table's caption has it, or by all nine, so both readings are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.anonymize import anonymize
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.schema import Kind, Schema
from shoal.draft import assemble, prepare
from shoal.errors import InputError
from shoal.masking.grouping.hilbert import Hilbert
from shoal.masking.grouping.sorted import Sorted
from shoal.masking.grouping.stratified import Stratified
from shoal.masking.method import Method
from shoal.masking.recoding.coarsening import Coarsen, classes_of
from shoal.masking.recoding.safe_harbor import TABLE_S3, SafeHarbor, Step
from shoal.masking.regenerate import regenerate
from shoal.policy import AttributeChoice, Policy
from shoal.privacy import KAnonymity, TCloseness
from shoal.privacy.model import PrivacyModel
from shoal.privacy.t_closeness import t_of_k
from shoal.risk.measure import Risk, assess_risk
from shoal.utility.correlations import Correlations, Placed, correlations, place_original
from shoal.utility.information_loss import information_loss
from shoal_studies import figures
from shoal_studies.figures import Panel, loss, percent
from shoal_studies.proper_anonymization_examples import Shown, figure_s1, figure_s2, table_of_intervals, table_s6
from shoal_studies.result import Part, Statement, StudyResult, check_folder

TITLE = "How to avoid re-identification with proper anonymization"
GROUPS = {
    "spatial": ("oshpd_id",),
    "census": ("age_yrs", "sex", "ethncty", "race", "patzip", "patcnty"),
    "temporal": ("los", "adm_qtr"),
}
QUASI = tuple(name for names in GROUPS.values() for name in names)
CHARGE, WEALTHY = "charge", 100_000
CONDITION = f"{CHARGE} > {WEALTHY}"
LEVELS = (2, 3, 5, 10)  # of k
RESOLUTIONS = (32, 16, 8)  # of Figure S4's coarsening
GRID = (2, 4, 8, 16, 32, None)  # of Figures S5 and S6; None: as it is
PAPER_ROWS = 3_985_166
PAPER_T = {2: 0.25, 3: 0.17, 5: 0.10, 10: 0.05}

# Steps that hide nothing: with them the ladder compares records in all nine attributes.
ALL_NINE = (*TABLE_S3, Step("oshpd_id", "prefix", keep=18), Step("los", "prefix", keep=18))

S2, SHOAL, S3, HARBOR = "k-anonymity (S2)", "k-anonymity (Shoal)", "coarsening (S3)", "safe harbor"
S4, SHOAL_T = "with t-closeness (S4)", "with t-closeness (Shoal)"
PRINTED, NINE = "unique by 7 attributes", "unique by all 9"  # readings of Table S3
COLOURS = {
    S2: figures.BLUE,
    S4: figures.LIGHT_BLUE,
    SHOAL: figures.GREEN,
    SHOAL_T: figures.LIGHT_GREEN,
    S3: figures.ORANGE,
    HARBOR: figures.GREY,
}


@dataclass(frozen=True)
class Trial:
    """One release to make and measure."""

    family: str
    setting: str
    method: Method
    models: tuple[PrivacyModel, ...] = ()


@dataclass(frozen=True)
class Measured:
    trial: Trial
    risk: Risk
    information_loss: float
    t: float | None  # the closeness reached, where it was asked for


def trials(records: int) -> list[Trial]:
    """The releases of Figures S4 and S7, and Shoal's default beside them."""

    def close(k: int) -> tuple[PrivacyModel, ...]:
        return KAnonymity(k), TCloseness(t_of_k(records, k), CHARGE)

    return [
        *(Trial(S2, f"k = {k}", Sorted(), (KAnonymity(k),)) for k in LEVELS),
        *(Trial(SHOAL, f"k = {k}", Hilbert(), (KAnonymity(k),)) for k in LEVELS),
        *(Trial(S3, f"1/{r}", Coarsen(r)) for r in RESOLUTIONS),
        Trial(HARBOR, PRINTED, SafeHarbor()),
        Trial(HARBOR, NINE, SafeHarbor(ALL_NINE)),
        *(Trial(S4, f"k = {k}", Stratified(), close(k)) for k in LEVELS),
        *(Trial(SHOAL_T, f"k = {k}", Hilbert(), close(k)) for k in LEVELS),
    ]


STAGES = 5 + len(trials(PAPER_ROWS))


def run(
    output: Path,
    *,
    data: str | None = None,
    rows: int = 400_000,
    seed: int = 1,
    progress: Callable[[str], None] = lambda stage: None,
) -> StudyResult:
    """Repeats the paper's experiments on a file, or on `rows` generated records, and writes all into `output`."""
    check_folder(output)
    progress("the table")
    table = _generated(rows, seed) if data is None else _read(data)
    if table.height < max(LEVELS):
        raise InputError(
            f"The study puts records into classes of up to {max(LEVELS)}, but the table has {table.height}: give more."
        )
    source = f"{table.height:,} " + ("generated discharges" if data is None else f"records of {data}")
    progress("unique records of the original")
    original, _ = prepare(table, _policy(Hilbert(), ()))
    spd = assess_risk(table, original.schema, groups=GROUPS)
    measured = []
    for trial in trials(table.height):
        progress(f"{trial.family}, {trial.setting}")
        measured.append(_measure(table, trial))
    releases = _as_frame(measured)
    progress("coarsening, every pair of resolutions")
    grid = coarsening_grid(original)
    progress("correlations")
    printed, nine = (regeneration(original, ladder, seed) for ladder in (TABLE_S3, ALL_NINE))
    progress("drawing")
    parts = (
        figure_s1(original, printed.shown, nine.shown),
        figure_s2(original, printed.shown),
        _figure_s3(table, spd, {m.trial.setting: m.risk for m in measured if m.trial.family == HARBOR}, seed),
        _figure_s4(table, releases),
        _figure_s5(grid),
        _figure_s6(grid, releases),
        _figure_s7(table, releases),
        _table_s4(printed, nine),
        _table_s5(printed, nine),
        table_s6(),
        table_of_intervals(16),
        table_of_intervals(8),
        _table_s9(table.height),
    )
    settings = {"data": data, "rows": rows, "seed": seed}
    result = StudyResult(TITLE, source, table.height, parts, output, settings)
    result.write()
    return result


# ---- the table


def _generated(rows: int, seed: int) -> pl.DataFrame:
    from shoal.data.discharges import discharges

    return discharges(rows, seed).select(*QUASI, CHARGE)


def _read(data: str) -> pl.DataFrame:
    from shoal.data.files import read_table

    table = read_table(data)
    lacking = [name for name in (*QUASI, CHARGE) if name not in table.columns]
    if lacking:
        raise InputError(
            f"{data} lacks {', '.join(map(repr, lacking))}: the study needs the paper's nine quasi-identifiers "
            f"({', '.join(QUASI)}) and {CHARGE!r}, under these names."
        )
    if not table[CHARGE].dtype.is_numeric():
        raise InputError(f"Column {CHARGE!r} of {data} holds text, not numbers: give the charges as numbers.")
    return table.select(*(_codes(table[name], data) for name in QUASI), CHARGE)


def _codes(column: pl.Series, data: str) -> pl.Series:
    """The paper's attributes are codes and counts; some file formats keep whole numbers as floats."""
    if column.dtype.is_float() and (column == column.round()).all():
        column = column.cast(pl.Int64)
    if not column.dtype.is_integer() or (column < 0).any():
        raise InputError(
            f"Column {column.name!r} of {data} holds values that are not whole numbers of at least 0, which the "
            "paper's codes are: give each category a number."
        )
    return column


def _policy(method: Method, models: Sequence[PrivacyModel], groups: bool = False) -> Policy:
    """All attributes as numbers, as the paper takes their codes."""
    return Policy(
        quasi_identifiers=QUASI,
        confidential=(CHARGE,),
        models=tuple(models),
        method=method,
        groups=GROUPS if groups else {},
        attributes={name: AttributeChoice(kind=Kind.NUMERIC) for name in (*QUASI, CHARGE)},
    )


# ---- making and measuring


def _measure(table: pl.DataFrame, trial: Trial) -> Measured:
    release = anonymize(table, _policy(trial.method, trial.models, groups=trial.family == HARBOR))
    t = next((v.achieved for v in release.verdicts if v.model == TCloseness.name), None)
    return Measured(trial, release.risk(when=[CONDITION]), release.information_loss, t)


def _as_frame(measured: Iterable[Measured]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "family": m.trial.family,
                "setting": m.trial.setting,
                "uniques": m.risk.uniques,
                "reidentification_risk": m.risk.reidentification_risk,
                "random_guess": m.risk.classes.average_risk,
                "highest_risk": m.risk.classes.highest_risk,
                "attribute_disclosure": m.risk.attribute_disclosure[0].risk,
                "information_loss": m.information_loss,
                "t": m.t,
            }
            for m in measured
        ],
        infer_schema_length=None,
    )


def coarsening_grid(original: Microdata) -> pl.DataFrame:
    """Risk and information loss for each resolution of the spatiotemporal and each of the census features.

    Intervals of one attribute do not overlap, so the worst-case rule and equality find the same unique records.
    """
    rows = []
    for spatiotemporal in GRID:
        for census in GRID:
            wanted = {name: census if name in GROUPS["census"] else spatiotemporal for name in QUASI}
            resolution = {name: r for name, r in wanted.items() if r is not None}
            columns = Coarsen(resolution).mask(original, ()).columns
            sizes = classes_of([(column.index, len(column.text)) for column in columns.values()]).sizes
            uniques = int((sizes == 1).sum())
            rows.append(
                {
                    "spatiotemporal": _resolution(spatiotemporal),
                    "census": _resolution(census),
                    "uniques": uniques,
                    "reidentification_risk": uniques / len(original),
                    "information_loss": information_loss(original, columns),
                }
            )
    return pl.DataFrame(rows)


def _resolution(intervals: int | None) -> str:
    return "full" if intervals is None else str(intervals)


def least_closeness(charge: pl.Series) -> float:
    """The ordered distance from the table that every class has in which all charges are high.

    Its distribution function is 0 up to the limit, where the table's is F: the distance is at least the sum of
    F there over (values - 1). A smaller t rules such classes out, and with them attribute disclosure.

    Defined in docs/spec.md#t-closeness.
    """
    counts = charge.drop_nulls().value_counts().sort(charge.name)
    below = (counts[charge.name] <= WEALTHY).to_numpy()
    F = np.cumsum(counts["count"].to_numpy()) / counts["count"].sum()
    return float(F[below].sum() / max(1, len(F) - 1))


@dataclass(frozen=True)
class Regeneration:
    """Correlations before and after Algorithm S1, and which cells masking had left as they were."""

    correlations: Correlations
    shown: Shown

    @property
    def left(self) -> float:
        """The share of cells that were not masked."""
        return float(np.mean([shown.mean() for shown in self.shown.values()]))


def regeneration(original: Microdata, ladder: Sequence[Step], seed: int) -> Regeneration:
    """Table S4 of the cells that safe-harbor masking left, Table S5 with the others drawn anew (Algorithm S1)."""
    masked = SafeHarbor(ladder).mask(original, ())
    plain = {name: _plain(column) for name, column in masked.columns.items()}
    left = {name: plain[name][column.index] for name, column in masked.columns.items()}
    before = [
        Placed(name, column.index, np.where(plain[name], column.low, np.nan)) for name, column in masked.columns.items()
    ]
    counts = {name: _masked_values(original.frame[name], shown) for name, shown in left.items()}
    released = assemble(original, masked).select(pl.col(QUASI).cast(pl.String))
    spd = regenerate(released, counts, seed=seed, rescale=True).cast(pl.Float64)
    again = Microdata(spd, Schema(tuple(original.schema[name] for name in QUASI)))
    after = [place_original(coded) for coded in again.quasi]
    return Regeneration(correlations(before, after), left)


def _plain(column: MaskedColumn) -> npt.NDArray[np.bool_]:
    """Which cells show a number and not a mask."""
    return column.text.cast(pl.Float64, strict=False).is_not_null().to_numpy()


def _masked_values(values: pl.Series, shown: npt.NDArray[np.bool_]) -> dict[str, int]:
    """What the data provider publishes for Algorithm S1: how often each value was masked."""
    hidden = values.filter(~pl.Series(shown)).drop_nulls().value_counts().sort(values.name)
    return dict(zip(hidden[values.name].cast(pl.String).to_list(), hidden["count"].to_list(), strict=True))


# ---- the figures and what they say


def _figure_s3(table: pl.DataFrame, spd: Risk, pd: dict[str, Risk], seed: int) -> Part:
    title = "Unique records, by what an intruder knows"
    data = pl.DataFrame(
        {
            "known": [" + ".join(known.groups) for known in spd.attributes_known],
            "SPD": _risks(spd),
            **{f"PD, {reading}": _risks(risk) for reading, risk in pd.items()},
        }
    )
    series = {
        "original (SPD)": (figures.GREY, _risks(spd)),
        "safe harbor (PD), records masked while unique by the 7 attributes that Table S3 masks": (
            figures.ORANGE,
            _risks(pd[PRINTED]),
        ),
        "safe harbor (PD), records masked while unique by all 9 attributes": (figures.BLUE, _risks(pd[NINE])),
    }
    risk, printed, nine = (x.reidentification_risk for x in (spd, pd[PRINTED], pd[NINE]))
    beyond = (
        "Table S3 masks neither hospital nor length of stay, and "
        f"{percent(_unique_share(table, ('oshpd_id', 'los')))} of the records are unique by these two alone."
    )
    statements = (
        Statement(
            "Almost 75% of the records (nearly 3 million of 3,985,166) are unique to whoever knows all nine "
            "attributes.",
            f"{percent(risk)} ({spd.uniques:,} of {spd.records:,}).",
            abs(risk - 0.75) <= 0.05,
            "The larger a table, the more of its records share a combination: "
            f"{_trend(table, seed)}, {percent(risk)} of {table.height:,}. Generated tables are made so that it is "
            "close to 75% at the paper's size.",
        ),
        Statement(
            "Safe-harbor masking (PD) makes that much lower.",
            f"{risk / max(nine, 1 / spd.records):.0f} times lower where records are masked while unique by all nine "
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
    labels = [_SPOKEN.get(known, known) for known in data["known"]]
    note = "Masked records are counted by the worst case: unique if one of the values they admit fits no other record."
    return Part("Figure S3", title, data, statements, figures.grouped_bars(title, labels, series), note)


_SPOKEN = {
    "spatial": "spatial (hospital)",
    "census": "census (age, sex, origin, home)",
    "temporal": "temporal (stay, quarter)",
}


def _risks(risk: Risk) -> list[float]:
    return [known.reidentification_risk for known in risk.attributes_known]


def _unique_share(table: pl.DataFrame, known: Sequence[str] = QUASI) -> float:
    return table.group_by(known).len().filter(pl.col("len") == 1).height / table.height


def _trend(table: pl.DataFrame, seed: int) -> str:
    """Uniqueness of samples of the table."""
    sizes = [max(1, table.height // part) for part in (16, 4)]
    return ", ".join(f"{percent(_unique_share(table.sample(n, seed=seed)))} of {n:,}" for n in sizes)


def _figure_s4(table: pl.DataFrame, releases: pl.DataFrame) -> Part:
    title = "What an intruder could do, and what each masking costs"
    data = _of(releases, S2, SHOAL, S3, HARBOR)
    panels = (
        Panel("Unique records\n(unequivocal)", "reidentification_risk", percent, 1.0),
        Panel("Random guess is right\n(average)", "random_guess", percent, 1.0),
        Panel("Charge above $100,000\nis learnt", "attribute_disclosure", percent, 1.0),
        Panel("Information loss\n(Eq. 3)", "information_loss", loss),
    )
    wealthy = table.filter(pl.col(CHARGE) > WEALTHY).height / table.height
    statements = (
        *_k_anonymous(data),
        Statement(
            "Coarsening to intervals of 1/32, 1/16 and 1/8 never eliminates unique records.",
            f"{_listed(data, S3, 'uniques', _count)} unique records.",
            bool((_of(data, S3)["uniques"] > 0).all()),
        ),
        Statement(
            "Nor does safe harbor.",
            f"{_listed(data, HARBOR, 'uniques', _count)} unique records (two readings of Table S3).",
            bool((_of(data, HARBOR)["uniques"] > 0).all()),
        ),
        _cheaper_than_coarsening(
            data,
            S2,
            "2-anonymity loses less information than 1/8 coarsening.",
            "Algorithm S2's order, by the distance to zero, puts records together that are far apart: classes of near "
            f"neighbours lose {loss(_value(data, SHOAL, 'k = 2', 'information_loss'))}.",
        ),
        _cheaper_than_coarsening(
            data, SHOAL, _SAME, f"Among {table.height:,} records even the nearest neighbours are far apart."
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
    picture = figures.bar_table(title, data, panels, COLOURS)
    return Part("Figure S4", title, data, statements, picture, note)


_SAME = "The same, asked of Shoal's default."


def _k_anonymous(data: pl.DataFrame) -> tuple[Statement, Statement]:
    grouped = _of(data, S2, SHOAL)
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
    ours, theirs = (_value(data, f, s, "information_loss") for f, s in ((family, "k = 2"), (S3, "1/8")))
    return Statement(paper, f"{loss(ours)} against {loss(theirs)}.", ours < theirs, if_not)


def _none_free_of_disclosure(data: pl.DataFrame, family: str, paper: str) -> Statement:
    free = _of(data, family, S3, HARBOR).filter(pl.col("attribute_disclosure") == 0)
    least = _of(data, S3, HARBOR)["attribute_disclosure"].min()
    worse = _of(data, family).filter(pl.col("attribute_disclosure") > least)
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
        "; ".join(f"{one}: {_listed(data, one, 'attribute_disclosure', percent)}" for one in (family, S3, HARBOR))
        + ".",
        not reasons,
        " ".join(reasons),
    )


_TICKS = [_resolution(intervals) for intervals in GRID]
_AXES = (
    "intervals of each census attribute (age, sex, ethnicity, race, ZIP code, county)",
    "intervals of hospital, stay and quarter",
)


def _figure_s5(grid: pl.DataFrame) -> Part:
    title = "Unique records left by coarsening"
    risk = _square(grid, "reidentification_risk")
    coarsest = int(grid["uniques"][0])
    labels = [[percent(share) for share in row] for row in risk]
    labels[0][0] += f"\n{coarsest:,} records"
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
    picture = figures.heat_map(title, risk, labels, _TICKS, *_AXES, "Blues")
    return Part("Figure S5", title, grid.drop("information_loss"), statements, picture)


def _square(grid: pl.DataFrame, column: str) -> npt.NDArray[np.float64]:
    return grid[column].to_numpy().reshape(len(GRID), len(GRID))


def _figure_s6(grid: pl.DataFrame, releases: pl.DataFrame) -> Part:
    title = "Information lost by coarsening (Eq. 3)"
    lost = _square(grid, "information_loss")
    labels = [[loss(value) for value in row] for row in lost]
    spatiotemporal, census = lost[0, -1], lost[-1, 0]
    coarsened = lost.ravel()[:-1]  # the last cell is the table as it is
    grouped = {family: _value(releases, family, "k = 2", "information_loss") for family in (S2, SHOAL)}
    dearer = {family: int((coarsened > value).sum()) for family, value in grouped.items()}
    statements = (
        Statement(
            "Coarsening the spatiotemporal features loses very much, coarsening the census features much less.",
            f"Into two intervals: {loss(spatiotemporal)} against {loss(census)}.",
            bool(census <= spatiotemporal / 2),
            "Eq. 3 counts in standard deviations, in which six census attributes add up to more here.",
        ),
        Statement(
            "In most cases the loss is significantly greater than with k-anonymity.",
            f"Of {len(coarsened)} coarsenings, {dearer[S2]} lose more than 2-anonymity by Algorithm S2, "
            f"{dearer[SHOAL]} more than by Shoal's default.",
            2 * dearer[S2] > len(coarsened),
            f"Algorithm S2 loses {loss(grouped[S2])} because its order puts distant records together; Shoal's "
            f"default loses {loss(grouped[SHOAL])}.",
        ),
    )
    picture = figures.heat_map(title, lost, labels, _TICKS, *_AXES, "Oranges")
    return Part("Figure S6", title, grid.drop("uniques", "reidentification_risk"), statements, picture)


def _figure_s7(table: pl.DataFrame, releases: pl.DataFrame) -> Part:
    title = "k-anonymity with and without t-closeness of charges"
    data = _of(releases, S2, S4, SHOAL, SHOAL_T)
    coarse = _value(releases, S3, "1/8", "information_loss")
    least = least_closeness(table[CHARGE])
    panels = (
        Panel("Charge above $100,000 is learnt", "attribute_disclosure", percent),
        Panel("Information loss (Eq. 3)", "information_loss", loss, mark=(coarse, "1/8 coarsening")),
    )
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
    return Part("Figure S7", title, data, statements, figures.bar_table(title, data, panels, COLOURS), note)


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
    pairs = ", ".join(f"{loss(before[k])} to {loss(after[k])} (k = {k})" for k in LEVELS)
    return Statement(paper, f"From {pairs}.", all(after[k] <= 1.25 * before[k] for k in LEVELS), if_not)


def _below_coarsening(data: pl.DataFrame, family: str, coarse: float, paper: str) -> Statement:
    below = sum(lost < coarse for lost in _by_k(data, family, "information_loss").values())
    return Statement(
        paper,
        f"{_listed(data, family, 'information_loss', loss)} against {loss(coarse)}.",
        2 * below > len(LEVELS),
        "Algorithm S4 orders records as S2 does, by the distance to zero, and so puts distant ones together."
        if family == S4
        else "A class that mirrors all charges must reach past a record's nearest neighbours.",
    )


# ---- the tables


def _table_s4(printed: Regeneration, nine: Regeneration) -> Part:
    pairs = printed.correlations.pairs().sort(pl.col("before").abs(), descending=True, nulls_last=True)
    first, second = (f"{a} and {b}" for a, b in pairs[["attribute", "other"]].rows()[:2])
    strong, weaker = pairs["before"].fill_null(0.0)[:2]
    statements = (
        Statement(
            "Only hospital and county of residence are highly correlated (0.811).",
            f"{first}: {strong:.3f}; next {second}: {weaker:.3f}.",
            first == "oshpd_id and patcnty" and abs(strong - 0.811) <= 0.05 and abs(weaker) < 0.6,
            f"Only {percent(printed.left)} of the values are left to correlate, and not by chance which.",
        ),
        Statement(
            "On average over the attributes, 3,142,313 of 3,985,166 values (79%) were not masked.",
            f"{percent(printed.left)} where records are masked while unique by the seven attributes of Table S3, "
            f"{percent(nine.left)} by all nine.",
            abs(printed.left - 0.79) <= 0.05,
            "How many records are unique, and so must be masked, depends on the table's size and on what counts as "
            "unique: the paper does not say.",
        ),
    )
    title = "Correlations of the values that safe harbor left"
    note = (
        "A generated table is made so that its attributes correlate in the order of Table S4: where it agrees, it is a "
        "fair stand-in for the paper's patients, no more."
    )
    return Part("Table S4", title, _triangle(printed.correlations.before), statements, note=note)


def _table_s5(printed: Regeneration, nine: Regeneration) -> Part:
    found = printed.correlations.agreement
    statement = Statement(
        "The correlation of the two sets of correlations is 0.957.",
        f"{_agreement(printed)} ({_agreement(nine)} where records are masked while unique by all nine).",
        found is not None and abs(found - 0.957) <= 0.03,
        "Algorithm S1 draws each attribute by itself, so correlations shrink where much was masked: "
        f"{percent(1 - printed.left)} of the values here.",
    )
    title = "Correlations after masked values were drawn anew (Algorithm S1)"
    return Part("Table S5", title, _triangle(printed.correlations.after), (statement,))


def _agreement(made: Regeneration) -> str:
    found = made.correlations.agreement
    return "none" if found is None else f"{found:.3f}"


def _triangle(table: npt.NDArray[np.float64]) -> pl.DataFrame:
    """The upper triangle, as the paper prints it."""
    upper = np.where(np.triu(np.ones_like(table), 1) > 0, table, np.nan)
    columns = {name: pl.Series(upper[:-1, j], nan_to_null=True) for j, name in enumerate(QUASI) if j > 0}
    return pl.DataFrame({"attribute": QUASI[:-1], **columns})


def _table_s9(records: int) -> Part:
    t = {k: t_of_k(records, k) for k in LEVELS}
    data = pl.DataFrame({"k": list(t), "t": list(t.values()), "paper": [PAPER_T[k] for k in t]})
    statement = Statement(
        "t = 0.25, 0.17, 0.10, 0.05 for k = 2, 3, 5, 10 (n = 3,985,166).",
        f"{', '.join(f'{value:.2f}' for value in t.values())} (n = {records:,}).",
        all(abs(t[k] - PAPER_T[k]) <= 0.005 for k in t),
        "By Eq. 6 t depends on n too, which shows where n is small.",
    )
    return Part("Table S9", "The t that comes with k (Eq. 6)", data, (statement,))


# ---- looking things up


def _of(data: pl.DataFrame, *families: str) -> pl.DataFrame:
    return pl.concat([data.filter(pl.col("family") == family) for family in families])


def _value(data: pl.DataFrame, family: str, setting: str, column: str) -> float:
    return float(data.filter(pl.col("family") == family, pl.col("setting") == setting)[column].item())


def _by_k(data: pl.DataFrame, family: str, column: str) -> dict[int, float]:
    return {k: _value(data, family, f"k = {k}", column) for k in LEVELS}


def _listed(data: pl.DataFrame, family: str, column: str, show: Callable[[float], str]) -> str:
    return ", ".join(map(show, _of(data, family)[column]))


def _names(data: pl.DataFrame) -> str:
    return ", ".join(f"{family} {setting}" for family, setting in data[["family", "setting"]].rows())


def _count(number: float) -> str:
    return f"{number:,.0f}"
