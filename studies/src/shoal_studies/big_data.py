"""Paper 2 in numbers (Domingo-Ferrer and Soria-Comas, 2016): what its authors reason about, measured.

The paper has no experiments and leaves "a more quantitative analysis" to later work. Here it is, on generated patients:

- Dimensions: their curse, and how Algorithm 1 gets round it, as confidential attributes are added
- Dependence: which confidential attributes depend on each other, and so must share their classes
- One person: what is learnt of her from a class shown by range, mean, median or private mean (Section 3.2)
- Analysts: what the same classes still tell them
- Ten releases: effective anonymity where they are about some of the same people, made apart or together
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.discharges import discharges
from shoal.data.microdata import Microdata, encode
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import require
from shoal.masking.grouping.hilbert import Hilbert
from shoal.masking.grouping.ordered import hilbert
from shoal.masking.method import Masked
from shoal.masking.partition import Partition
from shoal.masking.publishing.confidential import Showing, classes_shown, publish_confidential
from shoal.masking.publishing.private_mean import PrivateMean, publish_private_mean
from shoal.privacy import KAnonymity
from shoal.releases.atoms import Pool
from shoal.releases.differencing import PUBLISHED, Aggregates
from shoal.releases.incremental import Incremental
from shoal.releases.published import Published, published
from shoal.risk.dependence import dependence
from shoal.utility.information_loss import attribute_loss
from shoal_studies import figures
from shoal_studies.curves import Stroke
from shoal_studies.figures import Panel, bar_table, percent
from shoal_studies.purchases_figures import Curve, Plot, curves
from shoal_studies.result import Part, Statement, StudyResult, check_folder

TITLE = "Anonymization in the time of big data"
STAGES = 7
K = 5
KNOWN = ("age_yrs", "sex", "patzip", "adm_qtr")  # A1..A4
SECRET = ("charge", "los", "income", "weight", "pressure", "glucose", "cholesterol", "creatinine")  # C1..C8
DOMAIN = (0.0, 200_000.0)  # of the charge, as anybody would state it
EPSILONS = (0.1, 1.0, 10.0)
SIZES = (5, 50)  # of the classes that are attacked and analysed
RELEASES, SHARE = 10, 0.6  # each about so many of all people
EXACT = 1e-9  # of the domain: a value known that closely is known

TOGETHER, ALGORITHM, MEANS = "all attributes grouped by", "Algorithm 1, C by ranges", "Algorithm 1, C by means"
SHOWN: dict[str, Showing] = {ALGORITHM: "range", MEANS: "mean"}
APART, LEDGER, WHOLE = "each on its own", "going on from a ledger", "classes shared by all, shown whole"
STROKES = {
    TOGETHER: Stroke(figures.ORANGE, figures.ORANGE, 2.2),
    ALGORITHM: Stroke(figures.BLUE, figures.BLUE, 2.2),
    MEANS: Stroke(figures.GREEN, figures.GREEN, 2.2, (4, 3)),
    APART: Stroke(figures.ORANGE, figures.ORANGE, 2.2),
    LEDGER: Stroke(figures.LIGHT_BLUE, figures.LIGHT_BLUE, 2.2),
    WHOLE: Stroke(figures.NAVY, figures.NAVY, 2.2, (5, 2)),
}

Floats = npt.NDArray[np.float64]
Progress = Callable[[str], None]


def run(output: Path, *, rows: int = 20_000, seed: int = 1, progress: Progress = lambda stage: None) -> StudyResult:
    """Measures everything on so many generated patients and writes it into `output`."""
    require("study big-data", "rows", rows, "a whole number of at least 1,000", holds=rows >= 1_000)
    require("study big-data", "seed", seed, "a whole number of at least 0", holds=seed >= 0)
    check_folder(output)
    progress("generating patients")
    table = patients(rows, seed)
    progress("the curse of dimensionality")
    parts = [_figure_1(dimensions(table))]
    progress("dependence")
    parts.append(_table_1(table))
    progress("attacks on one person")
    classes = [Classes.of(table, size, seed) for size in SIZES]
    parts.append(_figure_2(pl.concat([attacks(one) for one in classes])))
    progress("what analysts learn")
    parts.append(_figure_3(pl.concat([analyses(one) for one in classes])))
    progress("ten releases")
    parts.append(_figure_4(pool(table, seed)))
    progress("drawing")
    table_studied = f"{rows:,} generated patients, k = {K}"
    result = StudyResult(TITLE, table_studied, rows, tuple(parts), output, {"rows": rows, "seed": seed})
    result.write()
    return result


def patients(rows: int, seed: int) -> pl.DataFrame:
    """Discharges with six more confidential attributes, which go with age, with each other, or with nothing."""
    table = discharges(rows, seed).select(*KNOWN, "charge", "los")
    random = np.random.default_rng([seed, 2])
    age = (table["age_yrs"].to_numpy() - 45) / 25
    health = random.normal(size=rows)

    def mixed(middle: float, spread: float, of_age: float, of_health: float) -> npt.NDArray[np.int64]:
        own = np.sqrt(1 - of_health**2) * random.normal(size=rows)
        values: Floats = middle + spread * (of_age * age + of_health * health + own)
        return np.rint(values).astype(np.int64)

    return table.with_columns(
        income=pl.Series(np.rint(random.lognormal(10.4, 0.6, rows)).astype(np.int64)),
        weight=mixed(76, 15, 0.2, 0.5),
        pressure=mixed(128, 17, 0.5, 0.6),
        glucose=mixed(101, 22, 0.3, 0.7),
        cholesterol=mixed(195, 40, 0.3, 0.4),
        creatinine=mixed(95, 25, 0.4, 0.3),
    )


def microdata(table: pl.DataFrame, quasi: Sequence[str]) -> Microdata:
    """All attributes numbers but the sex; those not to be grouped by are confidential."""
    roles = {name: Role.QUASI_IDENTIFIER if name in quasi else Role.CONFIDENTIAL for name in table.columns}
    kinds = {"sex": Kind.NOMINAL}
    attributes = (Attribute(n, frozenset({role}), kinds.get(n, Kind.NUMERIC)) for n, role in roles.items())
    return Microdata(table, Schema(tuple(attributes)))


# ---- the curse of dimensionality


def dimensions(table: pl.DataFrame) -> pl.DataFrame:
    """The mean loss of an attribute, in its standard deviations, of A and of C1..Cs for s = 1 to 8."""
    alone = microdata(table, KNOWN)
    classes = Hilbert().mask(alone, [KAnonymity(K)])
    split = {way: publish_confidential(alone, classes, dict.fromkeys(SECRET, by), {}) for way, by in SHOWN.items()}
    rows = []
    for s in range(1, len(SECRET) + 1):
        together = microdata(table.select(*KNOWN, *SECRET[:s]), (*KNOWN, *SECRET[:s]))
        masked = Hilbert().mask(together, [KAnonymity(K)])
        for way, data, shown in ((TOGETHER, together, masked), *((way, alone, split[way]) for way in SHOWN)):
            losses = {n: attribute_loss(data[n], shown.columns[n]) for n in (*KNOWN, *SECRET[:s])}
            known, secret = ([losses[n] for n in names] for names in (KNOWN, SECRET[:s]))
            rows.append(
                {"confidential": s, "way": way, "loss_known": np.mean(known), "loss_confidential": np.mean(secret)}
            )
    return pl.DataFrame(rows)


def _figure_1(data: pl.DataFrame) -> Part:
    def plot(title: str, column: str) -> Plot:
        lines = []
        for way in (TOGETHER, *SHOWN):
            points = data.filter(pl.col("way") == way)
            lines.append(Curve(way, STROKES[way], dict(zip(points["confidential"], points[column], strict=True))))
        return Plot(title, lines, top)

    top = 1.1 * float(data.select(pl.max_horizontal("loss_known", "loss_confidential").max()).item())
    figure = curves(
        "What is lost as confidential attributes are added",
        [plot("of A1..A4", "loss_known"), plot("of C1..Cs", "loss_confidential")],
        "confidential attributes s",
        "mean loss of an attribute, in standard deviations",
        lambda value: f"{value:.2f}",
    )
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
    return Part("Dimensions", "What is lost as confidential attributes are added", data, statements, figure, note)


def _losses(data: pl.DataFrame, s: int) -> dict[str, tuple[float, float]]:
    found = data.filter(pl.col("confidential") == s).select("way", "loss_known", "loss_confidential")
    return {way: (known, secret) for way, known, secret in found.iter_rows()}


def _table_1(table: pl.DataFrame) -> Part:
    data = microdata(table, KNOWN)
    found = dependence([data[name] for name in SECRET])
    rows = [
        {
            "attributes": f"{pair.one}, {pair.other}",
            "association": pair.association,
            "bits": pair.information,
            "p": pair.p,
            "dependent": "yes" if pair.dependent else "no",
        }
        for pair in found.pairs
    ]
    groups = "; ".join(", ".join(names) for names in found.components)
    statement = Statement(
        "Uncorrelated confidential attributes can be k-anonymized independently; strongly correlated ones must share "
        "the partition (Section 3.1).",
        f"Of {len(found.pairs)} pairs {sum(pair.dependent for pair in found.pairs)} are dependent. To share classes: "
        f"{groups}.",
        1 < len(found.components) < len(SECRET),
    )
    return Part("Dependence", "Which confidential attributes depend on each other", pl.DataFrame(rows), (statement,))


# ---- one class, one person


@dataclass(frozen=True)
class Classes:
    """The charges of classes of one size, one victim in each."""

    size: int
    values: Floats  # class x member, each row's first the victim's

    @classmethod
    def of(cls, table: pl.DataFrame, size: int, seed: int) -> Classes:
        """Neighbours along our default grouping's line; who is the victim is left to chance."""
        order = hilbert(microdata(table, KNOWN), K).order
        whole = len(order) // size * size
        charge = np.clip(table["charge"].to_numpy().astype(np.float64), *DOMAIN)[order[:whole]].reshape(-1, size)
        return cls(size, np.random.default_rng([seed, size]).permuted(charge, axis=1))

    @property
    def victim(self) -> Floats:
        return self.values[:, 0]

    @property
    def others(self) -> Floats:
        return self.values[:, 1:]

    @cached_property
    def larger(self) -> Aggregates:
        return _aggregates(self.values)

    @cached_property
    def smaller(self) -> Aggregates:
        return _aggregates(self.others)

    def private(self, epsilon: float, values: Floats) -> Floats:
        """Private means of rows of values, as a release would show them."""
        rows, size = values.shape
        attribute = Attribute("charge", frozenset({Role.CONFIDENTIAL}), Kind.NUMERIC)
        label = np.repeat(np.arange(rows, dtype=np.int32), size)
        mean = PrivateMean(epsilon, *DOMAIN)
        coded = encode(pl.Series("charge", values.ravel()), attribute)
        column, _ = publish_private_mean(coded, Partition.of_labels(label.astype(np.int64)), label, mean)
        return column.low


