"""A case: a table, what is asked of Shoal, and what must then be true. Everything follows from one seed."""

from __future__ import annotations

import csv
import io
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torture import judge
from torture.process import Answer, Shoal
from torture.reading import all_bytes, read_release
from torture.tables import Column, Table, draw_table

GROUPING = ("hilbert", "sorted", "stratified", "kd", "kd-median", "mdav", "mdav+")
RECODING = ("recode", "cut-points", "coarsen", "safe-harbor")
PERTURBING = ("noise", "mnoise", "swap", "pram", "shuffle", "resample", "microaggregate")
INPUTS = (".csv", ".parquet", ".arrow")
OUTPUTS = (".csv", ".tsv", ".csv.gz", ".parquet", ".arrow", ".xlsx", ".sav", ".dta")
TYPED = (".csv", ".tsv", ".csv.gz", ".parquet", ".arrow")  # in which values can be read back as they were
TRUTHFUL = ("hilbert", "sorted", "stratified", "kd", "kd-median", "cut-points", "recode")  # others show means, or bands
CATCH_ALL = ("Something went wrong inside", "Traceback (most recent call last)")


@dataclass(frozen=True)
class Case:
    seed: int
    table: Table
    method: str
    promises: dict[str, float]
    suppress: float
    source: str  # suffix of the input
    target: str  # suffix of the output
    engine: str

    @property
    def name(self) -> str:
        asked = " ".join(f"{name} {level:g}" for name, level in self.promises.items())
        return f"seed {self.seed}: {self.method}, {asked}, {self.source} to {self.target}, {self.engine}"


def draw_case(seed: int, engines: tuple[str, ...]) -> Case:
    rng = np.random.default_rng(seed)
    method = str(rng.choice([*GROUPING, *GROUPING, *RECODING, *PERTURBING]))
    engine = str(rng.choice(engines))
    promises: dict[str, float] = {}
    if method in PERTURBING:
        promises["measured-risk"] = float(rng.choice([0.05, 0.2, 0.5]))
    else:
        promises["k"] = float(rng.choice([2, 3, 5]))
        extra = rng.choice(["", "l", "t"])
        if extra:
            promises[str(extra)] = float(rng.choice([2, 3])) if extra == "l" else float(rng.choice([0.1, 0.3, 0.5]))
    target = str(rng.choice(OUTPUTS)) if engine == "memory" else ""
    suppress = float(rng.choice([0, 0, 0.1, 0.4]))
    return Case(seed, draw_table(rng), method, promises, suppress, str(rng.choice(INPUTS)), target, engine)


def words_of(case: Case, folder: Path) -> list[str]:
    """The command, in a folder that holds the table."""
    source = folder / f"in{case.source}"
    if case.engine == "memory":
        case.table.write(source)
    else:  # a folder of two files
        source = folder / "in"
        source.mkdir()
        case.table.write(source / f"part{'.parquet' if case.source == '.arrow' else case.source}")
    columns = (*case.table.quasi, *case.table.confidential)
    words = ["anonymize", str(source), "-o", str(folder / f"out{case.target}"), "--method", case.method]
    words += ["--quasi", _listed(column.name for column in case.table.quasi)]
    words += ["--confidential", _listed(column.name for column in case.table.confidential)]
    words += ["--identifiers", "identifier", "--insensitive", "rid", "--seed", str(seed_of(case))]
    words += [word for column in columns for word in ("--kind", _listed([f"{column.name}={_kind(column)}"]))]
    words += [word for name, level in case.promises.items() for word in (f"--{name}", f"{level:g}")]
    if case.engine == "memory":
        words += ["--certificate", str(folder / "certificate.json")]
        if case.source == ".csv" and (texts := [c.name for c in columns if str(c.values.dtype) == "String"]):
            words += ["--text", _listed(texts)]
    else:
        words += ["--engine", case.engine]
    if case.suppress and case.method in GROUPING:
        words += ["--suppress", f"{case.suppress:g}"]
    if case.method == "coarsen":
        words += ["--resolution", "2"]
    if case.method == "recode":
        words += ["--hierarchies", str(_hierarchies(case, folder / "trees"))]
    if case.method == "cut-points":
        words += ["--seconds", "2"]
    return words


