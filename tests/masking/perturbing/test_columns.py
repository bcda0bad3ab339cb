"""What every perturbing method keeps: missing values, types, its seed, and a sentence for what it cannot treat."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.masking.method import Masked
from shoal.masking.perturbing.multiplicative import MultiplicativeNoise
from shoal.masking.perturbing.noise import Noise
from shoal.masking.perturbing.pram import Pram
from shoal.masking.perturbing.resampling import Resample
from shoal.masking.perturbing.shuffling import Shuffle
from shoal.masking.perturbing.swapping import Swap
from shoal.testing import is_sentence, tables
from tests.masking.perturbing.tables import normal, released, shown, table

NOISY = [
    Noise(0.5),
    Noise(0.5, correlated=False, keep_moments=True),
    Noise(0.5, whole=True),
    MultiplicativeNoise(0.5),
    MultiplicativeNoise(0.1, 0.3, sign="record", noise="normal", whole=True),
    MultiplicativeNoise(0.5, noise="uniform", restore="covariance"),
    MultiplicativeNoise(0.5, restore="none", scale="none"),
    Resample(0.5),
    Resample(1, whole=True),
]
MOVING = [Swap(0.3), Swap(1, "ascending"), Shuffle(0.3), Shuffle(1)]
METHODS = [*NOISY, *MOVING, Pram(0.5)]
KINDS = {method: {Kind.NUMERIC, Kind.DATE} for method in NOISY}
KINDS |= {method: {Kind.NUMERIC, Kind.DATE, Kind.ORDINAL} for method in MOVING}
KINDS |= {Pram(0.5): {Kind.NOMINAL, Kind.ORDINAL}}

CATEGORICAL = {Kind.NOMINAL, Kind.ORDINAL}

every_method = pytest.mark.parametrize("method", METHODS, ids=str)


def refusal(method: Any, frame: dict[str, Any], **attributes: Any) -> str:
    with pytest.raises(InputError) as refused:
        method.mask(table(frame, **attributes), (), seed=1)
    assert is_sentence(str(refused.value))
    return str(refused.value)


def attempt(method: Any, microdata: Microdata, seed: int) -> Masked | str:
    """What comes out, or why nothing does."""
    try:
        return method.mask(microdata, (), seed=seed)  # type: ignore[no-any-return]
    except InputError as refused:
        return str(refused)


# ---- any table


@every_method
@given(frame=tables(max_rows=30, max_columns=4), seed=st.integers(0, 2**64))
def test_any_table_is_perturbed_or_refused_in_a_sentence(method: Any, frame: pl.DataFrame, seed: int) -> None:
    before = frame.clone()
    kinds = {a.name: a.kind for a in table(frame).schema}
    fit = [name for name in frame.columns if kinds[name] in KINDS[method] and frame[name].drop_nulls().n_unique() > 1]
    microdata = table(frame, fit or None)
    masked = attempt(method, microdata, seed)
    if isinstance(masked, str):
        assert is_sentence(masked)
        assert not fit or len(frame) == 1 or any(word in masked for word in ("variance", "covariances", "zero"))
        return
    assert frame.equals(before)
    assert released(masked).equals(shown(method, microdata, seed))
    assert list(masked.columns) == fit
    for name, column in masked.columns.items():
        values, original = column.values(), frame[name]
        assert values.null_count() == original.null_count()
        assert np.array_equal(np.isnan(column.low[column.index]), values.is_null().to_numpy())
        # Read back from what is shown, each value lies where the method says it does.
        read = read_cells(values, column.attribute, microdata[name].values if kinds[name] in CATEGORICAL else None)
        np.testing.assert_allclose(read.low[read.index], column.low[column.index], rtol=1e-15)


@pytest.mark.parametrize("method", MOVING, ids=str)
@given(frame=tables(max_rows=40, max_columns=3), seed=st.integers(0, 99))
def test_moving_values_keeps_every_distribution_exactly(method: Any, frame: pl.DataFrame, seed: int) -> None:
    kinds = {a.name: a.kind for a in table(frame).schema}
    fit = [name for name in frame.columns if kinds[name] in KINDS[method] and frame[name].drop_nulls().n_unique() > 1]
    if not fit or len(frame) < 2:
        return
    after = shown(method, table(frame, fit), seed)
    for name in fit:
        original = frame[name]
        if isinstance(original.dtype, pl.Enum):
            original = original.cast(pl.String)
        else:
            assert after[name].dtype == original.dtype
        plain = (
            after[name].cast(original.dtype).str.replace_all(r"\\(.)", "$1")
            if original.dtype == pl.String
            else after[name]
        )
        assert plain.sort().to_list() == original.sort().to_list()


# ---- types, streams, seeds


@every_method
def test_one_more_attribute_changes_no_other(method: Any) -> None:
    """Attributes that follow have no part in those before; what is restored jointly excepted."""
    if getattr(method, "restore", None) == "covariance" or isinstance(method, Shuffle):
        return
    frame = normal(200).with_columns(c=pl.col("a").round(0))
    if isinstance(method, Pram):
        frame = frame.select((pl.all() > pl.all().median()).cast(pl.String))
    both = shown(method, table(frame.select("a", "b")))
    assert shown(method, table(frame)).select("a", "b").equals(both)
    assert not shown(method, table(frame), seed=2).select("a", "b").equals(both)


@every_method
def test_without_a_seed_no_two_runs_are_alike(method: Any) -> None:
    frame = normal(100) if method not in KINDS or Kind.NOMINAL not in KINDS[method] else {"a": list("abcd") * 25}
    assert not shown(method, table(frame), None).equals(shown(method, table(frame), None))


def test_integers_stay_integers_if_asked_and_within_their_bits() -> None:
    frame = pl.DataFrame({"small": [-128, 127, 0, 3] * 30, "large": [0, 2**64 - 1, 5, 2**63] * 30},
                         schema={"small": pl.Int8, "large": pl.UInt64})  # fmt: skip
    for method in (Noise(3.0), MultiplicativeNoise(0.9, restore="none")):
        assert shown(method, table(frame)).dtypes == [pl.Float64, pl.Float64]
    for method in (Noise(3.0, whole=True), MultiplicativeNoise(0.9, restore="none", whole=True), Resample(1, True)):
        after = shown(method, table(frame))
        assert after.dtypes == frame.dtypes
        assert after["small"].to_list() != frame["small"].to_list()
    noisy = shown(Noise(3.0, whole=True, within="anywhere"), table(frame))
    assert (noisy["small"].min(), noisy["small"].max()) == (-128, 127)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_are_perturbed_to_their_step(unit: Any) -> None:
    days = [dt.date(2000, 1, 1) + dt.timedelta(d) for d in range(100)]
    frame = pl.DataFrame({"day": days, "time": pl.Series(days).cast(pl.Datetime(unit))})
    for method in (Noise(0.1), MultiplicativeNoise(), Resample(), Swap(), Shuffle()):
        after = shown(method, table(frame))
        assert after.dtypes == frame.dtypes
        assert not after["day"].equals(frame["day"])


def test_dates_stay_within_the_calendar() -> None:
    frame = pl.DataFrame({"day": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(5000, 1, 1)] * 20})
    after = shown(Noise(2.0, within="anywhere"), table(frame))["day"]
    assert (after.min(), after.max()) == (dt.date(1, 1, 1), dt.date(9999, 12, 31))


def test_values_stay_within_the_stated_domain_if_asked() -> None:
    frame = {"age": [0, 50, 120] * 50, "day": [dt.date(2020, 1, 1), dt.date(2020, 6, 1), dt.date(2020, 12, 31)] * 50}
    stated = {"age": {"domain": (0.5, 119.5)}, "day": {"domain": (dt.date(2020, 1, 1), dt.date(2020, 12, 31))}}
    for method in (
        Noise(1.0, clamp=True, within="anywhere"),
        MultiplicativeNoise(0.5, 1.5, clamp=True, within="anywhere"),
    ):
        after = shown(method, table(frame, **stated))
        assert (after["age"].min(), after["age"].max()) == (0.5, 119.5)
        assert (after["day"].min(), after["day"].max()) == (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    whole = shown(Noise(1.0, whole=True, clamp=True, within="anywhere"), table(frame, **stated))["age"]
    assert (whole.dtype, whole.min(), whole.max()) == (pl.Int64, 1, 119)
    free = shown(Noise(1.0, within="anywhere"), table(frame, **stated))["age"]
    assert free.max() > 119.5  # type: ignore[operator]


@pytest.mark.parametrize(
    "method", [Noise(1.0), MultiplicativeNoise(0.9, noise="normal"), Noise(1.0, whole=True)], ids=str
)
def test_no_value_lies_beyond_what_occurs_and_none_piles_up_at_an_end(method: Any) -> None:
    rng = np.random.default_rng(6)
    income = np.round(np.exp(rng.normal(7, 1, 2000))).astype(int)
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 365, 2000)]
    frame = pl.DataFrame({"income": income, "day": days})
    free = shown(replace(method, within="anywhere"), table(frame))
    inside = [free[name].is_between(frame[name].min(), frame[name].max()).all() for name in frame.columns]
    assert not all(inside)  # as published
    after = shown(method, table(frame))
    for name in frame.columns:
        assert frame[name].min() <= after[name].min() <= after[name].max() <= frame[name].max()  # type: ignore[operator]
        assert after[name].value_counts()["count"].max() < 40  # type: ignore[operator]
    stated = {"income": {"domain": (0, 10**6)}}
    assert 0 <= shown(method, table(frame, **stated))["income"].min() < income.min()  # type: ignore[operator]


GAPPED = pl.DataFrame(
    {
        name: [None if draw < 0.15 else f"{draw:.2f}" for draw in np.random.default_rng(seed).random(1000)]
        for seed, name in enumerate("abcdef")
    }
)


@every_method
def test_the_pattern_of_gaps_finds_nobody(method: Any) -> None:
    """It told every third apart before: as much is missing of each column, but in other records."""
    wanted = GAPPED if isinstance(method, Pram) else GAPPED.cast(pl.Float64)
    after = shown(
        method, table(wanted, **({name: {"kind": "nominal"} for name in "abcdef"} if wanted is GAPPED else {}))
    )
    assert after.null_count().equals(wanted.null_count())
    patterns = [frame.select(pl.concat_str(pl.all().is_null().cast(pl.Int8))).to_series() for frame in (wanted, after)]
    sizes = patterns[1].value_counts(name="alike")
    own = patterns[0] == patterns[1]
    hit = pl.DataFrame({"p": patterns[1], "own": own}).join(sizes.rename({patterns[1].name: "p"}), on="p")
    assert (hit["own"] / hit["alike"]).mean() < 0.01


# ---- what is refused


@pytest.mark.parametrize("method", [*NOISY, *MOVING], ids=str)
def test_categories_are_refused_by_name(method: Any) -> None:
    sentence = refusal(method, {"x": [1, 2, 3], "sex": ["f", "m", "f"]})
    assert "'sex', which is nominal" in sentence


def test_numbers_are_refused_by_pram_and_ordered_categories_by_noise() -> None:
    assert "'x', which is numeric" in refusal(Pram(), {"x": [1, 2, 3]})
    assert "'x', which is ordinal" in refusal(Noise(), {"x": [1, 2, 3]}, x={"kind": "ordinal"})


@pytest.mark.parametrize("method", [*NOISY, *MOVING], ids=str)
def test_text_among_the_numbers_is_pointed_out(method: Any) -> None:
    sentence = refusal(method, {"x": ["1", "2", "about 7", None, "5.5"]})
    assert "correct 'about 7' in record 3 if it should hold numbers" in sentence
    assert "correct" not in refusal(method, {"zip": ["00501", "00502", "93561"]})


@every_method
@pytest.mark.parametrize(("values", "held"), [([7, 7, None], "one value only"), ([None, None, None], "no value")])
def test_columns_that_do_not_vary_are_refused_by_name(method: Any, values: list[int | None], held: str) -> None:
    kind = "nominal" if isinstance(method, Pram) else "numeric"
    frame = {"constant": pl.Series(values, dtype=pl.Int64)}
    assert f"'constant' holds {held}" in refusal(method, frame, constant={"kind": kind})


@every_method
def test_one_record_is_refused(method: Any) -> None:
    assert "one record only" in refusal(method, {"x": [1]})


@pytest.mark.parametrize("method", NOISY + MOVING, ids=str)
def test_infinities_are_refused(method: Any) -> None:
    assert "an infinity in record 2" in refusal(method, {"x": [1.0, float("inf"), 3.0]})


@pytest.mark.parametrize("values", [[1e300, -1e300, 0.0], [1e-200, 2e-200, 0.0], [2**62, 2**62 + 1, 2**62 + 2]])
def test_numbers_without_a_variance_are_refused_by_noise_and_swapped_all_the_same(values: list[float]) -> None:
    for method in (Noise(), MultiplicativeNoise()):
        assert "'x' varies too much, or too little" in refusal(method, {"x": values})
    assert sorted(shown(Swap(1.0), table({"x": values}))["x"]) == sorted(values)


def test_to_clamp_needs_a_domain() -> None:
    for method in (Noise(clamp=True), MultiplicativeNoise(clamp=True)):
        assert "no quasi-identifier states one" in refusal(method, {"x": [1, 2, 3]})


@pytest.mark.parametrize(
    ("method", "choices"),
    [
        (Noise, {"within": "bounds"}),
        (MultiplicativeNoise, {"within": "bounds"}),
        (Noise, {"gamma": 0}),
        (Noise, {"gamma": float("nan")}),
        (Noise, {"gamma": float("inf")}),
        (Noise, {"gamma": 1e300}),
        (Noise, {"gamma": True}),
        (Noise, {"gamma": "much"}),
        (Noise, {"whole": 1}),
        (MultiplicativeNoise, {"s": -1}),
        (MultiplicativeNoise, {"f": -0.1}),
        (MultiplicativeNoise, {"sign": "row"}),
        (MultiplicativeNoise, {"noise": "cauchy"}),
        (MultiplicativeNoise, {"restore": "all"}),
        (MultiplicativeNoise, {"scale": "sigma"}),
        (Swap, {"p": 0}),
        (Swap, {"p": 1.01}),
        (Swap, {"order": "descending"}),
        (Pram, {"p": 0}),
        (Pram, {"p": 20}),
        (Shuffle, {"p": -0.5}),
        (Resample, {"weight": 2}),
    ],
)
def test_parameters_out_of_range_are_refused(method: Any, choices: dict[str, Any]) -> None:
    ((parameter, _),) = choices.items()
    with pytest.raises(InputError, match=f"The '{parameter}' parameter of {method.name} must be"):
        method(**choices)


@pytest.mark.parametrize(
    "method", list(dict.fromkeys(type(method) for method in METHODS)), ids=lambda method: method.name
)
def test_a_method_works_at_both_ends_of_its_parameter(method: Any) -> None:
    frame = {"a": list("abcd") * 25} if method is Pram else normal(100)
    for value in (method.strength.least, method.strength.most):
        assert shown(method(**{method.strength.name: value}), table(frame)).height == 100
