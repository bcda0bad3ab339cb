"""From a table to a checked release, step by step, without a browser; and what goes wrong on the way."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.web.client import Client

ANSWERS = {"recipient": "readers", "other_releases": "none", "known": "age", "decided_by": "M. Castro"}
READY = """# what nobody must lose: a remark
quasi_identifiers = [
  "age",  # neighbours know it
  "sex",
  "zip",
]
confidential = ["charge"]  # and this one

[[models]]
name = "k-anonymity"
k = 3  # three

[project]
source = "d.csv"
"""


def run(story: Any) -> Any:
    from tests.web.client import run as run_story

    return run_story(story)


def test_a_table_becomes_a_checked_release_in_seven_screens(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.cli.conftest import run_command

    async def story() -> Any:
        listed = (await client.get("/s/open")).json
        assert [each["name"] for each in listed["tables"]] == ["d.csv"]
        opened = (await client.do("/do/open/choose", {"name": "d.csv"})).json
        assert opened["look"]["records"] == 120
        seen = (await client.get("/s/understand")).json
        assert seen["singled"]["alone"] >= 0
        roles = (await client.get("/s/roles")).json
        assert not roles["decided"]
        decided = (await client.do("/do/roles/take")).json
        assert decided["decided"]
        assert (await client.do("/do/promise/promise", {"k": "3", "suppression": "0"})).json["k"] == 3
        assert (await client.get("/s/method")).json["chosen"] == "hilbert"
        result = (await client.get("/s/result")).json
        assert result["result"]["holds"]
        [before] = [row["before"] for row in result["page"]["rows"] if row["row"] == 1]
        assert before[result["page"]["columns"].index("age")] == "20"
        unanswered = await client.do("/do/release/release")
        assert (unanswered.status, unanswered.json["problem"]["where"]) == (422, "recipient")
        released = (await client.do("/do/release/release", ANSWERS)).json
        assert released["latest"]["checked"]["holds"]
        return released["latest"]

    latest = run(story)
    place = folder / latest["folder"]
    assert sorted(path.name for path in place.iterdir()) == [
        "answers.toml", "certificate.json", "command.txt", "release.csv", "report.html",
    ]  # fmt: skip
    assert tomllib.loads((place / "answers.toml").read_text())["decided_by"] == "M. Castro"
    assert "# " in client.text  # the reasons for the roles
    monkeypatch.chdir(place)
    assert run_command("check", "release.csv", "--certificate", "certificate.json") == 0


def test_the_line_under_each_screen_does_the_same_in_a_shell_and_in_python(client: Client, folder: Path) -> None:
    from shoal.data.digests import digest
    from shoal.web.command import same_as
    from shoal.web.project import Policy
    from tests.cli.conftest import run_command

    (folder / "shoal.toml").write_text(READY)
    policy = Policy.of(READY)
    (folder / "releases").mkdir()
    for word in ("understand", "result", "release"):
        same = same_as(word, policy, {})
        command = shlex.split(same["shell"])[1:]
        seed = ["--seed", "7"] if command[0] in ("anonymize", "run") else []
        assert run_command(*command, *seed) == 0, same["shell"]
        (folder / "release.csv").unlink(missing_ok=True)
        exec(same["python"], {})
    [first, _] = sorted((folder / "releases").iterdir())
    run(lambda: client.do("/do/release/release", ANSWERS))
    third = next(path for path in (folder / "releases").iterdir() if path.name.endswith("-3"))
    assert digest(first / "release.csv") == digest(third / "release.csv")  # the app's seed is 7, too
    checked = same_as("check", policy, {"file": f"releases/{first.name}/release.csv", "certificate": ""})
    assert run_command(*shlex.split(checked["shell"])[1:]) == 0
    exec(checked["python"], {})


def test_undo_and_redo_lead_through_every_policy_byte_by_byte(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)
    history, texts = client.desk.project.history, [READY]
    for number in range(50):
        texts.append(READY.replace("k = 3", f"k = {4 + number}"))
        history.record(texts[-1])
    assert history.steps() == (50, 0)
    for text in reversed(texts[:-1]):
        assert history.step(-1)
        assert (folder / "shoal.toml").read_bytes() == text.encode()
    assert not history.step(-1)
    for text in texts[1:]:
        assert history.step(1)
        assert (folder / "shoal.toml").read_bytes() == text.encode()
    assert not history.step(1)


def test_undo_is_offered_on_every_screen(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> None:
        await client.do("/do/promise/promise", {"k": "4", "suppression": "0"})
        changed = client.text
        answer = (await client.do("/all/undo", {"screen": "method"})).json
        assert (answer["undo"], answer["redo"], client.text) == (0, 1, READY)
        answer = (await client.do("/all/redo", {"screen": "method"})).json
        assert (answer["undo"], answer["redo"], client.text) == (1, 0, changed)

    run(story)


def test_a_change_after_an_undo_begins_a_new_way(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> None:
        for k in (4, 5, 6):
            await client.do("/do/promise/promise", {"k": str(k), "suppression": "0"})
        await client.do("/all/undo", {"screen": "method"})
        await client.do("/do/promise/promise", {"k": "9", "suppression": "0"})
        answer = (await client.do("/all/redo", {"screen": "method"})).json
        assert (answer["redo"], "k = 9" in client.text) == (0, True)
        await client.do("/all/undo", {"screen": "method"})
        assert "k = 5" in client.text

    run(story)


def test_remarks_written_by_hand_survive_every_change(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> None:
        await client.do("/do/promise/promise", {"k": "4", "l_on": "on", "l": "2", "suppression": "1"})
        await client.do("/do/roles/role", {"column": "sex", "role": ""})
        await client.do("/do/understand/kind", {"column": "zip", "kind": "nominal"})
        await client.do("/do/release/answers", {"title": "Stays"})
        await client.do("/do/method/choose", {"name": "kd"})

    run(story)
    for remark in (
        "# what nobody must lose: a remark",
        '"age",  # neighbours know it',
        "# and this one",
        "k = 4  # three",
    ):
        assert remark in client.text
    content = tomllib.loads(client.text)
    assert content["quasi_identifiers"] == ["age", "zip"]
    assert [model["name"] for model in content["models"]] == ["k-anonymity", "l-diversity"]


def test_what_is_changed_in_two_tabs_is_refused_with_both_versions(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> None:
        seen = client.since
        await client.do("/do/promise/promise", {"k": "4", "suppression": "0"})
        stale = await client.do("/do/promise/promise", {"k": "8", "suppression": "0", "since": seen})
        assert stale.status == 409
        assert "-k = 3  # three" in stale.json["lines"]
        assert "+k = 4  # three" in stale.json["lines"]
        (folder / "shoal.toml").write_text(READY + "# by hand\n")
        seen = client.since
        assert (await client.do("/do/method/choose", {"name": "kd", "since": "0" * 16})).status == 409
        assert (await client.do("/do/method/choose", {"name": "kd", "since": seen})).status == 200
        await client.do("/all/undo", {"screen": "method"})
        assert client.text == READY + "# by hand\n"  # what was written by hand is a step, too

    run(story)


@pytest.mark.parametrize(
    ("path", "form", "words"),
    [
        ("/do/promise/promise", {"k": "1", "suppression": "0"}, "at least 2"),
        ("/do/promise/promise", {"k": "x", "suppression": "0"}, "must be a number"),
        ("/do/promise/promise", {"k": "nan", "suppression": "0"}, "must be a number"),
        ("/do/promise/promise", {"k": "5", "suppression": "101"}, "less than or equal to 1"),
        ("/do/promise/promise", {"k": "5", "suppression": "0", "t_on": "on", "t": "7"}, "'t'"),
        ("/do/method/choose", {"name": "hilbrt"}, "Did you mean 'hilbert'"),
        ("/do/method/choose", {"name": "os:system"}, "code to be imported"),
        ("/do/understand/kind", {"column": "age", "kind": "numbr"}, "A column is one of"),
        ("/do/understand/person", {"column": "agee"}, "agee"),
        ("/do/roles/role", {"column": "age", "role": "king"}, "choose one"),
        ("/do/open/read", {"delimiter": "ab", "decimal": "", "encoding": ""}, "ab"),
        ("/do/release/answers", {"title": "x" * 501}, "at most 500"),
        ("/do/release/answers", {"title": 7}, "must be a text"),
        ("/do/check/check", {"file": ""}, "No file is chosen"),
        ("/do/result/remedy", {"word": "format the disk"}, "no remedy"),
    ],
)
def test_what_cannot_be_meant_is_said_at_its_control_and_changes_nothing(
    client: Client, folder: Path, path: str, form: dict[str, Any], words: str
) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> Any:
        await client.get("/s/understand")
        return await client.do(path, {"at": "here", **form})

    refused = run(story)
    assert client.text == READY
    if refused.status == 200:  # a table that cannot be read so is said where it is shown
        assert words in refused.json["wrong"]
        return
    assert refused.status == 422
    assert words in refused.json["problem"]["sentence"]


def test_a_policy_that_is_no_toml_can_be_undone(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> None:
        await client.do("/do/promise/promise", {"k": "4", "suppression": "0"})
        kept = client.text
        (folder / "shoal.toml").write_text("k = = 3")
        wrong = await client.get("/s/roles")
        assert (wrong.status, "not valid TOML" in wrong.json["sentence"]) == (422, True)
        await client.do("/all/undo", {"screen": "method"})
        assert client.text == kept

    run(story)


def test_a_broken_promise_leaves_no_file_and_a_remedy_leads_to_a_release(client: Client, folder: Path) -> None:
    async def story() -> None:
        (folder / "shoal.toml").write_text(READY.replace("k = 3", "k = 121"))
        refused = (await client.get("/s/result")).json
        assert refused["result"] is None
        assert len(refused["remedies"]) == 3
        assert not (folder / "releases").exists()
        answer = (await client.do("/do/result/remedy", {"word": "promise-less"})).json
        assert "k = 60" in client.text
        assert answer["result"]["holds"]

    run(story)


def test_a_task_under_way_is_shown_with_how_far_it_is_and_can_be_cancelled(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)
    client.maker.answers["result"] = "never"

    async def story() -> None:
        page = await client.get("/s/result")
        assert page.json["working"]["task"] == "result"
        assert page.json["job"]["stage"] == "starting"
        assert (await client.get("/s/method")).json["chosen"] == "hilbert"  # the rest goes on
        stopped = (await client.do("/all/cancel", {"screen": "result"})).json
        assert stopped["refused"]["kind"] == "stopped"
        client.maker.answers.clear()
        assert (await client.do("/do/result/again")).json["result"]["holds"]

    run(story)


def test_a_result_that_was_removed_is_made_again(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> None:
        await client.get("/s/result")
        for path in (folder / "work").glob("result-*"):
            path.unlink()
        assert len((await client.get("/s/result")).json["page"]["rows"]) == 25
        assert client.maker.asked == ["result", "result"]

    run(story)


def test_answers_change_no_result_and_a_change_of_the_promise_does(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> None:
        await client.get("/s/result")
        await client.do("/do/release/answers", {"title": "Stays"})
        await client.get("/s/result")
        assert client.maker.asked == ["result"]
        await client.do("/do/promise/promise", {"k": "4", "suppression": "0"})
        await client.get("/s/result")
        assert client.maker.asked == ["result", "result"]

    run(story)


def test_another_table_begins_anew_and_undo_brings_the_old_back(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)
    (folder / "e.csv").write_text("a,b\n1,2\n")

    async def story() -> None:
        await client.do("/do/open/choose", {"name": "e.csv"})
        assert tomllib.loads(client.text) == {"project": {"source": "e.csv"}}
        await client.do("/all/undo", {"screen": "method"})
        assert client.text == READY

    run(story)


def test_a_release_that_was_tampered_with_does_not_pass(client: Client, folder: Path) -> None:
    (folder / "shoal.toml").write_text(READY)

    async def story() -> None:
        folder_of = (await client.do("/do/release/release", ANSWERS)).json["latest"]["folder"]
        form = {"file": f"{folder_of}/release.csv", "certificate": f"{folder_of}/certificate.json"}
        assert (await client.do("/do/check/check", form)).json["checked"]["holds"]
        path = folder / folder_of / "release.csv"
        path.write_text(path.read_text().replace("M", "F", 1))
        answer = (await client.do("/do/check/check", form)).json
        assert answer["checked"] is None or not answer["checked"]["holds"]
        assert answer["refused"] or answer["checked"]["refused"]

    run(story)


def test_earlier_policies_can_be_forgotten(client: Client, folder: Path) -> None:
    from tests.cli.conftest import run_command

    run(lambda: client.do("/do/open/choose", {"name": "d.csv"}))
    assert (folder / "history").is_dir()
    assert run_command("ui", str(folder), "--forget-history") == 0
    assert not (folder / "history").exists()
    assert tomllib.loads(client.text)["project"]["source"] == "d.csv"
