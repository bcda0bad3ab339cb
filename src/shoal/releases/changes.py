"""What changed between two releases of the same people, read off by comparing them.

Where two classes have people in common and each shows single values, what the one shows and the other does not are the
old and the new values of those who changed. Whoever knows that somebody came again, so that her value changed, finds it
among those of her class that changed: certain if it is one, one of c if they are c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.releases.published import Published, persons_of
from shoal.risk.attack import Outcome


@dataclass(frozen=True)
class Changed:
    """What comparing two releases tells of the values of an attribute that changed."""

    outcome: Outcome  # old and new value guessed of everybody who changed, by somebody who knows who did
    read_off: int  # people whose change is one of fewer than k in their class

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON takes them."""
        return {"read_off": self.read_off, **self.outcome.to_dict()}


def changed(first: Published, second: Published, k: int) -> list[Changed]:
    """For each attribute whose values both releases know of: who changed, and how many are read off.

    The baseline is a guess among all of the class, by somebody who does not compare. There is no control: who did not
    change has nothing to be found.
    """
    names = [name for name in first.values.columns if name in second.values.columns]
    both = first.members.select("subject", "class", a=pl.int_range(pl.len())).join(
        second.members.select("subject", other="class", b=pl.int_range(pl.len())), on="subject"
    )
    both = both.with_columns(person=persons_of(both["subject"], of_people=first.of_people))
    people = pl.col("person").n_unique() if first.of_people else pl.len()
    both = both.with_columns(size=people.over("class", "other"))
    outcomes = []
    for name in names:
        differs = first.values[name].gather(both["a"]).ne_missing(second.values[name].gather(both["b"]))
        those = both.filter(differs).with_columns(alike=people.over("class", "other"))
        alike = those.group_by("class", "other", "alike", "size").agg(records=pl.len(), groups=1)
        outcomes.append(changed_in(name, alike, k))
    return outcomes


def changed_in(name: str, groups: pl.DataFrame, k: int) -> Changed:
    """By how many changed, `alike`, of how many of a `size` that two classes have in common.

    A row stands for one or more such `groups` and so many `records` in them whose value changed.
    """
    records = int(groups["records"].sum())
    baseline = float((groups["records"] / groups["size"]).sum()) / records if records else 0.0
    outcome = Outcome("changed values", name, records, records, float(groups["groups"].sum()), baseline)
    return Changed(outcome, int(groups.filter(pl.col("alike") < k)["records"].sum()))
