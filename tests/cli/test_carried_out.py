"""Every option is carried out or refused by name: over all commands that have an engine, all options, all engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shoal as library
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


def given(parameter: Any) -> list[str]:
    """The option with a value that is a number and a text."""
    option = max(parameter.opts, key=len)
    return [option] if parameter.is_flag else [option, "1"]


OPTIONS = [
    (words, parameter)
    for words, command in WITH_ENGINE.items()
    for parameter in command.params
    if parameter.param_type_name == "option" and parameter.name not in ("engine", "help", "output")
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

    monkeypatch.setattr("shoal.parted.opening.open_table", not_there)
    monkeypatch.setattr("shoal.cli.kernels.load_kernels", lambda: None)
    for words, parameter in OPTIONS:
        files = FILES.get(words[-1], ("d.parquet",))
        run = shoal(*words, *files, *NEEDED.get(words[-1], ()), "--engine", engine, *given(parameter))
        carried = parameter.name in IN_PARTS[words[-1]] or (parameter.name == "master" and engine == "spark")
        if engine == "memory":
            carried = parameter.name not in ("master", "delimiter", "encoding", "decimal")
        named = f"{max(parameter.opts, key=len)} "
        refused = any(
            run.sentence.startswith(named + because)
            for because in (
                "needs the whole table in memory, which the engine",
                "says where Spark runs",
                "is of text files",
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
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--epsilon", "1"): "private means, but none is shown",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--merge"): "--merge is about --split",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--independent"): "--independent is about --split",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--subject", "c"): "--subject",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--incremental"): "name their --ledger",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--gamma", "1", "--method", "mdav"): "--gamma is for --method",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--alpha", "0.1"): "--alpha is about k-map",
        ("anonymize", "d.csv", "-o", "x.csv", *roles, "--l-variant", "entropy"): "give --l as well",
    }.items():
        run = shoal(*words)
        assert (run.code, said in run.sentence) == (2, True), (words, run.err)
    assert not (tmp_path / "x.csv").exists()


def test_from_python_an_argument_that_an_engine_does_not_carry_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,c\n" + "30,1\n" * 5)
    policy = library.Policy(quasi_identifiers=["age"], confidential=["c"])
    with pytest.raises(InputError, match="'disk' judges a release by itself"):
        library.check(tmp_path / "d.csv", policy, paired=True, engine="disk")
