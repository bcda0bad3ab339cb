"""Paper 1's experiments (the supplement to the Science comment of 2016): Figures S1 to S7, Tables S4 to S9.

The paper's patients cannot be had any more, so the table is a generated one with the same attributes, or a file
of them. The table itself stands for the paper's original data (SPD); masked by safe-harbor rules it stands for
what the state released (PD). Everything on our side is computed: releases are made as a custodian makes them
(`anonymize`), judged on the finished output, and measured on what they show (`Release.risk`).

The paper does not say whether a record counts as unique for Table S3's masking by the attributes that Table S3
masks, as the table's caption has it, or by all nine, so both readings are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

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
from shoal.masking.recoding.coarsening import Coarsen
from shoal.masking.recoding.safe_harbor import TABLE_S3, SafeHarbor
from shoal.masking.recoding.safe_harbor import Step as Rung
from shoal.masking.recoding.suppressing import classes_of
from shoal.masking.regenerate import regenerate
from shoal.policy import AttributeChoice, Policy
from shoal.privacy import KAnonymity, TCloseness
from shoal.privacy.model import PrivacyModel
from shoal.privacy.t_closeness import t_of_k
from shoal.risk.measure import Risk, assess_risk
from shoal.utility.correlations import Correlations, Placed, correlations, place_original
from shoal.utility.information_loss import information_loss
from shoal_studies.driver import DATA, Step
from shoal_studies.proper_anonymization.examples import INTERVALS, example, intervals
from shoal_studies.result import percent

Shown = dict[str, npt.NDArray[np.bool_]]  # attribute -> which records show its value

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

# Rungs that hide nothing: with them the ladder compares records in all nine attributes.
ALL_NINE = (*TABLE_S3, Rung("oshpd_id", "prefix", keep=18), Rung("los", "prefix", keep=18))
S2, SHOAL, S3, HARBOR = "k-anonymity (S2)", "k-anonymity (Shoal)", "coarsening (S3)", "safe harbor"

S4, SHOAL_T = "with t-closeness (S4)", "with t-closeness (Shoal)"

PRINTED, NINE = "unique by 7 attributes", "unique by all 9"  # readings of Table S3
LADDERS = {PRINTED: TABLE_S3, NINE: ALL_NINE}


@dataclass(frozen=True)
class Trial:
    """One release to make and measure: k-anonymous by groups, and close where it is asked for, or by other masking."""

    family: str
    setting: str
    method: Method
    k: int = 0
    close: bool = False

    def models(self, records: int) -> tuple[PrivacyModel, ...]:
        """k, and the t that comes with it (Eq. 6)."""
        asked: list[PrivacyModel] = [KAnonymity(self.k)] if self.k else []
        return (*asked, *([TCloseness(t_of_k(records, self.k), CHARGE)] if self.close else []))


TRIALS = (  # the releases of Figures S4 and S7, and Shoal's default beside them
    *(Trial(S2, f"k = {k}", Sorted(), k) for k in LEVELS),
    *(Trial(SHOAL, f"k = {k}", Hilbert(), k) for k in LEVELS),
    *(Trial(S3, f"1/{r}", Coarsen(r)) for r in RESOLUTIONS),
    *(Trial(HARBOR, reading, SafeHarbor(ladder)) for reading, ladder in LADDERS.items()),
    *(Trial(S4, f"k = {k}", Stratified(), k, close=True) for k in LEVELS),
    *(Trial(SHOAL_T, f"k = {k}", Hilbert(), k, close=True) for k in LEVELS),
)


@dataclass(frozen=True)
class ProperAnonymization:
    """Repeats the paper's experiments on a file, or on so many generated records."""

    data: str | None = None
    rows: int = 400_000
    seed: int = 1

    manner = ""

    def steps(self) -> Sequence[Step]:
        return (
            Step(DATA, "the table", self._data),
            Step("original", "unique records of the original", self._unique),
            *(Step("releases", f"{t.family}, {t.setting}", partial(self._released, t)) for t in TRIALS),
            Step("grid", "coarsening, every pair of resolutions", lambda: coarsening_grid(self._microdata)),
            Step("correlations", "correlations", self._correlations),
            Step("regenerated", "values drawn anew", self._regenerated),
            Step("masked", "values masked", self._masked),
            Step("example", "the paper's example", example),
            *(Step("intervals", f"ages in {r} intervals", partial(intervals, r)) for r in INTERVALS),
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        table = _generated(self.rows, self.seed) if self.data is None else _read(self.data)
        if table.height < max(LEVELS):
            raise InputError(
                f"The study puts records into classes of up to {max(LEVELS)}, but the table has {table.height}: "
                "give more."
            )
        return table

    @cached_property
    def _microdata(self) -> Microdata:
        return prepare(self.table, _policy(Hilbert(), ()))[0]

    @cached_property
    def _regenerations(self) -> dict[str, Regeneration]:
        return {reading: regeneration(self._microdata, ladder, self.seed) for reading, ladder in LADDERS.items()}

    def _data(self) -> pl.DataFrame:
        records = self.table.height
        words = f"{records:,} " + ("generated discharges" if self.data is None else f"records of {self.data}")
        return pl.DataFrame({"table": [words], "records": [records]})

    def _unique(self) -> pl.DataFrame:
        """The original in one row: who is unique by what, who is wealthy, how near t must be to hide it."""
        table, risk = self.table, assess_risk(self.table, self._microdata.schema, groups=GROUPS)
        facts = {
            "uniques": risk.uniques,
            "risk": risk.reidentification_risk,
            "known": [" + ".join(known.groups) for known in risk.attributes_known],
            "by_groups": _risks(risk),
            "wealthy": table.filter(pl.col(CHARGE) > WEALTHY).height / table.height,
            "least_closeness": least_closeness(table[CHARGE]),
            "by_hospital_and_stay": _unique_share(table, ("oshpd_id", "los")),
            "trend": _trend(table, self.seed),
        }
        return pl.DataFrame([facts])

    def _released(self, trial: Trial) -> pl.DataFrame:
        models = trial.models(self.table.height)
        release = anonymize(self.table, _policy(trial.method, models, groups=trial.family == HARBOR))
        risk = release.risk(when=[CONDITION])
        row = {
            "family": trial.family,
            "setting": trial.setting,
            "uniques": risk.uniques,
            "reidentification_risk": risk.reidentification_risk,
            "random_guess": risk.classes.average_risk,
            "highest_risk": risk.classes.highest_risk,
            "attribute_disclosure": risk.attribute_disclosure[0].risk,
            "information_loss": release.information_loss,
            "t": next((v.achieved for v in release.verdicts if v.model == TCloseness.name), None),
            "by_groups": _risks(risk),
        }
        return pl.DataFrame([row], schema_overrides={"t": pl.Float64, "by_groups": pl.List(pl.Float64)})

    def _correlations(self) -> pl.DataFrame:
        pairs = ((reading, made.correlations.pairs()) for reading, made in self._regenerations.items())
        return pl.concat([table.with_columns(reading=pl.lit(reading)) for reading, table in pairs])

    def _regenerated(self) -> pl.DataFrame:
        rows = [
            {
                "reading": reading,
                "left": made.left,
                "agreement": made.correlations.agreement,
                "race_masked": 1 - float(made.shown["race"].mean()),
            }
            for reading, made in self._regenerations.items()
        ]
        return pl.DataFrame(rows)

    def _masked(self) -> pl.DataFrame:
        """How many records have each race and age, and how many of them have it masked (Figures S1 and S2)."""
        shown, frame = self._regenerations[PRINTED].shown, self._microdata.frame
        ages, bands = _in_bands(frame["age_yrs"])
        return pl.concat(
            [
                _masked_by("race", frame["race"].cast(pl.String), shown["race"]),
                _masked_by("age", ages, shown["age_yrs"], bands),
            ]
        )


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


# ---- measuring


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
                    "spatiotemporal": resolution_of(spatiotemporal),
                    "census": resolution_of(census),
                    "uniques": uniques,
                    "reidentification_risk": uniques / len(original),
                    "information_loss": information_loss(original, columns),
                }
            )
    return pl.DataFrame(rows)


