"""Messages that no other test provokes, each with the words that name the thing, the place and the way out.

That all messages are provoked by some test is judged at the end of a run of all tests: see `tests/messages.py`.
"""

from __future__ import annotations

import datetime as dt
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.hierarchy import hierarchy_of
from shoal.errors import InputError, ShoalError
from tests import messages

PEOPLE = [f"{20 + i % 7},{'MF'[i % 2]},{93700 + i % 5},{1000 * i}" for i in range(40)]
FRAME = pl.DataFrame({"age": [20 + i % 7 for i in range(40)], "charge": [1000 * i for i in range(40)]})
KEPT = "--ledger l.db,key=key --subject id"

COMMANDS = [
    ("transactions check t.csv --customer c --item g --min-size 1", ("min_size", "2 or more")),
    ("anonymize d.csv -o r.csv --quasi age --method kd --write explain=e", ("--write explain", "--method recode")),
    ("anonymize d.csv -o r.csv --quasi age --fraction 0.1", ("--fraction", "--promise k-map")),
    ("anonymize d.csv -o r.csv --quasi age --promise measured-risk:level=x", ("'level'", "a number", "'x'")),
    (f"anonymize keyed.csv -o r.csv --quasi age,id {KEPT}", ("'id'", "no role")),
    ("anonymize d.csv -o r.csv --quasi age --confidential sex,charge --split confidential:independent --report p.htm",
     ("report", "independent")),
    ("anonymize keyed.csv -o r.csv --quasi age --confidential sex,charge --split confidential:independent "
     f"--seed 1 {KEPT}", ("ledger", "independent")),
    ("anonymize keyed.csv -o r.csv --quasi age --ledger no/l.db,key=key --subject id", ("'no/l.db'",)),
    ("anonymize keyed.csv -o r.csv --quasi age --ledger l.db,key=no/key --subject id", ("'no/key'",)),
    ("check s.csv --certificate s.json --original d.csv --paired", ("'s.json'", "shuffled", "--write keep-order")),
    ("check s.csv --quasi age,sex --original d.csv --promise measured-risk:level=0.5",
     ("--paired", "--write keep-order")),
    ("releases audit --ledger empty.db", ("'empty.db'", "damaged", "copy")),
    ("transactions anonymize t.csv -o r.csv --customer c --item g --taxonomy g.csv", ("taxonomy", "--k and --m")),
    ("transactions anonymize latin.csv -o r.csv --baskets --k 2 --m 1", ("latin.csv", "byte 2", "UTF-8")),
    ("transactions anonymize t.csv -o r.csv --customer c --item g --k 4 --m 1", ("k = 4", "taxonomy")),
]  # fmt: skip

# Told of a second release, beside the first of `job.csv`.
FIRST = f"anonymize job.csv -o first.csv --quasi age,job --hierarchies h --k 5 {KEPT}"
SECOND = [
    (f"anonymize job.csv -o r.csv --quasi age,job --k 38 --incremental {KEPT}", ("40 records", "k = 38", "smaller k")),
    (
        f"anonymize codes.csv -o r.csv --quasi age,job --kind job=nominal --incremental {KEPT}",
        ("'job'", "type"),
    ),
    (
        f"anonymize job.csv -o r.csv --quasi age,job --hierarchies new --incremental {KEPT}",
        ("'care'", "'job'", "hierarchy"),
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("age,sex,zip,charge\n" + "".join(f"{person}\n" for person in PEOPLE))
    Path("keyed.csv").write_text("id,age,sex,zip,charge\n" + "".join(f"{i},{p}\n" for i, p in enumerate(PEOPLE)))
    Path("key").write_text("00" * 32)
    Path("empty.db").touch()
    Path("t.csv").write_text("c,g\n1,a\n2,b\n3,c\n4,d\n")
    Path("g.csv").write_text("a;*\nb;*\n")
    Path("latin.csv").write_bytes(b"a\xe9,b\n")
    jobs = ["nurse"] * 3 + ["porter"] * 3 + ["cook"] * 34
    Path("job.csv").write_text("id,age,job\n" + "".join(f"{i},30,{job}\n" for i, job in enumerate(jobs)))
    Path("codes.csv").write_text("id,age,job\n" + "".join(f"{i},30,{len(job)}\n" for i, job in enumerate(jobs)))
    for name, above in (("h", "care"), ("new", "ward")):
        Path(name).mkdir()
        Path(name, "job.csv").write_text(f"nurse;{above};*\nporter;{above};*\ncook;kitchen;*\n")
    return tmp_path


@pytest.mark.parametrize(("line", "named"), COMMANDS + SECOND, ids=[line for line, _ in COMMANDS + SECOND])
def test_a_command_says_what_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, named: tuple[str, ...]
) -> None:
    from shoal.cli.main import run

    def end(words: list[str]) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["shoal", *words])
        with pytest.raises(SystemExit) as stop:
            run()
        return stop.value.code, capsys.readouterr().err

    if "s.csv" in line:
        assert end(shlex.split("anonymize d.csv -o s.csv --quasi age,sex --certificate s.json"))[0] is None
    if "--incremental" in line:
        assert end(shlex.split(FIRST))[0] is None
    code, said = end(shlex.split(line))
    *_, sentence = said.splitlines()
    assert code in (1, 2)
    assert sentence.startswith("shoal: ")
    assert [word for word in named if word not in sentence] == [], sentence
    assert not Path("r.csv").exists()


