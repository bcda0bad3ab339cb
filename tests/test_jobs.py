"""Jobs: each request as a value that runs, tells how far it is, stops at any stage, and leaves nothing then."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from shoal import jobs
from shoal.data.discharges import Discharges, discharges
from shoal.data.purchases import Purchases, purchases
from shoal.errors import InputError, StoppedError
from shoal.events import Event
from shoal.policy import Policy

POLICY = Policy(quasi_identifiers=["age_yrs", "sex"], confidential=["charge"])
BOTH = Policy(quasi_identifiers=["age_yrs", "sex"], confidential=["charge", "los"])
GOODS = jobs.Columns("customer", "good", time="date", price="price", quantity="quantity")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    discharges(200, seed=1).with_row_index("id").write_csv("d.csv")
    purchases(40, 7).write_csv("t.csv")
    Path("sex.csv").write_text("1;*\n2;*\n")
    Path("masked.csv").write_text("age\n[1;2]\n[1;2]\n")
    Path("counts.csv").write_text("attribute,value,count\nage,1,1\nage,2,1\n")
    Path("key").write_bytes(bytes(range(32)))
    Path("k.txt").write_text(f"1 {bytes(range(32)).hex()}\n2 {bytes(range(1, 33)).hex()}\n")
    Path("k.txt").chmod(0o600)
    Path("sealed.csv").write_text("id\niyqtgatph3jwkd2usdrsxamzowoo5iq\n")  # Ann, by version 1
    Path("d").mkdir()
    discharges(200, seed=1).write_parquet("d/part-00000.parquet")
    return tmp_path


JOBS: dict[str, Callable[[], jobs.Job[Any]]] = {
    "profile": lambda: jobs.Profile("d.csv", Path("p.toml")),
    "anonymize": lambda: jobs.Anonymize("d.csv", POLICY, "r.csv", Path("r.json")),
    "anonymize on disk": lambda: jobs.Anonymize("d", POLICY, "r", Path("r.json")),
    "split": lambda: jobs.Split("d.csv", BOTH, "r.csv", merge=True, certificate=Path("r.json")),
    "check": lambda: jobs.Check("d.csv", POLICY),
    "risk": lambda: jobs.Risk("d.csv", POLICY),
    "risk on disk": lambda: jobs.Risk("d", POLICY),
    "utility": lambda: jobs.Utility("d.csv", "d.csv", POLICY),
    "attack": lambda: jobs.Attack("d.csv", "d.csv", POLICY),
    "compare": lambda: jobs.Compare(
        "d.csv", Policy(quasi_identifiers=["age_yrs", "los"]), ("noise",), at_risk=0.4, runs=1
    ),
    "audit": lambda: jobs.Audit(("d.csv", "d.csv"), POLICY, "id"),
    "transactions anonymize": lambda: jobs.AnonymizeTransactions(
        "t.csv", "tr.csv", GOODS, min_size=4, secret_map=Path("m.csv"), seed=1
    ),
    "baskets": lambda: jobs.AnonymizeBaskets("t.csv", "b.csv", GOODS, 2, 1),
    "transactions attack": lambda: jobs.AttackTransactions("t.csv", "t.csv", GOODS, output="g.csv"),
    "transactions utility": lambda: jobs.TransactionsUtility("t.csv", "t.csv", GOODS),
    "transactions risk": lambda: jobs.TransactionsRisk("t.csv", GOODS, seed=1),
    "hierarchy": lambda: jobs.BuildHierarchy("d.csv", "age_yrs", {"type": "steps", "steps": [5, 10]}, Path("age.csv")),
    "hierarchy check": lambda: jobs.CheckHierarchy(Path("sex.csv"), "sex", "d.csv"),
    "sample": lambda: jobs.Sample(Discharges(100), "s.csv", 1),
    "sample in chunks": lambda: jobs.Sample(Discharges(100), "s", 1),
    "purchases": lambda: jobs.Sample(Purchases(10), "p.csv", 1),
    "hierarchy show": lambda: jobs.ShowHierarchy(Path("sex.csv")),
    "transactions check": lambda: jobs.CheckTransactions("t.csv", GOODS, 2, (2, 1)),
    "k-prime": lambda: jobs.KPrime(5, 0.1),
    "record": lambda: jobs.RecordRelease(
        "d.csv", jobs.LedgerFile(Path("l.db"), "id", Path("key")), ("age_yrs", "sex"), 1
    ),
    "reveal": lambda: jobs.RevealPseudonyms("sealed.csv", "id", "o.csv", Path("k.txt"), version=1),
    "map": lambda: jobs.MapPseudonyms("sealed.csv", "id", "o.csv", Path("k.txt"), 1, 2),
    "regenerate": lambda: jobs.Regenerate("masked.csv", "plain.csv", Path("counts.csv"), seed=1),
}


def content(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_heard_stops_at_any_stage_and_gives_json(place: Path, name: str) -> None:
    before = content(place)
    heard: list[Event] = []
    result = JOBS[name]().run(listen=heard.append)
    json.dumps(result.to_dict(), default=lambda value: value.item())
    stages = list(dict.fromkeys(event.stage for event in heard))
    assert len(stages) > 1
    assert stages[-1] == "done"
    for written in set(content(place)) - set(before):
        (place / written).unlink()
    if (place / "r").is_dir():
        (place / "r").rmdir()
    for number in range(len(stages)):
        if stages[number] in ("giving names", "done"):  # it is too late to stop
            break
        stop, seen = threading.Event(), set[str]()

        def listen(event: Event, number: int = number, seen: set[str] = seen, stop: threading.Event = stop) -> None:
            seen.add(event.stage)
            if len(seen) > number:
                stop.set()

        with pytest.raises(StoppedError):
            JOBS[name]().run(listen, stop)
        assert content(place) == before, stages[number]


def test_a_job_that_was_stopped_before_it_began_reads_nothing(place: Path) -> None:
    before = content(place)
    stop = threading.Event()
    stop.set()
    for name, make in JOBS.items():
        with pytest.raises(StoppedError):
            make().run(stop=stop)
        assert content(place) == before, name


WRITING = {
    "r.csv": lambda: jobs.Anonymize("d.csv", POLICY, "r.csv"),
    "best.csv": lambda: jobs.Compare(
        "d.csv", Policy(quasi_identifiers=["age_yrs", "los"]), ("noise:gamma=1",), at_risk=0.9, risk="found_again",
        runs=1, output="best.csv",
    ),
    "l.db": JOBS["record"],
    "g.csv": JOBS["transactions attack"],
}  # fmt: skip


@pytest.mark.parametrize("file", WRITING)
def test_a_job_whose_file_has_its_name_is_not_stopped(place: Path, file: str) -> None:
    class Late:
        def is_set(self) -> bool:
            return Path(file).exists()

    heard: list[Event] = []
    WRITING[file]().run(heard.append, Late())
    assert heard[-1].stage == "done"
    assert Path(file).exists()


def test_a_job_is_a_value(place: Path) -> None:
    job = jobs.Anonymize("d.csv", POLICY, "r.csv")
    assert job == jobs.Anonymize("d.csv", POLICY, "r.csv")
    with pytest.raises(FrozenInstanceError):
        job.output = "s.csv"  # type: ignore[misc]
    assert "12345" not in repr(replace(job, seed=12345))  # a seed never leaves


def test_what_cannot_be_meant_is_refused_before_any_work(place: Path) -> None:
    heard: list[Event] = []
    for job in (
        jobs.Anonymize("d.csv", POLICY, "d.csv"),
        jobs.Anonymize("d.csv", POLICY, "r.csv", certificate=Path("r.csv")),
        jobs.Anonymize("d.csv", POLICY, "r.csv", incremental=True),
        jobs.Check("d.csv"),
        jobs.Check("d.csv", POLICY, Path("c.json")),
        jobs.Audit(("d.csv",), POLICY),
    ):
        with pytest.raises(InputError):
            job.run(heard.append)
    assert heard == []
