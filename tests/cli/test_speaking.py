"""What goes where: results and errors for machines on standard output, progress a line a stage, and `--quiet`."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from shoal.cli.schema import schema_of
from tests.cli.conftest import COMMANDS, Shoal

SPEAKING = sorted(name for name, command in COMMANDS.items() if any(p.name == "as_json" for p in command.params))
TABLE = "age,zip,charge\n" + "".join(f"{20 + i % 7},{93700 + i % 5},{1000 * i}\n" for i in range(40))
ANONYMIZE = ("anonymize", "d.csv", "-o", "r.csv", "--quasi", "age,zip", "--confidential", "charge")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(TABLE)
    return tmp_path


@pytest.mark.parametrize("command", SPEAKING)
def test_a_failure_is_json_where_json_was_asked(shoal: Shoal, place: Path, command: str) -> None:
    run = shoal(*command.split(), "--no-such-option", "--json")
    assert run.code == 2
    jsonschema.Draft202012Validator(schema_of("error")).validate(run.json)
    assert run.json["error"]["kind"] == "input"
    assert run.json["error"]["message"] == run.sentence


def test_each_kind_of_failure_has_its_word_and_code(shoal: Shoal, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shoal(*ANONYMIZE, "--json").code == 0
    judged = shoal("check", "r.csv", "--quasi", "age", "--identifiers", "zip", "--k", "2", "--json")
    assert (judged.code, judged.json["error"]["kind"]) == (1, "promise")
    missing = shoal("anonymize", "none.csv", "-o", "s.csv", "--quasi", "age", "--json")
    assert (missing.code, missing.json["error"]["kind"]) == (2, "input")
    monkeypatch.setattr("shoal.release.judge", lambda classes, models: 1 / 0)
    broken = shoal(*ANONYMIZE, "--overwrite", "--json")
    assert (broken.code, broken.json["error"]["kind"]) == (2, "internal")
    monkeypatch.undo()


def test_a_command_that_is_stopped_ends_as_after_ctrl_c(
    shoal: Shoal, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.errors import StoppedError

    def stop(*_: object) -> None:
        raise StoppedError("Stopped while judging the file: nothing was released.")

    monkeypatch.chdir(place)
    monkeypatch.setattr("shoal.release.judge", stop)
    run = shoal(*ANONYMIZE, "--json")
    assert (run.code, run.json["error"]["kind"]) == (130, "stopped")
    assert sorted(path.name for path in place.iterdir()) == ["d.csv"]


def test_without_a_terminal_each_stage_is_a_line(shoal: Shoal, place: Path) -> None:
    run = shoal(*ANONYMIZE)
    assert run.code == 0
    stages = [line.partition("] ")[2].strip() for line in run.progress]
    wanted = ["reading", "checking the table", "masking", "publishing", "writing the release", "judging the file"]
    assert stages == [*wanted, "giving names"]


def test_machines_get_no_progress(shoal: Shoal, place: Path) -> None:
    assert shoal(*ANONYMIZE, "--json").progress == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_can_be_quiet(command: str) -> None:
    assert any("--quiet" in parameter.opts for parameter in COMMANDS[command].params)


def test_quiet_leaves_the_result_alone(shoal: Shoal, place: Path) -> None:
    loud = shoal("anonymize", "d.csv", "-o", "r.csv", "--quasi", "age,zip")
    quiet = shoal("anonymize", "d.csv", "-o", "r.csv", "--quasi", "age,zip", "--overwrite", "--quiet")
    assert "No role names 'charge'" in loud.err
    assert quiet.all_err == ""
    assert quiet.out == loud.out
    assert shoal("anonymize", "none.csv", "-o", "s.csv", "--quasi", "age", "--quiet").sentence.startswith("There is no")
    assert shoal("anonymize", "d.csv", "-o", "t.csv", "--quasi", "age,zip").err == loud.err  # not for ever


def test_quiet_is_no_option_of_an_engine(shoal: Shoal, place: Path) -> None:
    Path("parts").mkdir()
    Path("parts/part-0.csv").write_text(TABLE)
    run = shoal("anonymize", "parts", "-o", "out", "--quasi", "age,zip", "--engine", "disk", "--quiet")
    assert (run.code, run.all_err) == (0, "")
