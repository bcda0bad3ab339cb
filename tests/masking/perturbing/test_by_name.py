"""The perturbing methods by the names that policies and the command line have for them."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from shoal.cli.method import PERTURBING, method_choice
from shoal.policy import Policy


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ({"name": "noise", "gamma": 0.5, "whole": True}, shoal.AddedNoise(0.5, whole=True)),
        ({"name": "mnoise", "s": 0.3, "clamp": True}, shoal.MultipliedNoise(0.3, clamp=True)),
        ({"name": "swap", "p": 0.3}, shoal.RankSwapping(0.3)),
        ({"name": "pram", "p": 0.3}, shoal.Pram(0.3)),
        ({"name": "shuffle"}, shoal.Shuffling()),
        ({"name": "resample", "whole": True}, shoal.Resampling(whole=True)),
        ({"name": "microaggregate", "k": 3, "whole": True}, shoal.Microaggregated(3, whole=True)),
        ({"name": "mdav+", "k": 3, "publish": "median"}, shoal.Grouped("mdav+", "median")),
        ({"name": None, "publish": "mean"}, shoal.Grouped(publish="mean")),
        ({"name": None, "gamma": 0.5}, shoal.AddedNoise(0.5)),
        ({"name": None, "s": 0.5}, shoal.MultipliedNoise(0.5)),
        ({"name": None, "p": 0.5}, shoal.RankSwapping(0.5)),
    ],
)
def test_words_of_the_command_line_make_the_method(words: dict[str, Any], method: Any) -> None:
    assert Policy(method=method_choice(**words)).method == method


def test_every_word_is_known_to_policies_and_round_trips() -> None:
    for word in PERTURBING:
        policy = Policy(method=method_choice(word))
        assert Policy(**policy.model_dump()) == policy


@pytest.mark.parametrize("words", [{"name": "mnoise", "p": 0.1}, {"name": "swap", "publish": "mean"}])
def test_an_option_of_another_method_is_refused(words: dict[str, Any]) -> None:
    with pytest.raises(shoal.InputError, match="leave one of them out"):
        method_choice(**words)


def test_a_parameter_of_0_is_told_of_not_ignored() -> None:
    with pytest.raises(shoal.InputError, match=r"'p' parameter of rank-swapping .* Got 0"):
        Policy(method=method_choice(None, p=0.0))