# ---- in Python


def numbered(values: int, columns: int) -> pl.DataFrame:
    return pl.DataFrame({f"age {j}": [str(i) for i in range(values)] for j in range(columns)})


def flat(name: str, values: object) -> Any:
    """A hierarchy of nothing but values and the top."""
    return hierarchy_of([[str(value), "*"] for value in values], name)  # type: ignore[attr-defined]


def recode(frame: pl.DataFrame, *, levels: dict[str, int] | None = None, hierarchies: bool = True) -> None:
    from shoal.data.microdata import Microdata
    from shoal.data.schema import Attribute, Kind, Role, Schema

    roles = frozenset({Role.QUASI_IDENTIFIER})
    trees = {column.name: flat(column.name, column) if hierarchies else None for column in frame}
    attributes = [Attribute(name, roles, Kind.NOMINAL, hierarchy=tree) for name, tree in trees.items()]
    shoal.Recode(levels=levels).mask(Microdata(frame, Schema(tuple(attributes))), [shoal.KAnonymity(2)])


def best_at_a_utility() -> None:
    shoal.compare(FRAME, methods=["kd"], at_utility=0.1).release(FRAME)


def own_measure_that_fails() -> None:
    from shoal.measure import Measure

    def function(pair: object) -> float:
        raise KeyError("x")

    Measure("mine", "risk", "riskier", "", function)(None)  # type: ignore[arg-type]


def unlike_population() -> None:
    people = pl.DataFrame({"born": [dt.time(1, 2)] * 12})
    policy = shoal.Policy(quasi_identifiers=["born"], models=[shoal.KMap(2, population=people)])
    shoal.anonymize(pl.DataFrame({"born": [dt.date(2000, 1, 1 + i % 3) for i in range(12)]}), policy)


def uneven_pairs() -> None:
    policy = shoal.Policy(quasi_identifiers=["age"], models=[shoal.MeasuredRisk(0.1)])
    shoal.check(FRAME.head(30), policy, original=FRAME, paired=True)


def unreadable(patch: pytest.MonkeyPatch) -> None:
    from shoal.data.files import read_table

    patch.setattr("os.access", lambda *asked: False)  # also as root
    read_table("d.csv")


def long_sheet(patch: pytest.MonkeyPatch) -> None:
    from shoal.data import files

    patch.setattr(files, "EXCEL_ROWS", 10)
    files.write_table(FRAME, "r.xlsx")


def unlisted_value() -> None:
    domain = shoal.Policy(quasi_identifiers=["age"], attributes={"age": {"kind": "ordinal", "domain": ["20", "21"]}})
    shoal.anonymize(FRAME.with_columns(pl.col("age").cast(pl.String)), domain)


def truth_as_numbers() -> None:
    policy = shoal.Policy(quasi_identifiers=["old"], attributes={"old": {"kind": "numeric"}})
    shoal.risk(pl.DataFrame({"old": [True, False] * 5}), policy)


def misspelt_attribute() -> None:
    shoal.Policy(quasi_identifiers=["age"]).schema(FRAME)["agee"]


def nobody() -> None:
    from shoal.risk.population import population_uniques

    population_uniques(np.zeros(0, np.int64), 0.1)


def nothing_in_common() -> None:
    from shoal.transactions.histories import Roles, histories_of
    from shoal.transactions.utility import cmae

    tables = (pl.DataFrame({"c": [1, 2], "g": goods, "q": [1, 2]}) for goods in (["a", "b"], ["x", "y"]))
    roles = Roles("c", "g", quantity="q")
    cmae(*(histories_of(table, roles) for table in tables), "quantity")


def file_gone() -> None:
    shoal.anonymize(FRAME, shoal.Policy(quasi_identifiers=["age"], confidential=["charge"])).write(
        "s.csv", certificate="s.json"
    )
    from shoal.report.certificate import read_certificate

    read_certificate("s.json", "gone.csv")