def _hierarchies(case: Case, folder: Path) -> Path:
    """A tree of three levels for each quasi-identifier, its labels such as read like masks."""
    folder.mkdir()
    for column in case.table.quasi:
        with (folder / f"{column.name}.csv").open("w", newline="", encoding="utf-8") as file:
            write = csv.writer(file, delimiter=";")
            for value, label in labels(column).items():
                write.writerow([value, label, "*"])
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


def _listed(names: object) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(list(names))  # type: ignore[call-overload]
    return written.getvalue()


def _kind(column: Column) -> str:
    if not column.ordered:
        return "nominal"
    return "date" if str(column.values.dtype) == "Date" else "numeric"


# ---- what must be true


def run_case(case: Case, shoal: Shoal, folder: Path) -> tuple[str, str | None]:
    """Whether it was "released" or "refused", and what is wrong about that."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = words_of(case, folder)
    answer = shoal(words)
    output = folder / f"out{case.target}"
    if any(said in answer.err for said in CATCH_ALL):
        return "refused", f"the catch-all: {answer.err.strip()[-300:]}"
    if stray := _stray(folder):
        return "refused", f"left behind: {stray}"
    if answer.code != 0:
        return "refused", _wrong_refusal(answer, output)
    rows = read_release(output)
    wrong = _broken_promise(case, rows) or _leak(case, output, rows, answer)
    if wrong is None and case.seed % 5 == 0:
        wrong = _check_disagrees(case, shoal, folder, output)
    return "released", wrong


def _stray(folder: Path) -> list[str]:
    known = {"in", "in.csv", "in.parquet", "in.arrow", "certificate.json", "trees"}
    return [one.name for one in folder.iterdir() if one.name not in known and not one.name.startswith("out")]


def _wrong_refusal(answer: Answer, output: Path) -> str | None:
    if output.exists():
        return f"refused with exit code {answer.code}, and a file stands there"
    if answer.code not in (1, 2):
        return f"exit code {answer.code}: {answer.err.strip()[-300:]}"
    said = answer.err.strip().splitlines()
    if not said or not said[-1].startswith("shoal: "):
        return f"refused without a sentence: {answer.err.strip()[-300:]!r}"
    return None


def _broken_promise(case: Case, rows: list[judge.Row]) -> str | None:
    table = case.table
    if not rows:
        return "released without a record"
    allowed = int(case.suppress * table.rows + 1e-9) if case.method in GROUPING else table.rows
    if table.rows - len(rows) > allowed:
        return f"{table.rows - len(rows)} of {table.rows} records are left out, {allowed} were allowed"
    if "measured-risk" in case.promises:
        found = judge.found_again(rows, table) if case.target in (*TYPED, "") else 0.0
        level = case.promises["measured-risk"]
        return f"{found:.3f} of all people are found, {level:g} were promised" if found > level + 1e-9 else None
    classes = judge.classes_of(rows, table.quasi)
    confidential = table.confidential[0]
    if judge.smallest(classes) < case.promises["k"]:
        return f"a class of {judge.smallest(classes)}"
    if "l" in case.promises and (level := judge.diversity(classes, confidential)) < case.promises["l"]:
        return f"a class of {level} values"
    if "t" in case.promises and (far := judge.closeness(classes, confidential)) > case.promises["t"] + 1e-9:
        return f"a class {far:.4f} away"
    if case.target not in (*TYPED, "") or case.method not in TRUTHFUL:
        return None
    trees = {column.name: labels(column) for column in table.quasi} if case.method == "recode" else {}
    return judge.untrue(rows, table, trees)


def _leak(case: Case, output: Path, rows: list[judge.Row], answer: Answer) -> str | None:
    public = all_bytes(output)
    certificate = output.parent / "certificate.json"
    if certificate.exists():
        public += certificate.read_bytes()
    if str(seed_of(case)).encode() in public:
        return "the seed stands in the bytes"
    return judge.leaked(public, rows, case.table)


def _check_disagrees(case: Case, shoal: Shoal, folder: Path, output: Path) -> str | None:
    if "measured-risk" in case.promises:  # judged beside the original alone
        return None
    certificate = folder / "certificate.json" if case.engine == "memory" else output / "_certificate.json"
    answer = shoal(["check", str(output), "--certificate", str(certificate)])
    return None if answer.code == 0 else f"check says {answer.code}: {answer.err.strip()[-300:]}{answer.out[-300:]}"
