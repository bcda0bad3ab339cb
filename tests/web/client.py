"""The app without network or processes: requests go straight to it, and its workers are functions of this process."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from shoal.web.project import Project
from shoal.web.security import Gate, Guard
from shoal.web.server import application
from shoal.web.tasks import TASKS
from shoal.web.visit import Desk
from shoal.web.work import answer
from shoal.web.workers import Task, Tasks, settle

HOST = "127.0.0.1:8000"
T = TypeVar("T")


class Thread:
    """A worker that is a function: it has its answer when it was asked."""

    def __init__(self, role: str) -> None:
        self.role, self.tasks = role, Tasks()
        self.asked: list[str] = []
        self.answers: dict[str, Any] = {}  # in place of a task's own

    def start(self) -> None:
        pass

    def ask(self, name: str, /, **args: Any) -> Task:
        task = self.tasks.find(name, args)
        if task is None:
            self.asked.append(name)
            task = self.tasks.add(name, args)
            request = json.loads(json.dumps({"do": name, "args": args}))
            message = self.answers.get(name) or answer(TASKS[self.role], request, lambda _: None, threading.Event())
            if message != "never":
                settle(task, json.loads(json.dumps(message, default=lambda value: value.item())))
        return task

    def known(self, name: str, /, **args: Any) -> Task | None:
        return self.tasks.find(name, args)

    def forget(self, name: str) -> None:
        self.tasks.forget(name)

    @property
    def current(self) -> Task | None:
        return next(iter(self.tasks.unfinished), None)

    async def stop(self) -> None:
        for task in self.tasks.unfinished:
            settle(task, {"error": {"kind": "stopped", "message": ""}})

    async def close(self) -> None:
        pass


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Client:
    """Asks the app as its page does, unless told to leave out or change a header."""

    folder: Path
    app: Guard = field(init=False)
    desk: Desk = field(init=False)

    def __post_init__(self) -> None:
        self.desk = Desk(Project(self.folder), Thread("reader"), Thread("maker"), Gate((HOST,)), seed=7)  # type: ignore[arg-type]
        self.desk.project.open()
        self.app = application(self.desk)

    @property
    def maker(self) -> Thread:
        return self.desk.maker  # type: ignore[return-value]

    def headers(self, method: str, body: bytes | None) -> dict[str, str]:
        given = {"host": HOST, "authorization": f"Bearer {self.desk.gate.token}", "accept": "application/json"}
        if method not in ("GET", "HEAD"):
            kind = "application/octet-stream" if method == "PUT" else "application/json"
            given |= {"origin": f"http://{HOST}", "content-type": kind, "sec-fetch-site": "same-origin"}
        return given

    async def ask(self, method: str, path: str, body: Any = None, **changed: str | None) -> Answer:
        path, _, query = path.partition("?")
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = self.headers(method, content) | {key.replace("_", "-"): value for key, value in changed.items()}
        pairs = [(key.encode(), value.encode("latin-1")) for key, value in headers.items() if value is not None]
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": pairs, "scheme": "http", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1),
            "root_path": "", "http_version": "1.1",
        }  # fmt: skip
        sent: list[Any] = []

        waiting = iter([content])

        async def receive() -> Any:
            if next(waiting, None) is None:
                await asyncio.Event().wait()  # nobody hangs up
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        head = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], head, b"".join(part.get("body", b"") for part in sent[1:]).decode())

    async def get(self, path: str, **changed: str | None) -> Answer:
        return await self.ask("GET", path, **changed)

    async def do(self, path: str, form: Mapping[str, Any] | None = None, **changed: str | None) -> Answer:
        return await self.ask("POST", path, {"since": self.since, **(form or {})}, **changed)

    @property
    def since(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def text(self) -> str:
        return self.desk.project.history.text()


def apart(told: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives, run in a thread of its own: in that of the tests a browser's may be running already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, told).result()


def run(story: Callable[[], Awaitable[T]]) -> T:
    """A test that asks several times, in a loop of its own."""

    async def told() -> T:
        return await story()

    return apart(told())
