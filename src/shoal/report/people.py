"""What the report says of the people, or households, whose records a release shows: tiles, rows and figures.

The original is measured as the release is: by one record of a person, the one that tells most, or by all of them where
the release shows which belong together.
"""

from __future__ import annotations

from typing import NamedTuple

from shoal.report.fact import Fact
from shoal.report.findings import BeforeAndAfter, Findings
from shoal.risk.classes import people_by_class_size
from shoal.risk.owners import HOUSEHOLDS, SINGULAR, Owners
from shoal.show import Bars
from shoal.show.charts import both


def of_whom(owners: Owners) -> str:
    """`4,260 people`, `1 household`."""
    return f"{owners.shown:,} {owners.who if owners.shown != 1 else SINGULAR[owners.who]}"


def withheld(owners: Owners) -> str:
    """`2 households`, of whom every record is withheld; empty where there is no such."""
    who = owners.who if owners.withheld != 1 else SINGULAR[owners.who]
    return f"{owners.withheld:,} {who}" if owners.withheld else ""


class Chances(NamedTuple):
    """How often an intruder is right of people or households, before and after; of the first that are counted."""

    who: str
    known: str  # what the intruder knows of somebody
    alone: tuple[int, int]
    alone_share: tuple[float, float]
    highest: tuple[float, float]
    average: tuple[float, float]

    @classmethod
    def of(cls, findings: Findings) -> Chances | None:
        """None where records are counted."""
        if not findings.owners:
            return None
        each = findings.owners[0]
        before, after = each.tally_before, each.after.tally
        return cls(
            each.after.who,
            _known(each.after),
            (before.alone, after.alone),
            (before.alone / max(before.number, 1), after.alone / max(after.number, 1)),
            (before.highest_risk, after.highest_risk),
            (before.average_risk, after.average_risk),
        )


def rows(findings: Findings) -> list[Fact]:
    """Before and after, what is about those whom records belong to."""
    return [row for each in findings.owners for row in (*_rows(each), *_at_risk(each))]


def figures(findings: Findings) -> list[Bars]:
    """With how many others somebody shares what is known."""
    return [_figure(each) for each in findings.owners]


def _known(owners: Owners) -> str:
    if owners.who == HOUSEHOLDS:
        return "all members"
    return "all records of a person" if owners.together else "the one record that tells most"


def _rows(each: BeforeAndAfter) -> list[Fact]:
    before, after = each.before, each.after
    who, title = after.who, after.who.title()
    members = "members" if who == HOUSEHOLDS else "records"
    gone = f"{after.withheld:,} withheld: no record of theirs is released." if after.withheld else "Nobody is left out."
    together = (
        f"By all {members} together: nobody else has the same."
        if after.together
        else "By all records together. The file does not show which are of one person, so nobody can put them together."
    )
    alone = Fact(
        "People without a look-alike",
        (f"{before.alone:,}", f"{after.risk.alone:,}"),
        "By one of their records: nobody else has one that shows the same.",
        over=after.risk.alone > 0,
    )
    by_history = f"{after.risk.alone_by_history or 0:,}" if after.together else "-"
    return [
        Fact(title, (f"{before.people:,}", f"{after.shown:,}"), gone),
        Fact(
            f"Fewest {who} in a group",
            (f"{before.fewest:,}", f"{after.risk.fewest:,}"),
            f"Every group of look-alikes holds records of so many different {who}, or more.",
        ),
        *([] if who == HOUSEHOLDS else [alone]),
        Fact(f"{title} alone by all {members}", (f"{before.alone_by_history or 0:,}", by_history), together),
    ]


def _at_risk(each: BeforeAndAfter) -> list[Fact]:
    """Those whom a guess finds more often than is commonly accepted."""
    return [
        Fact(
            f"{each.after.who.title()} at risk above {limit:.0%}",
            (f"{each.tally_before.above(limit):,}", f"{each.after.tally.above(limit):,}"),
            f"A guess by {_known(each.after)} is right more often than that.",
        )
        for limit in each.before.people_at_risk
    ]


def _figure(each: BeforeAndAfter) -> Bars:
    owners = each.after
    shared = "show the same together" if owners.together else "share their smallest group"
    caption = (
        f"The more {owners.who} show the same in {_known(owners)}, the less a guess finds."
        if owners.together
        else "Somebody with several records is as exposed as in the group that fewest people share."
    )
    labels, (before, after) = people_by_class_size(each.tally_before, owners.tally)
    return Bars(f"{owners.who.title()} by how many {shared}", labels, both(before, after), caption=caption)
