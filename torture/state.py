"""How far the torture has come, over all its runs; kept as JSON, so that the next run goes on from here."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from torture.work import Found

_COUNTED = ("done", "cases", "refusals", "guesses")


@dataclass
class State(Found):
    path: Path | None = None
    next: dict[str, int] = field(default_factory=dict)  # piece of work -> its next number
    minutes: float = 0.0

    @classmethod
    def read(cls, path: Path) -> State:
        if not path.exists():
            return cls(path=path)
        known = json.loads(path.read_text())
        counted = {name: Counter(known[name]) for name in _COUNTED}
        return cls(**counted, wrong=known["wrong"], path=path, next=known["next"], minutes=known["minutes"])

    def take(self, piece: str, count: int) -> int:
        """So many numbers of a piece of work, which nobody else gets."""
        first = self.next.get(piece, 0)
        self.next[piece] = first + count
        return first

    def add(self, found: Found) -> None:
        for name in _COUNTED:
            getattr(self, name).update(getattr(found, name))
        self.wrong += found.wrong
        for one in found.wrong:
            print(f"WRONG  {one['sort']}: {one['said']}", flush=True)

    def write(self) -> None:
        if self.path is not None:
            kept = {name: getattr(self, name) for name in (*_COUNTED, "wrong", "next", "minutes")}
            self.path.write_text(json.dumps(kept, indent=2) + "\n")

    def seeds(self) -> str:
        return ", ".join(f"{piece} {number}" for piece, number in self.next.items()) or "the beginning"

    def line(self, minutes: float) -> str:
        kills = sum(count for what, count in self.done.items() if what.startswith("kills"))
        return (
            f"{minutes:5.1f} minutes: {self.done['cases']:,} cases, {self.done['spoilt files']:,} spoilt files, "
            f"{kills} kills, {len(self.wrong)} wrong (next: {self.seeds()})"
        )
