"""How far a job is and that it stops: told from inside the longest loops, after a bounded amount of work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import events, jobs
from shoal.data.discharges import discharges
from shoal.data.microdata import Microdata
from shoal.errors import StoppedError
from shoal.kernels import kd as kd_kernels
from shoal.kernels import mdav as mdav_kernels
from shoal.masking.grouping.kd import kd
from shoal.masking.grouping.mdav import microaggregate
from shoal.policy import Policy

TABLE = discharges(3_000, seed=1)
QUASI = ["age_yrs", "sex", "los", "patzip"]
POLICY = Policy(quasi_identifiers=QUASI, confidential=["charge"])


def test_nobody_has_to_listen() -> None:
    events.stage("reading")
    events.tick(1, 2)
    events.check()
    assert list(events.ticking("ab")) == ["a", "b"]


def test_events_say_stage_done_and_total() -> None:
    heard: list[events.Event] = []
    with events.heard(heard.append):
        events.stage("masking", 10)
        events.tick(3, 10)
    assert heard == [events.Event("masking", 0, 10), events.Event("masking", 3, 10)]
    assert heard[1].to_dict() == {"stage": "masking", "done": 3, "total": 10}
    events.stage("nobody is told of this")
    assert len(heard) == 2


def test_a_job_within_a_job_is_heard_and_stopped_by_both() -> None:
    stop, heard = threading.Event(), list[str]()
    with events.heard(lambda event: heard.append(event.stage), stop), events.heard():
        events.stage("inside")
        stop.set()
        with pytest.raises(StoppedError, match="Stopped while inside: nothing was released"):
            events.check()
    assert heard == ["inside"]


def test_threads_belong_to_the_job_that_started_them() -> None:
    stop = threading.Event()
    stop.set()
    with ThreadPoolExecutor(1) as pool:
        with events.heard(stop=stop):
            work = pool.submit(events.carried(events.check))
            with pytest.raises(StoppedError):
                work.result()
            with pytest.raises(StoppedError):
                events.waited(pool.submit(threading.Event().wait, 0.5))
        pool.submit(events.check).result()  # whoever has the thread next does not


def stages_of(run: Callable[[], object]) -> list[str]:
    heard: list[str] = []
    with events.heard(events.by_stage(heard.append)):
        run()
    return heard


@pytest.mark.parametrize("method", ["hilbert", "kd", "kd-median", "mdav", "mdav+", "coarsen", "cut-points", "recode"])
def test_masking_stops_from_within(method: str) -> None:
    """Told to stop when masking begins, no method comes to its end: each asks in its longest loop."""
    attributes = {name: {"hierarchy": {"type": "auto"}} for name in QUASI} if method == "recode" else {}
    policy = Policy(quasi_identifiers=QUASI, method={"name": method}, attributes=attributes, suppression=0.5)
    stop = threading.Event()
    heard: list[str] = []

    def listen(event: events.Event) -> None:
        heard.append(event.stage)
        if event.stage == "masking":
            stop.set()

    with pytest.raises(StoppedError):
        shoal.anonymize(TABLE.head(600), policy, listen=listen, stop=stop)
    assert heard[-1] == "masking"


def test_a_cut_of_the_table_is_the_most_that_kd_does_between_two_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    microdata = Microdata(TABLE, POLICY.schema(TABLE))
    whole = kd(microdata, 5)
    calls: list[int] = []
    divide = kd_kernels.kd_divide

    def watched(rows: object, k: int, by_median: bool, tree: kd_kernels.Tree, work: int) -> None:
        calls.append(work)
        divide(rows, k, by_median, tree, 1)  # one cut a call

    monkeypatch.setattr(kd_kernels, "kd_divide", watched)
    piecewise = kd(microdata, 5)
    assert np.array_equal(whole.order, piecewise.order)
    assert np.array_equal(whole.starts, piecewise.starts)
    assert len(calls) == 2 * whole.classes - 1  # a tree of cuts
    assert set(calls) == {events.ROUND}


def test_mdav_asks_after_each_turn_if_a_turn_is_work_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).normal(size=(500, 3))
    heard: list[events.Event] = []
    with events.heard(heard.append):
        whole = microaggregate(rows, 5)
    monkeypatch.setattr(mdav_kernels, "_WORK", 1)
    turns: list[events.Event] = []
    with events.heard(turns.append):
        piecewise = microaggregate(rows, 5)
    assert np.array_equal(whole.order, piecewise.order)
    assert len(heard) < len(turns) == 50  # two groups of five a turn, and one more before the last are left over
    assert [event.done for event in turns] == sorted(event.done for event in turns)
    assert turns[-1].done <= turns[-1].total == 500  # type: ignore[operator]


def test_a_comparison_stops_between_trials() -> None:
    table = pl.DataFrame(np.random.default_rng(1).normal(size=(300, 3)), schema=["a", "b", "c"])
    stop = threading.Event()
    with pytest.raises(StoppedError):
        shoal.compare(table, ["a", "b", "c"], ["noise"], at_risk=0.4, stop=stop, listen=lambda event: stop.set())


class Asked:
    """A stop that is asked for when it was looked at three times while a call that never looks was under way."""

    def __init__(self) -> None:
        self.under_way, self.ended = threading.Event(), threading.Event()
        self.looks = 0

    def is_set(self) -> bool:
        self.looks += self.under_way.is_set()
        return self.looks > 2

    def call(self, *_: object, **__: object) -> None:
        self.under_way.set()
        self.ended.wait(60)


def looked_at_within(call: str, run: Callable[[Asked], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped while `call` is under way, which does nothing but last."""
    stop = Asked()
    module, _, names = call.partition(":")
    *owners, name = names.split(".")
    monkeypatch.setattr(reduce(getattr, owners, import_module(module)), name, stop.call)
    try:
        with pytest.raises(StoppedError):
            run(stop)
        assert not stop.ended.is_set()
    finally:
        stop.ended.set()


