"""Two processes that do what a request must not wait for, and what may be killed: one reads, one makes.

They are told what to do, and tell how far they are, in lines of JSON. A line is data: nothing in it is unpickled,
evaluated or imported. A worker that dies takes nothing with it but its task; it is started again when it is next asked.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from shoal.errors import InputError, ShoalError

KEPT = 64  # answers that are kept, of each worker
LINE = 64 << 20  # bytes of an answer at most
GRACE = 0.8  # seconds that a stopped task has to clear up

STOPPED = "Stopped. Nothing was released, and nothing is left of it."
DIED = (
    "The work ended before it was done, perhaps for want of memory. Nothing was released. Try it again, with fewer "
    "columns, or on the command line with --engine disk."
)


class TaskError(ShoalError):
    """A task ended without a result; `kind` is the word for machines: input, promise, stopped, died, internal."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class WorkingError(Exception):
    """A result that a screen needs is not there yet: the task that will give it."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.name)
        self.task = task


@dataclass
class Task:
    """What a worker was asked for: how far it is, and its answer once there is one."""

    name: str
    args: Mapping[str, Any]
    key: str
    answer: asyncio.Future[Any]
    stage: str = "starting"
    done: int = 0
    total: int | None = None
    began: float = field(default_factory=time.monotonic)
    stopped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """How far it is, ready for JSON."""
        share = min(self.done / self.total, 1.0) if self.total else None
        elapsed = time.monotonic() - self.began
        return {"task": self.name, "stage": self.stage, "share": share, "seconds": round(elapsed)}


class Worker(Protocol):
    """What a screen knows of a worker."""

    def start(self) -> None:
        """Has it ready for when it is first asked."""

    def ask(self, name: str, /, **args: Any) -> Task:
        """The task of that name and these arguments: under way, or with its answer if it was asked before."""

    def forget(self, name: str) -> None:
        """Drops what is known of tasks of that name that ended, so that they can be asked for again."""

    def known(self, name: str, /, **args: Any) -> Task | None:
        """The same task if it was ever asked for."""

    @property
    def current(self) -> Task | None:
        """The task under way."""

    async def stop(self) -> None:
        """Ends the task under way, soon and whatever it does."""

    async def close(self) -> None:
        """Ends the worker."""


async def answered(task: Task, patience: float = 0.3) -> Any:
    """The answer of a task, if it comes soon; otherwise the screen shows how far it is."""
    done, _ = await asyncio.wait([task.answer], timeout=patience)
    if not done:
        raise WorkingError(task)
    return task.answer.result()


class Tasks:
    """The tasks of a worker by what was asked, the latest last."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, Task] = OrderedDict()

    def find(self, name: str, args: Mapping[str, Any]) -> Task | None:
        """One that was asked the same."""
        return self._tasks.get(_key(name, args))

    def add(self, name: str, args: Mapping[str, Any]) -> Task:
        """A new one."""
        task = Task(name, dict(args), _key(name, args), asyncio.get_running_loop().create_future())
        task.answer.add_done_callback(
            lambda answer: answer.cancelled() or answer.exception()
        )  # it may not be looked at
        self._tasks[task.key] = task
        while len(self._tasks) > KEPT and next(iter(self._tasks.values())).answer.done():
            self._tasks.popitem(last=False)
        return task

    def forget(self, name: str) -> None:
        """Drops those of a name that ended."""
        for key in [key for key, task in self._tasks.items() if task.name == name and task.answer.done()]:
            del self._tasks[key]

    @property
    def unfinished(self) -> list[Task]:
        """Those without an answer, in the order in which they were asked."""
        return [task for task in self._tasks.values() if not task.answer.done()]


def _key(name: str, args: Mapping[str, Any]) -> str:
    return json.dumps([name, args], sort_keys=True)


class Process:
    """A worker in a process of its own."""

    def __init__(self, role: str, folder: Path) -> None:
        self._role, self._folder = role, folder
        self._tasks = Tasks()
        self._process: asyncio.subprocess.Process | None = None
        self._running: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()

    def start(self) -> None:
        """See `Worker`."""
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run())

    def ask(self, name: str, /, **args: Any) -> Task:
        """See `Worker`."""
        task = self._tasks.find(name, args)
        if task is None:
            task = self._tasks.add(name, args)
            self._wanted.set()
            self.start()
        return task

    def known(self, name: str, /, **args: Any) -> Task | None:
        """See `Worker`."""
        return self._tasks.find(name, args)

    def forget(self, name: str) -> None:
        """See `Worker`."""
        self._tasks.forget(name)

    @property
    def current(self) -> Task | None:
        """See `Worker`."""
        return next(iter(self._tasks.unfinished), None)

    async def stop(self) -> None:
        """See `Worker`."""
        task = self.current
        if task is None:
            return
        task.stopped = True
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(b'{"stop": true}\n')
        await asyncio.wait([task.answer], timeout=GRACE)
        if not task.answer.done():
            self._kill()
            await asyncio.wait([task.answer], timeout=GRACE)

    async def close(self) -> None:
        """See `Worker`."""
        self._kill()
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
        for task in self._tasks.unfinished:
            task.answer.set_exception(TaskError("stopped", "Stopped with the server. Nothing was released."))

    @property
    def pid(self) -> int | None:
        """The number of its process."""
        return None if self._process is None else self._process.pid

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _run(self) -> None:
        """Has the process do one task after the other, until it dies."""
        # -P: the current folder is the project, and no module of Python is looked for there
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "shoal.web.work", self._role,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=self._folder, limit=LINE,
                start_new_session=True,  # Ctrl-C is for the server, which ends its workers itself
            )  # fmt: skip
        except OSError as error:
            for task in self._tasks.unfinished:
                task.answer.set_exception(TaskError("died", f"No worker can be started: {error.strerror}."))
            return
        assert process.stdin is not None
        try:
            while True:
                if not (waiting := self._tasks.unfinished):
                    self._wanted.clear()
                    await self._wanted.wait()
                    continue
                task = waiting[0]
                request = {"do": task.name, "args": task.args}
                process.stdin.write(json.dumps(request).encode() + b"\n")
                await process.stdin.drain()
                if not await self._listen(process, task):
                    break
        except (OSError, ValueError):
            pass
        finally:
            self._kill()
        await process.wait()
        for task in self._tasks.unfinished[:1]:
            kind, words = ("stopped", STOPPED) if task.stopped else ("died", DIED)
            task.answer.set_exception(TaskError(kind, words))
        self._process = None
        if self._tasks.unfinished:
            asyncio.get_running_loop().call_soon(self.start)

    async def _listen(self, process: asyncio.subprocess.Process, task: Task) -> bool:
        """Hears how far a task is, to its end; false where the process ended before."""
        assert process.stdout is not None
        while line := await process.stdout.readline():
            if settle(task, json.loads(line)):
                return True
        return False


def settle(task: Task, message: Mapping[str, Any]) -> bool:
    """Takes down what a worker says of a task; whether that was its end."""
    if "event" in message:
        event = message["event"]
        task.stage, task.done, task.total = event["stage"], event["done"], event["total"]
        return False
    if "error" in message:
        error = message["error"]
        words = STOPPED if error["kind"] == "stopped" else error["message"]
        task.answer.set_exception(TaskError(error["kind"], words))
    else:
        task.answer.set_result(message["result"])
    return True


def refuse_failed(task: Task | None) -> None:
    """Raises what a task ended with, if it failed."""
    if task is not None and task.answer.done() and (error := task.answer.exception()) is not None:
        raise error if isinstance(error, ShoalError) else InputError(str(error))
