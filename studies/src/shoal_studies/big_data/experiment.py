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
from shoal.risk.dependence import Dependence, dependence
from shoal.utility.information_loss import attribute_loss
from shoal_studies.driver import DATA, Step

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

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BigData:
    """Measures everything on so many generated patients; private noise has no seed."""

    rows: int = 20_000
    seed: int = 1

    def __post_init__(self) -> None:
        require("study big-data", "rows", self.rows, "a whole number of at least 1,000", holds=self.rows >= 1_000)
        require("study big-data", "seed", self.seed, "a whole number of at least 0", holds=self.seed >= 0)

    @property
    def manner(self) -> str:
        return f"k = {K}"

    def steps(self) -> Sequence[Step]:
        return (
            Step(DATA, "generating patients", self._data),
            Step("dimensions", "the curse of dimensionality", lambda: dimensions(self.table)),
            Step("dependence", "dependence", self._pairs),
            Step("shared", "attributes to share classes", self._shared),
            Step("attacks", "attacks on one person", self._of_classes(attacks)),
            Step("analyses", "what analysts learn", self._of_classes(analyses)),
            Step("pool", "ten releases", lambda: pool(self.table, self.seed)),
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        return patients(self.rows, self.seed)

    @cached_property
    def _dependence(self) -> Dependence:
        data = microdata(self.table, KNOWN)
        return dependence([data[name] for name in SECRET])

    def _data(self) -> pl.DataFrame:
        return pl.DataFrame({"table": [f"{self.rows:,} generated patients"], "records": [self.rows]})

    def _pairs(self) -> pl.DataFrame:
        rows = [
            {
                "attributes": f"{pair.first}, {pair.second}",
                "association": pair.association,
                "bits": pair.information,
                "p": pair.p,
                "dependent": "yes" if pair.dependent else "no",
            }
            for pair in self._dependence.pairs
        ]
        return pl.DataFrame(rows)

    def _shared(self) -> pl.DataFrame:
        return pl.DataFrame({"attributes": [", ".join(names) for names in self._dependence.components]})

    def _of_classes(self, measure: Callable[[Classes], pl.DataFrame]) -> Callable[[], pl.DataFrame]:
        return lambda: pl.concat([measure(Classes.of(self.table, size, self.seed)) for size in SIZES])


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