ONE_CALL: dict[str, tuple[str, Callable[[Asked], object]]] = {
    "masking": (
        "shoal.masking.grouping.ordered:hilbert_order",
        lambda stop: shoal.anonymize(TABLE, POLICY, stop=stop),
    ),
    "judging": ("shoal.privacy.k_anonymity:KAnonymity.verdict", lambda stop: shoal.anonymize(TABLE, POLICY, stop=stop)),
    "splitting": ("shoal.split:dependence", lambda stop: shoal.split(TABLE, POLICY, stop=stop)),
    "profile": ("shoal.profile:encode", lambda stop: shoal.profile(TABLE, stop=stop)),
    "risk": ("shoal.risk.measure:learnt_of", lambda stop: shoal.risk(TABLE, POLICY, stop=stop)),
    "utility": ("shoal.utility.tables:read_cells", lambda stop: shoal.utility(TABLE, TABLE, POLICY, stop=stop)),
    "attack": ("shoal.assess:run_attacks", lambda stop: shoal.attack(TABLE, TABLE, POLICY, stop=stop)),
    "check": (
        "shoal.privacy.k_anonymity:KAnonymity.verdict",
        lambda stop: shoal.check(TABLE.select(*QUASI, "charge"), POLICY, stop=stop),
    ),
    "compare": (
        "shoal.compare.contenders:Contender.mask",
        lambda stop: shoal.compare(TABLE, QUASI, ["noise"], at_risk=0.5, runs=1, stop=stop),
    ),
}


@pytest.mark.parametrize("name", ONE_CALL)
def test_what_never_looks_is_no_reason_to_wait(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each door stops while one long call, such as a sort or another library's, is under way."""
    looked_at_within(*ONE_CALL[name], monkeypatch)


@pytest.mark.parametrize("call", ["shoal.data.files:made_anew", "shoal.data.files:finite"])
def test_a_file_being_read_or_written_is_no_reason_to_wait(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "d.parquet", tmp_path / "out" / "r.parquet"
    target.parent.mkdir()
    TABLE.write_parquet(source)
    job = jobs.Anonymize(source, POLICY, target)
    looked_at_within(call, lambda stop: job.run(stop=stop), monkeypatch)
    assert not list(target.parent.iterdir())


def test_work_that_nobody_waits_for_ends_at_its_next_look() -> None:
    stop, ended = Asked(), threading.Event()

    @events.apart
    def work() -> None:
        stop.call()
        try:
            events.check()
        except StoppedError:
            ended.set()

    with events.heard(), pytest.raises(KeyboardInterrupt):
        interrupted(stop, work)
    stop.ended.set()
    assert ended.wait(60)


def interrupted(stop: Asked, work: Callable[[], None]) -> None:
    """As Ctrl-C does: raised where the job looks, though it was not told to stop."""

    class Interrupt:
        def is_set(self) -> bool:
            if threading.current_thread() is threading.main_thread() and stop.under_way.is_set():
                raise KeyboardInterrupt
            return False

    with events.heard(stop=Interrupt()):
        work()


def test_work_within_work_is_done_in_the_same_thread_and_its_stage_is_told() -> None:
    threads: list[int] = []

    @events.apart
    def inner() -> None:
        threads.append(threading.get_ident())
        events.stage("deep inside")

    @events.apart
    def outer() -> None:
        threads.append(threading.get_ident())
        inner()

    stop = threading.Event()
    with events.heard(stop=stop):
        outer()
        stop.set()
        with pytest.raises(StoppedError, match="while deep inside"):
            events.check()
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()
    outer()  # outside of a job there is nobody to look meanwhile
    assert threads[-1] == threading.get_ident()
