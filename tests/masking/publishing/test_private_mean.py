"""Differentially private means: the paper's sensitivities, the noise's law, neighbours, a domain not of the data.

Noise cannot be seeded. Each test of it fails by chance less than once in a million runs.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

from shoal.data.microdata import encode
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.masking.partition import Partition
from shoal.masking.publishing.confidential import check_promises
from shoal.masking.publishing.private_mean import (
    STEPS,
    PrivateMean,
    budget,
    private_mean,
    publish_private_mean,
    with_laplace,
)
from shoal.privacy.k_anonymity import KAnonymity

NEVER = 1e-6


def published(
    values: list[float | None], size: int, mean: PrivateMean
) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """One noisy mean a class of so many values."""
    classes = np.repeat(np.arange(len(values) // size, dtype=np.int32), size)
    coded = encode(pl.Series("charge", values), Attribute("charge", frozenset({Role.CONFIDENTIAL}), Kind.NUMERIC))
    column, notes = publish_private_mean(coded, Partition.of_labels(classes.astype(np.int64)), classes, mean)
    return column.values().to_numpy()[::size], notes


@pytest.mark.parametrize(
    ("k", "epsilon", "sensitivity", "scale", "deviation"),
    [
        (5, 1.0, 20_000, 20_000, 28_284.27),
        (5, 0.1, 20_000, 200_000, 282_842.71),
        (10, 1.0, 10_000, 10_000, 14_142.14),
        (100, 1.0, 1_000, 1_000, 1_414.21),
    ],
)
def test_sensitivity_is_the_domain_over_the_class_size(
    k: int, epsilon: float, sensitivity: float, scale: float, deviation: float
) -> None:
    mean = PrivateMean(epsilon, 0, 100_000)
    assert mean.sensitivity(k) == sensitivity
    assert mean.scale(k) == pytest.approx(scale)
    assert mean.deviation(k) == pytest.approx(deviation, abs=0.005)


def test_without_opendp_it_says_what_to_install_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    schema = Schema((Attribute("charge", frozenset({Role.CONFIDENTIAL}), Kind.NUMERIC),))
    with pytest.raises(InputError, match=r"A private mean needs an extra package: pip install 'shoal\[dp\]'\."):
        check_promises(schema, None, {"charge": PrivateMean(1.0, 0, 100)}, [KAnonymity(5)])


def test_cost_and_error_are_known_beforehand() -> None:
    said = " ".join(budget({"charge": PrivateMean(1.0, 0, 100_000)}, 5))
    assert "epsilon 1;" in said
    assert "28,284.27" in said
    assert "20,000.00" in said
    both = " ".join(budget({"a": PrivateMean(0.25, 0, 1), "b": PrivateMean(0.5, 0, 1)}, 5))
    assert "epsilon 0.75 = 0.25 for 'a' + 0.5 for 'b'" in both
    assert budget({}, 5) == ()


# ---- the noise


def test_noise_follows_laplace() -> None:
    noise = with_laplace(np.zeros(10_000, np.int64), STEPS / 0.5) / STEPS
    assert stats.kstest(noise, stats.laplace(scale=2.0).cdf).pvalue > NEVER
    assert stats.kstest(noise, stats.laplace(scale=2.4).cdf).pvalue < NEVER  # so that the test can tell


@pytest.mark.parametrize("size", [5, 20])
def test_published_means_are_off_by_laplace_of_the_stated_scale(size: int) -> None:
    mean = PrivateMean(50.0, 0, 100_000)  # narrow noise, so that none reaches the domain's ends
    found, _ = published([30_000.0, *[60_000.0] * (size - 1)] * 10_000, size, mean)
    centre = (30_000 + 60_000 * (size - 1)) / size
    assert stats.kstest(found, stats.laplace(centre, mean.scale(size)).cdf).pvalue > NEVER


def test_neighbouring_classes_are_within_e_to_the_epsilon() -> None:
    """Classes that differ in one person as much as can be: no interval of outputs is e^epsilon times likelier."""
    epsilon, draws = 1.0, 20_000
    mean = PrivateMean(epsilon, 0, 100)
    here, _ = published([40.0, 60, 50, 50, 0] * draws, 5, mean)
    there, _ = published([40.0, 60, 50, 50, 100] * draws, 5, mean)
    edges = np.quantile(np.append(here, there), np.linspace(0, 1, 13)[1:-1])
    a, b = (np.bincount(np.searchsorted(edges, found), minlength=12) for found in (here, there))
    bound = np.exp(epsilon)
    margin = 6 * np.sqrt(a + b + bound**2 * (a + b))  # six standard deviations of the difference
    assert (a <= bound * b + margin).all()
    assert (b <= bound * a + margin).all()
    assert max((a / b).max(), (b / a).max()) > np.exp(epsilon / 2)  # and the noise is not more than it must be
    half = np.exp(epsilon / 2)
    assert (a > half * b + 6 * np.sqrt(a + half**2 * b)).any()  # so that half the noise would be noticed


def test_no_two_runs_draw_the_same() -> None:
    mean = PrivateMean(1.0, 0, 100)
    assert (published([50.0] * 50, 5, mean)[0] != published([50.0] * 50, 5, mean)[0]).any()


def test_every_block_of_classes_gets_noise_of_its_own() -> None:
    noise = with_laplace(np.zeros(70_000, np.int64), float(STEPS))
    assert len(np.unique(noise)) > 69_900


# ---- the domain


def test_means_stay_in_the_domain_and_values_outside_are_clamped_and_counted() -> None:
    mean = PrivateMean(20.0, 0, 100)
    found, notes = published([1e9, 50.0, 50, 50, 50, -1e9, 50, 50, 50, 50] * 500, 5, mean)
    assert found.min() >= 0
    assert found.max() <= 100
    assert found[::2].mean() == pytest.approx(60, abs=1)  # 1e9 counts as 100
    assert found[1::2].mean() == pytest.approx(40, abs=1)
    assert any(note.startswith("1,000 values of 'charge' lie outside") for note in notes)
    noisy, _ = published([0.0] * 5_000, 5, PrivateMean(0.1, 0, 100))
    assert ((noisy >= 0) & (noisy <= 100)).all()
    assert (noisy == 100).any()


def test_missing_values_count_as_the_middle_of_the_domain() -> None:
    found, notes = published([None, 0.0, 0, 0, None, None] * 2_000, 3, PrivateMean(50.0, 0, 120))
    assert found[::2].mean() == pytest.approx(20, abs=1)
    assert found[1::2].mean() == pytest.approx(40, abs=1)
    assert any("6,000 missing" in note for note in notes)


def test_a_domain_is_given_or_there_is_no_private_mean() -> None:
    with pytest.raises(InputError, match="not taken from the data"):
        private_mean("charge", None, 1.0)
    for wrong in ((0,), (0, 1, 2), ("a", "b"), (5, 5), (9, 1), (0, float("inf"))):
        with pytest.raises(InputError, match="least and greatest"):
            private_mean("charge", wrong, 1.0)
    assert private_mean("charge", (-5, 10), 2.0) == PrivateMean(2.0, -5.0, 10.0)


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), True, "1"])
def test_epsilon_is_a_positive_number(epsilon: object) -> None:
    with pytest.raises(InputError, match="epsilon"):
        PrivateMean(epsilon, 0, 1)  # type: ignore[arg-type]


def test_a_private_mean_is_of_numbers() -> None:
    coded = encode(pl.Series("c", ["a", "b"]), Attribute("c", frozenset({Role.CONFIDENTIAL}), Kind.NOMINAL))
    classes = Partition.of_labels(np.zeros(2, np.int64))
    with pytest.raises(InputError, match="of numbers"):
        publish_private_mean(coded, classes, np.zeros(2, np.int32), PrivateMean(1.0, 0, 1))
