"""Individual and global risk by sampling weights (docs/spec.md#individual-risk), and k-map promised by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import shoal
from shoal import InputError, Policy
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.data.weights import weights_of
from shoal.privacy.k_map_by_weights import KMapByWeights
from shoal.risk.individual import IndividualRisk, risk_of_classes
from shoal.risk.scenarios import scenarios

KNOWN = [  # f, sum of weights, risk: closed forms, and four printed by sdcMicro
    (1, 10, 0.255843),
    (1, 100, 0.046517),
    (2, 20, 0.082684),
    (3, 30, 0.046368),
    (5, 50, 0.024235),
    (10, 20, 0.052488),
    (5, 5, 0.2),
    (2, 360, 0.00542452),
    (1, 215, 0.02509644),
    (2, 152, 0.01256342),
    (1, 186, 0.02824728),
]


@pytest.mark.parametrize(("records", "people", "risk"), KNOWN)
def test_the_risk_of_a_class_is_the_published_one(records: int, people: float, risk: float) -> None:
    assert risk_of_classes(np.array([records]), np.array([float(people)]))[0] == pytest.approx(risk, abs=6e-7)


@settings(max_examples=2 * settings().max_examples)
@given(st.integers(1, 400), st.floats(1.0, 5000.0))
def test_the_risk_of_a_class_is_the_integral(records: int, each: float) -> None:
    p = 1 / each
    integral = quad(lambda s: s ** (records - 1) / (p + (1 - p) * s), 0, 1, epsabs=0, epsrel=1e-11, limit=400)[0]
    risk = risk_of_classes(np.array([records]), np.array([records * each]))[0]
    assert risk == pytest.approx(p * integral, rel=1e-7)
    assert risk <= 1 / records + 1e-12


def test_weights_that_stand_for_fewer_people_than_records_count_as_the_records() -> None:
    assert risk_of_classes(np.array([4]), np.array([1.5]))[0] == pytest.approx(0.25)


def survey(records: int = 1_000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, records),
            "sex": rng.choice(["f", "m"], records),
            "ill": rng.choice(["yes", "no"], records),
            "w": rng.uniform(2, 80, records).round(2),
        }
    )


def test_the_global_risk_is_the_sum_over_all_records() -> None:
    frame = survey()
    quasi = frozenset({Role.QUASI_IDENTIFIER})
    schema = Schema((Attribute("age", quasi, Kind.NUMERIC), Attribute("sex", quasi, Kind.NOMINAL)))
    measured = scenarios(frame, schema, weights="w", threshold=0.005).individual
    assert measured is not None
    classes = frame.group_by("age", "sex").agg(f=pl.len(), people=pl.col("w").sum())
    f, people = classes["f"].to_numpy().astype(np.int64), classes["people"].to_numpy()
    risk = risk_of_classes(f, people)
    assert measured.expected == pytest.approx(float(f @ risk))
    assert measured.highest == pytest.approx(float(risk.max()))
    assert measured.records_above == int(f[risk > 0.005].sum()) > 0
    assert measured.share == pytest.approx(measured.expected / 1_000)
    assert IndividualRisk.of(f, people, 0.005).to_dict() == pytest.approx(measured.to_dict())


def test_scaling_all_weights_up_lowers_the_risk() -> None:
    f, people = np.array([1, 2, 5]), np.array([10.0, 30.0, 50.0])
    assert (risk_of_classes(f, people * 2) < risk_of_classes(f, people)).all()


@pytest.mark.parametrize("bad", [0.0, -1.0, None, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused_with_its_line(bad: float | None) -> None:
    frame = pl.DataFrame({"w": [1.0, 2.0, bad, 3.0]}, strict=False)
    with pytest.raises(InputError, match=r"record 3 \(line 4 of a text file\)"):
        weights_of(frame, "w")
    with pytest.raises(InputError, match="a record has"):
        weights_of(frame, "w", in_order=False)


def test_weights_are_left_out_unless_a_role_names_them_and_then_warned_of() -> None:
    roles = {"quasi_identifiers": ["age", "sex"], "confidential": ["ill"], "weights": "w"}
    release = shoal.anonymize(survey(), Policy(**roles, rest="insensitive"), seed=1)
    assert release.table.columns == ["age", "sex", "ill"]
    assert any("are used to estimate risks, and are not released" in note for note in release.notes)
    release = shoal.anonymize(survey(), Policy(**roles, insensitive=["w"]), seed=1)
    assert "w" in release.table.columns
    assert any(note.startswith("Warning: the sampling weights 'w'") for note in release.notes)
    with pytest.raises(InputError, match="cannot be sampling weights"):
        shoal.anonymize(survey(), Policy(**roles | {"weights": "ill"}), seed=1)
    with pytest.raises(InputError, match="no column 'weight' of weights"):
        shoal.anonymize(survey(), Policy(**roles | {"weights": "weight"}), seed=1)


HIERARCHY = [[str(age), f"{age // 10 * 10}s", "*"] for age in range(20, 60)]


def promised(k: int, **more: object) -> Policy:
    attributes = {"age": {"hierarchy": HIERARCHY}, "sex": {"hierarchy": [["f", "*"], ["m", "*"]]}}
    roles = {"quasi_identifiers": ["age", "sex"], "confidential": ["ill"], "weights": "w"}
    return Policy(**roles, models=KMapByWeights(k, "w"), method=shoal.Recode(), attributes=attributes, **more)  # type: ignore[arg-type]


def test_k_map_by_weights_is_promised_of_fixed_cells_and_judged_beside_the_original(tmp_path: Path) -> None:
    frame = survey()
    release = shoal.anonymize(frame, promised(20), seed=1)
    assert 2 <= int(release.sizes.min()) < 20  # fewer records than people
    [verdict] = release.verdicts
    assert verdict.holds
    assert verdict.achieved >= 20
    assert "estimated by sampling weights" in verdict.note
    fixed = promised(20).changed(models=KMapByWeights(20, "w", cells_fixed=True))
    with pytest.raises(InputError, match="does not show the sampling weights 'w'"):
        shoal.check(release.table, fixed)
    [again] = shoal.check(release.table, fixed, original=frame, paired=True)
    assert again.achieved == verdict.achieved


def test_small_weights_break_the_promise() -> None:
    frame = survey()
    release = shoal.anonymize(frame, promised(20), seed=1)
    fixed = promised(20).changed(models=KMapByWeights(20, "w", cells_fixed=True))
    [verdict] = shoal.check(release.table, fixed, original=frame.with_columns(w=pl.lit(1.0)), paired=True)
    assert not verdict.holds
    assert verdict.achieved == int(release.sizes.min())  # each stands for itself alone


def test_k_map_by_weights_is_refused_of_cells_drawn_from_the_records() -> None:
    with pytest.raises(InputError, match="cannot be estimated by weights of what 'hilbert' shows"):
        shoal.anonymize(survey(), promised(5).changed(method=shoal.Hilbert()), seed=1)


def test_one_record_is_no_proof_whatever_its_weight() -> None:
    model = KMapByWeights(5, "w", test="individual")
    assert model.levels_by_weights(np.array([1, 2]), np.array([10_000.0, 10_000.0]))[0] == 1