def _aggregates(values: Floats) -> Aggregates:
    n = np.full(len(values), float(values.shape[1]))
    return Aggregates(n, values.min(axis=1), values.max(axis=1), values.mean(axis=1), np.median(values, axis=1))


def known_median(others: Floats, median: Floats) -> tuple[Floats, Floats]:
    """What the median of a class says of one whose fellows' values are all known.

    The middle of the others and hers decide: strictly between her neighbours in the middle, she is seen exactly.
    """
    ascending = np.sort(others, axis=1)
    half = others.shape[1] // 2
    if others.shape[1] % 2 == 0:
        below, above, hers = ascending[:, half - 1], ascending[:, half], median
    else:
        middle = ascending[:, half]
        below = ascending[:, half - 1] if half else np.full(len(others), -np.inf)
        above = ascending[:, half + 1] if half else np.full(len(others), np.inf)
        hers = 2 * median - middle
    return np.where(hers <= below, -np.inf, hers), np.where(hers >= above, np.inf, hers)


def attacks(classes: Classes) -> pl.DataFrame:
    """How often a victim's value is known exactly, and how far a guess is off, as a share of the domain."""
    inside = (classes.victim > DOMAIN[0]) & (classes.victim < DOMAIN[1])  # whoever is at an end is guessed by accident
    classes = Classes(classes.size, classes.values[inside])
    n, mean, rows = classes.size, classes.smaller.mean, []
    family = f"Classes of {n}"
    for name, conclude in PUBLISHED.items():
        seen = conclude(classes.larger, classes.smaller)
        known = known_median(classes.others, classes.larger.median) if name == "median" else seen
        rows.append(
            {"family": family, "setting": name, **_learnt(classes, "seen", seen), **_learnt(classes, "known", known)}
        )
    for epsilon in EPSILONS:
        shown = classes.private(epsilon, classes.values)
        differenced = n * shown - (n - 1) * classes.private(epsilon, classes.others)
        subtracted = n * shown - (n - 1) * mean
        rows.append(
            {
                "family": family,
                "setting": f"private mean, ε = {epsilon:g}",
                **_learnt(classes, "seen", (differenced, differenced)),
                **_learnt(classes, "known", (subtracted, subtracted)),
            }
        )
    return pl.DataFrame(rows)


