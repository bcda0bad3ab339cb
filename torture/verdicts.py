"""What must be true when Shoal has answered: of what it wrote, of what it said, and of what it left alone."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from torture import crowds, judge
from torture.cases import PERTURBING, Case, labels, listed, output_of, place, population, promised, seed_of, words_of
from torture.process import Answer, Shoal
from torture.reading import Row, all_bytes, read_release

CATCH_ALL = ("Something went wrong inside", "Traceback (most recent call last)")
READ_BACK = (".csv", ".tsv", ".csv.gz", ".parquet", ".arrow", "")  # in which values stand as they were
# Of these a cell tells the values it stands for; the others show means, most frequent values, or bands of their own.
TRUTHFUL = ("hilbert", "sorted", "stratified", "kd", "kd-median", "cut-points", "recode")
CHECKED, MADE_AGAIN, APART = 5, 20, 50  # one case in so many: checked, made again, run as a process of its own


@dataclass(frozen=True)
class Outcome:
    """What came of a case: "released" or "refused", the sentence of a refusal, and what is wrong and of which sort."""

    what: str
    said: str = ""
    sort: str = ""  # one of SORTS
    wrong: str | None = None


SORTS = ("broken promise", "leak", "catch-all", "other")


def run_case(case: Case, shoal: Shoal, folder: Path) -> Outcome:
    """Asks for it, and looks at everything that came of it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = words_of(case, folder)
    before = digests(folder)
    apart = case.seed % APART == 0 and case.engine != "spark"
    answer = shoal.apart(words) if apart else shoal(words)
    return judged(case, shoal, folder, words, before, answer)


def judged(case: Case, shoal: Shoal, folder: Path, words: list[str], before: dict[str, str], answer: Answer) -> Outcome:
    output = output_of(case, folder)
    looks = _at_the_answer(folder, output, before, answer, shoal)
    if answer.code == 0:
        looks = chain(looks, _said_too_much(case, folder, answer), _at_the_release(case, shoal, folder, output, words))
    for sort, wrong in looks:
        if wrong is not None:
            return Outcome("refused" if answer.code else "released", sentence(answer), sort, wrong)
    return Outcome("refused" if answer.code else "released", sentence(answer))


Looks = Iterator[tuple[str, str | None]]  # the sort, and what is wrong


def _at_the_answer(folder: Path, output: Path, before: dict[str, str], answer: Answer, shoal: Shoal) -> Looks:
    yield "catch-all", _catch_all(answer)
    yield "other", _touched(before, digests(folder))
    yield "leak", _stray(folder, output, shoal)
    if answer.code:
        yield "leak", _written_all_the_same(answer, folder, output)
        yield "other", _without_a_sentence(answer)


def _said_too_much(case: Case, folder: Path, answer: Answer) -> Looks:
    said = (answer.out + answer.err).encode()
    yield "leak", _secret(case, folder, said)


def _at_the_release(case: Case, shoal: Shoal, folder: Path, output: Path, words: list[str]) -> Looks:
    rows = read_release(output)
    yield "leak", _wrong_columns(case, rows)
    yield "broken promise", broken_promise(case, rows)
    yield "broken promise", crowds.wrong_numbers(case, rows)
    yield "broken promise", _untrue(case, rows)
    yield "leak", leak(case, output, rows)
    yield "broken promise", _wrong_certificate(case, output, rows)
    if case.seed % CHECKED == 0:
        yield "broken promise", _check_disagrees(case, shoal, output)
        yield "broken promise", _check_is_fooled(case, shoal, folder, rows)
    if case.seed % MADE_AGAIN == 0:
        yield "other", _differs_again(case, shoal, folder, words, output)


def sentence(answer: Answer) -> str:
    """The last thing said on the way out, without what differs from case to case."""
    said = [line for line in answer.err.splitlines() if line.startswith("shoal: ")]
    if not said:
        return ""
    plain = re.sub(r"/\S+", "PATH", said[-1].removeprefix("shoal: "))
    plain = re.sub(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"", "'...'", plain)
    return re.sub(r"\d[\d,.]*(?:e[+-]?\d+)?", "N", plain)[:120]


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# ---- what it said, and what it left alone


