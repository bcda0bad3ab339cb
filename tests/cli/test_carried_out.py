"""Every option is carried out or refused by name: over all commands that have an engine, all options, all engines."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal as library
from shoal.chunked_draft import refuse_in_chunks
from shoal.cli.engines import IN_PARTS
from shoal.errors import InputError
from tests.cli.conftest import COMMANDS, Shoal

WITH_ENGINE = {
    tuple(words.split()): command
    for words, command in COMMANDS.items()
    if any(parameter.name == "engine" for parameter in command.params)
}
FILES = {"utility": ("d.parquet", "r.parquet"), "audit": ("d.parquet", "r.parquet")}
NEEDED = {"anonymize": ("-o", "x.parquet")}


VALUES = {"read": "delimiter=;", "write": "keep-order"}


def given(parameter: Any) -> list[str]:
    """The option with a value of its sort, or one that is a number and a text."""
    option = max(parameter.opts, key=len)
    return [option] if parameter.is_flag else [option, VALUES.get(parameter.name, "1")]


OPTIONS = [
    (words, parameter)
    for words, command in WITH_ENGINE.items()
    for parameter in command.params
    if parameter.param_type_name == "option" and parameter.name not in ("engine", "help", "output", "quiet")
]


def test_the_commands_are_those_of_the_table() -> None:
    assert {words[-1] for words in WITH_ENGINE} == set(IN_PARTS)
    for words, command in WITH_ENGINE.items():
        assert IN_PARTS[words[-1]] <= {parameter.name for parameter in command.params}, words


@pytest.mark.parametrize("engine", ["memory", "disk", "spark"])
def test_what_an_engine_does_not_carry_out_is_refused_by_name(
    shoal: Shoal, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """No file is there: what is not refused by its name gets as far as that."""

    def not_there(*_: object, **__: object) -> None:
        raise InputError("There is no such table.")

    for module in ("shoal.assess", "shoal.privacy.people"):  # they keep the function as it is when they are imported
        import_module(module)
    monkeypatch.setattr("shoal.engines.opening.open_table", not_there)
    monkeypatch.setattr("shoal.jobs.kernels.load_kernels", lambda: None)
    for words, parameter in OPTIONS:
        files = FILES.get(words[-1], ("d.parquet",))
        run = shoal(*words, *files, *NEEDED.get(words[-1], ()), "--engine", engine, *given(parameter))
        carried = parameter.name in IN_PARTS[words[-1]] if engine != "memory" else parameter.name != "read"
        named = f"{max(parameter.opts, key=len)} "
        refused = any(
            run.sentence.startswith(named + because)
            for because in (
                "needs the whole table in memory, which the engine",
                "delimiter needs the whole table in memory, which the engine",
                "delimiter is of text files",
            )
        )
        assert refused == (not carried), (words, parameter.name, engine, run.err)
        assert run.code == 2, (words, parameter.name, run.err)


def test_options_without_effect_are_refused_in_memory_too(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,c\n" + "30,1\n" * 5)
    roles = ("--quasi", "age", "--confidential", "c")
    for words, said in {
        ("check", "d.csv", *roles, "--paired"): "--paired is about the original",
        ("risk", "d.csv", *roles, "--paired"): "--paired is about the original",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--show", "c=mean:epsilon=1"): "mean has no parameters",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--engine", "disk:master=local"): "says where Spark runs",
        ("releases", "list", "--ledger", "l.db,key=k"): "--ledger is given its key, which has no part here",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--subject", "c"): "--subject",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--incremental"): "name their --ledger",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--method", "mdav:gamma=1"): "no parameter 'gamma'",
        ("check", "d.csv", *roles, "--population", "d.csv"): "--population is that of a certificate",
    }.items():
        run = shoal(*words)
        assert (run.code, said in run.sentence) == (2, True), (words, run.err)
    assert not (tmp_path / "x.csv").exists()


def test_from_python_an_argument_that_nothing_is_done_with_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,c\n" + "30,1\n" * 5)
    policy = library.Policy(quasi_identifiers=["age"], confidential=["c"])
    for engine in ("memory", "disk"):
        with pytest.raises(InputError, match="beside the original"):
            library.check(tmp_path / "d.csv", policy, paired=True, engine=engine)


# ---- commands and ways without an engine


def least(words: str, file: str) -> list[str]:
    """The command with what it cannot do without."""
    parameters = COMMANDS[words].params
    arguments = [file for parameter in parameters if parameter.param_type_name == "argument"]
    options = [
        word
        for parameter in parameters
        if parameter.param_type_name == "option" and parameter.required
        for word in given(parameter)
    ]
    return [*words.split(), *arguments, *options]


ALSO = {
    "hierarchy build": ("--auto",),
    "releases audit": ("d.parquet",),
    "transactions check": ("--min-size", "3"),
    "transactions anonymize": ("-o", "x.csv"),
}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (words, parameter.name)
        for words, command in COMMANDS.items()
        for parameter in command.params
        if parameter.name in ("read", "no_header")
    ],
)
def test_options_of_text_are_refused_where_no_text_is_read(shoal: Shoal, words: str, name: str) -> None:
    stated = ("--no-header",) if name == "no_header" else ("--read delimiter=;", "--read encoding=x")
    for words_of in stated:
        option, _, value = words_of.partition(" ")
        run = shoal(*least(words, "d.parquet"), *ALSO.get(words, ()), option, *([f'"{value}"'] if value else []))
        assert run.code == 2
        assert run.sentence.startswith(f"{words_of.partition('=')[0]} is of text files"), run.err


RECODING = {"k", "m", "taxonomy", "key", "customer", "item", "baskets", "output", "overwrite", "as_json", "quiet"}
READING = {"no_header", "read"}


def test_goods_are_recoded_with_options_that_have_a_part_in_it(shoal: Shoal) -> None:
    for parameter in COMMANDS["transactions anonymize"].params:
        if parameter.param_type_name == "option" and parameter.name not in ("output", "help", "k", "m"):
            option = max(parameter.opts, key=len)
            more = ["--ledger", "l"] if parameter.name == "incremental" else []
            run = shoal(*least("transactions anonymize", "d.csv")[:3], "-o", "x.csv", "--k", "2", "--m", "1",
                        *given(parameter), *more)  # fmt: skip
            refused = "has no part in recoding goods" in run.sentence or "A ledger judges clusters" in run.sentence
            assert refused == (parameter.name not in RECODING | READING), (option, run.err)
            assert run.code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("transactions check d.csv --baskets --k 2 --m 1 --customer c", "--customer is about tables"),
        ("transactions anonymize d.csv -o x.csv --baskets --min-size 2 --time t", "--time is about tables"),
        ("transactions check d.csv --customer c --item g --k 2 --m 1 --time t", "--time is about whole histories"),
        ("transactions utility d.csv d.csv --customer c --item g --by age", "give --customers as well"),
        ("transactions attack d.csv d.csv --customer c --item g --time t", "--time names a column that nothing"),
        ("transactions attack d.csv d.csv --customer c --item g --basket b", "--basket names a column that nothing"),
        ("transactions attack d.csv d.csv --customer c --item g --quantity b", "--quantity names a column that"),
        ("transactions risk d.csv --customer c --item g --price p", "--price names a column that nothing looks at"),
        ("releases audit --ledger l.db --quasi age", "--quasi is about released files"),
        ("releases audit --ledger l.db --read text=age", "--read is about released files"),
        ("releases audit d.csv d.csv --key id --quasi age --kind age=nominal", "--kind says how an intruder compares"),
        ("hierarchy check age.csv --read text=age", "--read is about a table: give --data"),
    ],
)
def test_options_that_nothing_looks_at_are_refused(shoal: Shoal, words: str, said: str) -> None:
    run = shoal(*words.split())
    assert (run.code, said in run.sentence) == (2, True), run.err


@pytest.mark.parametrize("method", [kind for kind in library.METHODS if kind.perturbs], ids=lambda method: method.name)
def test_what_leaves_no_record_out_refuses_a_share_to_leave_out(method: Any) -> None:
    table = pl.DataFrame({"age": range(20)})
    asked = library.Policy(quasi_identifiers=["age"], method={"name": method.name}, suppression=0.1)
    with pytest.raises(InputError, match="leaves out no record, but a share"):
        library.anonymize(table, asked)
    with pytest.raises(InputError, match="leaves out no record, but a share"):
        refuse_in_chunks(asked, "disk")
