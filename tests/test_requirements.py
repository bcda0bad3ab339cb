"""The locked requirements: all that is asked for, each with hashes, the same version for a user and a developer."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))


def locked(name: str) -> dict[str, str]:
    """Each requirement of a file as written, with its version and where it holds, and what follows it."""
    text = (HERE / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    return {block.partition(" \\\n")[0]: block for block in blocks}


def packages(name: str) -> set[str]:
    return {requirement.partition("==")[0] for requirement in locked(name)}


def names(requirements: list[str | dict[str, str]]) -> set[str]:
    return {re.split(r"[<>=~;\[ ]", word)[0] for word in requirements if isinstance(word, str)}


@pytest.mark.parametrize("name", ["install", "run", "dev"])
def test_every_requirement_has_a_version_and_hashes_and_no_address(name: str) -> None:
    for requirement, block in locked(name).items():
        assert re.match(r"[a-z0-9-]+==[0-9]", requirement), requirement
        assert "--hash=sha256:" in block, requirement
        assert "://" not in block, requirement


def test_what_a_user_needs_is_among_what_a_developer_needs_in_the_same_version() -> None:
    assert set(locked("run")) <= set(locked("dev"))
    assert set(locked("install")) <= set(locked("dev"))


def test_all_that_the_project_asks_for_is_locked() -> None:
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    assert names(project["dependencies"]) <= packages("run")
    for extra in ("plot", "ui"):  # the studies draw, and the demo ends with the app
        assert names(project["optional-dependencies"][extra]) <= packages("run")
    assert names(groups["install"]) <= packages("install")
    for asked in (*project["optional-dependencies"].values(), *groups.values()):
        assert names(asked) <= packages("dev")


def test_the_demo_installs_none_of_what_only_a_developer_needs() -> None:
    assert not packages("run") & {"pytest", "mypy", "ruff", "sphinx", "playwright", "pyspark", "opendp", "pot"}
