"""How far a job is, and whether it is to stop: told from inside the longest loop to whoever started the job.

A job is listened to and stopped through the context it runs in (`contextvars`), so that no algorithm has to pass on
what it makes no use of. An algorithm calls `stage("masking")` where a new part of the work begins, and in its longest
loop `tick(done, total)`: both tell the listener, and raise `StoppedError` if the job was told to stop. Where nobody
listens they cost next to nothing.

Compiled kernels and the calls of other libraries know nothing of this. A function that only works out a result, and
opens nothing that must be closed, is decorated by `apart`: a thread of its own does the work, while the job looks every
tenth of a second whether it is to stop. Then it ends at once, and the thread with the call it is in. For that to be
soon, kernels that may run long do a bounded amount of work a call (`ROUND`) and are called again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from shoal.errors import StoppedError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_TURN = 0.1  # seconds
ROUND = 20_000_000  # cells of a table that a kernel looks at between two calls: some hundredths of a second


@dataclass(frozen=True)
class Event:
    """How far a job is: the stage that is under way, and how much of that stage is done, if its size is known."""

    stage: str
    done: int = 0
    total: int | None = None

    def to_dict(self) -> dict[str, object]:
        """The event, ready for JSON."""
        return {"stage": self.stage, "done": self.done, "total": self.total}


class Stop(Protocol):
    """Whatever tells that a job should end, such as `threading.Event`."""

    def is_set(self) -> bool:
        """Whether the job is to stop."""


Listener = Callable[[Event], object]


@dataclass
class _Job:
    listen: Listener | None
    stop: Stop | None
    stage: str = field(default="")
    apart: _Apart | None = None  # where the job waits for this work, done in another thread
    named: bool = False  # what it made has its name

    @property
    def stopped(self) -> bool:
        given_up = self.apart is not None and self.apart.given_up
        return given_up or (not self.named and self.stop is not None and self.stop.is_set())


@dataclass
class _Apart:
    """Work that is done apart: the job that waits for it, and whether it no longer does."""

    job: _Job
    given_up: bool = False


_job: ContextVar[_Job | None] = ContextVar("job", default=None)


@contextmanager
def heard(listen: Listener | None = None, stop: Stop | None = None) -> Iterator[None]:
    """Within it, events go to `listen` and `stop` is obeyed; what is None stays as it was outside."""
    outer = _job.get()
    if outer is not None:
        listen, stop = listen or outer.listen, stop or outer.stop
    inner = _Job(listen, stop) if outer is None else replace(outer, listen=listen, stop=stop)
    token = _job.set(inner)
    try:
        yield
    finally:
        _job.reset(token)


def by_stage(progress: Callable[[str], object] | None) -> Listener | None:
    """A listener that calls `progress` with the name of each stage when it begins."""
    if progress is None:
        return None
    last: list[str] = []

    def listen(event: Event) -> None:
        if last != [event.stage]:
            last[:] = [event.stage]
            progress(event.stage)

    return listen


def check() -> None:
    """Raises `StoppedError` if the job was told to stop."""
    job = _job.get()
    if job is not None and job.stopped:
        raise StoppedError(f"Stopped{f' while {job.stage}' if job.stage else ''}: nothing was released.")


def stage(name: str, total: int | None = None) -> None:
    """A new stage begins, of so many steps if that is known; `done` is the last."""
    check()
    job = _job.get()
    if job is not None:
        job.stage = name
        if job.apart is not None:
            job.apart.job.stage = name
        if job.listen is not None:
            job.listen(Event(name, 0, total))


def named() -> None:
    """What the job made has its name, if only a part of it: from now on it is too late to stop."""
    job = _job.get()
    if job is not None:
        job.named = True
        if job.apart is not None:
            job.apart.job.named = True


def tick(done: int, total: int | None = None) -> None:
    """So many steps of the stage under way are done."""
    check()
    job = _job.get()
    if job is not None and job.listen is not None:
        job.listen(Event(job.stage, done, total))


def ticking(items: Iterable[T], total: int | None = None) -> Iterator[T]:
    """The items, with a `tick` before each."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    for done, item in enumerate(items):
        tick(done, total)
        yield item


def waited(work: Future[T]) -> T:
    """The result of work in another thread, waited for in short turns: so the job can be stopped, and by Ctrl-C."""
    while True:
        check()  # at least once, however soon the work is done
        if work.done():  # `wait` would never take cancelled work for done
            return work.result()
        wait([work], timeout=_TURN)


def carried(work: Callable[P, R]) -> Callable[P, R]:
    """The function, which in whatever thread it is called belongs to the job under way here."""
    return _belonging(work, _job.get())


def _belonging(work: Callable[P, R], job: _Job | None) -> Callable[P, R]:
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        return copy_context().run(run, *args, **kwargs)

    def run(*args: Any, **kwargs: Any) -> R:
        _job.set(job)
        return work(*args, **kwargs)

    return within


def apart(work: Callable[P, R]) -> Callable[P, R]:
    """The function, which within a job is done in a thread of its own: whatever it calls, the job can be stopped.

    It must leave nothing behind but its result. The thread of a job that was stopped ends by itself, with the call that
    it is in or at its next `check`. Work within such work is done in the same thread.
    """

    @wraps(work)
    def waited_for(*args: P.args, **kwargs: P.kwargs) -> R:
        job = _job.get()
        if job is None or job.apart is not None:
            return work(*args, **kwargs)
        around = _Apart(job)
        pool = ThreadPoolExecutor(1)
        result = pool.submit(_belonging(work, replace(job, apart=around)), *args, **kwargs)
        pool.shutdown(wait=False)
        try:
            return waited(result)
        finally:
            around.given_up = True

    return waited_for
