"""Every command on damaged and drifting input: whatever a file holds, the answer is a result or a sentence.

A folder of good files is made once; each case spoils one of them, in bytes or in what it says, and runs a command that
reads it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from torture.process import Answer, Shoal

ROLES = "--quasi age,town --confidential charge"
BUYS = "--customer customer --item good"
MADE = (
    f"anonymize d.csv -o r.csv {ROLES} --k 3 --certificate c.json",
    f"anonymize d.parquet -o r.parquet {ROLES} --k 3 --certificate cp.json",
    f"anonymize parts -o released {ROLES} --k 3",
    "hierarchy build d.csv town -o h/town.csv --mask",
    f"anonymize d.csv -o l.csv {ROLES} --k 3 --subject person --ledger ledger.db,key=key",
    f"transactions anonymize t.csv -o tr.csv {BUYS} --clusters 3 --min-size 3 --seed 1 --map map.csv",
)
# What is run, and the files it reads.
RUNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("profile d.csv", ("d.csv",)),
    ("profile d.parquet", ("d.parquet",)),
    ("profile d.xlsx", ("d.xlsx",)),
    ("profile d.sav", ("d.sav",)),
    (f"anonymize d.csv -o out.csv {ROLES} --k 3 --report out.html", ("d.csv",)),
    (f"anonymize d.arrow -o out.arrow {ROLES} --k 3 --t 0.5", ("d.arrow",)),
    (f"anonymize d.csv -o out.csv {ROLES} --hierarchies h --method recode --k 3", ("d.csv", "h/town.csv")),
    ("anonymize d.csv -o out.csv --policy p.toml", ("d.csv", "p.toml", "h/town.csv")),
    (f"anonymize parts -o out {ROLES} --k 3", ("parts/a.parquet", "parts/b.parquet")),
    (f"anonymize texts -o out {ROLES} --k 3 --l 2", ("texts/a.csv", "texts/b.csv")),
    (f"anonymize d.csv -o out.csv {ROLES} --k-map 2,population=people.csv", ("d.csv", "people.csv")),
    (
        f"anonymize d.csv -o out.csv {ROLES} --k 3 --subject person --ledger ledger.db,key=key",
        ("d.csv", "ledger.db", "key"),
    ),
    ("check r.csv --certificate c.json", ("r.csv", "c.json")),
    ("check r.parquet --certificate cp.json", ("r.parquet", "cp.json")),
    ("check released --certificate released/_certificate.json", ("released/_certificate.json",)),
    (f"check r.csv {ROLES} --k 3 --t 0.9", ("r.csv",)),
    ("check r.csv --policy p.toml", ("r.csv", "p.toml")),
    (f"risk r.csv {ROLES} --when 'charge > 10'", ("r.csv",)),
    (f"risk parts {ROLES}", ("parts/b.parquet",)),
    (f"utility d.csv r.csv {ROLES}", ("d.csv", "r.csv")),
    (f"attack d.csv r.csv {ROLES} --k 3", ("d.csv", "r.csv")),
    ("compare d.csv --attributes age,charge --methods noise,mdav --at-risk 0.5 --runs 1", ("d.csv",)),
    ("hierarchy show h/town.csv", ("h/town.csv",)),
    ("hierarchy check h/town.csv --data d.csv --column town", ("h/town.csv", "d.csv")),
    ("releases list --ledger ledger.db", ("ledger.db",)),
    ("releases audit --ledger ledger.db", ("ledger.db",)),
    (f"releases audit r.csv l.csv {ROLES} --k 3", ("r.csv", "l.csv")),
    (f"transactions risk t.csv {BUYS}", ("t.csv",)),
    (f"transactions anonymize t.csv -o out.csv {BUYS} --clusters 3 --min-size 3", ("t.csv",)),
    (f"transactions attack t.csv tr.csv {BUYS} --truth map.csv", ("t.csv", "tr.csv", "map.csv")),
    (f"transactions check tr.csv {BUYS} --min-size 3", ("tr.csv",)),
    (f"transactions utility t.csv tr.csv {BUYS} --truth map.csv", ("t.csv", "tr.csv", "map.csv")),
)
PLACES = re.compile(
    r"(?<![\w/.-])((?:[\w]+/)?[\w_]+\.(?:csv|parquet|arrow|xlsx|sav|toml|json|db|html)|parts|texts|released|h|key|out)(?![\w/.=-])"
)


def make_files(folder: Path, shoal: Shoal) -> None:
    """The good files."""
    rng = np.random.default_rng(0)
    n = 60
    frame = pl.DataFrame(
        {
            "person": range(n), "age": rng.integers(20, 80, n), "charge": rng.integers(1, 999, n),
            "town": rng.choice(["01234", "01239", "02111", "99501"], n),
            "born": pl.Series(["1950-01-31"] * n).str.to_date(),
        }
    )  # fmt: skip
    for name in ("h", "parts", "texts"):
        (folder / name).mkdir(parents=True)
    frame.write_csv(folder / "d.csv")
    frame.write_csv(folder / "people.csv")
    frame.write_parquet(folder / "d.parquet")
    frame.write_ipc(folder / "d.arrow")
    frame.write_excel(folder / "d.xlsx")
    _write_sav(frame, folder / "d.sav")
    for i, name in enumerate("ab"):
        frame[i * 30 : i * 30 + 30].write_parquet(folder / "parts" / f"{name}.parquet")
        frame[i * 30 : i * 30 + 30].write_csv(folder / "texts" / f"{name}.csv")
    pl.DataFrame({"customer": rng.integers(0, 12, 200), "good": rng.integers(0, 30, 200)}).write_csv(folder / "t.csv")
    (folder / "key").write_bytes(bytes(range(32)))
    (folder / "key").chmod(0o600)
    policy = 'quasi_identifiers = ["age", "town"]\nconfidential = ["charge"]\n[[models]]\nname = "k-anonymity"\nk = 3\n'
    (folder / "p.toml").write_text(policy + '[attributes.town]\nhierarchy = "h/town.csv"\n')
    for words in MADE:
        answer = shoal(words_in(words, folder))
        assert answer.code == 0, (words, answer)


def _write_sav(frame: pl.DataFrame, path: Path) -> None:
    import pyreadstat

    pyreadstat.write_sav(frame.drop("born"), path)


def words_in(command: str, folder: Path) -> list[str]:
    import shlex

    return [PLACES.sub(lambda found: str(folder / found[1]), word) for word in shlex.split(command)]


def run_one(seed: int, good: Path, folder: Path, shoal: Shoal) -> tuple[str, Answer]:
    """Spoils a file and runs a command that reads it."""
    rng = np.random.default_rng(seed)
    command, files = RUNS[rng.integers(len(RUNS))]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    path = folder / str(rng.choice(files))
    spoil = SPOILS[rng.integers(len(SPOILS))]
    path.write_bytes(spoil(rng, path.read_bytes()))
    return f"{command} ({path.name}: {spoil.__name__[1:]})", shoal(words_in(command, folder))


def run_words(seed: int, good: Path, folder: Path, shoal: Shoal) -> tuple[str, Answer]:
    """Good files, and a command in which a few words are such as nobody expects there."""
    rng = np.random.default_rng(seed)
    command, _ = (*RUNS, *MORE)[rng.integers(len(RUNS) + len(MORE))]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    words = words_in(command, folder)
    options = _options_of(shoal, words)
    for _ in range(int(rng.integers(1, 4))):
        words = _misspelt(rng, words, sorted(options)) if rng.random() < 0.2 else _added(rng, words, options, folder)
    return f"shoal {' '.join(words)}", shoal(words)


def _options_of(shoal: Shoal, words: list[str]) -> dict[str, str]:
    """All options that the command has -> what its help says they take."""
    command = tuple(word for word in words[:2] if not word.startswith(("-", "/")) and "." not in word)
    if command not in _KNOWN:
        found = re.findall(r"(--[a-z][a-z-]*) +(?:-\w +)?(<[a-z]+|[A-Z\[][^ ]*)", shoal([*command, "--help"]).out)
        _KNOWN[command] = {name: takes for name, takes in found if name not in NOT_ADDED}
    return _KNOWN[command]


_KNOWN: dict[tuple[str, ...], dict[str, str]] = {}
OUTPUTS = ("-o", "--output", "--report", "--certificate", "--map", "--log", "--write", "--plot", "--write-policy")
NOT_ADDED = (*OUTPUTS, "--help", "--engine", "--cache", "--frontier")


def _added(rng: np.random.Generator, words: list[str], options: dict[str, str], folder: Path) -> list[str]:
    """An option more, with a value that is at least of its sort."""
    if not options:
        return words
    option = str(rng.choice(sorted(options)))
    takes = options[option]
    if takes == "<bool":
        return [*words, option]
    values = VALUES.get(takes, VALUES["A,B"] if "NAME" in takes or takes == "COLUMN" else WORDS)
    value = values[rng.integers(len(values))]
    return [*words, option, str(folder / value) if takes in ("FILE", "DIR") else value]


_COLUMNS = (
    "age",
    "town",
    "charge",
    "born",
    "person",
    "age,town",
    "charge,born",
    "age,age",
    "age,town,charge,born,person",
)
_PARTS = ("", "nan", "inf", "-1", "0", "0.01", "0.3", "0.5", "0.99", "1", "1.5", "1e308", "1e-300")
_KINDS = ("numeric", "ordinal", "nominal", "date")
VALUES = {
    **dict.fromkeys(("<int", "K", "N"), ("-1", "0", "1", "2", "3", "7", "30", "60", "61", "100000", "9" * 25)),
    **dict.fromkeys(("<float", "SHARE", "E", "[MEASURE=]LEVEL"), _PARTS),
    "A,B": (*_COLUMNS, "1,2", "5,10", "2,1", "0,0", "noise,mdav", "mdav+", "minimality", "linkage", "definetti"),
    "COLUMN=KIND": (
        *(f"{name}={kind}" for name in _COLUMNS[:5] for kind in _KINDS),
        *("town=ordinal:01234,01239,02111,99501", "town=ordinal:01234", "age=ordinal:1,2,3", "town=ordinal:a,a"),
    ),
    "COLUMN=HOW": (
        "charge=mean",
        "charge=median",
        "charge=range",
        "charge=private-mean:epsilon=1",
        "charge=mean:epsilon=1",
        "age=mean",
        "town=mean",
    ),
    "COLUMN=N": ("age=1", "town=1", "town=0", "town=9", "age=1,town=2"),
    "N|COLUMN=N": ("1", "2", "0", "age=1", "age=3,town=2", "town=2", "9" * 20),
    "KEY=VALUE": (
        *("delimiter=;", "delimiter=", "delimiter=tab", "delimiter=ab", "encoding=latin-1", "encoding=utf-16"),
        *("decimal=.", "decimal=1", "text=age,town", "text=nobody", "text=age,decimal=.", "key=1", '"text=a,b"'),
    ),
    "CONDITION": ("charge > 10", "age = 3", "town = 01234", "charge > x", "nobody > 1", "age", "age > 1 > 2", "()"),
    "FILE": ("d.csv", "p.toml", "ledger.db", "key", "people.csv", "c.json", "h/town.csv", "parts", "none"),
    "DIR": ("h", "parts", "d.csv", "none"),
    "<str": (
        *("entropy", "recursive", "distinct", "mean", "median", "range", "last", "central", "arithmetic"),
        *("discernibility", "precision", "poisson", "individual", "drop", "insensitive", "confidential", "utf-8"),
        *("utf-16", "latin-1", "hilbert", "stratified", "mdav", "recode", "noise", "pram", "method-1", "visits"),
    ),
}


def _misspelt(rng: np.random.Generator, words: list[str], options: list[str]) -> list[str]:
    """One word left out, come twice, another, or an option more; what names an output stays."""
    free = [i for i in range(1, len(words)) if words[i - 1] not in OUTPUTS and words[i] not in OUTPUTS]
    i = int(rng.choice(free)) if free else 0
    odd = WORDS[rng.integers(len(WORDS))]
    sort = rng.integers(5)
    if sort == 0:
        return words[:i] + words[i + 1 :]
    if sort == 1:
        return [*words, *words[i : i + 2]]
    if sort in (2, 3) and not words[i].startswith("-"):
        return [*words[:i], odd, *words[i + 1 :]]
    return [*words, str(rng.choice(options or [odd])), odd]


MORE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("k-prime --k 5 --fraction 0.1", ()),
    (
        "scenario --population no --fraction 0.1 --large-fraction no --membership no --subjects-tell no --database no",
        (),
    ),
    ("sample discharges --rows 20 --seed 1 -o out.csv", ()),
    ("sample purchases --customers 10 --seed 1 -o out.csv", ()),
    ("hierarchy build d.csv age -o out.csv --steps 5,10", ()),
    ("hierarchy build d.csv town -o out.csv --mask", ()),
    ("releases limit 3 --ledger ledger.db", ()),
    ("releases settle --ledger ledger.db", ()),
    (f"anonymize d.csv -o out.csv {ROLES} --k 3 --split confidential:merge", ()),
    (f"anonymize d.csv -o out.csv {ROLES} --k 3 --show charge=mean", ()),
    ("anonymize d.csv -o out.csv --quasi age,charge --method noise --promise measured-risk:level=0.9", ()),
    ("anonymize d.csv -o out.csv --quasi town --method pram --promise measured-risk:level=0.9", ()),
    (f"anonymize d.parquet -o out.parquet {ROLES} --method cut-points --k 3", ()),
    (f"anonymize d.parquet -o out.xlsx {ROLES} --method coarsen:resolution=2 --k 1", ()),
    (f"transactions anonymize t.csv -o out.csv {BUYS} --k 2 --m 1", ()),
    ("engines", ()),
    ("schema anonymize", ()),
)
WORDS = (
    *("", " ", "nan", "inf", "-1", "0", "1", "2", "0.5", "1e308", "1e-320", "9" * 30, "x", "*", ",", "=", "age=", "=3"),
    *("age", "town", "charge", "age,age", "nobody", "age=3", "age=numeric", "town=numeric", "born=date", "age=nominal"),
    *("charge=mean", "town=2", "--", "-", "../..", "/", "/nowhere/x.csv", "é", "\u202e", "a" * 3000, "'", '"', "{}"),
    *("memory", "disk", "range", "mean", "entropy", "true", "NaN=1", "hilbert", "recode", "noise", "utf-16", "latin-1"),
    *(";", "|", "\t", "%s", "$HOME", "~", "\n", "sqlite:///x#y", "duckdb://", "http://x/y.csv", "csv", ".", "1,2,3"),
)


# ---- how a file is spoilt


def _truncated(rng: np.random.Generator, content: bytes) -> bytes:
    return content[: rng.integers(len(content) + 1)]


def _flipped(rng: np.random.Generator, content: bytes) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(0, max(1, len(content)), 5):
        if content:
            changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


def _zeroed(rng: np.random.Generator, content: bytes) -> bytes:
    start = int(rng.integers(len(content) + 1))
    return content[:start] + bytes(min(40, len(content) - start)) + content[start + 40 :]


def _emptied(rng: np.random.Generator, content: bytes) -> bytes:
    return b""


def _another(rng: np.random.Generator, content: bytes) -> bytes:
    return [b"age,town\n1,2\n", b"{}", b"[]", b"null", b"PAR1", b"\xff\xfe", b"SQLite format 3\0", b"name = 1\n"][
        rng.integers(8)
    ]


def _lines_moved(rng: np.random.Generator, content: bytes) -> bytes:
    lines = content.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _words_changed(rng: np.random.Generator, content: bytes) -> bytes:
    """Some words of the text become such as nobody expects there."""
    words = re.split(rb"([,;\n\"=:\[\]{} ]+)", content)
    for place in rng.integers(0, len(words), 3):
        words[place] = ODD[rng.integers(len(ODD))]
    return b"".join(words)


def _cells_changed(rng: np.random.Generator, content: bytes) -> bytes:
    """A few cells of a delimited file, its header included; as many fields as before stand in each line."""
    lines = [line.split(b",") for line in content.split(b"\n")]
    for place in rng.integers(0, len(lines), 3):
        word = ODD[rng.integers(len(ODD))].replace(b",", b"").replace(b'"', b"")
        lines[place][rng.integers(len(lines[place]))] = word
    return b"\n".join(b",".join(line) for line in lines)


def _column_changed(rng: np.random.Generator, content: bytes) -> bytes:
    """One column of a delimited file holds the same odd word everywhere."""
    lines = [line.split(b",") for line in content.split(b"\n")]
    place, word = rng.integers(len(lines[0])), ODD[rng.integers(len(ODD))].replace(b",", b"").replace(b'"', b"")
    for line in lines[1:]:
        if place < len(line):
            line[place] = word
    return b"\n".join(b",".join(line) for line in lines)


def _values_changed(rng: np.random.Generator, content: bytes) -> bytes:
    """A value somewhere in the JSON becomes one of another type; other files change by words."""
    try:
        tree = json.loads(content)
    except ValueError:
        return _words_changed(rng, content)
    return json.dumps(_changed(rng, tree)).encode()


def _changed(rng: np.random.Generator, tree: Any) -> Any:
    if isinstance(tree, dict) and tree and rng.random() < 0.85:
        key = list(tree)[rng.integers(len(tree))]
        if rng.random() < 0.2:
            return {name: value for name, value in tree.items() if name != key}
        return tree | {key: _changed(rng, tree[key])}
    if isinstance(tree, list) and tree and rng.random() < 0.7:
        place = int(rng.integers(len(tree)))
        return [*tree[:place], _changed(rng, tree[place]), *tree[place + 1 :]]
    return [None, 0, -1, 1e308, "x", "", [], {}, True, [[]], {"name": 1}, "os:system", "/etc/passwd"][rng.integers(13)]


ODD = (
    *(b"", b"NaN", b"inf", b"-0.0", b"1e400", b"9" * 30, b'"', b"'", b"\\", b"*", b"[1;2]", b"{a;b}", b"\xc3\x28"),
    *(b"2020-02-30", b"0x10", b"true", b"null", b"@facts", b"\0", b"\r", b"a" * 5000, b"-1", b"0", b"../..", b"1,5"),
)
SPOILS: tuple[Callable[[np.random.Generator, bytes], bytes], ...] = (
    *(_truncated, _flipped, _zeroed, _emptied, _another, _lines_moved, _words_changed, _cells_changed),
    *(_cells_changed, _cells_changed, _column_changed, _column_changed, _values_changed, _values_changed),
)
