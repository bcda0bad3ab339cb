"""`python -m torture`: for so many minutes, on all cores, from where the last run stopped."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from torture.figures import into_document, names_more, table_of, told
from torture.kills import KILLS
from torture.state import State
from torture.work import PIECES, Found, work

STATE = Path("torture.json")
CHUNK = 20  # cases given to a process at a time
# What is done beside the cases, for every so many of them; kills are spread over the time that there is.
BESIDE = {
    "spark": 100,
    "people": 3,
    "exports": 10,
    "spoilt": 3,
    "words": 3,
    "attacks": 200,
    "ledgers": 100,
    "collisions": 20,
    "purchases": 15,
    "splits": 15,
    "writers": 400,
}


def main() -> int:
    options = _options()
    if options.figures:
        print(
            table_of(State.read(STATE)) if options.figures == "-" else into_document(State.read(STATE), options.figures)
        )
        return 0
    state = State.read(STATE) if options.seed is None else State(next={options.piece: options.seed})
    print(f"From {state.seeds()}, for {options.minutes:g} minutes.", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="torture-") as scratch:
        _run(state, options, Path(options.keep or scratch), started)
    state.minutes += (time.monotonic() - started) / 60
    state.write()
    print(told(state))
    return 1 if state.wrong or names_more(state.guesses) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, help="begin here instead of where the last run stopped, and keep no state")
    parser.add_argument("--cases", type=int, help="so many pieces of work at most, of one sort and no others")
    parser.add_argument("--piece", default="cases", choices=list(PIECES), help="of --cases: which sort")
    parser.add_argument("--kills", type=int, default=200, help="so many in the time that there is")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--engines", default="memory,memory,disk", help="drawn from these, each as often as it is named"
    )
    parser.add_argument("--no-spark", dest="spark", action="store_false", help="leave Spark out")
    parser.add_argument("--keep", help="a folder in which the last files of each process stay")
    parser.add_argument("--figures", metavar="FILE", help="write the last figures into a document, or - to print them")
    return parser.parse_args()


def _run(state: State, options: argparse.Namespace, place: Path, started: float) -> None:
    """Each process gets a piece of work as soon as it has done one."""
    engines = tuple(options.engines.split(","))
    plan = Plan(state, options, started)
    free = list(range(options.workers))
    running: dict[Future[Found], int] = {}
    told_at = started
    pools = [ProcessPoolExecutor(1, mp_context=get_context("spawn")) for _ in free]
    while True:
        while free and (piece := plan.next(free[-1])):
            slot = free.pop()
            running[pools[slot].submit(work, *piece, engines, place / str(slot))] = slot
        if not running:
            break
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            free.append(running.pop(future))
            state.add(future.result())
        state.write()
        if time.monotonic() > told_at + 30:
            told_at = time.monotonic()
            print(state.line((told_at - started) / 60), flush=True)
    for pool in pools:
        pool.shutdown()


@dataclass
class Plan:
    """What is done next: cases, and in between whatever is behind."""

    state: State
    options: argparse.Namespace
    started: float
    made: Counter[str] = field(default_factory=Counter)

    def next(self, slot: int) -> tuple[str, int, int] | None:
        """A piece of work, its first number and how many; None at the end. One process alone has a session of Spark."""
        gone = (time.monotonic() - self.started) / (60 * self.options.minutes)
        if gone >= 1 or (self.options.cases and self.made[self.options.piece] >= self.options.cases):
            return None
        if self.options.cases:
            return self._some(self.options.piece, 1)
        if KILLS * self.made["kills"] < self.options.kills * gone:
            return self._some("kills", 1)
        for name, every in BESIDE.items():
            if self.made[name] * every < self.made["cases"] and (name != "spark" or (slot == 0 and self.options.spark)):
                return self._some(name, CHUNK // 2 if every < CHUNK // 2 else 1)
        return self._some("cases", CHUNK)

    def _some(self, name: str, count: int) -> tuple[str, int, int]:
        self.made[name] += count
        return name, self.state.take(name, count), count


if __name__ == "__main__":
    sys.exit(main())
