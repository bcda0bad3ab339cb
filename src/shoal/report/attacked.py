"""The report's table of attacks: how often an intruder who knows the method is right, beside who guesses blindly.

Attacks run the method again many times. A large release is therefore attacked by proxy: a few thousand of its people
are released by the same method and promises, and that release is attacked.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import Microdata
from shoal.errors import InputError
from shoal.masking.method import Masked
from shoal.masking.whole_histories import held_together
from shoal.report.fact import Fact
from shoal.report.reported import Reported
from shoal.risk.attack import Attacked, Outcome, Scene, run_attacks
from shoal.risk.owners import whose_records
from shoal.show.numbers import percent

PEOPLE = 2_000  # that attacks are played on


def attacked(release: Reported, smallest_class: int) -> Attacked:
    """What the built-in attacks find out from the release, or from one like it of fewer people.

    `smallest_class` is that of the whole release.
    """
    original, table, masked = release.original, release.table, release.masked
    if release.read > PEOPLE:
        original = original.take(_some(release))
        method = held_together(release.policy.method, release.promises)
        try:
            masked = method.mask(original, release.promises, suppression=release.policy.suppression, seed=0)
        except InputError as error:
            return Attacked((), {}, {"all": str(error)})
        table = _shown(original, masked).select(release.table.columns)
    apart = smallest_class < 2  # in a class, whoever is found is one of several
    rows = np.arange(len(original)) if masked.kept is None else masked.kept
    method = held_together(release.policy.method, release.promises)
    suppression = release.policy.suppression
    scene = Scene(original, table, method, release.promises, suppression, rows=rows if apart else None, made=masked)
    return run_attacks(scene)


def _some(release: Reported) -> npt.NDArray[np.int64]:
    """Records to play on, drawn by lot: where people or households are counted, all records of some of them."""
    dice, records = np.random.default_rng(0), len(release.original)
    owned = whose_records(release.original, release.policy.household_column)
    if not owned:
        return np.sort(dice.choice(records, min(PEOPLE, records), replace=False))
    whose = list(owned.values())[-1]  # the larger: a household is drawn with all of its people
    counts = np.bincount(whose)
    drawn = dice.permutation(len(counts))
    chosen = drawn[: int(np.searchsorted(np.cumsum(counts[drawn]), PEOPLE)) + 1]
    return np.flatnonzero(np.isin(whose, chosen))


def _shown(original: Microdata, masked: Masked) -> pl.DataFrame:
    kept = original.frame if masked.kept is None else original.frame[masked.kept]
    return kept.with_columns(column.values().alias(name) for name, column in masked.columns.items())


def attack_rows(attacked: Attacked) -> list[Fact]:
    """For the report's table: who was guessed, how often right, by chance, and what the attack is."""
    return [_row(each, attacked.meanings[each.attack]) for each in attacked.outcomes]


def _row(each: Outcome, meaning: str) -> Fact:
    low, high = each.interval
    right = f"{percent(each.rate)} ({percent(low)} to {percent(high)})" if each.guessed else "nobody guessed"
    control = "" if each.control is None else percent(each.control)
    guessed = f"Guessed of {each.guessed:,} people among {each.people:,}."
    return Fact(
        each.target[0].upper() + each.target[1:],
        (right, percent(each.baseline) if each.guessed else "", control),
        " ".join([guessed, meaning, *each.notes]),
        each.attack,
    )
