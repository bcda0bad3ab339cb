"""A project is a folder with its policy: one command makes its release, with all that goes with it, or nothing."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from shoal.data.digests import digest
from shoal.data.project_choice import ProjectChoice
from shoal.errors import InputError, PromiseError
from shoal.events import Event
from shoal.jobs.run import Run
from shoal.policy import Policy
from tests.cli.conftest import run_command

POLICY = """
quasi_identifiers = ["age", "sex"]
confidential = ["charge"]

[project]
source = "d.csv"
title = "Stays of 2025"
recipient = "The university's readers"
decided_by = "M. Castro"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "hospital"
    folder.mkdir()
    (folder / "d.csv").write_text("age,sex,charge\n" + "".join(f"{20 + i % 7},{'MF'[i % 2]},{i}\n" for i in range(60)))
    (folder / "shoal.toml").write_text(POLICY)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_run_writes_a_folder_that_another_can_check_and_make_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = Run(project, seed=7).run()
    assert names(ran.folder) == ["answers.toml", "certificate.json", "command.txt", "release.csv", "report.html"]
    assert ran.folder.parent == project / "releases"
    stated = tomllib.loads((ran.folder / "answers.toml").read_text())
    assert (stated["recipient"], stated["decided_by"]) == ("The university's readers", "M. Castro")
    assert stated["sha256"]["release.csv"] == digest(ran.folder / "release.csv")
    again, spelt_out, check = (
        shlex.split(line)[1:] for line in (ran.folder / "command.txt").read_text().splitlines() if line[:6] == "shoal "
    )
    monkeypatch.chdir(ran.folder)
    assert run_command(*check) == 0
    monkeypatch.chdir(project)
    assert run_command(*again) == 0
    assert run_command(*spelt_out, "--seed", "7") == 0
    assert digest("release.csv") == digest(ran.folder / "release.csv")


def test_each_run_has_a_folder_of_its_own(project: Path) -> None:
    first, second = Run(project).run(), Run(project).run()
    assert second.folder.name == f"{first.folder.name}-2"
    kept = Run(project, output=project.parent / "handed over").run()
    assert json.loads(kept.to_json())["files"][-1]["name"] == "report.html"
    with pytest.raises(InputError, match="is there already"):
        Run(project, output=kept.folder).run()


def test_a_promise_that_does_not_hold_leaves_no_folder(project: Path) -> None:
    text = POLICY + '[[models]]\nname = "t-closeness"\nt = 0.0\n[method]\nname = "noise"\n'
    (project / "shoal.toml").write_text(text)
    with pytest.raises((PromiseError, InputError)):
        Run(project).run()
    assert [name for name in names(project) if name != "releases"] == ["d.csv", "shoal.toml"]


def test_a_run_that_ends_at_any_stage_leaves_no_folder(project: Path) -> None:
    stages: list[str] = []
    Run(project, output=project / "first").run(lambda event: stages.append(event.stage))

    def end_at(stage: str) -> None:
        def listen(event: Event) -> None:
            if event.stage == stage:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Run(project, output=project / "second").run(listen)

    for stage in dict.fromkeys(stages[:-1]):
        end_at(stage)
        assert not (project / "second").exists()
        assert [name for name in names(project) if "partial" in name] == []


def test_a_project_names_files_of_its_own_folder_and_no_code(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.csv").write_bytes((project / "d.csv").read_bytes())
    for source, words in (("../elsewhere.csv", "does not lie in"), ("sqlite:///x.db#t", "of a database")):
        (project / "shoal.toml").write_text(POLICY.replace("d.csv", source))
        with pytest.raises(InputError, match=words):
            Run(project).run()
    (project / "shoal.toml").write_text(POLICY + '[[models]]\nname = "mine:Model"\n')
    with pytest.raises(InputError, match="code to be imported"):
        Run(project).run()


def test_a_table_elsewhere_is_named_by_whoever_runs_it(project: Path, tmp_path: Path) -> None:
    (project / "d.csv").rename(tmp_path / "elsewhere.csv")
    (project / "shoal.toml").write_text(POLICY.replace('source = "d.csv"\n', ""))
    with pytest.raises(InputError, match="--source"):
        Run(project).run()
    ran = Run(project, source=str(tmp_path / "elsewhere.csv")).run()
    assert "shoal run . --source ../elsewhere.csv" in (ran.folder / "command.txt").read_text()


def test_a_folder_without_a_policy_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no project.*--write-policy"):
        Run(tmp_path).run()


def test_what_is_said_of_a_project_goes_there_and_back_and_changes_no_release(project: Path) -> None:
    policy = Policy.read(project / "shoal.toml", within=project)
    assert policy.project.source == str(project / "d.csv")
    assert tomllib.loads(policy.to_toml())["project"]["source"] == "d.csv"
    assert policy.files == []  # it is not read where it is not asked for
    schema = Policy.model_json_schema()
    assert schema["$defs"]["ProjectChoice"]["properties"].keys() == ProjectChoice.model_fields.keys()
    with pytest.raises(InputError, match=r"no 'project.titel'. Did you mean 'title'"):
        Policy(project={"titel": "x"})


@pytest.mark.parametrize("name", ["", "..", "a/b.csv", "../r.csv", "/r.csv", "a\\b", "c:r.csv", "a\0b"])
def test_a_file_of_a_release_has_a_plain_name(name: str) -> None:
    with pytest.raises(ValidationError, match="plain name"):
        ProjectChoice(release=name)
