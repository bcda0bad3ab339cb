"""Random series of releases into one ledger, attacked by an intruder who has every file that got its name.

She knows of everybody the quasi-identifiers, in which releases he is, and whether his value changed between any two of
them: far more than anybody knows. All charges differ, from person to person and from night to night, so that a value
is as good as a name to whoever finds it again. What she cannot rule out is what a person is hidden among. This is
written without atoms or digests: from the files as they stand, value by value.
"""

from __future__ import annotations

import random
import tempfile
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from shoal.draft import draft
from shoal.errors import InputError, PromiseError
from shoal.policy import Policy
from shoal.privacy import KAnonymity
from shoal.release import write
from shoal.releases.audit import audit
from shoal.releases.ledger import Ledger

K = 3
METHODS: list[Any] = [
    {"name": "hilbert"},
    {"name": "kd"},
    {"name": "mdav"},
    {"name": "coarsen", "resolution": 2},
    {"name": "coarsen", "resolution": 4},
]
QUASI = (("age",), ("age", "city"), ("city",))


class File(NamedTuple):
    """A release as its readers have it, and the class of each person in it, which the intruder knows."""

    values: dict[tuple[str, ...], set[int]]  # what a class shows -> the charges of its records
    box: dict[int, tuple[str, ...]]  # person -> what his class shows
    charge: dict[int, int]  # person -> his charge: for the score, and for whether it changed


def attempt(people: dict[int, dict[str, Any]], ledger: Ledger, draw: random.Random, target: Path) -> File | None:
    """One night by some method over some quasi-identifiers; None where it was refused."""
    quasi = draw.choice(QUASI)
    incremental = draw.random() < 0.6
    policy = Policy(
        identifiers=["id"],
        quasi_identifiers=quasi,
        confidential=["charge"],
        rest="drop",
        models=[KAnonymity(K)],
        method=METHODS[0] if incremental else draw.choice(METHODS),
        suppression=draw.choice([0.0, 0.2]),
    )
    table = pl.DataFrame(list(people.values()))
    try:
        made = draft(table, policy, after=ledger if incremental else None)
        write(made, target, ledger=ledger, keep_order=True)
    except (PromiseError, InputError):
        assert not target.exists()
        return None
    shown = pl.read_csv(target, infer_schema=False)
    kept = table if made.masked.kept is None else table[made.masked.kept]
    values: dict[tuple[str, ...], set[int]] = {}
    box: dict[int, tuple[str, ...]] = {}
    for person, row in zip(kept["id"], shown.iter_rows(named=True), strict=True):
        box[person] = tuple(row[name] for name in quasi)
        values.setdefault(box[person], set()).add(int(row["charge"]))
    charge = {person: people[person]["charge"] for person in box}
    assert {value for some in values.values() for value in some} == set(charge.values())  # none is made up or stale
    return File(values, box, charge)


def not_ruled_out(person: int, here: File, others: list[File]) -> int:
    """How many charges of a release may be this person's, by everything that the other files show."""

    def possible(value: int) -> bool:
        for other in others:
            everything = {each for some in other.values.values() for each in some}
            if person not in other.box:
                fits = value not in everything
            elif other.charge[person] == here.charge[person]:
                fits = value in other.values[other.box[person]]
            else:
                fits = value not in everything
            if not fits:
                return False
        return True

    return sum(possible(value) for value in here.values[here.box[person]])


def series(seed: int) -> tuple[int, int, int]:
    """Releases accepted, releases refused, and the fewest charges that anybody is hidden among."""
    draw, charges = random.Random(seed), count(1000)
    everyone = {
        i: {"id": i, "age": draw.randrange(20, 60), "city": draw.choice("abc"), "charge": next(charges)}
        for i in range(40)
    }
    files: list[File] = []
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db", b"k" * 32, "id")
        for night in range(6):
            some = set(draw.sample(sorted(everyone), draw.choice([12, 20, 30, 40])))
            if draw.random() < 0.4:
                some = set(range(draw.choice([24, 32, 40])))
            made = attempt({i: everyone[i] for i in some}, ledger, draw, Path(folder) / f"{night}.csv")
            if made is None:
                refused += 1
            else:
                files.append(made)
            for i in draw.sample(range(40), draw.choice([0, 0, 1, 5, 25, 40])):
                everyone[i]["charge"] = next(charges)
            for i in draw.sample(range(40), draw.choice([0, 0, 2])):
                everyone[i]["age"] = draw.randrange(20, 60)
        assert audit(ledger.releases(), K).holds
        fewest = min(
            not_ruled_out(person, file, [other for other in files if other is not file])
            for file in files
            for person in file.box
        )
    return len(files), refused, fewest


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_released_everybody_is_hidden_among_k(seed: int) -> None:
    accepted, _, fewest = series(seed)
    assert accepted >= 1
    assert fewest >= K


def test_series_are_both_accepted_and_refused() -> None:
    found = [series(seed) for seed in range(100, 104)]
    assert sum(accepted for accepted, _, _ in found) > len(found)
    assert sum(refused for _, refused, _ in found) > 0
