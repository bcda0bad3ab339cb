"""The report's section on risk: what intruders could do with the original, and what they still can."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from shoal.report import people, words
from shoal.report.attacked import PEOPLE, attack_rows
from shoal.report.fact import Fact
from shoal.report.findings import Findings, most
from shoal.report.parts import Measures, measures
from shoal.report.weighed import Weighed
from shoal.risk.classes import by_class_size
from shoal.risk.owners import SINGULAR
from shoal.show import Bars
from shoal.show.charts import AFTER, BEFORE, both
from shoal.show.numbers import counted, percent

DISCLOSED = 10  # confidential attributes, and values of each, whose disclosure is drawn
ACCEPTED = 0.2  # the highest chance of a right guess that is commonly accepted of a recipient who is known
USUAL = {0.09: " Often asked of a release to the public.", ACCEPTED: " Often asked of one to a known recipient."}
UNIONS = 31  # of known groups of attributes: all unions of five


@dataclass(frozen=True)
class RiskSection:
    """What the section shows; the words between stand in its template."""

    facts: list[Fact]
    guessing: str  # how often a guess is right, in words
    intruders: list[Fact]
    charts: list[Bars]
    disclosed: list[Bars]  # one a confidential attribute
    not_drawn: str
    attacks: list[Fact]
    played_on: str
    measured: Measures

    @classmethod
    def of(cls, findings: Findings) -> Self:
        """Gathered from what was measured of a release."""
        disclosed = list(findings.disclosed.items())
        hidden = len(disclosed) - DISCLOSED
        large = findings.before.records > PEOPLE
        return cls(
            _risk_rows(findings),
            _guessing(findings),
            _intruders(findings),
            [*people.figures(findings), _class_sizes(findings), _known(findings), *_known_groups(findings)],
            [_disclosure(name, learnt, findings.label(name)) for name, learnt in disclosed[:DISCLOSED]],
            f" {counted(hidden, 'more attribute')} not shown." if hidden > 0 else "",
            attack_rows(findings.attacked),
            f" It was played on {PEOPLE:,} of the people, released alike." if large else "",
            measures(findings, "risk"),
        )


def _risk_rows(findings: Findings) -> list[Fact]:
    before, after = findings.before, findings.after
    original, released = before.classes, after.classes
    records_at_risk = {} if findings.owners else before.records_at_risk
    unproven = "" if after.uniques_proven else " Some count as such because the search was cut short."
    return [
        Fact("Records", (f"{before.records:,}", f"{after.records:,}"), "Records left out are not released."),
        *people.rows(findings),
        Fact(
            "Records without a look-alike",
            (f"{before.uniques:,}", f"{after.uniques:,}"),
            f"No other record shows the same in all that an intruder may know.{unproven}",
            "unique records; of masked values in the worst case, where a true one may be any that is admitted",
            over=after.uniques > 0 and not findings.apart,
        ),
        Fact(
            "… among all records",
            (percent(before.reidentification_risk), percent(after.reidentification_risk)),
            "The most that can be found with certainty.",
            f"re-identification risk, {words.PAPER}, Eq. 1",
        ),
        Fact(
            "Smallest group of look-alikes" + (", in records" if findings.owners else ""),
            (f"{original.smallest_class:,}", f"{released.smallest_class:,}"),
            "The fewest records that show the same.",
            "smallest equivalence class",
        ),
        Fact(
            "Groups of look-alikes",
            (f"{original.classes:,}", f"{released.classes:,}"),
            "Groups of records that show the same.",
            "equivalence classes",
        ),
        *(
            Fact(
                f"Records at risk above {limit:.0%}",
                (f"{records:,}", f"{after.records_at_risk[limit]:,}"),
                f"In groups of fewer than {_least(limit)}: a guess is right more often than that."
                + USUAL.get(limit, ""),
                over=limit >= ACCEPTED and after.records_at_risk[limit] > 0 and not findings.apart,
            )
            for limit, records in records_at_risk.items()
        ),
    ]


def _intruders(findings: Findings) -> list[Fact]:
    """Prosecutor, journalist and marketer (El Emam & Dankar 2008)."""
    original, released = findings.before.classes, findings.after.classes
    highest, average = (
        (original.highest_risk, released.highest_risk),
        (original.average_risk, released.average_risk),
    )
    who, where, over = "records", "in the smallest group", "The same over all records: groups / records."
    if (chances := people.Chances.of(findings)) is not None:
        who, highest, average = chances.who, chances.highest, chances.average
        where, over = f"by {chances.known}, where fewest fit", f"The same over all {who}."
    facts = [
        Fact(
            "Knows who is in the file, at worst",
            (percent(highest[0]), percent(highest[1])),
            f"Knows that a {SINGULAR.get(who, 'person')} is in the file, and guesses {where}.",
            "prosecutor",
            over=highest[1] > ACCEPTED and not findings.apart,
        ),
        Fact("… on average", (percent(average[0]), percent(average[1])), over, "prosecutor"),
        *_journalist(findings, who, highest),
    ]
    before, after = findings.journalist
    shares = (before.average if before else average[0], after.average if after else average[1])
    facts.append(
        Fact(
            "Matches everybody",
            (percent(shares[0]), percent(shares[1])),
            f"Matches all {who} with somebody: the share that is right.",
            "marketer",
        )
    )
    return facts + _weighed(findings.weighed)


def _journalist(findings: Findings, who: str, highest: tuple[float, float]) -> list[Fact]:
    before, after = findings.journalist
    if before is None or after is None:
        why = (
            "Wants to name anybody and does not know who is in the file, so is right no more often than who does. How "
            "much less depends on the population, of which nothing is known here."
        )
        return [
            Fact("Does not know who is", (f"≤ {percent(highest[0])}", f"≤ {percent(highest[1])}"), why, "journalist")
        ]
    how = (
        "Wants to name anybody and does not know who is in the file: the people count who fit a group, not its records."
    )
    return [
        Fact("Does not know who is, at worst", (percent(before.highest), percent(after.highest)), how, "journalist"),
        Fact(
            "… on average, not knowing who is",
            (percent(before.average), percent(after.average)),
            f"The same over all {who}.",
            "journalist",
        ),
    ]


def _guessing(findings: Findings) -> str:
    """How often who guesses is right."""
    chances = people.Chances.of(findings)
    if chances is None:
        return (
            "Look-alikes are all records that show the same in everything that an intruder may know. Who guesses among "
            "them is right once in as many times as there are."
        )
    return (
        f"Who knows {chances.known}, and guesses among the {chances.who} that fit, is right once in as many times as "
        f"there are: {chances.who} count, however many records they have."
    )


def _weighed(estimate: Weighed | None) -> list[Fact]:
    """What sampling weights tell, where the policy names them."""
    if estimate is None:
        return []
    before, after, classes = estimate
    drawn = " Of cells that were drawn round the records weights tell nothing: at most one in each group."
    counted = f"≤ {classes:,}" if after is None else f"{after.expected:,.1f}"
    highest = "-" if after is None else percent(after.highest)
    return [
        Fact(
            "Right guesses at everybody, expected",
            (f"{before.expected:,.1f}", counted),
            "Of somebody who tries everybody, estimated by sampling weights." + (drawn if after is None else ""),
            "expected re-identifications, Benedetti and Franconi",
        ),
        Fact(
            "Highest risk of one record",
            (percent(before.highest), highest),
            "By the same estimate.",
            "individual risk",
        ),
    ]


def _least(risk: float) -> int:
    """The smallest class in which a random guess is right no more often than that."""
    return int(np.ceil(1 / risk - 1e-9))


def _class_sizes(findings: Findings) -> Bars:
    labels, (before, after) = by_class_size(*findings.sizes)
    return Bars(
        "Records by how many look the same",
        labels,
        both(before, after),
        caption="The larger the group, the more records an intruder cannot tell apart.",
    )


def _known(findings: Findings) -> Bars:
    """Unique records for an intruder who knows ever more."""
    steps = findings.known
    left = len(findings.losses) - len(steps)
    more = f" {counted(left, 'more attribute')} are not shown." if left else ""
    return Bars(
        "Records alone, if the intruder knows ever more",
        [("" if i == 0 else "+ ") + findings.label(step.attribute) for i, step in enumerate(steps)],
        both([step.before for step in steps], [step.after for step in steps]),
        caption=f"One attribute more at each step, those with most values first.{more}",
    )


def _known_groups(findings: Findings) -> list[Bars]:
    """Unique records for every union of the named groups of attributes, if there are such."""
    before, after = findings.before.attributes_known, findings.after.attributes_known
    if not before:
        return []
    single = (known for known in before if len(known.groups) == 1)
    groups = "; ".join(f"{known.groups[0]}: {', '.join(map(findings.label, known.attributes))}" for known in single)
    more = f" {len(before) - UNIONS:,} larger unions are not shown." if len(before) > UNIONS else ""
    return [
        Bars(
            "Records alone, if the intruder knows only…",
            [" + ".join(known.groups) for known in before[:UNIONS]],
            both(*([known.reidentification_risk for known in side[:UNIONS]] for side in (before, after))),
            caption=f"{groups}.{more}",
        )
    ]


def _disclosure(name: str, learnt: pl.DataFrame, label: str) -> Bars:
    """Of a confidential attribute, the share of each value's records in a group where everybody has it."""
    caption = (
        f"The most that is learnt of any value: {percent(most(learnt['before']))} {BEFORE}, "
        f"{percent(most(learnt['after']))} {AFTER}."
    )
    shown = learnt
    if learnt.height > DISCLOSED:
        shown = learnt.sort("exposed_after", "exposed_before", descending=True, maintain_order=True)
        shown = shown.head(DISCLOSED)
        caption += f" Shown are {DISCLOSED} of {learnt.height:,} values, those that expose most records."
    labels = [_value_only(condition, name) for condition in shown["condition"]]
    return Bars(label, labels, both(shown["before"].to_numpy(), shown["after"].to_numpy()), caption=caption)


def _value_only(condition: str, name: str) -> str:
    """`charge between 5.0 and 9.0` -> `5 to 9`, `diag_p = 'V30'` -> `V30`."""
    quoted = '"' + name.replace('"', '""') + '"'
    value = condition.removeprefix(name).removeprefix(quoted)
    if value.startswith(" between "):
        ends = re.sub(r"DATE |TIMESTAMP |TIME |'|\.0(?= |$)", "", value.removeprefix(" between "))
        return ends.replace(" and ", " to ", 1)
    return value.removeprefix(" = ").removeprefix("'").removesuffix("'").replace("''", "'")