def _catch_all(answer: Answer) -> str | None:
    if any(said in answer.err for said in CATCH_ALL):
        return f"the catch-all: {answer.err.strip()[-300:]}"
    return f"exit code {answer.code}: {answer.err.strip()[-300:]}" if answer.code not in (0, 1, 2) else None


def _touched(before: dict[str, str], after: dict[str, str]) -> str | None:
    changed = [name for name, digest in before.items() if after.get(name) != digest]
    return f"the input was changed: {changed}" if changed else None


def _stray(folder: Path, output: Path, shoal: Shoal) -> str | None:
    known = {"in", "population.parquet", "certificate.json", "trees", "policy.toml", "key.txt", output.name}
    stray = [one.name for one in folder.iterdir() if one.name not in known and one.stem.split(".")[0] != "in"]
    return f"left behind: {stray + shoal.leftovers()}" if stray or shoal.leftovers() else None


def _written_all_the_same(answer: Answer, folder: Path, output: Path) -> str | None:
    if output.exists() or (folder / "certificate.json").exists():
        return f"refused with exit code {answer.code}, and a file stands there"
    return None


def _without_a_sentence(answer: Answer) -> str | None:
    if answer.err.startswith("shoal: ") or "\nshoal: " in answer.err:
        return None
    return f"refused without a sentence: {answer.err.strip()[-300:]!r}"


# ---- what it wrote


def _wrong_columns(case: Case, rows: list[Row]) -> str | None:
    if not rows:
        return "released without a record"
    meant = {column.name for column in (*case.table.quasi, *case.table.confidential)} | {"rid"}
    meant |= case.people.columns if case.people else set()
    if set(rows[0]) != meant:
        return f"the columns {sorted(rows[0])} for {sorted(meant)}"
    people = [row["rid"] for row in rows]
    if len(set(people)) != len(people) or not set(people) <= set(case.table.rid):
        return "a record came twice, or from nowhere"
    kept = case.table.rows if case.method in PERTURBING else case.table.rows - _allowed(case)
    if {"linked", "households"} & set(case.promises):  # who has an uncommon number of records is left out
        kept = 0
    return f"{len(rows)} of {case.table.rows} records, {kept} at least were meant" if len(rows) < kept else None


def _allowed(case: Case) -> int:
    return int(case.suppress * case.table.rows + 1e-9)


def broken_promise(case: Case, rows: list[Row], owner: crowds.Owners | None = None) -> str | None:
    """Each promise that was made, judged from the file; `owner`: whose each record is, unless by the original."""
    if "measured-risk" in case.promises:
        return _found_too_many(case, rows)
    if case.people is not None and "k-map" not in case.promises:
        return crowds.broken(case, rows, owner or case.people.of_record(case.table))
    classes = judge.classes_of(rows, _alike(case))
    asked = case.promises
    if "k" in asked and (least := judge.smallest(classes)) < asked["k"]:
        return f"a class of {least}"
    if "k-map" in asked and (wrong := _too_few_people(case, classes)):
        return wrong
    for column in case.table.confidential:
        seen = _with_originals(classes, case, column) if case.show else classes
        if "l" in asked and (level := judge.diversity(seen, column, case.variant)) < asked["l"] - 1e-9:
            return f"a class of {case.variant} {level:.4f} values of {column.name!r}"
        if "t" in asked and (far := judge.closeness(seen, column)) > asked["t"] + 1e-9:
            return f"a class {far:.4f} away in {column.name!r}"
    return None


def _alike(case: Case) -> tuple[judge.Column, ...]:
    """Columns in which the records of a class look the same."""
    return (*case.table.quasi, *case.table.confidential) if case.show else case.table.quasi