CALLS: list[tuple[Callable[..., None], tuple[str, ...]]] = [
    (lambda: recode(numbered(300, 8)), ("bits", "64 at most", "name fewer")),
    (lambda: recode(numbered(4, 2), hierarchies=False), ("'age 0'", "no hierarchy", "--hierarchies")),
    (lambda: recode(numbered(4, 2), levels={"age": 1}), ("'age'", "Did you mean 'age")),
    (best_at_a_utility, ("held to a risk", "--at-risk")),
    (own_measure_that_fails, ("'mine'", "KeyError")),
    (unlike_population, ("'born'", "Time", "same type")),
    (uneven_pairs, ("paired", "30", "40")),
    (unreadable, ("d.csv", "permission")),
    (long_sheet, ("40 records", ".parquet")),
    (unlisted_value, ("'age'", "'22'", "add it")),
    (truth_as_numbers, ("'old'", "Boolean", "nominal")),
    (misspelt_attribute, ("'agee'", "'age'")),
    (nobody, ("no records",)),
    (nothing_in_common, ("No cell",)),
    (file_gone, ("'gone.csv'", "certificate")),
]


@pytest.mark.parametrize(("call", "named"), CALLS, ids=[named[0] for _, named in CALLS])
def test_a_call_says_what_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., None], named: tuple[str, ...]
) -> None:
    with pytest.raises(ShoalError) as refused:
        call(*[monkeypatch] * call.__code__.co_argcount)
    assert [word for word in named if word not in str(refused.value)] == [], str(refused.value)


# ---- what is judged at the end


@pytest.mark.parametrize(
    "message",
    [
        "The table has no column 'agee'. Did you mean 'age'?",
        "The 'k' parameter of k-anonymity must be a whole number of at least 2. Got 1 instead.",
        "d.csv may not be read: ask for permission.",
    ],
)
def test_messages_that_help(message: str) -> None:
    assert messages.helps(message)


@pytest.mark.parametrize("message", ["Invalid input.", "Column 'age' is wrong.", "Bad value: \n  7", ""])
def test_messages_that_do_not(message: str) -> None:
    assert not messages.helps(message)


def test_what_is_raised_is_heard_where_it_stands() -> None:
    with pytest.raises(InputError):
        shoal.IndividualRanking(subsets=(("a", "b"), ("b",)))
    (site,) = [site for site, within in messages.sites() if within == "masking/microaggregation.py __post_init__"]
    assert "'subsets' parameter of individual-ranking" in messages.heard[site]
    assert any(site in line for line in messages.missing({}))
    assert not any(site in line for line in messages.missing(messages.heard))


# ---- further down


def not_to_be_parsed() -> None:
    from shoal.data.csv_files import fault
    from shoal.data.csv_layout import TextFile

    raise fault(TextFile("d.csv", b"a,b\n1,2\n", ",", True, ("a", "b")), pl.exceptions.ComputeError("odd"))


def bands_of_values() -> None:
    from shoal.data.microdata import encode
    from shoal.data.schema import Attribute, Kind
    from shoal.risk.disclosure import in_bands

    in_bands(encode(pl.Series("age", [1, 2]), Attribute("age", frozenset(), Kind.NUMERIC)), bands=0)


def cuts_that_are_no_list() -> None:
    from shoal.data.hierarchy_levels import as_levels

    as_levels(5)


def studied(name: str, **choices: int) -> None:
    from importlib import import_module

    import_module(f"shoal_studies.{name}").STUDY.run(Path("study"), **choices)


def nothing_to_protect() -> None:
    frame = pl.DataFrame({"age": [1, 2], "charge": pl.Series([None, None], dtype=pl.Int64)})
    shoal.anonymize(frame, shoal.Policy(quasi_identifiers=["age"], confidential=["charge"]), engine="disk")


DEEP = [
    (not_to_be_parsed, ("d.csv", "odd")),
    (bands_of_values, ("'bands'", "at least 1")),
    (cuts_that_are_no_list, ("'cuts'", "a list")),
    (lambda: shoal.Recode(cost="much"), ("'cost'", "loss")),  # type: ignore[arg-type]
    (lambda: shoal.Recode(mean="median"), ("'mean'", "geometric")),  # type: ignore[arg-type]
    (lambda: shoal.Recode(seconds=-1), ("'seconds'", "at least 0")),
    (lambda: recode(numbered(4, 1), levels={"age 0": 9}), ("levels of age 0", "from 0 to 1")),
    (nothing_to_protect, ("'charge'", "missing in every record")),
    (lambda: studied("k_map", samples=0), ("'samples'", "at least 1")),
    (lambda: studied("k_map", seed=-1), ("'seed'", "at least 0")),
    (lambda: studied("purchases", seed=-1), ("'seed'", "at least 0")),
    (lambda: studied("risk_utility", runs=0), ("'runs'", "at least 1")),
    (lambda: studied("risk_utility", seed=-1), ("'seed'", "at least 0")),
]


@pytest.mark.parametrize(("call", "named"), DEEP)
def test_what_is_wrong_further_down_is_said_too(call: Callable[[], object], named: tuple[str, ...]) -> None:
    with pytest.raises(shoal.ShoalError) as raised:
        call()
    assert [word for word in named if word not in str(raised.value)] == [], str(raised.value)
