"""Purchase histories: random ones through `shoal transactions anonymize`, and what must be true of what comes out."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from torture.process import Answer, Shoal
from torture.reading import Row, read_release
from torture.tables import token

SHOWN = {"day": "time", "price": "price", "pieces": "quantity", "visit": "basket"}  # column -> what it is called


def run_purchases(seed: int, shoal: Shoal, folder: Path) -> tuple[str, str | None]:
    """Whether it was "released" or "refused", and what is wrong about that."""
    rng = np.random.default_rng(seed)
    table = _purchases(rng)
    table.write_csv(folder / "in.csv")
    suffix = str(rng.choice([".csv", ".parquet", ".arrow"]))
    words = ["transactions", "anonymize", str(folder / "in.csv"), "-o", str(folder / f"out{suffix}")]
    words += ["--customer", "who", "--item", "good", "--seed", str(seed)]
    if rng.random() < 0.2:
        k, m = int(rng.choice([2, 3])), int(rng.choice([1, 2]))
        words += ["--basket", "visit", "--k", str(k), "--m", str(m)]
        answer = shoal(words)
        return _judged(answer, folder, lambda rows: _few_baskets(rows, k, m), suffix)
    size = int(rng.choice([2, 3, 5]))
    show = [name for name in SHOWN if rng.random() < 0.5] if rng.random() < 0.5 else []
    dummies = str(rng.choice(["scattered", "visits", "records"]))
    words += ["--min-size", str(size), "--method", str(rng.choice(["balanced", "method-1", "method-2"]))]
    words += [word for name, role in SHOWN.items() for word in (f"--{role}", name)]
    words += ["--show", ",".join(show), "--dummies", dummies] if show else []
    words += ["--map", str(folder / "map.csv")]
    answer = shoal(words)
    same = ["good", *(name for name in show if name != "visit")] if show and dummies != "records" else ["good"]
    return _judged(answer, folder, lambda rows: _alone(rows, same, size) or _not_theirs(rows, folder, table), suffix)


def _purchases(rng: np.random.Generator) -> pl.DataFrame:
    customers, goods = int(rng.choice([4, 12, 30])), int(rng.choice([3, 10, 40]))
    records = customers * int(rng.integers(2, 8))
    who = np.append(np.arange(customers), rng.integers(0, customers, records - customers))
    names = np.array([token(rng, "customer") for _ in range(customers)])
    popular = rng.dirichlet(np.full(goods, 0.5))
    visit = rng.integers(0, 3, records)
    return pl.DataFrame(
        {
            "who": names[who],
            "good": [f"g{good}" for good in rng.choice(goods, records, p=popular)],
            "day": [f"2020-01-{1 + (int(c) * 3 + int(v)) % 28:02d}" for c, v in zip(who, visit, strict=True)],
            "price": rng.integers(1, 50, records),
            "pieces": rng.integers(1, 5, records),
            "visit": who * 3 + visit,
        }
    )


def _judged(answer: Answer, folder: Path, wrong_in: object, suffix: str) -> tuple[str, str | None]:
    output = folder / f"out{suffix}"
    if "went wrong inside" in answer.err or answer.code not in (0, 1, 2):
        return "refused", f"exit code {answer.code}: {answer.err.strip()[-300:]}"
    if answer.code:
        return "refused", "refused, and a file stands there" if output.exists() else None
    rows = read_release(output)
    return "released", _named_people(rows, folder) or wrong_in(rows)  # type: ignore[operator]


def _named_people(rows: list[Row], folder: Path) -> str | None:
    people = set(pl.read_csv(folder / "in.csv", infer_schema=False)["who"])
    named = [cell for row in rows for cell in row.values() if cell in people]
    return f"{named[0]} is named" if named else None


def _alone(rows: list[Row], same: list[str], size: int) -> str | None:
    """Fewer customers than promised with the same records, as far as these columns go; of goods alone, the same set."""
    histories: dict[str | None, Counter[tuple[str | None, ...]]] = defaultdict(Counter)
    for row in rows:
        histories[row["who"]][tuple(row[name] for name in same)] += 1
    alike = Counter(frozenset(one if same == ["good"] else one.items()) for one in histories.values())
    least = min(alike.values())
    return f"{least} customers are alike in {', '.join(same)}, {size} were promised" if least < size else None


def _not_theirs(rows: list[Row], folder: Path, table: pl.DataFrame) -> str | None:
    """Everybody is there under a number of their own, with all that they bought."""
    if (folder / "map.csv").stat().st_mode & 0o077:
        return "others may read who is who"
    with (folder / "map.csv").open(newline="", encoding="utf-8") as file:
        _, *pairs = csv.reader(file)
    bought: dict[str, set[str]] = defaultdict(set)
    for who, good in table.select("who", "good").iter_rows():
        bought[who].add(good)
    shown: dict[str | None, set[str | None]] = defaultdict(set)
    for row in rows:
        shown[row["who"]].add(row["good"])
    people = dict(pair if pair[0] in bought else pair[::-1] for pair in pairs)
    if set(people) != set(bought) or sorted(people.values()) != sorted(map(str, shown)):
        return "the map does not name everybody"
    lost = [who for who, number in people.items() if not bought[who] <= shown[number]]
    return f"{lost[0]} is shown without something bought" if lost else None


def _few_baskets(rows: list[Row], k: int, m: int) -> str | None:
    """A set of up to m goods that stand together in fewer than k baskets."""
    baskets: dict[object, set[str]] = defaultdict(set)
    for row in rows:
        baskets[tuple(row[name] for name in row if name != "good")].add(row["good"] or "")
    often = Counter(
        one for goods in baskets.values() for size in range(1, m + 1) for one in combinations(sorted(goods), size)
    )
    rare = [(one, count) for one, count in often.items() if count < k]
    return f"{rare[0][0]} stand in {rare[0][1]} baskets, {k} were promised" if rare else None