def _with_originals(classes: judge.Classes, case: Case, column: judge.Column) -> judge.Classes:
    """The same classes with the values that nobody is shown."""
    texts = [None if value is None else str(value) for value in column.values]
    value = dict(zip(case.table.rid, texts, strict=True))
    return [[{**row, column.name: value[row["rid"]]} for row in members] for members in classes]


def _too_few_people(case: Case, classes: judge.Classes) -> str | None:
    k = int(case.promises["k-map"])
    if case.known == "fraction":
        least = min(k, judge.k_prime(k, 0.1, 0.1))
        small = judge.smallest(classes)
        return f"a class of {small} records, {least} are needed" if small < least else None
    if case.target not in READ_BACK:
        return None
    people = population(case)
    trees = _trees(case)
    least = min(judge.people_who_fit(members[0], case.table.quasi, people, trees) for members in classes)
    return f"{least} people fit a class, {k} were promised" if least < k else None


def _found_too_many(case: Case, rows: list[Row]) -> str | None:
    if case.target not in READ_BACK:
        return None
    found, level = judge.found_again(rows, case.table), case.promises["measured-risk"]
    # Her attack is none of those that were promised of: of few people it may find some more by luck, not many more.
    luck = 2.33 * math.sqrt(level * (1 - level) / case.table.rows) if level < 1 else 0.0
    return f"{found:.3f} of all people are found, {level:g} were promised" if found > level + luck + 1e-9 else None


def _trees(case: Case) -> dict[str, dict[str, str]]:
    return (
        {column.name: labels(column) for column in case.table.quasi}
        if case.method == "recode" and not case.built
        else {}
    )


def _untrue(case: Case, rows: list[Row]) -> str | None:
    if case.target not in READ_BACK or case.method not in TRUTHFUL or case.publish != "range" or case.show:
        return None
    named = int(case.promises.get("k", case.promises.get("k-map", 1))) if case.built else 0
    return judge.untrue(rows, case.table, _trees(case), named)


def leak(case: Case, output: Path, rows: list[Row]) -> str | None:
    public = all_bytes(output)
    certificate = output.parent / "certificate.json"
    if certificate.exists():
        public += certificate.read_bytes()
    if wrong := _secret(case, output.parent, public):
        return wrong
    return judge.leaked(public, rows, case.table)


def _secret(case: Case, folder: Path, public: bytes) -> str | None:
    """The seed, the key of pseudonyms or a person's own number, wherever it stands."""
    if str(seed_of(case)).encode() in public:
        return "the seed stands in the bytes"
    if case.people is None:
        return None
    if (folder / "key.txt").exists():
        key = (folder / "key.txt").read_bytes().split()[-1]
        if key.lower() in public.lower() or bytes.fromhex(key.decode()) in public:
            return "the key stands in the bytes"
    return crowds.named(public, case.people.ids)


def _certificate_of(case: Case, output: Path) -> Path:
    return output.parent / "certificate.json" if case.engine == "memory" else output / "_certificate.json"


def _wrong_certificate(case: Case, output: Path, rows: list[Row]) -> str | None:
    """Does the certificate speak of this very file, and say of it what can be counted there?"""
    if case.target == ".db":  # names no file, so there is none
        return None
    if not _certificate_of(case, output).is_file():
        return "there is no certificate"
    said = json.loads(_certificate_of(case, output).read_text())
    classes = judge.classes_of(rows, _alike(case))
    if output.is_file() and said["sha256"] != hashlib.sha256(output.read_bytes()).hexdigest():
        return "the certificate is that of another file"
    true = {
        "records": len(rows),
        "quasi_identifiers": sorted(column.name for column in _alike(case)),
        "confidential": sorted(column.name for column in case.table.confidential),
    }
    if case.method not in PERTURBING:
        true |= {"classes": len(classes), "smallest_class": judge.smallest(classes)}
    for what, value in true.items():
        stated = sorted(said[what]) if isinstance(said[what], list) else said[what]
        if stated != value:
            return f"the certificate says {what} {stated!r}, it is {value!r}"
    stated_of = {(model["name"], float(model["asked"])) for model in said["models"] if model["holds"]}
    names = {"k": "k-anonymity", "l": "l-diversity", "t": "t-closeness"}
    if case.people is not None and case.people.counted and "k" in case.promises:
        names["k"] = "persons"
    if wrong := crowds.wrong_in_certificate(case, said, rows):
        return wrong
    missing = [name for name, level in case.promises.items() if (names.get(name, name), level) not in stated_of]
    return f"the certificate does not state {missing}" if missing else None


