"""What an intruder who knows the method makes of the defaults, by code of the torture's own.

Intersection: she has several releases of overlapping people, and keeps for each person only who stands with her in all
of them. Minimality and deFinetti are carried out by `shoal attack` and by code of our own.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from torture import judge
from torture.process import Shoal
from torture.reading import Row, read_release
from torture.tables import Column

ROWS = 600
PEOPLE, SURE = 7, 0.9


def guessed(seed: int, shoal: Shoal, folder: Path) -> list[dict[str, Any]]:
    """What the attacks of `shoal attack`, and one of our own, make of the defaults with `--l 2` or `--t 0.2`."""
    rng = np.random.default_rng(seed)
    age, place = rng.integers(18, 90, ROWS), rng.integers(0, 50, ROWS)
    ill = rng.random(ROWS) < 0.25 + 0.5 * (age > 60)
    table = {"age": age, "place": place, "ill": np.where(ill, "yes", "no"), "rid": np.arange(ROWS)}
    pl.DataFrame(table).write_csv(folder / "in.csv")
    asked = [
        "--quasi",
        "age,place",
        "--confidential",
        "ill",
        "--k",
        "5",
        *(["--l", "2"] if seed % 2 else ["--t", "0.2"]),
    ]
    files = [str(folder / "in.csv"), str(folder / "out.csv")]
    if shoal(["anonymize", files[0], "-o", files[1], *asked, "--insensitive", "rid"]).code != 0:
        return []
    found: list[dict[str, Any]] = json.loads(shoal(["attack", *files, *asked, "--json"]).out)["attacks"]
    named = [one for one in found if one["target"].endswith("taken for known")]
    return [*named, learnt([age, place], ill, read_release(folder / "out.csv"))]


def learnt(known: list[Any], ill: Any, rows: list[Row]) -> dict[str, Any]:
    """deFinetti: how attributes go together is learnt from the classes of all, and tells people of a class apart."""
    share = np.zeros(len(ill))  # of the ill in each person's class
    for members in judge.classes_of(rows, [Column(name, pl.Series([0]), ordered=True) for name in ("age", "place")]):
        share[[int(row["rid"] or 0) for row in members]] = np.mean([row["ill"] == "yes" for row in members])
    odds = share / np.maximum(1 - share, 1e-9)
    for values in known:
        tenth = np.searchsorted(np.quantile(values, np.arange(0.1, 1, 0.1)), values)
        with_it, without = (np.bincount(tenth, weight, 10) + 1 for weight in (share, 1 - share))
        odds = odds * ((with_it / with_it.sum()) / (without / without.sum()))[tenth]
    chance = odds / (1 + odds)
    sure = (np.maximum(chance, 1 - chance) >= SURE) & (np.maximum(share, 1 - share) < SURE)
    guess = chance >= SURE
    by_frequency = np.where(guess, share, 1 - share)[sure]
    return {
        "attack": "deFinetti of our own",
        "guessed": int(sure.sum()),
        "right": int((guess == ill)[sure].sum()),
        "baseline": float(by_frequency.mean()) if sure.any() else 0.0,
    }


def all_tables(seed: int, shoal: Shoal, folder: Path) -> list[dict[str, Any]]:
    """Minimality by trying everything: whoever knows the quasi-identifiers of seven people runs Shoal on every table
    that they could be, keeps those that give the release, and names what nearly all of these have in common.

    She is even given the seed.
    """
    rng = np.random.default_rng(seed)
    age = np.sort(rng.choice(60, PEOPLE, replace=False))
    ill = int(rng.integers(2, PEOPLE - 1))
    truth = np.isin(np.arange(PEOPLE), rng.choice(PEOPLE, ill, replace=False))
    seen = _released(age, truth, shoal, folder)
    if seen is None:
        return []
    tables = [np.isin(np.arange(PEOPLE), who) for who in combinations(range(PEOPLE), ill)]
    fitting = np.array([table for table in tables if _released(age, table, shoal, folder) == seen])
    share = fitting.mean(axis=0)
    of_class = {person: float(np.mean([truth[one] for one in members])) for members, _ in seen for person in members}
    sure = np.flatnonzero(np.maximum(share, 1 - share) >= SURE)
    guess = share >= SURE
    left_open = [int(i) for i in sure if max(of_class[int(i)], 1 - of_class[int(i)]) < SURE]
    expected = [of_class[i] if guess[i] else 1 - of_class[i] for i in left_open]
    right = sum(bool(guess[i] == truth[i]) for i in left_open)
    return [
        {
            "attack": "trying all tables",
            "guessed": len(left_open),
            "right": right,
            "baseline": float(np.mean(expected)) if expected else 0.0,
        }
    ]


def _released(age: Any, ill: Any, shoal: Shoal, folder: Path) -> list[tuple[list[int], int]] | None:
    """Who stands together, and how many of them are ill; None if it was refused."""
    people = pl.DataFrame({"age": age, "ill": np.where(ill, "yes", "no"), "rid": np.arange(PEOPLE)})
    people.write_csv(folder / "in.csv")
    (folder / "out.csv").unlink(missing_ok=True)
    words = ["--quasi", "age", "--confidential", "ill", "--insensitive", "rid", "--k", "2", "--l", "2", "--seed", "1"]
    if shoal(["anonymize", str(folder / "in.csv"), "-o", str(folder / "out.csv"), *words]).code:
        return None
    classes = judge.classes_of(read_release(folder / "out.csv"), [Column("age", pl.Series([0]), ordered=True)])
    return sorted(
        (sorted(int(row["rid"] or 0) for row in members), sum(row["ill"] == "yes" for row in members))
        for members in classes
    )


def intersection(seed: int, shoal: Shoal, folder: Path, k: int = 3) -> str | None:
    """Three nights of people who come, go and change, through a ledger; what is wrong with the pool of them."""
    rng = np.random.default_rng(seed)
    (folder / "key").write_bytes(rng.bytes(32))
    (folder / "key").chmod(0o600)
    signature: dict[int, tuple[object, ...]] = dict.fromkeys(range(400), ())
    for night in range(3):
        present = np.sort(rng.choice(400, 300, replace=False))
        age = 20 + (present * 7) % 60 + (rng.random(300) < 0.03) * (night > 0)
        ill = np.where((present * 13) % 100 < 30, "yes", "no")
        table = pl.DataFrame({"person": present, "age": age, "ill": ill, "rid": present})
        table.write_csv(folder / f"in{night}.csv")
        answer = shoal(
            ["anonymize", str(folder / f"in{night}.csv"), "-o", str(folder / f"out{night}.csv"), "--quasi", "age",
             "--confidential", "ill", "--insensitive", "rid", "--k", str(k), "--ledger",
             f"{folder / 'ledger.db'},key={folder / 'key'}", "--subject", "person", "--incremental"]
        )  # fmt: skip
        if answer.code == 2:
            return f"night {night}: {answer.err.strip()[-300:]}"
        if answer.code != 0:
            continue  # refused: nothing to attack
        shown = {}
        for g, members in enumerate(_classes(read_release(folder / f"out{night}.csv"), ("age",))):
            shown |= dict.fromkeys(members, g)
        signature = {person: (*before, shown.get(person)) for person, before in signature.items()}
    sizes = Counter(signature.values())
    alone = [size for what, size in sizes.items() if size < k and any(one is not None for one in what)]
    return f"{sum(alone)} people are in crowds of fewer than {k}" if alone else None


def _classes(rows: list[Row], quasi: tuple[str, ...]) -> list[list[int]]:
    columns = [Column(name, pl.Series(name, [0]), ordered=True) for name in quasi]
    return [[int(row["rid"] or 0) for row in members] for members in judge.classes_of(rows, columns)]
