"""The perturbing methods by the names that policies and the command line have for them."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from shoal.cli.method import method_choice
from shoal.policy import Policy


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ({"name": "noise", "gamma": 0.5, "whole": True}, shoal.Noise(0.5, whole=True)),
        ({"name": "multiplicative-noise", "s": 0.3, "clamp": True}, shoal.MultiplicativeNoise(0.3, clamp=True)),
        ({"name": "swap", "p": 0.3}, shoal.Swap(0.3)),
        ({"name": "pram", "p": 0.3}, shoal.Pram(0.3)),
        ({"name": "shuffle"}, shoal.Shuffle()),
        ({"name": "resample", "whole": True}, shoal.Resample(whole=True)),
        ({"name": "individual-ranking", "k": 3, "whole": True}, shoal.IndividualRanking(3, whole=True)),
        ({"name": "mdav+", "k": 3, "publish": "median"}, shoal.MdavPlus("median")),
        ({"name": None, "publish": "mean"}, shoal.Hilbert(publish="mean")),
        ({"name": None, "gamma": 0.5}, shoal.Noise(0.5)),
        ({"name": None, "s": 0.5}, shoal.MultiplicativeNoise(0.5)),
    ],
)
def test_words_of_the_command_line_make_the_method(words: dict[str, Any], method: Any) -> None:
    assert Policy(method=method_choice(**words)).method == method


def test_every_word_is_known_to_policies_and_round_trips() -> None:
    for word in shoal.METHODS.words:
        policy = Policy(method=method_choice(word))
        assert Policy(**policy.model_dump()) == policy


@pytest.mark.parametrize("words", [{"name": "multiplicative-noise", "p": 0.1}, {"name": "swap", "publish": "mean"}])
def test_an_option_of_another_method_is_refused(words: dict[str, Any]) -> None:
    with pytest.raises(shoal.InputError, match="leave one of them out"):
        method_choice(**words)


def test_a_parameter_of_0_is_told_of_not_ignored() -> None:
    with pytest.raises(shoal.InputError, match=r"'p' parameter of swap .* Got 0"):
        Policy(method=method_choice("swap", p=0.0))