# ---- the check, and the same again


_BY_FILE = {"k", "l", "t", "linked", "households"}  # what is judged without other data


def _hidden(case: Case) -> bool:
    """People are counted, and nobody but the custodian sees whose each record is."""
    return case.people is not None and case.people.counted and case.people.shown is None


def _check_disagrees(case: Case, shoal: Shoal, output: Path) -> str | None:
    """What was just released passes the check of its own certificate, unless other data are needed for that."""
    if not set(case.promises) <= _BY_FILE or case.show or case.target == ".db" or _hidden(case):
        return None
    answer = shoal(["check", place(output), "--certificate", str(_certificate_of(case, output))])
    return None if answer.code == 0 else f"check says {answer.code}: {answer.err.strip()[-300:]}{answer.out[-300:]}"


def _check_is_fooled(case: Case, shoal: Shoal, folder: Path, rows: list[Row]) -> str | None:
    """A release that somebody changed afterwards: the check says of it what the judge says."""
    if case.target != ".csv" or not set(case.promises) <= _BY_FILE or case.show or _hidden(case):
        return None
    changed = _changed(np.random.default_rng(case.seed), rows, case)
    pl.DataFrame(changed, schema=dict.fromkeys(changed[0], pl.String)).write_csv(
        folder / "changed.csv", quote_style="necessary"
    )
    changed = read_release(folder / "changed.csv")
    words = ["check", str(folder / "changed.csv"), "--quasi", listed(column.name for column in case.table.quasi)]
    words += ["--confidential", listed(column.name for column in case.table.confidential)]
    words += promised(case)
    columns = case.table.confidential
    words += [
        word
        for column in columns
        for word in ("--kind", listed([f"{column.name}={'numeric' if column.ordered else 'nominal'}"]))
    ]
    owner = None
    if case.people is not None and case.people.shown is not None and case.people.counted:
        words += ["--person", case.people.shown] if case.people.promise != "households" else []
        words += ["--policy", str(folder / "policy.toml")] if case.people.one_each else []
        owner = crowds.by_file(changed, case.people.shown)
    answer = shoal(words)
    wrong = broken_promise(case, changed, owner)
    if (answer.code == 1) == (wrong is not None):
        return _catch_all(answer)
    return f"check of a changed file says {answer.code} ({sentence(answer)}), the judge {wrong or 'that all holds'}"


def _changed(rng: np.random.Generator, rows: list[Row], case: Case) -> list[Row]:
    """A few records are taken out, or a few cells are given to another record."""
    changed = [dict(row) for row in rows]
    if rng.random() < 0.5 and len(changed) > 2:
        del changed[: int(rng.integers(1, 3))]
        return changed
    names = [column.name for column in (*case.table.quasi, *case.table.confidential)]
    for _ in range(int(rng.integers(1, 4))):
        one, other = rng.integers(0, len(changed), 2)
        name = names[rng.integers(len(names))]
        changed[one][name] = changed[other][name]
    return changed


def _differs_again(case: Case, shoal: Shoal, folder: Path, words: list[str], output: Path) -> str | None:
    """The same seed gives the same release."""
    if case.engine != "memory" or case.target not in (".csv", ".tsv") or case.method == "cut-points":
        return None
    again = folder / f"again{case.target}"
    elsewhere = {str(output): str(again), str(folder / "certificate.json"): str(folder / "again.json")}
    answer = shoal([elsewhere.get(word, word) for word in words])
    if answer.code:
        return f"the second time it says {answer.code}: {answer.err.strip()[-300:]}"
    return None if again.read_bytes() == output.read_bytes() else "the same seed gives another release"
