"""`shoal study`: help when alone, the tour by --all, what was asked for wrongly in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import typer
from typer.testing import CliRunner

from shoal.cli import study
from shoal.cli.schema import schema_of
from shoal.errors import InputError
from shoal_studies import tour
from tests.cli.conftest import Shoal
from tests.studies.small_tour import at_small_sizes, small


@pytest.fixture(scope="module")
def sizes() -> Iterator[None]:
    with at_small_sizes() as patch:
        patch.setattr(tour, "STUDIES", small("big-data"))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tour")


def test_alone_it_shows_its_help(shoal: Shoal) -> None:
    shown = shoal("study")
    for words in ("--all", "proper-anonymization", "big-data", "k-map", "purchases", "risk-utility"):
        assert words in shown.out


def test_without_the_studies_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "find_spec", lambda name: None)
    app = typer.Typer()
    app.callback()(lambda: None)
    study.register(app)
    for words in (["--all", "-o", "there"], ["big-data", "-o", "there"], []):
        ended = CliRunner().invoke(app, ["study", *words])
        assert isinstance(ended.exception, InputError)
        assert "pip install ./studies" in str(ended.exception)


def test_the_tour_writes_its_page_and_says_where(shoal: Shoal, sizes: None, folder: Path) -> None:
    done = shoal("study", "--all", "-o", folder)
    assert done.code == 0
    assert "statements of five papers agree" in done.out
    assert max(map(len, done.out.splitlines())) <= max(80, len(f"All of it: {folder / 'index.html'}"))
    assert (folder / "index.html").is_file()
    assert (folder / "big-data" / "index.html").is_file()


def test_the_tour_as_json(shoal: Shoal, sizes: None, folder: Path) -> None:
    found = shoal("study", "--all", "-o", folder, "--json").json
    jsonschema.Draft202012Validator(schema_of("study")).validate(found)
    assert found["agree"] + found["differ"] == 11
    (study,) = found["studies"]
    assert study["study"] == "big-data"
    assert sum(len(part["statements"]) for part in study["beyond"]) == 11


def test_an_interrupted_tour_says_how_to_go_on(
    shoal: Shoal, sizes: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*asked: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tour, "take_tour", stop)
    ended = shoal("study", "--all", "-o", tmp_path / "new")
    assert ended.code == 130
    assert ended.out == ""
    assert ended.err.endswith("shoal: Interrupted before it was done: no unfinished file was left.\n")
    assert "0 of 1 studies are finished" in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--all"], "-o DIR"),
        (["-o", "there"], "--all"),
        (["--all", "-o", "there", "k-map", "-o", "here"], "after the study's name"),
    ],
)
def test_what_is_asked_for_wrongly_is_said(shoal: Shoal, words: list[str], said: str) -> None:
    ended = shoal("study", *words)
    assert ended.code == 2
    assert said in ended.sentence
