"""`shoal k-prime` and `shoal scenario`: paper 3's test and its guideline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from shoal.cli import options as opt


def register(app: typer.Typer) -> None:
    """Adds `shoal k-prime` and `shoal scenario`."""
    app.command(name="k-prime", epilog=_K_PRIME_EXAMPLES)(show_k_prime)
    app.command(name="scenario", epilog=_SCENARIO_EXAMPLES)(scenario)


_K_PRIME_EXAMPLES = """Examples:

shoal k-prime --k 5 --fraction 0.1

shoal k-prime --k 10 --fraction 0.05 --test poisson --json"""

Alpha = Annotated[float, typer.Option(help="Significance of the test.")]


def show_k_prime(
    k: Annotated[int, typer.Option("--k", help="People who must match each class.")],
    fraction: Annotated[float, typer.Option(help="Share of the population that the table holds.")],
    test: Annotated[
        str, typer.Option(help="truncated-poisson (D4), poisson (D3) or individual (D2).")
    ] = "truncated-poisson",
    alpha: Alpha = 0.1,
    classes: Annotated[
        int | None, typer.Option(help="Test so many classes at once: divides the significance by their number.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Print k': the least class size that shows that k people or more fit a class."""
    from shoal.cli.console import out, say, show
    from shoal.jobs.scenario import KPrime

    needed = KPrime(k, fraction, test, alpha, classes).run()  # type: ignore[arg-type]
    if as_json:
        show(needed.to_dict(), as_json)
        return
    out.print(needed.k_prime)
    for remark in needed.remarks():
        say(remark)


_SCENARIO_EXAMPLES = """Examples:

shoal scenario

shoal scenario --population no --fraction 0.1 --large-fraction no --membership no --subjects-tell no --json"""


_QUESTIONS = {  # in the order of the guideline; all but the last are ways to be sure that a person is in the table
    "whole_population": ("--population", "Does the table hold the whole population?"),
    "large_fraction": ("--large-fraction", "Is its share so large that an intruder would take anybody to be in it?"),
    "membership_known": ("--membership", "Can it be found out who is in the table?"),
    "subjects_tell": ("--subjects-tell", "Do people tell that they are in the table?"),
    "database": ("--database", "Do you have the database that an intruder would match the table with?"),
}
_MAY_BE_LEFT = ("large_fraction", "database")  # k' takes care of large fractions, and few custodians have a database


def _answer(name: str) -> Any:
    flag, question = _QUESTIONS[name]
    return typer.Option(flag, metavar="yes|no", help=question, rich_help_panel="Answers")


def scenario(
    whole_population: Annotated[str | None, _answer("whole_population")] = None,
    fraction: Annotated[
        float | None,
        typer.Option(help="What share of the population does the table hold?", rich_help_panel="Answers"),
    ] = None,
    large_fraction: Annotated[str | None, _answer("large_fraction")] = None,
    membership_known: Annotated[str | None, _answer("membership_known")] = None,
    subjects_tell: Annotated[str | None, _answer("subjects_tell")] = None,
    database: Annotated[str | None, _answer("database")] = None,
    risk: Annotated[float, typer.Option(help="The highest chance of a right guess that you accept.")] = 0.2,
    alpha: Alpha = 0.1,
    as_json: opt.Json = False,
) -> None:
    """Find out which intruder to expect, which model to promise, and with which k: asks what the options leave open."""
    from shoal.cli.console import show
    from shoal.jobs.scenario import Scenario

    given = {
        "whole_population": whole_population,
        "large_fraction": large_fraction,
        "membership_known": membership_known,
        "subjects_tell": subjects_tell,
        "database": database,
    }
    answers = {name: _yes(name, answer) for name, answer in given.items() if answer is not None}
    for name in _QUESTIONS:
        decided = any(yes for about, yes in answers.items() if about != "database")  # one sure sign is enough
        if name == "large_fraction" and fraction is None and not (decided or as_json):
            fraction = _share()
        if name not in answers:
            answers[name] = not decided and _asked(name, silent=as_json)
    show(Scenario(**answers, fraction=fraction, risk=risk, alpha=alpha).run(), as_json)


def _yes(name: str, answer: str) -> bool:
    from shoal.errors import InputError

    if answer.lower() not in ("yes", "no", "y", "n"):
        raise InputError(f"{_QUESTIONS[name][0]} {answer!r} is no answer: say yes or no.")
    return answer.lower().startswith("y")


def _asked(name: str, silent: bool) -> bool:
    from shoal.errors import InputError

    flag, question = _QUESTIONS[name]
    if not silent:
        return bool(_prompted(flag, lambda: typer.confirm(question, default=None, err=True)))
    if name not in _MAY_BE_LEFT:
        raise InputError(f"{flag} is missing: {question} Answer yes or no.")
    return False


def _share() -> float | None:
    from shoal.errors import InputError

    question = "What share of the population does the table hold (0 to 1; empty if unknown)?"
    answer = _prompted("--fraction", lambda: typer.prompt(question, default="", show_default=False, err=True))
    try:
        return float(answer) if answer.strip() else None
    except ValueError:
        raise InputError(f"{answer!r} is no share of the population: give a number from 0 to 1.") from None


def _prompted(flag: str, prompt: Callable[[], Any]) -> Any:
    from shoal.errors import InputError

    try:
        return prompt()
    except typer.Abort:
        raise InputError(f"There was no answer: give it as {flag}.") from None
