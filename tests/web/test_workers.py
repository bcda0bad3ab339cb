"""The workers as processes: what is killed leaves nothing, and is there again when it is next asked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

POLICY = 'quasi_identifiers = ["age"]\nmodels = [{name = "k-anonymity", k = 2}]\nproject = {source = "d.csv"}\n'
# A worker whose tasks wait: on a line of the folder's that never comes, with and without looking whether to stop.
SLOW = """
import sys, time
from pathlib import Path
from shoal import events
from shoal.web import tasks, work

def polite():
    while True:
        events.tick(1, 4)
        time.sleep(0.01)

def deaf():
    Path("begun").touch()
    time.sleep(600)

def memory():
    raise MemoryError

tasks.TASKS = {"maker": {"polite": polite, "deaf": deaf, "memory": memory, "print": lambda: print("{}"),
                         "three": lambda: 3, "panic": lambda: 1 / 0}}
work.main("maker")
"""


@pytest.fixture
def process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A worker in a process of its own, with these tasks."""
    from shoal.web import workers

    script = folder.parent / "slow.py"
    script.write_text(SLOW)
    real = asyncio.create_subprocess_exec

    async def start(*words: Any, **options: Any) -> Any:
        return await real(sys.executable, str(script), **options)

    monkeypatch.setattr(workers.asyncio, "create_subprocess_exec", start)
    return workers.Process("maker", folder)


def run(story: Callable[[], Any]) -> None:
    from tests.web.client import apart

    apart(story())


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_tasks_are_answered_stopped_killed_and_asked_again(process: Any, folder: Path) -> None:
    """One process for all of it: starting one takes a second."""
    from shoal.web.workers import TaskError

    async def story() -> None:
        assert await process.ask("three").answer == 3
        assert process.ask("three").answer.done()  # kept
        assert await process.ask("print").answer is None  # what is printed is no answer
        for name, kind, words in (
            ("memory", "input", "not enough memory"),
            ("panic", "internal", "ZeroDivisionError"),
        ):
            with pytest.raises(TaskError, match=words) as error:
                await process.ask(name).answer
            assert error.value.kind == kind
        first = process.pid
        task = process.ask("polite")
        await until(lambda: task.done == 1)
        assert task.to_dict()["share"] == 0.25
        await process.stop()
        with pytest.raises(TaskError, match=r"Stopped\."):
            await task.answer
        assert process.pid == first  # it ended by itself
        task = process.ask("deaf")
        await until((folder / "begun").exists)
        await process.stop()
        with pytest.raises(TaskError, match=r"Stopped\."):
            await task.answer
        process.forget("three")
        assert await process.ask("three").answer == 3  # a new one
        assert process.pid != first
        (folder / "begun").unlink()
        process.forget("deaf")
        task = process.ask("deaf")
        await until((folder / "begun").exists)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(TaskError, match="ended before it was done") as error:
            await task.answer
        assert error.value.kind == "died"
        await process.close()

    run(story)


def test_a_worker_does_what_it_is_asked_and_ends_with_the_server(folder: Path) -> None:
    """The real one, in a folder that holds a module called as one of its own: it is not imported."""
    (folder / "polars.py").write_text("raise SystemExit('imported from the folder')\n")
    (folder / "shoal.py").write_text("raise SystemExit('imported from the folder')\n")
    (folder / "work").mkdir()
    look = {"do": "look", "args": {"source": "d.csv", "read": {}, "stamp": ""}}
    wrong = {"do": "judge", "args": {"text": "k = ", "source": None, "read": {}, "stamp": ""}}
    lines = "".join(json.dumps(each) + "\n" for each in (look, wrong))
    worker = subprocess.Popen(
        [sys.executable, "-P", "-m", "shoal.web.work", "reader"],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(lines)
    worker.stdin.flush()
    answers = []
    while len(answers) < 2:
        message = json.loads(worker.stdout.readline())
        answers += [message] if "event" not in message else []
    worker.stdin.close()  # the server is gone
    assert worker.wait(timeout=60) == 0
    assert answers[0]["result"]["records"] == 120
    assert answers[1]["error"]["kind"] == "input"


KILLED = """
import os, signal, sys
from pathlib import Path
from shoal.jobs.run import Run

Run(Path()).run(lambda event: os.kill(os.getpid(), signal.SIGKILL) if event.stage == sys.argv[1] else None)
"""


@pytest.mark.slow  # tests/test_run.py ends it in the same process
@pytest.mark.parametrize("stage", ["masking", "writing the release", "giving names", "giving the folder its name"])
def test_a_worker_that_is_killed_leaves_no_release_and_the_next_sweeps(folder: Path, stage: str) -> None:
    from shoal.jobs.run import Run

    (folder / "shoal.toml").write_text(POLICY)
    killed = subprocess.run([sys.executable, "-c", KILLED, stage], cwd=folder)
    assert killed.returncode == -signal.SIGKILL
    place = folder / "releases"
    assert not place.exists() or [path for path in place.iterdir() if path.name[0] != "."] == []
    ran = Run(Path()).run()
    assert [path.name for path in place.iterdir()] == [ran.folder.name]


def test_a_server_that_was_killed_goes_on_where_it_was(client: Any, folder: Path) -> None:
    """Everything but what is under way stands in the folder: the policy, its history, results."""
    from tests.web.client import Client
    from tests.web.client import run as run_story

    (folder / "shoal.toml").write_text(POLICY)

    async def story() -> str:
        await client.do("/do/promise/promise", {"k": "3", "suppression": "0"})
        return str((await client.get("/s/result")).json["result"]["key"])

    key = run_story(story)
    again = Client(folder)  # nothing was closed

    async def goes_on() -> None:
        answer = (await again.get("/s/result")).json
        assert (answer["result"]["key"], answer["undo"]) == (key, 1)
        await again.do("/all/undo", {"screen": "method"})
        assert again.text == POLICY

    run_story(goes_on)
