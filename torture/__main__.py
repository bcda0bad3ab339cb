"""`python -m torture`: for so many minutes, on both cores, from where the last run stopped."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from threading import Lock

from torture.attacks import guessed, intersection
from torture.cases import CATCH_ALL, draw_case, run_case
from torture.fuzz import make_files, run_one
from torture.kills import kill_one, write_at_once
from torture.process import Shoal

STATE = Path("torture.json")


@dataclass
class State:
    """How far the torture has come, over all its runs; kept as JSON, so that the next run goes on from here."""

    path: Path | None
    seed: int = 0
    done: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)  # "method released", "method refused"
    guesses: Counter[str] = field(default_factory=Counter)  # "minimality guessed", "minimality right", ...
    wrong: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def read(cls, path: Path) -> State:
        if not path.exists():
            return cls(path)
        known = json.loads(path.read_text())
        counted = (Counter(known[name]) for name in ("done", "outcomes", "guesses"))
        return cls(path, known["seed"], *counted, known["wrong"])

    def next_seed(self) -> int:
        with self._lock:
            self.seed += 1
            return self.seed - 1

    def note(self, what: str, outcome: str = "", wrong: str | None = None) -> None:
        with self._lock:
            self.done[what] += 1
            if outcome:
                self.outcomes[outcome] += 1
            if wrong:
                self.wrong.append(wrong)
                print(f"WRONG  {wrong}", flush=True)

    def write(self) -> None:
        if self.path is not None:
            with self._lock:
                kept = {name: getattr(self, name) for name in ("seed", "done", "outcomes", "guesses", "wrong")}
                self.path.write_text(json.dumps(kept, indent=2) + "\n")


def main() -> int:
    options = _options()
    state = State.read(STATE) if options.seed is None else State(None, options.seed)
    until = time.monotonic() + 60 * options.minutes
    print(f"From seed {state.seed}, for {options.minutes:g} minutes.", flush=True)
    with tempfile.TemporaryDirectory(prefix="torture-") as scratch, ThreadPoolExecutor(options.workers) as pool:
        place = Path(options.keep or scratch)
        work: list[Callable[[], None]] = [
            lambda number=i: _work(state, place / f"{number}", until, options, leads=number == 0)  # type: ignore[misc]
            for i in range(options.workers)
        ]
        for one in [pool.submit(each) for each in work]:
            one.result()
    state.write()
    _tell(state)
    return 1 if state.wrong or _names_more(state.guesses) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, help="begin here instead of where the last run stopped, and keep no state")
    parser.add_argument("--cases", type=int, help="so many cases a worker at most")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--engines", default="memory,memory,memory,disk", help="drawn from these; spark is slow")
    parser.add_argument("--keep", help="a folder in which the last case of each worker stays")
    return parser.parse_args()


def _work(state: State, folder: Path, until: float, options: argparse.Namespace, *, leads: bool) -> None:
    """Case after case; the one that leads also attacks, and kills."""
    shoal = Shoal()
    good = folder.with_name(f"{folder.name}-good")
    _empty(good)
    make_files(good, shoal)
    made = 0
    while time.monotonic() < until and (options.cases is None or made < options.cases):
        seed = state.next_seed()
        case = draw_case(seed, tuple(options.engines.split(",")))
        try:
            outcome, wrong = run_case(case, shoal, folder)
        except Exception as error:  # what the judge cannot read is wrong as well
            outcome, wrong = "released", f"the judge fails: {type(error).__name__}: {error}"
        state.note("cases", f"{case.method} {outcome}", wrong and f"{case.name}: {wrong}")
        made += 1
        _spoil(state, seed, good, folder, shoal)
        if leads and made % 20 == 0:
            _beside(state, seed, shoal, folder)
        if made % 100 == 0:
            state.write()
            if leads:
                print(f"{state.done['cases']:,} cases, {len(state.wrong)} wrong", flush=True)
    shoal.end()


def _spoil(state: State, seed: int, good: Path, folder: Path, shoal: Shoal) -> None:
    what, answer = run_one(seed, good, folder, shoal)
    silent = answer.code != 0 and not (answer.err.strip() or answer.out.strip())
    wrong = silent or answer.code not in (0, 1, 2) or any(said in answer.err for said in CATCH_ALL)
    said = f"exit code {answer.code}: {answer.err.strip()[-300:]}"
    state.note("spoilt files", wrong=_named(said if wrong else None, what, seed))


def _beside(state: State, seed: int, shoal: Shoal, folder: Path) -> None:
    """What is too slow for every case."""
    _empty(folder)
    state.note("ledgers", wrong=_named(intersection(seed, shoal, folder), "ledger", seed))
    _empty(folder)
    for found in guessed(seed, shoal, folder):
        state.note(f"attacks: {found['attack']}")
        by_frequency = found["guessed"] * found["baseline"]
        for what, count in (("guessed", found["guessed"]), ("right", found["right"]), ("by frequency", by_frequency)):
            state.guesses[f"{found['attack']} {what}"] += count
    engine = "disk" if seed % 2 else "memory"
    state.note(f"kills: {engine}", wrong=_named(kill_one(seed, folder, engine), f"kill, {engine}", seed))
    if seed % 5 == 0:
        state.note("two writers", wrong=_named(write_at_once(seed, folder), "two writers", seed))


def _names_more(guesses: Counter[str]) -> bool:
    """Does who knows the method name more by minimality than frequencies give, beyond what chance explains?

    Guesses about one class stand or fall together: they count as one in ten.
    """
    guessed, right, expected = (guesses[f"minimality {what}"] for what in ("guessed", "right", "by frequency"))
    share = expected / max(guessed, 1)
    return right > expected + 3 * sqrt(10 * guessed * share * (1 - share))


def _named(wrong: str | None, what: str, seed: int) -> str | None:
    return None if wrong is None else f"seed {seed}: {what}: {wrong}"


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _tell(state: State) -> None:
    print("\n" + "\n".join(f"{count:8,}  {what}" for what, count in sorted(state.done.items())))
    print("\n" + "\n".join(f"{count:8,}  {what}" for what, count in sorted(state.outcomes.items())))
    print("\n" + "\n".join(f"{count:8,.0f}  {what}" for what, count in sorted(state.guesses.items())))
    print(f"\n{len(state.wrong):,} wrong. The next run goes on from seed {state.seed}.")


if __name__ == "__main__":
    sys.exit(main())
