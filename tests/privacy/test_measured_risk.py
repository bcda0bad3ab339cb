"""A measured risk is promised, judged on the finished file beside the original, and its figure is nobody else's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.measure import Pair, measure
from shoal.privacy import MeasuredRisk

QUASI = ["a", "b", "c"]


def table(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame({name: rng.normal(50, 10, n) for name in QUASI} | {"secret": rng.integers(0, 5, n)})


def policy(method: object, *models: object) -> shoal.Policy:
    return shoal.Policy(quasi_identifiers=QUASI, confidential=["secret"], models=models, method=method)


SWAPPED = shoal.Swap(p=0.2)


def test_the_risk_of_the_shuffled_file_is_that_of_the_table(tmp_path: Path) -> None:
    """The custodian knows the order."""
    release = shoal.anonymize(table(), policy(SWAPPED, MeasuredRisk(0.9)), seed=1)
    written = release.write(tmp_path / "r.csv", seed=2)
    assert written.verdicts[0].achieved == pytest.approx(release.verdicts[0].achieved)
    assert not pl.read_csv(tmp_path / "r.csv").equals(release.table)
    assert 0 < release.verdicts[0].achieved < 0.9


def test_correct_links_are_counted_against_the_right_people(tmp_path: Path) -> None:
    """An unmasked table links to everyone, in whatever order it is written."""
    barely = shoal.Noise(gamma=1e-12)
    release = shoal.anonymize(table(), policy(barely, MeasuredRisk(1)), seed=1)
    assert release.write(tmp_path / "r.csv", seed=5).verdicts[0].achieved == 1.0


def test_a_risk_that_is_not_reached_releases_nothing(tmp_path: Path) -> None:
    with pytest.raises(shoal.PromiseError, match=r"measured-risk.*Nothing was released. Mask more strongly"):
        shoal.anonymize(table(), policy(SWAPPED, MeasuredRisk(0.0)), seed=1).write(tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_perturbed_table_cannot_pass_for_k_anonymous() -> None:
    with pytest.raises(shoal.PromiseError, match=r"k-anonymity: 5 was asked for, 1 is.*--promise measured-risk"):
        shoal.anonymize(table(), policy(SWAPPED, shoal.KAnonymity(5)), seed=1)


def test_the_certificate_does_not_state_what_only_the_original_shows(tmp_path: Path) -> None:
    release = shoal.anonymize(table(), policy(SWAPPED, MeasuredRisk(0.9)), seed=1)
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", keep_order=True)
    stated = json.loads((tmp_path / "c.json").read_text())["models"]
    about = {"name": "measured-risk", "level": 0.9, "measure": "found_again", "replayed": False}
    assert stated[0].pop("means").startswith("At most 90.0% of the people are found again")
    assert stated == [about | {"asked": 0.9, "holds": True}]


def test_a_check_needs_the_original_beside_the_release() -> None:
    chosen = policy(SWAPPED, MeasuredRisk(0.9))
    release = shoal.anonymize(table(), chosen, seed=1)
    with pytest.raises(shoal.InputError, match="--original FILE"):
        shoal.check(release.frame, chosen)
    (verdict,) = shoal.check(release.frame, chosen, original=table(), paired=True)
    assert verdict.holds
    assert verdict.achieved == pytest.approx(release.verdicts[0].achieved)
    (verdict,) = shoal.check(table(), chosen, original=table(), paired=True)
    assert not verdict.holds
    assert verdict.achieved == 1.0


def test_grouping_methods_can_promise_it_too() -> None:
    release = shoal.anonymize(table(), policy(shoal.Hilbert(), shoal.KAnonymity(4), MeasuredRisk(0.5)))
    assert [verdict.model for verdict in release.verdicts] == ["k-anonymity", "measured-risk"]


def test_a_policy_file_names_it() -> None:
    chosen = policy(SWAPPED, MeasuredRisk(0.3))
    assert 'name = "measured-risk"' in chosen.to_toml()
    assert chosen.models == (MeasuredRisk(0.3),)


@pytest.mark.parametrize("level", [-1, float("inf"), "much", True, 1.5])
def test_a_level_that_is_none_is_refused(level: object) -> None:
    with pytest.raises(shoal.InputError, match="level"):
        MeasuredRisk(level)  # type: ignore[arg-type]


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(shoal.InputError, match=r"no risk measure 'rank_linkag'. Did you mean 'rank_linkage'"):
        MeasuredRisk(0.3, "rank_linkag")


@pytest.mark.parametrize(
    "name",
    ["rank_linkage", "permutation_distance", "correct_links", "correct_links_mahalanobis", "interval_disclosure"],
)
def test_a_measure_that_compares_methods_is_no_promise(name: str) -> None:
    with pytest.raises(shoal.InputError, match=rf"'{name}' is for comparing.*--promise measured-risk:level=0\.05"):
        MeasuredRisk(0.45, name)


def test_a_measure_of_ones_own_can_be_promised() -> None:
    @measure("risk", "riskier")
    def any_of_mine(pair: Pair) -> float:
        """Half of whatever."""
        return 0.5

    release = shoal.anonymize(table(), policy(SWAPPED, MeasuredRisk(0.5, "any_of_mine")), seed=1)
    assert release.verdicts[0].achieved == 0.5


@pytest.mark.parametrize("level", [0.5, 1.0])
def test_no_risk_of_multiplied_noise_is_promised(level: float) -> None:
    """Its changes grow with the value: an attack that knows it finds several times as many people."""
    with pytest.raises(shoal.InputError, match="No measured risk of 'multiplicative-noise' can be promised"):
        shoal.anonymize(table(), policy(shoal.MultiplicativeNoise(4.0), MeasuredRisk(level)), seed=1)


@pytest.mark.parametrize("method", [shoal.IndividualRanking(5), shoal.IndividualRanking(40, subsets=(("b", "c"),))])
def test_who_runs_a_method_without_chance_again_is_counted(method: shoal.IndividualRanking) -> None:
    release = shoal.anonymize(table(), policy(method, MeasuredRisk(1.0)))
    alone = release.table.select(QUASI).n_unique() / 400
    assert release.verdicts[0].achieved == pytest.approx(alone)
    with pytest.raises(shoal.PromiseError):
        shoal.anonymize(table(), policy(method, MeasuredRisk(alone * 0.99)))
