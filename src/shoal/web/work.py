"""A worker's own side: `python -P -m shoal.web.work ROLE` in the project's folder, talking in lines of JSON.

    {"do": "result", "args": {...}}      does a task; {"stop": true} asks the one under way to end
    {"event": {"stage", "done", "total"}}, then {"result": ...} or {"error": {"kind", "message"}}

When the server is gone, so is the worker: what it had begun is left unfinished, and never gets its name.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any

from shoal import events
from shoal.errors import ShoalError

Say = Callable[[Mapping[str, Any]], None]
_BETWEEN = 0.1  # seconds between two events of the same stage


def main(role: str) -> None:
    """Does what standard input asks for, until it ends."""
    from shoal.web.tasks import TASKS

    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer

    def say(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message, default=_plain) + "\n")
        out.flush()

    requests: SimpleQueue[Mapping[str, Any]] = SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(requests, stop), daemon=True).start()
    while True:
        request = requests.get()
        stop.clear()
        say(answer(TASKS[role], request, say, stop))


def _listen(requests: SimpleQueue[Mapping[str, Any]], stop: threading.Event) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("stop"):
            stop.set()
        else:
            requests.put(message)
    os._exit(0)


def answer(
    tasks: Mapping[str, Callable[..., Any]], request: Mapping[str, Any], say: Say, stop: events.Stop | None = None
) -> dict[str, Any]:
    """The result of a task, or why there is none."""
    last: list[Any] = ["", 0.0]

    def listen(event: events.Event) -> None:
        now = time.monotonic()
        if event.stage != last[0] or now - last[1] >= _BETWEEN:
            last[:] = event.stage, now
            say({"event": event.to_dict()})

    try:
        with events.heard(listen, stop):
            return {"result": tasks[request["do"]](**request["args"])}
    except ShoalError as error:
        return {"error": {"kind": error.kind, "message": str(error)}}
    except MemoryError:
        words = "There is not enough memory for this table: use a machine with more, or fewer columns."
        return {"error": {"kind": "input", "message": words}}
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # Polars' panics are no Exception
        words = f"Something went wrong inside Shoal ({type(error).__name__}: {error}). Nothing was released."
        return {"error": {"kind": "internal", "message": words}}


def _plain(value: Any) -> Any:
    """NumPy's numbers as what they are; dates and whatever else as text."""
    return value.item() if hasattr(value, "item") else str(value)


if __name__ == "__main__":
    main(sys.argv[1])
