"""Synthetic hospital discharges: a table like paper 1's (Tables S1 and S2), with no real patient in it.

The world (ZIP codes and hospitals nested in counties, conditions) is the same for every seed; a seed draws
patients of it. Home decides county and, mostly, hospital; the condition decides age, sex and length of stay;
origin follows ZIP code and age, and is what patients report as ethnicity and race; stay, condition and
hospital make the charge. So attributes nest, and correlate in the order of Table S4; and at the paper's
3,985,166 records close to 75 % of them are unique over the nine quasi-identifiers (Figure S3).

Nearly every step draws from a conditional distribution given as a table: a row for each value of what is
known, a column for each value to draw (`Conditional`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import Chunks, parameter
from shoal.data.generators import Generator
from shoal.errors import InputError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

WORLD_SEED = 2009
BLOCK = 50_000  # records drawn from one child stream of the seed

# First ZIP code, county and size (thousands of residents) of each area; an area ends where the next begins.
# Sizes are near the real ones, except that Alameda, Contra Costa and Fresno are larger and Santa Clara is
# smaller: else ZIP code and county would correlate by 0.26, against 0.09 in Table S4 and 0.18 in Table S5.
AREAS = """
90001 Los Angeles 5900, 90620 Orange 260, 90640 Los Angeles 2950, 91701 San Bernardino 620,
91765 Los Angeles 580, 91901 San Diego 3095, 92201 Riverside 230, 92227 Imperial 175, 92253 Riverside 220,
92301 San Bernardino 1415, 92501 Riverside 1740, 92602 Orange 2750, 93001 Ventura 823,
93101 Santa Barbara 240, 93201 Tulare 200, 93230 Kings 153, 93241 Kern 150, 93257 Tulare 242, 93301 Kern 600,
93401 San Luis Obispo 270, 93434 Santa Barbara 184, 93501 Kern 90, 93512 Mono 14, 93521 Inyo 19,
93532 Los Angeles 389, 93601 Madera 151, 93615 Fresno 1300, 93901 Monterey 415, 94002 San Mateo 420,
94030 Santa Clara 150, 94102 San Francisco 805, 94301 Santa Clara 40, 94401 San Mateo 298,
94501 Contra Costa 900, 94545 Alameda 650, 94577 Solano 330, 94593 Napa 136, 94601 Alameda 1620,
94801 Contra Costa 780, 94901 Marin 252, 94951 Sonoma 170, 95001 Santa Cruz 190, 95020 San Benito 55,
95026 Santa Clara 60, 95060 Santa Cruz 72, 95101 Santa Clara 820, 95201 San Joaquin 480, 95229 Calaveras 46,
95301 Merced 256, 95326 San Joaquin 205, 95338 Mariposa 18, 95346 Tuolumne 55, 95350 Stanislaus 514,
95401 Sonoma 314, 95422 Lake 65, 95431 Mendocino 88, 95501 Humboldt 135, 95531 Del Norte 29, 95552 Trinity 14,
95601 Amador 38, 95605 Yolo 201, 95619 El Dorado 181, 95631 Sacramento 420, 95658 Placer 300, 95688 Solano 83,
95701 Placer 48, 95801 Sacramento 999, 95901 Yuba 72, 95910 Sierra 3, 95912 Colusa 21, 95917 Butte 220,
95939 Glenn 28, 95945 Nevada 82, 95953 Sutter 95, 96001 Shasta 177, 96021 Tehama 63, 96031 Siskiyou 45,
96101 Modoc 10, 96103 Plumas 20, 96109 Lassen 35, 96120 Alpine 1, 96141 Nevada 17
"""
ZIP_END = 96_163
RESIDENTS_A_ZIP = 32  # thousands, on average
RESIDENTS_A_HOSPITAL = 95
REFERRED = 0.10  # share of patients sent to the state's largest hospitals, wherever they live


@dataclass(frozen=True)
class Origin:
    """A part of the population, and what it reports as ethnicity (1 to 3) and race (1 to 6), as shares."""

    share: float
    ageing: float  # change of the logarithm of the share with each decade of age
    ethnicity: tuple[float, ...]  # Hispanic, not Hispanic, unknown
    race: tuple[float, ...]  # white, black, native American, Asian, other, unknown


ORIGINS = (
    Origin(0.330, -0.35, (0.96, 0.03, 0.01), (0.42, 0.01, 0.01, 0.01, 0.52, 0.03)),  # Hispanics come first
    Origin(0.480, +0.20, (0.01, 0.96, 0.03), (0.96, 0.00, 0.00, 0.00, 0.02, 0.02)),
    Origin(0.070, +0.02, (0.01, 0.97, 0.02), (0.01, 0.96, 0.00, 0.00, 0.02, 0.01)),
    Origin(0.004, +0.00, (0.06, 0.92, 0.02), (0.05, 0.00, 0.85, 0.00, 0.08, 0.02)),
    Origin(0.090, +0.04, (0.01, 0.96, 0.03), (0.01, 0.00, 0.00, 0.94, 0.03, 0.02)),
)


@dataclass(frozen=True)
class Service:
    """A kind of hospital stay, and the ICD-9-CM categories it treats, the usual ones first."""

    weight: float  # against the other services
    age: tuple[float, float, int, int]  # mean, deviation, least, greatest
    female: float
    stay: tuple[float, float]  # median days, deviation of their logarithm
    price: float  # logarithm of the charge, against an ordinary stay as long
    treats: str


SERVICES = (
    # the newborn, the newborn in intensive care, mothers, children
    Service(12.5, (0, 1, 0, 0), 0.49, (2.3, 0.35), -1.4, "V30 V31 V39"),
    Service(1.1, (0, 1, 0, 0), 0.46, (9.0, 0.95), +0.1, "765 769 774 770 779 760-764 766-768 771-773"),
    Service(13.0, (28, 6, 13, 49), 1.0, (2.6, 0.35), -0.2, "664 654 663 650 659 648 644 645 642 640-669"),
    Service(4.5, (0, 8, 0, 17), 0.45, (2.6, 0.60), -0.2, "466 493 486 540 276 780 008 079 787 745-759"),
    # mind; heart and vessels; infections and lungs; other medicine
    Service(6.5, (40, 17, 6, 110), 0.49, (4.5, 1.00), -0.9, "296 295 298 303 291 292 311 304 309 290-319"),
    Service(15.5, (73, 14, 18, 110), 0.50, (3.4, 0.60), +0.4, "428 414 427 410 401-405 420-438 451-459"),
    Service(13.7, (72, 19, 1, 110), 0.54, (4.2, 0.60), +0.0, "486 038 491 599 682 518 480-485 590-598"),
    Service(12.0, (64, 20, 18, 110), 0.54, (3.3, 0.60), +0.0, "276 786 250 584 780 270-289 580-589 780-799"),
    # surgery; cancer; injuries; convalescence
    Service(12.0, (61, 17, 18, 110), 0.60, (3.2, 0.55), +0.6, "715 574 722 540 564-579 614-629 710-739"),
    Service(4.0, (65, 15, 18, 110), 0.53, (4.4, 0.70), +0.5, "162 174 153 185 140-165 170-176 179-208"),
    Service(7.0, (60, 25, 2, 110), 0.53, (3.8, 0.70), +0.5, "820 996 998 808 824 823 800-848 850-854"),
    Service(2.5, (76, 12, 18, 110), 0.56, (13.0, 0.95), -0.6, "V57 V58 V54 438 344 707"),
)
PRICE = 9.08  # logarithm of an ordinary charge for less than a day: a tenth of all charges exceed 100,000
QUARTERS = (0.256, 0.250, 0.247, 0.247)
OLDEST = 85  # years, and older
DECADES = OLDEST // 10 + 1


@dataclass(frozen=True)
class Conditional:
    """Distributions over the same values, one a row; `steps` cumulates their shares, row r from r to r+1."""

    steps: Floats
    width: int

    @classmethod
    def of(cls, weights: npt.ArrayLike) -> Conditional:
        """The distributions of a table of weights, one a row; weights need not sum up to 1."""
        table = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        steps = np.cumsum(table, axis=1)
        steps /= steps[:, -1:]
        return cls((steps + np.arange(len(table))[:, None]).ravel(), table.shape[1])

    def draw(self, rows: Ints, rng: np.random.Generator) -> Ints:
        """Draws one value for each of `rows`, from the distribution of that row."""
        # 24 bits: a longer share, added to the row's number, could round up into the next row
        shares = rng.random(rows.size, dtype=np.float32)
        return np.searchsorted(self.steps, rows + shares, side="right") - rows * self.width


@dataclass(frozen=True)
class Zips:
    """The ZIP codes of the world: the county of each, and its residents in thousands."""

    code: Ints
    county: Ints
    residents: Floats


@dataclass(frozen=True)
class Hospitals:
    """The hospitals of the world, where they stand, how large and how dear they are."""

    code: Ints
    county: Ints
    near: Ints  # the ZIP code it stands in
    beds: Floats
    price: Floats  # logarithm, against the others


@dataclass(frozen=True)
class Conditions:
    """What patients are treated for: the service, how common it is, how long they stay and what it costs."""

    code: pl.Series
    service: Ints
    weight: Floats
    stay: Floats  # mean logarithm of the days
    price: Floats  # logarithm, against an ordinary stay as long


@dataclass(frozen=True)
class World:
    """What all patients share: homes, hospitals and conditions, and how one attribute follows from others."""

    zips: Zips
    hospitals: Hospitals
    conditions: Conditions
    home: Conditional
    hospital: Conditional  # given the ZIP code
    origin: Conditional  # given ZIP code and decade of age
    reported: Conditional  # ethnicity and race, given the origin
    condition: Conditional
    age: Conditional  # given the service
    sex: Conditional  # given the service
    quarter: Conditional


@cache
def world() -> World:
    """The one world of all tables, drawn on first use."""
    land, care, people, medicine = np.random.default_rng(WORLD_SEED).spawn(4)
    zips = _zips(land)
    hospitals = _hospitals(zips, care)
    conditions = _conditions(medicine)
    return World(
        zips,
        hospitals,
        conditions,
        home=Conditional.of(zips.residents),
        hospital=Conditional.of(_attraction(zips, hospitals)),
        origin=Conditional.of(_neighbourhoods(zips, people)),
        reported=Conditional.of([np.outer(o.ethnicity, o.race).ravel() for o in ORIGINS]),
        condition=Conditional.of(conditions.weight),
        age=Conditional.of([_ages(*s.age) for s in SERVICES]),
        sex=Conditional.of([(1 - s.female, s.female, 0.0002) for s in SERVICES]),
        quarter=Conditional.of(QUARTERS),
    )


def _zips(rng: np.random.Generator) -> Zips:
    """ZIP codes scattered over each area, of very unequal sizes; county codes follow the alphabet."""
    areas = [area.split() for area in AREAS.split(",")]
    firsts = [int(area[0]) for area in areas]
    names = [" ".join(area[1:-1]) for area in areas]
    counties = sorted(set(names))
    codes, county, residents = [], [], []
    for area, first, end, name in zip(areas, firsts, [*firsts[1:], ZIP_END], names, strict=True):
        n = min(1 + int(area[-1]) // RESIDENTS_A_ZIP, end - first)
        sizes = rng.lognormal(0, 1, n)
        codes.append(np.sort(rng.choice(np.arange(first, end), n, replace=False)))
        county.append(np.full(n, counties.index(name) + 1))
        residents.append(int(area[-1]) * sizes / sizes.sum())
    return Zips(np.concatenate(codes), np.concatenate(county), np.concatenate(residents))


def _hospitals(zips: Zips, rng: np.random.Generator) -> Hospitals:
    """Hospitals where people live, numbered 1CCNNN in county CC; the smallest counties have none."""
    codes, near = [], []
    for county in np.unique(zips.county):
        here = zips.county == county
        residents = zips.residents[here].sum()
        n = int(residents / RESIDENTS_A_HOSPITAL + (residents > 5))
        codes.append(100_000 + 1_000 * county + np.sort(rng.choice(np.arange(1, 1_000), n, replace=False)))
        near.append(rng.choice(zips.code[here], n, p=zips.residents[here] / residents))
    code = np.concatenate(codes)
    beds, price = rng.lognormal(0, 0.9, code.size), rng.normal(0, 0.3, code.size)
    return Hospitals(code, code // 1_000 % 100, np.concatenate(near), beds, price)


def _attraction(zips: Zips, hospitals: Hospitals) -> Floats:
    """Share of each ZIP code's patients that each hospital treats: most go to a near one, some far away."""
    distance = np.abs(zips.code[:, None] - hospitals.near)
    near, large = hospitals.beds / (1 + distance / 6) ** 3, hospitals.beds**4
    shares: Floats = (1 - REFERRED) * near / near.sum(axis=1, keepdims=True) + REFERRED * large / large.sum()
    return shares


