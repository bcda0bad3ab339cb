"""A case: a table, what is asked of Shoal, and the command that asks for it. Everything follows from one seed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from torture.people import People, draw_people
from torture.tables import Column, Table, draw_table, write

GROUPING = ("hilbert", "sorted", "stratified", "kd", "kd-median", "mdav", "mdav+")
RECODING = ("recode", "cut-points", "coarsen", "safe-harbor")
PERTURBING = ("noise", "multiplicative-noise", "swap", "pram", "shuffle", "resample", "individual-ranking")
INPUTS = (
    ".csv",
    ".csv",
    ".tsv",
    ".csv.gz",
    ".parquet",
    ".parquet",
    ".arrow",
    ".arrow",
    ".xlsx",
    ".db",
    ".sav",
    ".dta",
    ".xpt",
)
OUTPUTS = INPUTS
PARTS = (".csv", ".parquet")  # what tables in parts are read from
PLAIN = (".xlsx", ".db", ".sav", ".dta", ".xpt")  # know few types, or few names
TYPED = (".parquet", ".arrow")  # know many types

# What can be promised of a class, as words of the command line; the numbers are drawn.
EXTRA = ("", "", "l", "l entropy", "l recursive", "t", "l and t")


@dataclass(frozen=True)
class Case:
    seed: int
    table: Table
    method: str
    promises: dict[str, float]  # "k", "l", "t", "k-map" or "measured-risk" -> what is asked
    variant: str  # of l-diversity
    known: str  # of k-map: "population" or "fraction"
    options: tuple[str, ...]  # other words that say how
    suppress: float
    source: str  # suffix of the input
    target: str  # suffix of the output; empty: a folder
    engine: str
    parts: int  # files of the input
    built: bool = False  # hierarchies are left to Shoal
    people: People | None = None  # where they are what is counted, or shown by pseudonyms

    @property
    def name(self) -> str:
        asked = " ".join(f"{name} {level:g}" for name, level in self.promises.items())
        how = " ".join(self.options)
        what = f"{self.method} {how}".strip()
        if self.people is not None:
            what += f", {self.people.promise} {self.people.form}".rstrip()
        return f"seed {self.seed}: {what}, {asked}, {self.source} to {self.target or 'a folder'}, {self.engine}"

    @property
    def publish(self) -> str:
        """What a class shows: its range, unless another way is asked for or the method has its own."""
        asked = [item.removeprefix("publish=") for item in self.parameters if item.startswith("publish=")]
        return asked[0] if asked else "mean" if self.method in ("mdav", "mdav+") else "range"

    @property
    def parameters(self) -> tuple[str, ...]:
        """What rides with the method's word: KEY=VALUE."""
        return self.options[: self.options.index("--show")] if self.show else self.options

    @property
    def show(self) -> bool:
        """Is what is confidential shown class by class?"""
        return "--show" in self.options

    def models(self) -> list[str]:
        """The promises' names as the figures count them."""
        named = {"l": f"l-diversity ({self.variant})", "k-map": f"k-map by {self.known}", "k": "k-anonymity"}
        if self.people is not None and self.people.counted:
            named["k"] = "persons"
        shown = [f"pseudonyms ({self.people.form})"] if self.people and self.people.form else []
        return [named.get(name, {"t": "t-closeness"}.get(name, name)) for name in self.promises] + shown


def draw_people_case(seed: int, engines: tuple[str, ...]) -> Case:
    """Of people with several records, households, or pseudonyms."""
    case = draw_case(seed, engines, (*GROUPING, *GROUPING, *RECODING))
    rng = np.random.default_rng([seed, 1])
    plain = case.source in PLAIN or case.target in PLAIN
    people, table = draw_people(rng, case.table, plain=plain, typed=case.source in TYPED)
    case = replace(case, table=table, people=people, options=case.parameters)
    if people.promise not in ("linked", "households"):
        return case
    # Whole histories are compared: of classes of their own, by what groups, mostly.
    size = case.promises.get("k", case.promises.get("k-map", 2))
    diverse = {"l": case.promises["l"]} if "l" in case.promises and rng.random() < 0.5 else {}
    method = case.method if case.method in GROUPING or rng.random() < 0.1 else "hilbert"
    options = case.options if case.method == method else ()
    promises = {people.promise: min(size, 3), **diverse}
    return replace(case, method=method, options=options, promises=promises, known="", suppress=0.0)


