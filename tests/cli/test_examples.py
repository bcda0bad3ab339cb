"""The examples that `--help` ends with run as they stand; and what commands show fits 80 columns, without colour."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import sqlite3
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from tests.cli.conftest import COMMANDS, Run, Shoal, run_command

LONG = ("shoal study ", "shoal demo", "shoal sample purchases --customers 100000", "shoal ui", "shoal warm-up")
MILLIONS = re.compile(r"\d{7}")
ASKS = ("shoal scenario",)  # questions, which a test cannot answer
OWN = (
    "def mymethod(frame, parameter):\n    return frame.with_columns(frame['age'].shuffle(seed=int(1000 * parameter)))\n"
)
POLICY = 'quasi_identifiers = ["age", "sex", "zip"]\nconfidential = ["charge"]\n'


def examples() -> list[str]:
    lines = (line for command in COMMANDS.values() for line in command.epilog.splitlines())
    quick = (line for line in lines if line.startswith("shoal ") and not line.startswith(LONG))
    return [line for line in quick if line not in ASKS and not MILLIONS.search(line)]


def words_of(example: str) -> list[str]:
    """What Shoal gets to see of it; the shell keeps `&& publish r.csv`."""
    return list(takewhile(lambda word: word not in ("&&", ">"), shlex.split(example)[1:]))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files that examples name, in one folder for tables and two for purchases, with a header and without."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("tables", "goods", "plain")}
    with pytest.MonkeyPatch.context() as patch:
        for name, make in (("tables", _tables), ("goods", _goods), ("plain", _plain)):
            patch.chdir(found[name])
            make(random.Random(1))
    return found


def _tables(draw: random.Random) -> None:
    people = [
        f"{draw.randrange(20, 90)},{draw.choice('MF')},{draw.randrange(93700, 93740)},{draw.randrange(200_000)},"
        f"{draw.randrange(9)},{draw.randrange(120_000)},{draw.randrange(40_000)}"
        for _ in range(120)
    ]
    header = "age,sex,zip,charge,days,income,tax"
    Path("d.csv").write_text(f"{header}\n" + "".join(f"{person}\n" for person in people))
    for name, some in (("A.csv", people), ("B.csv", people[:90]), ("keyed.csv", people), ("visits.csv", people)):
        Path(name).write_text(f"id,{header}\n" + "".join(f"{i},{person}\n" for i, person in enumerate(some)))
    stays = "".join(f"{i // 2},{person}\n" for i, person in enumerate(people))
    Path("stays.csv").write_text(f"patient,{header}\n{stays}")
    Path("shoal.toml").write_text(POLICY)
    Path("hospital").mkdir()
    for name in ("d.csv", "shoal.toml"):
        shutil.copy(name, "hospital")
    with Path("hospital/shoal.toml").open("a") as policy:
        policy.write('project = {source = "d.csv"}\n')
    Path("mymodule.py").write_text(OWN)
    Path("masked.csv").write_text("sex,age\n*,1\nM,2\n*,3\n")
    Path("counts.csv").write_text("attribute,value,count\nsex,M,1\nsex,F,1\n")
    Path("counts.json").write_text(json.dumps({"sex": {"M": 1, "F": 1}}))
    Path("key").write_bytes(bytes(range(32)))
    Path("hierarchies").mkdir()
    for line in (
        "anonymize d.csv -o r.csv --quasi age,sex,zip,income --confidential charge",
        "hierarchy build d.csv age -o age.csv --steps 5,10,20",
        "hierarchy build d.csv age -o hierarchies/age.csv --steps 5,10,20",
        "anonymize A.csv -o sealed.csv --quasi age,sex --pseudonym id=person:sealed,key=k.txt",
        "anonymize A.csv -o l.csv --quasi age,sex,zip --ledger ledger.db,key=key --subject id",
    ):
        assert run_command(*line.split()) == 0, line
    shutil.copy("k.txt", "k2.txt")  # with its mode
    assert run_command("pseudonym", "rotate", "k2.txt") == 0
    from shoal.data.files import read_table, write_table

    write_table(read_table("A.csv"), "old.parquet")
    columns = "made_at, sha256, k, promises, epsilon, seed, members, shown, own, content"
    with sqlite3.connect("ledger.db") as connection:  # as killed processes leave them
        for number in (3, 4):
            connection.execute(
                f"INSERT INTO release (id, state, file, {columns}) "
                f"SELECT {number}, 'pending', 'moved.csv', {columns} FROM release WHERE id = 1"
            )


def _purchases(draw: random.Random) -> list[str]:
    """Customer, invoice, date, time, good, price, quantity: the columns of the paper's files."""
    return [
        f"c{i % 400},{i},2010-{draw.randrange(1, 13):02}-{draw.randrange(1, 28):02},10:00,g{draw.randrange(12)},"
        f"{draw.randrange(1, 9)},{draw.randrange(1, 4)}\n"
        for i in range(1200)
    ]


