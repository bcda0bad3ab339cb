"""Values that some code somewhere takes for one another: a check that counts them together counts classes too large.

One pair has the same hash under Polars' fixed seed; the others are the same number, text or nothing to a reader who
is not careful.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from torture.process import Shoal
from torture.tables import write

PAIRS: tuple[tuple[str | None, str | None], ...] = (
    *(("bmiibtAJMkTB", "ecgpK_]EavZb"), ("5", "5.0"), ("5", "+5"), ("5", "05"), ("1000", "1e3"), ("0", "-0")),
    *(("9007199254740992", "9007199254740993"), ("0.1", "0.10000000000000001"), ("true", "True"), ("a", "a ")),
    *(("é", "e\u0301"), ("NA", None), ("null", "NULL"), ("2020-01-02", "2020-01-02T00:00:00"), ("*", "\\*")),
    *(("[1;2]", "[1;2.0]"), ("{a;b}", "{b;a}"), ("a\u00a0b", "a b"), ("x", "x\u200b"), ("1,5", "1.5")),
)


def confused(seed: int, shoal: Shoal, folder: Path) -> str | None:
    """Nine records of one value and one of its double, in every format and column: k = 5 must not hold."""
    rng = np.random.default_rng(seed)
    pair = list(PAIRS[seed % len(PAIRS)])
    if rng.random() < 0.5:
        pair.reverse()
    suffix = str(rng.choice([".csv", ".tsv", ".csv.gz", ".parquet", ".arrow", ".xlsx"]))
    cells = [pair[0]] * 9 + [pair[1]] + ["other"] * 10
    columns = {"known": cells, "kept": ["x"] * 20} if rng.random() < 0.5 else {"kept": ["x"] * 20, "known": cells}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    in_parts = suffix in (".csv", ".parquet") and rng.random() < 0.4
    path = folder / f"released{suffix}"
    if in_parts:
        path = folder / "released"
        path.mkdir()
        write(frame[:12], path / f"a{suffix}")
        write(frame[12:], path / f"b{suffix}")
    else:
        write(frame, path)
    words = ["check", str(path), "--quasi", "known,kept", "--k", "5", *(["--engine", "disk"] if in_parts else [])]
    answer = shoal(words)
    if answer.code == 0:
        return f"{pair} pass for one value in {path.name}"
    return None if answer.code in (1, 2) and "went wrong inside" not in answer.err else answer.err.strip()[-300:]