def draw_case(
    seed: int,
    engines: tuple[str, ...],
    methods: tuple[str, ...] = (*(GROUPING * 2), *(RECODING * 2), *(PERTURBING * 2)),
) -> Case:
    """Mostly what can be done; one case in ten may ask for what cannot."""
    rng = np.random.default_rng(seed)
    engine = str(rng.choice(engines))
    in_memory, sensible = engine == "memory", bool(rng.random() < 0.9)
    method = str(rng.choice(methods))
    if sensible and (method == "multiplicative-noise" or (method == "cut-points" and not in_memory)):
        method = "hilbert"
    source = str(rng.choice(INPUTS if in_memory else PARTS))
    target = str(rng.choice(OUTPUTS)) if in_memory else ""
    table = draw_table(
        rng,
        plain=source in PLAIN or target in (".sav", ".dta", ".xpt"),
        typed=source in TYPED and bool(rng.random() < 0.3),
        kinds=KINDS.get(method, "any") if sensible else "any",
        varied=sensible and method in PERTURBING,
    )
    simple = ("coarsen", "safe-harbor") if in_memory else ("coarsen", "safe-harbor", "recode")  # look for k alone
    k_alone = sensible and method in simple
    promises, variant, known = _promises(rng, method, k_alone=k_alone, k_map=in_memory or not sensible)
    options = _options(rng, method, table, whole=in_memory or not sensible)
    suppress = float(rng.choice([0, 0, 0.1, 0.4])) if method in (*GROUPING, "recode", "cut-points") else 0.0
    parts = int(rng.integers(1, 4)) if not in_memory else 1
    built = method == "recode" and bool(rng.random() < 0.4)
    return Case(seed, table, method, promises, variant, known, options, suppress, source, target, engine, parts, built)


# What a method is for, where that is not every column.
KINDS = {
    **dict.fromkeys(
        ("noise", "multiplicative-noise", "swap", "shuffle", "resample", "cut-points", "coarsen", "individual-ranking"),
        "ordered",
    ),
    "pram": "unordered",
    "safe-harbor": "discharges",
}


def _promises(
    rng: np.random.Generator, method: str, *, k_alone: bool, k_map: bool
) -> tuple[dict[str, float], str, str]:
    if method in PERTURBING:
        return {"measured-risk": float(rng.choice([0.1, 0.3, 0.6, 0.9]))}, "", ""
    size = float(rng.choice([2, 3, 5]))
    if rng.random() < (0.3 if method == "recode" else 0.12) and k_map:
        known = "fraction" if method == "recode" and rng.random() < 0.5 else "population"
        return {"k-map": size}, "", known
    promises = {"k": size}
    extra = "" if k_alone else str(rng.choice(EXTRA))
    if extra.startswith("l"):
        promises["l"] = float(rng.choice([2, 3])) if extra != "l entropy" else float(rng.choice([1.5, 2]))
    if "t" in extra.split():
        promises["t"] = float(rng.choice([0.2, 0.35, 0.5]))
    variant = extra.split()[1] if extra in ("l entropy", "l recursive") else "distinct"
    return promises, variant if "l" in promises else "", ""


def _options(rng: np.random.Generator, method: str, table: Table, *, whole: bool) -> tuple[str, ...]:
    """Now and then another way of doing it; of what perturbs, strongly enough to have a chance."""
    if method in PERTURBING:
        strong = {"noise": "gamma=4", "swap": "p=0.9", "pram": "p=0.95", "shuffle": "p=0.1"}
        return tuple(strong.get(method, "").split()) if rng.random() < 0.8 else ()
    if method == "coarsen":
        return (f"resolution={rng.choice([1, 2])}",)
    if method == "cut-points":
        return ("seconds=2",)
    if method == "recode":
        return ("local=true",) if whole and rng.random() < 0.3 else ()
    found: tuple[str, ...] = ()
    if method in GROUPING and rng.random() < 0.25:
        found += (f"publish={rng.choice(['mean', 'median'])}",)
    if method in GROUPING and whole and rng.random() < 0.1:
        shown = [f"{column.name}={rng.choice(['range', 'mean', 'median'])}" for column in table.confidential]
        found += ("--show", listed(shown))
    return found


# ---- the command


def _method(case: Case) -> str:
    return f"{case.method}:{','.join(case.parameters)}" if case.parameters else case.method