def _goods(draw: random.Random) -> None:
    table = "id,invoice,date,time,good,price,quantity\n" + "".join(_purchases(draw))
    Path("t.csv").write_text(table)
    from shoal.data.files import read_table, write_table

    renamed = {"id": "CustomerID", "good": "StockCode", "date": "InvoiceDate"}
    write_table(read_table("t.csv").rename(renamed), "t.parquet")
    Path("baskets.csv").write_text("".join(f"{draw.choice('ab')},{draw.choice('cd')}\n" for _ in range(80)))
    Path("goods.csv").write_text("a;first;*\nb;first;*\nc;second;*\nd;second;*\n")
    line = (
        "transactions anonymize t.csv -o r.csv --customer id --item good --time date --quantity quantity "
        "--show date,quantity --min-size 5 --map m.csv --seed 1"
    )
    assert run_command(*line.split()) == 0
    shutil.copy("t.csv", "released.csv")


def _plain(draw: random.Random) -> None:
    Path("t.csv").write_text("".join(_purchases(draw)))
    columns = "--customer 1 --item 5 --time 3 --price 6 --quantity 7 --show 3,6,7 --no-header"
    line = f"transactions anonymize t.csv -o r.csv {columns} --min-size 8 --map m.csv --seed 1"
    assert run_command(*line.split()) == 0
    shutil.copy("r.csv", "released.csv")
    shutil.copy("m.csv", "pseudonyms.csv")


@pytest.fixture
def try_out(shoal: Shoal, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Runs an example in a fresh copy of the folder it belongs to."""

    def run(example: str) -> Run:
        name = "tables" if "transactions" not in example else "plain" if "--no-header" in example else "goods"
        shutil.copytree(folders[name], tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.syspath_prepend(tmp_path / name)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        words = words_of(example)
        for option, value in pairwise(words):  # what it will write is not there yet
            if option in ("-o", "--write-policy") or (option == "--map" and "anonymize" in words):
                Path(value).unlink(missing_ok=True)
        return shoal(*words)

    return run


@pytest.mark.parametrize("example", examples())
def test_an_example_runs_and_fits_80_columns(try_out, example: str) -> None:  # type: ignore[no-untyped-def]
    run = try_out(example)
    judges = any(word in example for word in (" check ", "audit", "releases add"))
    assert run.code == 0 or (run.code == 1 and judges), run.err
    assert "\x1b" not in run.out + run.err  # not a terminal
    if "--json" not in example and "schema" not in example and "hierarchy check" not in example:  # a sentence
        assert [line for line in run.out.splitlines() if len(line) > 80] == []


def test_every_command_that_is_quick_has_an_example_here() -> None:
    shown = {" ".join(words) for example in examples() for words in (words_of(example)[:1], words_of(example)[:2])}
    long = {"demo", "ui", "warm-up"} | {command for command in COMMANDS if command.startswith("study ")}
    assert set(COMMANDS) - shown == long
