"""How far a job is and that it stops: told from inside the longest loops, after a bounded amount of work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import events
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