def promised(case: Case, people: str = "") -> list[str]:
    """The promises as options, each with what rides with it."""
    more = {"l": f",variant={case.variant}" if case.variant else ""}
    more["k-map"] = {"fraction": ",fraction=0.1", "population": f',"population={people}"', "": ""}[case.known]
    words: list[str] = []
    for name, level in case.promises.items():
        if name == "measured-risk":
            words += ["--promise", f"measured-risk:level={level:g}"]
        elif name == "linked":
            words += ["--promise", f"linked:k={level:g}"]
        elif name == "households" and case.people is not None:
            words += ["--promise", f"households:k={level:g},column={case.people.column},shared=none"]
        else:
            words += [f"--{name}", f"{level:g}{more.get(name, '')}"]
    return words


def words_of(case: Case, folder: Path) -> list[str]:
    """The command, in a folder that holds the table."""
    columns = (*case.table.quasi, *case.table.confidential)
    words = ["anonymize", _written(case, folder), "-o", place(output_of(case, folder)), "--method", _method(case)]
    words += ["--quasi", listed(column.name for column in case.table.quasi)]
    words += ["--confidential", listed(column.name for column in case.table.confidential)]
    words += ["--identifiers", "identifier", "--seed", str(seed_of(case))]
    words += ["--insensitive", listed(["rid", *(case.people.dates if case.people else ())])]
    words += case.people.words(folder) if case.people else []
    words += [word for column in columns for word in ("--kind", listed([f"{column.name}={_kind(column)}"]))]
    if case.known == "population":
        write(population(case), folder / "population.parquet")
    words += promised(case, str(folder / "population.parquet"))
    if case.engine == "memory":
        words += ["--certificate", str(folder / "certificate.json")] if case.target != ".db" else []
        if ".csv" in case.source or case.source == ".tsv":
            texts = [column.name for column in columns if column.values.dtype == pl.String]
            words += ["--read", listed(f"text={name}" for name in texts)] if texts else []
    else:
        words += ["--engine", case.engine]
    words += ["--suppress", f"{case.suppress:g}"] if case.suppress else []
    words += ["--hierarchies", str(_hierarchies(case, folder / "trees"))] if _trees_given(case) else []
    return [*words, *case.options[len(case.parameters) :]]


def _trees_given(case: Case) -> bool:
    return case.method == "recode" and not case.built


def _written(case: Case, folder: Path) -> str:
    """Where the table is: a file, or a folder of several."""
    if case.engine == "memory":
        case.table.write(folder / f"in{case.source}")
        return place(folder / f"in{case.source}")
    (folder / "in").mkdir()
    size = -(-case.table.rows // case.parts)
    for i, start in enumerate(range(0, case.table.rows, size)):
        case.table.take(slice(start, start + size)).write(folder / "in" / f"part{i}{case.source}")
    return str(folder / "in")


def output_of(case: Case, folder: Path) -> Path:
    return folder / f"out{case.target}"


def place(path: Path) -> str:
    """What the command line calls a file."""
    return f"sqlite:///{path}#people" if path.suffix == ".db" else str(path)


def population(case: Case) -> pl.DataFrame:
    """Everybody in the table, and twice as many besides who are like somebody in it in each column."""
    rng = np.random.default_rng(case.seed)
    rows = case.table.rows
    return pl.DataFrame(
        {
            column.name: column.values.gather(np.append(np.arange(rows), rng.integers(0, rows, 2 * rows)))
            for column in case.table.quasi
        }
    )


def _hierarchies(case: Case, folder: Path) -> Path:
    """A tree of three levels for each quasi-identifier, its labels such as read like masks."""
    folder.mkdir()
    for column in case.table.quasi:
        with (folder / f"{column.name}.csv").open("w", newline="", encoding="utf-8") as file:
            tree = labels(column)
            coarser = len(set(tree.values())) < len(tree)
            csv.writer(file, delimiter=";").writerows(
                [value, label, "*"] if coarser else [value, "*"] for value, label in tree.items()
            )
    return folder


LABELS = ("{z}", "x*", "9\\3", "plain", "[a;b]")


def labels(column: Column) -> dict[str, str]:
    """Value -> the group it belongs to."""
    values = column.values.drop_nulls().unique().sort()
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return {text: LABELS[i * len(LABELS) // len(texts)] for i, text in enumerate(texts)}


def seed_of(case: Case) -> int:
    """Long enough to be searched for."""
    return 8_230_917_465_000_000 + case.seed


def listed(names: Iterable[str]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(list(names))
    return written.getvalue()


def _kind(column: Column) -> str:
    if not column.ordered:
        return "nominal"
    return "date" if column.values.dtype in (pl.Date, pl.Datetime, pl.Time) else "numeric"