def _neighbourhoods(zips: Zips, rng: np.random.Generator) -> Floats:
    """Weights of the origins in each ZIP code and decade of age; there are more Hispanics in the south."""
    shares = np.log([o.share for o in ORIGINS])
    by_decade = np.outer(np.arange(DECADES) - DECADES // 2, [o.ageing for o in ORIGINS])
    by_zip = rng.normal(0, 1.4, (zips.code.size, 1, len(ORIGINS)))
    by_zip[:, 0, 0] -= 0.45 * (zips.code - zips.code.mean()) / zips.code.std()
    weights: Floats = np.exp(shares + by_zip + by_decade)
    return weights.reshape(-1, len(ORIGINS))


def _conditions(rng: np.random.Generator) -> Conditions:
    """The categories of each service in Zipf's proportions, each with a stay and a price of its own."""
    lists = [_categories(s.treats) for s in SERVICES]
    service = np.repeat(np.arange(len(SERVICES)), [len(codes) for codes in lists])
    zipf = [1 / np.arange(1, len(codes) + 1) for codes in lists]
    weight = np.concatenate([s.weight * z / z.sum() for s, z in zip(SERVICES, zipf, strict=True)])
    stay = np.log([s.stay[0] for s in SERVICES])[service] + rng.normal(0, 0.2, service.size)
    price = np.array([s.price for s in SERVICES])[service] + rng.normal(0, 0.2, service.size)
    return Conditions(pl.Series([code for codes in lists for code in codes]), service, weight, stay, price)


def _categories(text: str) -> list[str]:
    """`"038 V33-V35"` -> 038, V33, V34, V35; a category named again in a range keeps its first place."""
    codes: list[str] = []
    for part in text.split():
        first, _, last = part.partition("-")
        prefix = first[: first.startswith("V")]
        numbers = range(int(first.removeprefix("V")), int((last or first).removeprefix("V")) + 1)
        codes += [f"{prefix}{number:0{3 - len(prefix)}}" for number in numbers]
    return list(dict.fromkeys(codes))


def _ages(mean: float, deviation: float, least: int, greatest: int) -> Floats:
    """Weights of the ages: a normal curve between the least and the greatest age, top-coded."""
    ages = np.arange(least, greatest + 1)
    weights = np.zeros(OLDEST + 1)
    np.add.at(weights, np.minimum(ages, OLDEST), np.exp(-(((ages - mean) / deviation) ** 2) / 2))
    return weights


class Discharges(Generator):
    """Synthetic hospital discharges: nine quasi-identifiers, charge and diagnosis."""

    rows: int = parameter("how many discharges", default=100_000, least=1)

    in_chunks = Chunks("a million records at a time")
    examples = ("--rows 200000 --seed 7 -o d.csv", "--rows 4000000 -o d.parquet", "--rows 100000000 -o discharges/")

    @property
    def records(self) -> int:
        """As many as are asked for."""
        return self.rows

    def table(self, seed: int | None = None) -> pl.DataFrame:
        """All records."""
        return discharges(self.rows, seed)

    def chunks(self, size: int, seed: int | None = None) -> Iterator[pl.DataFrame]:
        """The same records, so many at a time."""
        return discharge_chunks(self.rows, seed, size)

    def made(self, records: int) -> str:
        """What was made, in words."""
        return f"{records:,} discharges"


def discharges(rows: int, seed: int | None = None) -> pl.DataFrame:
    """A table of `rows` synthetic hospital discharges, the eleven attributes of Table S1."""
    return pl.concat(discharge_chunks(rows, seed), rechunk=True)


def discharge_chunks(rows: int, seed: int | None = None, chunk: int = 1_000_000) -> Iterator[pl.DataFrame]:
    """The table of `discharges` in pieces of `chunk` records, for more of them than fit in memory."""
    if rows < 1:
        raise InputError(f"A table of {rows} discharges cannot be made; ask for at least 1 row.")
    if chunk < 1:
        raise InputError(f"Chunks of {chunk} discharges cannot be made; ask for at least 1 row in each.")
    if seed is not None and seed < 0:
        raise InputError(f"The seed {seed} is negative; give a whole number from 0 up.")
    source = np.random.SeedSequence(seed)
    return (_records(source, start, min(start + chunk, rows)) for start in range(0, rows, chunk))


def _records(source: np.random.SeedSequence, start: int, end: int) -> pl.DataFrame:
    """Records start to end of the endless table that a seed stands for, made of blocks with a stream each."""
    blocks = range(start // BLOCK, (end - 1) // BLOCK + 1)
    streams = (np.random.SeedSequence(source.entropy, spawn_key=(block,)) for block in blocks)
    frames = [_block(np.random.default_rng(stream)) for stream in streams]
    return pl.concat(frames).slice(start - blocks[0] * BLOCK, end - start)


def _block(rng: np.random.Generator) -> pl.DataFrame:
    w = world()
    anyone = np.zeros(BLOCK, dtype=np.int64)
    home = w.home.draw(anyone, rng)
    hospital = w.hospital.draw(home, rng)
    condition = w.condition.draw(anyone, rng)
    age, sex, ethnicity, race = _person(home, condition, rng)
    days, quarter = _stay(condition, rng)
    numbers = {
        "oshpd_id": w.hospitals.code[hospital],
        "age_yrs": age,
        "sex": sex,
        "ethncty": ethnicity,
        "race": race,
        "patzip": w.zips.code[home],
        "patcnty": w.zips.county[home],
        "los": days,
        "adm_qtr": quarter,
        "charge": _charge(hospital, condition, days, rng),
    }
    frame = pl.DataFrame({name: values.astype(np.int32) for name, values in numbers.items()})
    return frame.with_columns(diag_p=w.conditions.code.gather(condition))


def _person(home: Ints, condition: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Ints, Ints]:
    """Age, sex, ethnicity and race."""
    w = world()
    service = w.conditions.service[condition]
    age, sex = w.age.draw(service, rng), w.sex.draw(service, rng)
    origin = w.origin.draw(home * DECADES + age // 10, rng)
    ethnicity, race = np.divmod(w.reported.draw(origin, rng), len(ORIGINS[0].race))
    return age, sex + 1, ethnicity + 1, race + 1


def _stay(condition: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Length in full days, and quarter of admission."""
    w = world()
    spread = np.array([s.stay[1] for s in SERVICES])[w.conditions.service[condition]]
    days = np.exp(w.conditions.stay[condition] + spread * rng.standard_normal(condition.size))
    quarter = w.quarter.draw(np.zeros_like(condition), rng) + 1
    return days.astype(np.int64), quarter


def _charge(hospital: Ints, condition: Ints, days: Ints, rng: np.random.Generator) -> Ints:
    """Dollars: they grow with the stay, nearly in proportion."""
    w = world()
    expected = PRICE + w.hospitals.price[hospital] + w.conditions.price[condition] + 0.95 * np.log1p(days)
    return np.exp(rng.normal(expected, 0.35)).astype(np.int64)
