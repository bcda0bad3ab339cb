"""A job: one request of a user as a value that can be made, looked at, run, listened to and stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from shoal import events

R = TypeVar("R")


class Job(ABC, Generic[R]):
    """What a user asks for. A subclass is a frozen dataclass of its choices; all that reads and writes is in `run`.

    The command line, Python and a web application are doors: they make a job, run it, and show its result.
    """

    def run(self, listen: events.Listener | None = None, stop: events.Stop | None = None) -> R:
        """Does what is asked, and gives the result.

        `listen` is called with an `Event` (stage, done, total) whenever there is something to tell, perhaps from
        another thread. Once `stop.is_set()`, the job ends with `StoppedError`: no file of it is left. What cannot be
        done ends with `InputError`, a broken promise with `PromiseError`. Once a file has its name it is
        too late to stop.
        """
        with events.heard(listen, stop):
            self.refuse()
            result = self.work()
            events.stage("done")
            return result

    def refuse(self) -> None:
        """Raises, before any work, where the choices cannot be meant: it reads no table, and writes nothing."""
        return

    @abstractmethod
    def work(self) -> R:
        """What `run` does once nothing is refused."""