def _learnt(classes: Classes, attack: str, bounds: tuple[Floats, Floats]) -> dict[str, float]:
    width = DOMAIN[1] - DOMAIN[0]
    exact = np.maximum(np.abs(bounds[0] - classes.victim), np.abs(bounds[1] - classes.victim)) <= EXACT * width
    low, high = (np.clip(end, *DOMAIN) for end in bounds)
    off = np.abs((low + high) / 2 - classes.victim) / width
    return {f"{attack}_exactly": float(exact.mean()), f"{attack}_off": float(off.mean())}


def _figure_2(data: pl.DataFrame) -> Part:
    panels = [
        Panel("seen with and without her:\nknown exactly", "seen_exactly", percent, 1.0),
        Panel("a guess is off by,\nof the domain", "seen_off", percent),
        Panel("all others known:\nknown exactly", "known_exactly", percent, 1.0),
        Panel("a guess is off by,\nof the domain", "known_off", percent),
    ]
    colours = {f"Classes of {size}": colour for size, colour in zip(SIZES, (figures.ORANGE, figures.BLUE), strict=True)}
    figure = bar_table("What is learnt of one person's charge", data, panels, colours)
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
    return Part("One person", "What is learnt of one person's charge", data, statements, figure, note)


# ---- what analysts learn


