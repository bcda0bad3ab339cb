"""Attacks: how an outcome is counted, and how attacks are found."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.catalogue import Registry
from shoal.data.files import FORMATS
from shoal.errors import InputError
from shoal.risk.attack import ATTACKS, Outcome, attack, wilson


def test_the_interval_is_wilsons() -> None:
    assert wilson(0, 10) == pytest.approx((0.0, 0.27753), abs=1e-4)
    assert wilson(50, 100) == pytest.approx((0.40383, 0.59617), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_an_outcome_tells_the_share_of_guesses_from_the_share_of_people() -> None:
    outcome = Outcome("blind", "charge", people=200, guessed=50, right=25, baseline=0.4)
    assert (outcome.rate, outcome.found) == (0.5, 0.125)
    assert outcome.interval == wilson(25, 50)


def test_no_guess_is_no_success() -> None:
    assert Outcome("blind", "charge", people=200, guessed=0, right=0, baseline=0.4).rate == 0.0


def test_an_unknown_attack_is_named() -> None:
    with pytest.raises(InputError, match="There is no attack 'minimalty'"):
        ATTACKS.find("minimalty")
    with pytest.raises(InputError, match=r"is no attack: decorate the function with @shoal\.risk"):
        ATTACKS.find("shoal.risk.attack:wilson")
    with pytest.raises(InputError, match="is no format: add it first"):
        FORMATS.find("shoal.data.files:read_table")


def test_an_attack_without_words_is_refused() -> None:
    with pytest.raises(InputError, match="says nothing of itself"):

        @attack
        def silent(scene: object) -> list[Outcome]:
            return []


def test_what_has_nothing_to_attack_is_left_out_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.risk import attack as module

    def idle(scene: object) -> list[Outcome]:
        """Finds nobody."""
        raise InputError("No confidential attribute is named: name one.")

    monkeypatch.setattr(module, "ATTACKS", Registry("attack"))
    attack(idle)
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", "b"]})
    policy = shoal.Policy(quasi_identifiers=["age"], models=[shoal.KAnonymity(2)])
    result = shoal.attack(frame, frame, policy, ["idle"])
    assert result.to_dict() == {"attacks": [], "left_out": {"idle": "No confidential attribute is named: name one."}}
