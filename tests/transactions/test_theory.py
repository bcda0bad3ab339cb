"""Eq. 3, its bounds, and the best number of clusters."""

from __future__ import annotations

import pytest

from shoal.transactions.theory import (
    best_clusters,
    best_clusters_measured,
    expected_dummies,
    largest_valid_size,
)

N, B, H = 400, 65.0, 3.7864


@pytest.mark.parametrize(("clusters", "dummies"), [(50, 139_592), (100, 68_913), (125, 51_869), (130, 49_161)])
def test_equation_3(clusters: int, dummies: int) -> None:
    assert expected_dummies(N, B, H, clusters) == pytest.approx(dummies, abs=1)
    assert expected_dummies(N, B, H, clusters) <= (B + H / 2) * N**2 / clusters  # Eq. 4, its sign put right


def test_nobody_needs_dummies_alone_and_two_need_what_they_do_not_share() -> None:
    assert expected_dummies(N, B, H, N) == 0
    assert expected_dummies(2, 10, 4, 1) == 2 * (10 - 4)


def test_equation_3_holds_while_everybody_has_a_good_of_his_own() -> None:
    assert largest_valid_size(B, H) == pytest.approx(18.17, abs=0.01)
    assert largest_valid_size(B, 0.0) == float("inf")


def test_the_best_number_of_clusters_is_130() -> None:
    assert best_clusters(N, B, H) == 130


def test_the_best_number_of_clusters_counted_on_data() -> None:
    measured = {50: 128_060, 100: 61_306, 125: 46_565, 200: 22_770}
    losses = {c: (dummies / 128_060 + c / 400) / 2 for c, dummies in measured.items()}
    assert best_clusters_measured(measured, 400) == min(losses, key=losses.__getitem__) == 125
    assert best_clusters_measured({1: 0, 2: 0}, 2) == 1
