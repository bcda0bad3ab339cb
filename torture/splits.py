"""One table a confidential column (`--split confidential`): what each file, and all of them joined, must keep."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from torture.cases import GROUPING, listed
from torture.judge import leaked
from torture.process import Shoal
from torture.reading import Row, all_bytes, read_release
from torture.tables import Table, draw_table


def run_split(seed: int, shoal: Shoal, folder: Path) -> tuple[str, str | None]:
    """Whether it was "released" or "refused", and what is wrong about that."""
    rng = np.random.default_rng(seed)
    table, k = draw_table(rng, plain=True), int(rng.choice([2, 3, 5]))
    suffix = str(rng.choice([".csv", ".parquet"]))
    table.write(folder / f"in{suffix}")
    own = rng.random() < 0.3  # classes of its own for each file, which are not to be merged
    words = ["anonymize", str(folder / f"in{suffix}"), "-o", str(folder / f"out{suffix}")]
    words += ["--method", str(rng.choice(GROUPING)), "--k", str(k)]
    words += ["--split", "confidential:independent" if own else "confidential:merge"]
    words += ["--quasi", listed(column.name for column in table.quasi), "--seed", str(seed)]
    words += ["--confidential", listed(column.name for column in table.confidential), "--identifiers", "identifier"]
    answer = shoal(words)
    written = {path.name: path for path in folder.iterdir() if path.name.startswith("out")}
    if "went wrong inside" in answer.err or answer.code not in (0, 1, 2):
        return "refused", f"exit code {answer.code}: {answer.err.strip()[-300:]}"
    if answer.code:
        return "refused", f"refused, and {sorted(written)} stand there" if written else None
    return "released", _wrong(table, k, written, suffix, merged=not own)


def _wrong(table: Table, k: int, written: dict[str, Path], suffix: str, *, merged: bool) -> str | None:
    shown = {f"out.{column.name}{suffix}": {column.name} for column in table.confidential}
    if merged:
        shown |= {f"out{suffix}": {column.name for column in table.confidential}}
    if set(written) != set(shown):
        return f"{sorted(written)} for {sorted(shown)}"
    quasi = {column.name for column in table.quasi}
    for name, path in written.items():
        rows = read_release(path)
        if not rows or set(rows[0]) != quasi | shown[name]:
            return f"{name} has {len(rows)} records of {sorted(rows[0]) if rows else []}"
        if (least := _smallest(rows)) < k:
            return f"{least} records of {name} look the same, {k} were promised"
        if wrong := leaked(all_bytes(path), rows, table):
            return f"{name}: {wrong}"
    return None


def _smallest(rows: list[Row]) -> int:
    """Whoever knows all that is shown of somebody finds so many."""
    return min(Counter(tuple(row.values()) for row in rows).values())