def analyses(classes: Classes) -> pl.DataFrame:
    """How far the charges shown are off: a record's own, a class's mean, and the mean of all."""
    values = classes.values
    spread, everyone = float(values.std()), float(values.mean())
    shown = {
        "range": (classes.larger.least + classes.larger.greatest) / 2,
        "mean": classes.larger.mean,
        "median": classes.larger.median,
    } | {f"private mean, ε = {epsilon:g}": classes.private(epsilon, values) for epsilon in EPSILONS}
    rows = [
        {
            "family": f"Classes of {classes.size}",
            "setting": name,
            "classes": len(at),
            "record_off": float(np.abs(at[:, None] - values).mean()) / spread,
            "class_off": float(np.abs(at - classes.larger.mean).mean()) / spread,
            "mean_off": abs(float(at.mean()) - everyone) / everyone,
        }
        for name, at in shown.items()
    ]
    return pl.DataFrame(rows)


def _figure_3(data: pl.DataFrame) -> Part:
    panels = [
        Panel("a record's charge off by\n(standard deviations)", "record_off", figures.loss),
        Panel("a class's mean off by\n(standard deviations)", "class_off", figures.loss),
        Panel("the mean of all off by", "mean_off", lambda share: f"{share:.1%}"),
    ]
    colours = {f"Classes of {size}": colour for size, colour in zip(SIZES, (figures.ORANGE, figures.BLUE), strict=True)}
    figure = bar_table("What the classes still tell an analyst", data, panels, colours)
    small, large = (
        {row["setting"]: row for row in data.filter(pl.col("family") == f"Classes of {size}").to_dicts()}
        for size in SIZES
    )
    one = f"private mean, ε = {EPSILONS[-1]:g}"  # least noise: hardly any is clamped
    ratio, asked = small[one]["class_off"] / large[one]["class_off"], SIZES[1] / SIZES[0]
    statement = Statement(
        "The noise is that of a sensitivity of the domain's size divided by k (Section 3.2).",
        f"At ε = {EPSILONS[-1]:g} a class's mean is off by {small[one]['class_off']:.3f} standard deviations with "
        f"classes of {SIZES[0]}, by {large[one]['class_off']:.3f} with classes of {SIZES[1]}: {ratio:.1f} times less, "
        f"where {asked:g} are expected.",
        abs(ratio / asked - 1) <= 4 / large[one]["classes"] ** 0.5,  # standard errors of a mean of such noise
        "Clamping to the domain cuts the wide noise of small classes off.",
    )
    note = (
        "A range stands at its middle. Noisy means are clamped to the domain: where the noise is as wide as the "
        "domain, that moves them towards its middle, and the mean of all with them."
    )
    return Part("Analysts", "What the classes still tell an analyst", data, (statement,), figure, note)


