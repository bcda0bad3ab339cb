"""`shoal k-prime` and `shoal scenario`."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from shoal.cli import scenario
from shoal.errors import InputError

app = typer.Typer()
scenario.register(app)


def run(*words: str, answers: str = "") -> str:
    """What the command prints for others to read; what it cannot do it raises."""
    result = CliRunner().invoke(app, words, input=answers, catch_exceptions=True)
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def advice(*words: str, answers: str = "") -> str:
    """The recommendation on one line, without what was typed before it."""
    shown = " ".join(run("scenario", *words, answers=answers).split())
    return shown[shown.index("Expect") :]


# ---- k'


def test_k_prime_is_printed_alone() -> None:
    assert run("k-prime", "--k", "5", "--fraction", "0.1", "--test", "truncated-poisson") == "3\n"
    assert run("k-prime", "--k", "5", "--fraction", "0.1", "--test", "poisson") == "2\n"
    assert run("k-prime", "--k", "15", "--fraction", "0.3", "--test", "individual") == "6\n"


def test_k_prime_for_machines() -> None:
    found = json.loads(run("k-prime", "--k", "5", "--fraction", "0.6", "--classes", "10", "--json"))
    assert found["k_prime"] > found["smallest_class"] == found["k"] == 5
    assert (found["classes"], found["alpha"], found["test"]) == (10, 0.1, "truncated-poisson")
    assert found["error"] == 0  # as many records as people are asked for


def test_a_test_that_every_unique_record_passes_is_said_to_tell_nothing() -> None:
    result = CliRunner().invoke(app, ["k-prime", "--k", "5", "--fraction", "0.01", "--test", "poisson"])
    assert result.stdout == "1\n"
    assert "every unique record would count as proof" in " ".join(result.stderr.split())
    found = json.loads(run("k-prime", "--k", "5", "--fraction", "0.01", "--test", "poisson", "--json"))
    assert (found["k_prime"], found["error"]) == (1, 1.0)


@pytest.mark.parametrize("wrong", [("--fraction", "2"), ("--test", "normal"), ("--alpha", "0"), ("--k", "1")])
def test_what_cannot_be_tested_is_refused(wrong: tuple[str, str]) -> None:
    choices = {"--k": "5", "--fraction": "0.1"} | dict([wrong])
    with pytest.raises(InputError, match=wrong[0].removeprefix("--")):
        run("k-prime", *(word for pair in choices.items() for word in pair))


# ---- the dialogue

NO = ("--population", "no", "--membership", "no", "--subjects-tell", "no")


def test_answers_given_as_options_need_no_dialogue() -> None:
    found = json.loads(run("scenario", *NO, "--fraction", "0.1", "--json"))
    assert (found["scenario"], found["model"], found["k"], found["k_prime"]) == ("journalist", "k-map", 5, 3)
    assert len(found["reasons"]) == 3


def test_the_dialogue_asks_in_the_order_of_the_guideline() -> None:
    shown = advice(answers="n\n0.2\nn\nn\nn\nn\n")
    assert shown.startswith("Expect a journalist: promise k-map with k = 5, in classes of 4 records or more.")


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ("y\n", "whole population"),
        ("n\n0.1\ny\n", "so large"),
        ("n\n\nn\ny\n", "found out"),
        ("n\n\nn\nn\ny\n", "tell"),
    ],
)
def test_the_dialogue_ends_at_the_first_sure_sign(answers: str, reason: str) -> None:
    shown = advice(answers=answers)
    assert shown.startswith("Expect a prosecutor: promise k-anonymity with k = 5")
    assert reason in shown


def test_options_answer_some_questions_and_the_dialogue_the_rest() -> None:
    shown = advice("--membership", "no", "--fraction", "0.1", "--database", "yes", answers="n\nn\nn\n")
    assert shown.startswith("Expect a journalist: promise k-map with k = 5.")
    shown = advice("--membership", "yes", "--database", "yes", answers="")
    assert shown.startswith("Expect a prosecutor")


def test_a_risk_other_than_a_fifth_may_be_accepted() -> None:
    assert json.loads(run("scenario", *NO, "--fraction", "0.1", "--risk", "0.1", "--json"))["k"] == 10


def test_machines_must_answer_what_matters() -> None:
    with pytest.raises(InputError, match="--subjects-tell is missing"):
        run("scenario", "--population", "no", "--membership", "no", "--json")


def test_an_answer_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="--membership 'perhaps'"):
        run("scenario", "--membership", "perhaps", "--json")
    with pytest.raises(InputError, match="no share"):
        run("scenario", answers="n\na tenth\n")
    with pytest.raises(InputError, match="give it as --membership"):
        run("scenario", answers="n\n0.1\nn\n")
