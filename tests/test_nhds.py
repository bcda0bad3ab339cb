"""Paper 1's methods on real discharges: the American survey of 2010 stands in for the paper's own file.

Defined in docs/spec.md#nhds.
"""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from shoal.data.microdata import Microdata
from shoal.masking.grouped import publish
from shoal.masking.grouping.ordered import hilbert, zero_distance
from shoal.masking.grouping.stratified import stratified
from shoal.masking.method import Masked
from shoal.masking.recoding.coarsening import Coarsen
from shoal.policy import Policy
from shoal.privacy.t_closeness import t_of_k
from shoal.utility.information_loss import information_loss

LABELS = ["sex", "race", "marital_status", "dc_month", "region", "n_beds", "hospital_ownership"]
QUASI = ["age", *LABELS]
Row = tuple[int, float, float, float]  # uniques, random guess, information loss, attribute disclosure


@pytest.fixture(scope="module")
def discharges() -> Microdata:
    """Ages in years; categories, the month among them, as numbers from 1 in the order of their labels."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA names no folder with discharges/nhds2010.parquet")
    frame = pl.read_parquet(Path(folder) / "discharges" / "nhds2010.parquet")
    label = pl.col(LABELS).cast(pl.String).fill_null("~missing")
    years = pl.when(pl.col("age_unit") == "years").then("age").otherwise(0).alias("age")
    coded = frame.select(years, label.rank("dense").cast(pl.Int32), "care_days")
    assert len(coded) == 151_551
    numbers = {key: {"kind": "numeric"} for key in LABELS}
    policy = Policy(quasi_identifiers=QUASI, confidential=["care_days"], attributes=numbers)
    return Microdata(coded, policy.schema(coded))


def row(discharges: Microdata, masked: Masked) -> Row:
    """Counted from what is shown; disclosure is of stays of more than 14 days."""
    shown = pl.DataFrame([column.values() for column in masked.columns.values()])
    long = (discharges.frame["care_days"] > 14).alias("long")
    classes = shown.with_columns(long).group_by(QUASI).agg(pl.len(), pl.col("long").sum())
    alike = classes.filter(pl.col("len") == pl.col("long"))["len"].sum()
    uniques = classes.filter(pl.col("len") == 1).height
    loss = information_loss(discharges, masked.columns)
    return uniques, classes.height / len(discharges), loss, alike / long.sum()


def as_printed(guess: float, loss: float, disclosure: float, digits: int) -> tuple[object, ...]:
    return (
        pytest.approx(guess, abs=0.51 * 10**-digits),
        pytest.approx(loss, abs=0.51e-4),
        pytest.approx(disclosure, abs=0.51 * 10**-digits),
    )


def test_the_original(discharges: Microdata) -> None:
    unmasked = Coarsen(10_000).mask(discharges, [])
    uniques, *others = row(discharges, unmasked)
    assert uniques == 63_883
    assert uniques / len(discharges) == pytest.approx(0.4215, abs=0.51e-4)
    assert others == list(as_printed(0.6002, 0.0, 0.4831, 4))


@pytest.mark.parametrize(
    ("k", "guess", "loss", "disclosure"),
    [(2, 0.4278, 0.2686, 0.0423), (3, 0.3065, 0.3955, 0.0027), (5, 0.1923, 0.5286, 0), (10, 0.0986, 0.6691, 0)],
)
def test_algorithm_s2(discharges: Microdata, k: int, guess: float, loss: float, disclosure: float) -> None:
    uniques, *others = row(discharges, publish(discharges, zero_distance(discharges, k)))
    assert uniques == 0
    assert others == list(as_printed(guess, loss, disclosure, 4))


@pytest.mark.parametrize(
    ("resolution", "left", "guess", "loss", "disclosure"),
    [
        (32, 36_804, 0.427, 0.0071, 0.297),
        (16, 23_947, 0.320, 0.0176, 0.199),
        (8, 10_296, 0.176, 0.0480, 0.087),
        (4, 1_238, 0.042, 0.1617, 0.011),
        (2, 0, 0.002, 0.4310, 0),
    ],
)
def test_algorithm_s3(
    discharges: Microdata, resolution: int, left: int, guess: float, loss: float, disclosure: float
) -> None:
    uniques, *others = row(discharges, Coarsen(resolution).mask(discharges, []))
    assert uniques == left
    assert others == list(as_printed(guess, loss, disclosure, 3))


@pytest.mark.parametrize(
    ("k", "guess", "loss"), [(2, 0.456, 0.4451), (3, 0.328, 0.5603), (5, 0.199, 0.6648), (10, 0.087, 0.7611)]
)
def test_algorithm_s4(discharges: Microdata, k: int, guess: float, loss: float) -> None:
    """As printed, with the left-over records last; from the middle the loss differs in the fourth digit."""
    t = t_of_k(len(discharges), k)
    printed, central = (
        row(discharges, publish(discharges, stratified(discharges, k, t, "care_days", remainder=remainder)))
        for remainder in ("last", "central")
    )
    assert printed[0] == 0
    assert list(printed[1:]) == list(as_printed(guess, loss, 0, 3))
    assert central[0] == 0
    assert central[2] == pytest.approx(printed[2], abs=5e-4)


@pytest.mark.parametrize(("k", "loss"), [(2, 0.0154), (3, 0.0267), (5, 0.0441), (10, 0.0742)])
def test_the_default_loses_no_more_than_a_curve_with_optimal_cuts(discharges: Microdata, k: int, loss: float) -> None:
    uniques, guess, lost, _ = row(discharges, publish(discharges, hilbert(discharges, k)))
    assert uniques == 0
    assert guess <= 1 / k
    assert lost <= loss
