"""Methods by their words, with the parameters behind them, as the command line and policies have them."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from shoal.cli.method import method_of, moved
from shoal.policy import Policy


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("noise:gamma=0.5,whole", shoal.Noise(0.5, whole=True)),
        ("multiplicative-noise:s=0.3,clamp=true", shoal.MultiplicativeNoise(0.3, clamp=True)),
        ("swap:p=0.3, order=ascending", shoal.Swap(0.3, "ascending")),
        ("pram:p=0.3", shoal.Pram(0.3)),
        ("shuffle", shoal.Shuffle()),
        ("resample:whole=yes", shoal.Resample(whole=True)),
        ("individual-ranking:k=3,whole=true", shoal.IndividualRanking(3, whole=True)),
        ("mdav+:publish=median", shoal.MdavPlus("median")),
        ("recode:levels.age=2,levels.a=b=1", shoal.Recode(levels={"age": 2, "a=b": 1})),
        ("cut-points:seconds=none", shoal.CutPoints(None)),
        ("coarsen:resolution=4", shoal.Coarsen(4)),
        ('coarsen:"resolution.age, years=4"', shoal.Coarsen({"age, years": 4})),
        ("noise:keep-moments=true", shoal.Noise(keep_moments=True)),
        ("shoal.masking.perturbing.noise:Noise:gamma=0.5", shoal.Noise(0.5)),
    ],
)
def test_words_of_the_command_line_make_the_method(text: str, method: Any) -> None:
    assert method_of(text) == method


def test_individual_ranking_goes_by_the_k_that_is_promised() -> None:
    assert method_of("individual-ranking", [shoal.KAnonymity(7)]) == shoal.IndividualRanking(7)


def test_every_word_is_known_to_policies_and_round_trips() -> None:
    for word in shoal.METHODS.words:
        policy = Policy(method=method_of(word))
        assert Policy(**policy.model_dump()) == policy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("multiplicative-noise:p=0.1", "has no parameter 'p'"),
        ("swap:publish=mean", "has no parameter 'publish'"),
        ("mdav:k=5", "The class size is promised: --k"),
        ("swap:p=0.0", r"'p' parameter of swap .* Got 0"),
        ("swap:p=x", r"'p' parameter of swap must be a number above 0 and at most 1. Got 'x' instead"),
        ("swap:p", "which is not p=VALUE"),
        ("swap:p=0.1,p=0.2", "'p' twice"),
        ("swap:p.age=0.1", "has no p by column"),
        ("recode:levels=3", r"levels\.COLUMN=VALUE"),
        ("safe-harbor:ladder=3", "a policy file"),
        ('swap:"p=0.1', "quote what holds a comma"),
        ("rank-swapping", "Did you mean 'swap'"),
        ("json:JSONDecoder", "is no method"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(shoal.InputError, match=said):
        method_of(text)


@pytest.mark.parametrize(
    ("option", "there"),
    [
        ("--gamma", "--method noise:gamma=..."),
        ("--publish", "--method hilbert:publish=..."),
        ("--l-variant", "--promise l-diversity:l=...,variant=..."),
        ("--fraction", "--promise k-map:k=...,fraction=..."),
        ("--measured-risk", "--promise measured-risk:level=..."),
    ],
)
def test_an_option_that_rides_with_its_word_now_is_told_where(option: str, there: str) -> None:
    assert there in moved(option, ["--promise", "--method"])
    assert moved(option, ["--quasi"]) == ""
    assert moved("--nonsense", ["--promise", "--method"]) == ""