def resolution_of(intervals: int | None) -> str:
    return "full" if intervals is None else str(intervals)


def least_closeness(charge: pl.Series) -> float:
    """The ordered distance from the table that every class has in which all charges are high.

    Defined in docs/spec.md#t-closeness.

    Its distribution function is 0 up to the limit, where the table's is F: the distance is at least the sum of
    F there over (values - 1). A smaller t rules such classes out, and with them attribute disclosure.
    """
    counts = charge.drop_nulls().value_counts().sort(charge.name)
    below = (counts[charge.name] <= WEALTHY).to_numpy()
    F = np.cumsum(counts["count"].to_numpy()) / counts["count"].sum()
    return float(F[below].sum() / max(1, len(F) - 1))


def _risks(risk: Risk) -> list[float]:
    return [known.reidentification_risk for known in risk.attributes_known]


def _unique_share(table: pl.DataFrame, known: Sequence[str] = QUASI) -> float:
    return table.group_by(known).len().filter(pl.col("len") == 1).height / table.height


def _trend(table: pl.DataFrame, seed: int) -> str:
    """Uniqueness of samples of the table."""
    sizes = [max(1, table.height // part) for part in (16, 4)]
    return ", ".join(f"{percent(_unique_share(table.sample(n, seed=seed)))} of {n:,}" for n in sizes)


@dataclass(frozen=True)
class Regeneration:
    """Correlations before and after Algorithm S1, and which cells masking had left as they were."""

    correlations: Correlations
    shown: Shown

    @property
    def left(self) -> float:
        """The share of cells that were not masked."""
        return float(np.mean([shown.mean() for shown in self.shown.values()]))


def regeneration(original: Microdata, ladder: Sequence[Rung], seed: int) -> Regeneration:
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


def _in_bands(ages: pl.Series) -> tuple[pl.Series, list[str]]:
    """Each age's band of Table S3, and all bands in their order."""
    cuts = [int(cut) for cut in TABLE_S3[0].cuts]
    names = ["0", *(f"{cut} to {end - 1}" for cut, end in pairwise(cuts)), f"{cuts[-1]}+"]
    band = pl.Series(np.searchsorted(cuts, ages.fill_null(0).to_numpy(), side="right"))
    return pl.Series(names).gather(band.set(ages.is_null(), None)), names


def _masked_by(
    attribute: str, values: pl.Series, shown: npt.NDArray[np.bool_], order: list[str] | None = None
) -> pl.DataFrame:
    table = (
        pl.DataFrame({"value": values, "masked": ~shown})
        .drop_nulls("value")
        .group_by("value")
        .agg(records=pl.len(), masked=pl.col("masked").mean())
    )
    places = {name: place for place, name in enumerate(order or sorted(table["value"]))}
    table = table.sort(pl.col("value").replace_strict(places, return_dtype=pl.Int64))
    return table.with_columns(attribute=pl.lit(attribute), share=pl.col("records") / pl.col("records").sum())
