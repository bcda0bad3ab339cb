"""What paper 2 reasons, held against the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal_studies.big_data.experiment import (
    ALGORITHM,
    APART,
    EPSILONS,
    LEDGER,
    MEANS,
    RELEASES,
    SECRET,
    SHARE,
    SIZES,
    TOGETHER,
    WHOLE,
    K,
)
from shoal_studies.driver import Frames
from shoal_studies.result import Part, Statement, percent


def parts(frames: Frames) -> Sequence[Part]:
    """A part for each of the paper's questions."""
    return (
        _dimensions(frames["dimensions"]),
        _dependence(frames["dependence"], frames["shared"]),
        _one_person(frames["attacks"]),
        _analysts(frames["analyses"]),
        _ten_releases(frames["pool"]),
    )


def _dimensions(data: pl.DataFrame) -> Part:
    first, last = (_losses(data, s) for s in (1, len(SECRET)))
    known, secret = last[TOGETHER][0] / first[TOGETHER][0], last[TOGETHER][1] / first[TOGETHER][1]
    statements = (
        Statement(
            "With all attributes as quasi-identifiers, the curse of dimensionality: a lot of information is lost "
            "(Section 4).",
            f"From 1 to {len(SECRET)} confidential attributes the loss of A1..A4 grows {known:.1f} times, to "
            f"{last[TOGETHER][0]:.2f} standard deviations; that of the confidential ones {secret:.1f} times.",
            known > 1.5 and secret > 1.5,
        ),
        Statement(
            "Algorithm 1 circumvents the dimensionality problem (Section 4).",
            f"The loss of A1..A4 stays at {first[ALGORITHM][0]:.2f}, however many confidential attributes there are.",
            first[ALGORITHM][0] == last[ALGORITHM][0] < last[TOGETHER][0],
        ),
    )
    note = (
        "The price is paid in the confidential attributes, by which classes are not made: their ranges are wide "
        f"({last[ALGORITHM][1]:.2f} standard deviations at s = {len(SECRET)}, {last[TOGETHER][1]:.2f} where all are "
        f"grouped by), though not wider the more of them there are; means are off by {last[MEANS][1]:.2f}."
    )
    return Part("Dimensions", "What is lost as confidential attributes are added", data, statements, note=note)


def _losses(data: pl.DataFrame, s: int) -> dict[str, tuple[float, float]]:
    rows = data.filter(pl.col("confidential") == s).select("way", "loss_known", "loss_confidential")
    return {way: (known, secret) for way, known, secret in rows.iter_rows()}


def _dependence(pairs: pl.DataFrame, shared: pl.DataFrame) -> Part:
    statement = Statement(
        "Uncorrelated confidential attributes can be k-anonymized independently; strongly correlated ones must share "
        "the partition (Section 3.1).",
        f"Of {pairs.height} pairs {pairs.filter(dependent='yes').height} are dependent. To share classes: "
        f"{'; '.join(shared['attributes'])}.",
        1 < shared.height < len(SECRET),
    )
    return Part("Dependence", "Which confidential attributes depend on each other", pairs, (statement,))