# ---- ten releases


def pool(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    """How many people are below k over the pool of the first r releases, and how many of those asked for are shown."""
    ways = {APART: _apart(table, seed), LEDGER: _by_ledger(table, seed), WHOLE: _whole(table, seed)}
    rows = []
    for way, releases in ways.items():
        pooled: list[Published] = []
        for r, (release, asked) in enumerate(releases, 1):
            pooled.append(release)
            anonymity = Pool.of(pooled).anonymity
            rows.append(
                {
                    "releases": r,
                    "way": way,
                    "below_k": float((anonymity < K).mean()),
                    "smallest": int(anonymity.min()),
                    "mean_anonymity": float(anonymity.mean()),
                    "shown": release.members.height / asked,
                }
            )
    return pl.DataFrame(rows)


def _samples(table: pl.DataFrame, seed: int) -> Iterator[tuple[npt.NDArray[np.int64], Microdata]]:
    random = np.random.default_rng([seed, 3])
    for _ in range(RELEASES):
        rows = np.sort(random.choice(table.height, round(SHARE * table.height), replace=False))
        yield rows, microdata(table[rows].select(KNOWN), KNOWN)


def _published(masked: Masked, rows: npt.NDArray[np.int64]) -> Published:
    people = rows if masked.kept is None else rows[masked.kept]
    shown = pl.DataFrame([column.values() for column in masked.columns.values()])
    return published("A release", shown.with_columns(pl.Series("subject", people)), "subject", KNOWN)


def _apart(table: pl.DataFrame, seed: int) -> Iterator[tuple[Published, int]]:
    for rows, data in _samples(table, seed):
        yield _published(Hilbert().mask(data, [KAnonymity(K)]), rows), len(rows)


def _by_ledger(table: pl.DataFrame, seed: int) -> Iterator[tuple[Published, int]]:
    earlier: list[Published] = []
    for rows, data in _samples(table, seed):
        subjects = pl.Series(rows).cast(pl.String)
        going_on = Incremental(Hilbert(), tuple(earlier), subjects, pl.DataFrame())  # nobody's values change here
        earlier.append(_published(going_on.mask(data, [KAnonymity(K)]), rows))
        yield earlier[-1], len(rows)


def _whole(table: pl.DataFrame, seed: int) -> Iterator[tuple[Published, int]]:
    """Classes made once, of everybody; each release shows some of them."""
    random = np.random.default_rng([seed, 4])
    everyone = Hilbert().mask(microdata(table.select(KNOWN), KNOWN), [KAnonymity(K)])
    label = classes_shown(everyone)
    shown = pl.DataFrame([column.values() for column in everyone.columns.values()])
    for _ in range(RELEASES):
        rows = np.flatnonzero((random.random(label.max() + 1) < SHARE)[label])
        released = shown[rows].with_columns(pl.Series("subject", rows))
        yield published("A release", released, "subject", KNOWN), len(rows)


def _figure_4(data: pl.DataFrame) -> Part:
    def plot(title: str, column: str) -> Plot:
        lines = []
        for way in (APART, LEDGER, WHOLE):
            points = data.filter(pl.col("way") == way)
            lines.append(Curve(way, STROKES[way], dict(zip(points["releases"], points[column], strict=True))))
        return Plot(title, lines, 1.0)

    figure = curves(
        f"Several releases, each about {SHARE:.0%} of the same people",
        [plot(f"people with fewer than {K} alike over all releases", "below_k"), plot("records shown", "shown")],
        "releases",
        "share",
        lambda value: f"{value:.0%}",
    )
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
    return Part("Ten releases", "Effective anonymity over several releases", data, statements, figure, note)