def _one_person(data: pl.DataFrame) -> Part:
    small = {row["setting"]: row for row in data.filter(pl.col("family") == f"Classes of {SIZES[0]}").to_dicts()}
    private = small[f"private mean, ε = {EPSILONS[1]:g}"]
    statements = (
        Statement(
            "Shown as an interval, the value may be disclosed for the largest or the smallest of the class "
            "(Section 3.2).",
            f"In classes of {SIZES[0]}, {percent(small['range']['seen_exactly'])} of all people: two of {SIZES[0]}.",
            abs(small["range"]["seen_exactly"] - 2 / SIZES[0]) < 0.05,
        ),
        Statement(
            "With the mean, an observer who knows all others determines the value (Section 3.2).",
            f"{percent(small['mean']['known_exactly'])} are known exactly.",
            small["mean"]["known_exactly"] > 0.999,
        ),
        Statement(
            "With the median, in some cases (Section 3.2).",
            f"{percent(small['median']['known_exactly'])} are known exactly.",
            0 < small["median"]["known_exactly"] < 0.5,
        ),
        Statement(
            "A change in the median, from a class with one person to that without, may reveal that person's value "
            "(Section 3.2).",
            f"{percent(small['median']['seen_exactly'])} are known for certain by who sees only the two medians.",
            small["median"]["seen_exactly"] > 0,
            "The median with her in it is often her own value, but two medians alone do not prove whose it is: they "
            "bound it on one side. Who knows the others' values too is certain in some cases, see above.",
        ),
        Statement(
            "Differential privacy prevents such disclosure for the mean (Section 3.2).",
            f"{percent(private['known_exactly'])} are known exactly at ε = {EPSILONS[1]:g}; a guess by who knows all "
            f"others is off by {percent(private['known_off'])} of the domain.",
            private["known_exactly"] < 0.001,
        ),
    )
    note = (
        "One victim in each class. Seen with and without her: two releases whose classes differ in her alone. A guess "
        "is the middle of what is possible, within the domain of 0 to 200,000."
    )
    return Part("One person", "What is learnt of one person's charge", data, statements, note=note)


def _analysts(data: pl.DataFrame) -> Part:
    small, large = (
        {row["setting"]: row for row in data.filter(pl.col("family") == f"Classes of {size}").to_dicts()}
        for size in SIZES
    )
    least = f"private mean, ε = {EPSILONS[-1]:g}"  # least noise: hardly any is clamped
    ratio, asked = small[least]["class_off"] / large[least]["class_off"], SIZES[1] / SIZES[0]
    statement = Statement(
        "The noise is that of a sensitivity of the domain's size divided by k (Section 3.2).",
        f"At ε = {EPSILONS[-1]:g} a class's mean is off by {small[least]['class_off']:.3f} standard deviations with "
        f"classes of {SIZES[0]}, by {large[least]['class_off']:.3f} with classes of {SIZES[1]}: {ratio:.1f} times "
        f"less, where {asked:g} are expected.",
        abs(ratio / asked - 1) <= 4 / large[least]["classes"] ** 0.5,  # standard errors of a mean of such noise
        "Clamping to the domain cuts the wide noise of small classes off.",
    )
    note = (
        "A range stands at its middle. Noisy means are clamped to the domain: where the noise is as wide as the "
        "domain, that moves them towards its middle, and the mean of all with them."
    )
    return Part("Analysts", "What the classes still tell an analyst", data, (statement,), note=note)


def _ten_releases(data: pl.DataFrame) -> Part:
    last: dict[str, dict[str, Any]] = {
        row["way"]: row for row in data.filter(pl.col("releases") == RELEASES).to_dicts()
    }
    second = data.filter((pl.col("releases") == 2) & (pl.col("way") == APART))["below_k"].item()
    statements = (
        Statement(
            "Pooled, independent k-anonymous releases give no guarantee (Section 3.2).",
            f"After two, {percent(second)} of the people have fewer than {K} alike; after {RELEASES}, "
            f"{percent(last[APART]['below_k'])}, and {last[APART]['mean_anonymity']:.2f} alike on average.",
            second > 0 and last[APART]["smallest"] < K,
        ),
        Statement(
            "One controller avoids it by using the same classes, or by adjusting them when the population changes "
            "(Sections 2.4 and 3.2).",
            f"With shared classes or a ledger nobody ever has fewer than {K} alike.",
            min(last[WHOLE]["smallest"], last[LEDGER]["smallest"]) >= K,
        ),
    )
    note = (
        "People drawn anew for each release are the hardest case for a ledger: whoever shared a class with one who is "
        f"gone must be withheld, so that the last release shows only {percent(last[LEDGER]['shown'])} of its records. "
        "Classes made once of everybody, and shown whole or not at all, keep all."
    )
    return Part(
        "Ten releases", f"Several releases, each about {SHARE:.0%} of the same people", data, statements, note=note
    )
