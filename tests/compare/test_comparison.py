"""Methods with known levels: calibrated, ranked, told apart from those that cannot; and nothing is computed twice."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import StringIO
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.compare.comparison import compare
from shoal.compare.contenders import Contender
from shoal.compare.result import Comparison
from shoal.errors import InputError
from shoal.masking.method import Masked
from shoal.policy import Policy
from tests.compare.conftest import Shift, calls, shift

pytestmark = pytest.mark.usefixtures("toys")
STRAIGHT, BENT, WORST = shift("straight"), shift("bent", bend=0.1), shift("worst", bend=0.3)


def by_moved(table: pl.DataFrame, methods: list[str | Contender], **choices: Any) -> Comparison:
    return compare(table, methods=methods, risk="moved", utility="bent", **choices)


def rows(comparison: Comparison) -> list[dict[str, Any]]:
    found = comparison.to_dict()["methods"]
    assert isinstance(found, list)
    return found


def test_methods_are_brought_to_the_same_risk_and_ranked_by_utility(table: pl.DataFrame) -> None:
    found = by_moved(table, [WORST, STRAIGHT, BENT], at_risk=2.5)
    assert [row["method"] for row in rows(found)] == ["straight", "bent", "worst"]
    for row, bend in zip(rows(found), (0.0, 0.1, 0.3), strict=True):
        assert row["parameter"] == pytest.approx(2.5, abs=0.01)
        assert row["risk"] == pytest.approx(2.5, abs=0.01)
        assert row["utility"] == pytest.approx(2 * bend * 2.5, abs=0.01)
        assert (row["parameter_name"], row["risk_se"]) == ("by", 0.0)
        assert (row["correct_links"], row["correct_links_rank"]) == (0.25, 0.5)
        assert row["attained"]
    assert found.best is not None
    assert found.best.method == "straight"
    assert any("is not equal re-identification" in note for note in found.notes)


def test_a_measure_of_which_more_is_riskier_finds_the_same(table: pl.DataFrame) -> None:
    found = compare(table, methods=[BENT], risk="nearness", utility="bent", at_risk=1 / 3.5)
    assert rows(found)[0]["parameter"] == pytest.approx(2.5, abs=0.01)


def test_at_equal_utility_the_safest_comes_first(table: pl.DataFrame) -> None:
    found = by_moved(table, [WORST, BENT], at_utility=0.6)
    assert [row["method"] for row in rows(found)] == ["bent", "worst"]
    assert [row["risk"] for row in rows(found)] == pytest.approx([3.0, 1.0], abs=0.01)


def test_at_equal_utility_a_low_risk_comes_first_where_more_is_riskier(table: pl.DataFrame) -> None:
    found = compare(table, methods=[WORST, BENT], risk="nearness", utility="bent", at_utility=0.6)
    assert [row["method"] for row in rows(found)] == ["bent", "worst"]


def test_what_is_out_of_reach_is_said_and_stands_last(table: pl.DataFrame) -> None:
    lame = Contender.of("lame", Shift, random=False)
    lame = replace(lame, parameter=replace(lame.parameter, most=2.0))
    found = by_moved(table, [lame, BENT], at_risk=2.5)
    assert [row["method"] for row in rows(found)] == ["bent", "lame"]
    assert rows(found)[1] | {"attainable": False, "attained": False, "meets": False} == rows(found)[1]
    assert rows(found)[1]["reach"] == pytest.approx([0.0, 2.0])
    assert rows(found)[1]["parameter"] == 2.0
    assert "lame cannot be brought to a risk of 2.5: it gives" in found.notes[0]
    assert by_moved(table, [lame], at_risk=2.5).best is None


def test_what_is_better_than_asked_even_at_its_least_takes_part(table: pl.DataFrame) -> None:
    strict = replace(BENT, name="strict", parameter=replace(BENT.parameter, least=3.0))
    found = by_moved(table, [WORST, strict], at_risk=2.5)
    assert [row["method"] for row in rows(found)] == ["strict", "worst"]
    assert rows(found)[0] | {"attainable": False, "meets": True, "parameter": 3.0} == rows(found)[0]
    assert "even its least is better than asked" in found.notes[0]


def test_random_methods_are_averaged_over_the_same_seeds(table: pl.DataFrame) -> None:
    shaken = shift("shaken", random=True, shaken=0.5)
    found = by_moved(table, [shaken, shift("again", random=True, shaken=0.5)], at_risk=2.5, runs=7)
    first, second = rows(found)
    assert first["risk"] == pytest.approx(2.5, abs=0.01)
    assert first["risk_se"] > 0
    assert (first["risk"], first["parameter"]) == (second["risk"], second["parameter"])
    assert (
        found.to_dict()
        == by_moved(table, [shaken, shift("again", random=True, shaken=0.5)], at_risk=2.5, runs=7).to_dict()
    )
    other = by_moved(table, [shaken], at_risk=2.5, runs=7, seed=1)
    assert rows(other)[0]["parameter"] != first["parameter"]


def test_methods_without_chance_run_once(table: pl.DataFrame) -> None:
    by_moved(table, [BENT], at_risk=2.5, runs=5)
    once = calls.count("moved")
    calls.clear()
    by_moved(table, [shift("bent", bend=0.1, random=True)], at_risk=2.5, runs=5)
    assert calls.count("moved") == 5 * once


def test_the_frontier_traces_whole_curves_and_tells_who_is_dominated(table: pl.DataFrame) -> None:
    found = by_moved(table, [BENT, WORST], frontier=True)
    curve = found.to_dict()["frontier"]
    assert found.to_dict()["methods"] == []
    assert found.to_dict()["asked"] is None
    assert [point["parameter"] for point in curve[:9]] == pytest.approx(np.linspace(0, 10, 9))
    assert [point["risk"] for point in curve[:9]] == pytest.approx(np.linspace(0, 10, 9))
    assert [point["dominated"] for point in curve] == [False] * 9 + [False] + [True] * 8
    assert found.frame.height == 18


def test_asking_again_costs_nothing(table: pl.DataFrame, tmp_path: Path) -> None:
    first = by_moved(table, [BENT, WORST], at_risk=2.5, cache=tmp_path)
    assert calls
    calls.clear()
    again = by_moved(table, [WORST, BENT], at_risk=2.5, cache=tmp_path)
    assert calls == []
    assert again.to_dict() == first.to_dict()
    assert not any(str(value).encode() in (tmp_path / "measured.sqlite").read_bytes() for value in table["x"])


@pytest.mark.parametrize(
    "change",
    [
        lambda table: {"frame": table.with_columns(x=pl.col("x") + 1)},
        lambda table: {"frame": table.reverse()},
        lambda table: {"attributes": ["x"]},
        lambda table: {"methods": [shift("bent", bend=0.2)]},
        lambda table: {"risk": "nearness", "at_risk": 1 / 3.5},
    ],
)
def test_whatever_changes_is_measured_anew(table: pl.DataFrame, tmp_path: Path, change: Any) -> None:
    asked: dict[str, Any] = {"methods": [BENT], "risk": "moved", "utility": "bent", "at_risk": 2.5, "cache": tmp_path}
    compare(table, **asked)
    calls.clear()
    compare(**({"frame": table} | asked | change(table)))
    assert "moved" in calls


def test_more_runs_use_what_fewer_found(table: pl.DataFrame, tmp_path: Path) -> None:
    shaken = shift("shaken", random=True, shaken=0.5)
    by_moved(table, [shaken], frontier=True, runs=2, cache=tmp_path)
    calls.clear()
    by_moved(table, [shaken], frontier=True, runs=3, cache=tmp_path)
    assert calls.count("mask") == 9


_masked = count(1)  # drawing the next number is one step, whichever thread draws
_stopped = Event()


class Interrupting(Shift):
    """Has Ctrl-C pressed when it is asked for the tenth time; who is asked later waits until no more trials begin."""

    def mask(self, *about: Any, **more: Any) -> Masked:
        nth = next(_masked)
        if nth == 10:
            os.kill(os.getpid(), signal.SIGINT)
        if nth >= 10:
            _stopped.wait(60)
        return super().mask(*about, **more)


def test_an_interruption_ends_soon_and_keeps_what_was_measured(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shutdown(pool: ThreadPoolExecutor, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            end(pool, wait=False, cancel_futures=True)
            _stopped.set()
        end(pool, wait=wait)

    end = ThreadPoolExecutor.shutdown
    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", shutdown)
    one = Contender.of("interrupting", Interrupting, shaken=0.5)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job of the background ignores it from birth
    try:
        with pytest.raises(KeyboardInterrupt):
            by_moved(table, [one], frontier=True, runs=40, cache=tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 10 <= calls.count("mask") <= 9 + (os.cpu_count() or 1)  # those under way came to their end
    by_moved(table, [one], frontier=True, runs=40, cache=tmp_path)
    assert calls.count("mask") == 360


def test_a_cache_that_cannot_be_used_is_told(table: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be used"):
        by_moved(table, [BENT], at_risk=2.5, cache=tmp_path / "file")


def test_progress_is_told_for_every_value(table: pl.DataFrame) -> None:
    said: list[str] = []
    by_moved(table, [BENT], at_risk=2.5, progress=said.append)
    assert said[0] == "bent: by 0"
    assert len(said) > 5


def test_the_result_shows_itself_everywhere(table: pl.DataFrame) -> None:
    from rich.console import Console

    found = by_moved(table, ["hilbert", BENT], at_risk=0.0, frontier=True, also=["nearness"])
    json.dumps(found.to_dict(), allow_nan=False)
    console = Console(width=80, record=True, file=StringIO())
    console.print(found)
    shown = console.export_text()
    assert "25.0%" in shown
    assert "50.0%" in shown
    assert "nearness" in shown
    assert "How far the mean moved." in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "<td>bent</td>" in found._repr_html_()
    axes = found.plot().axes[0]
    assert axes.get_xlabel() == "moved (higher is safer)"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["bent", "hilbert"]  # best first


def test_classes_of_ranges_count_by_their_midpoints(table: pl.DataFrame) -> None:
    found = by_moved(table, ["hilbert", "kd", "sorted", "coarsen"], frontier=True)
    names = {point["parameter_name"] for point in found.to_dict()["frontier"]}
    assert names == {"k", "resolution"}
    whole = next(p for p in found.to_dict()["frontier"] if p["method"] == "hilbert" and p["parameter"] == len(table))
    middles = [(table[name].max() + table[name].min()) / 2 for name in table.columns]  # type: ignore[operator]
    assert whole["risk"] == pytest.approx(np.mean(middles) - table.to_numpy().mean())


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({}, "Say at which risk or utility"),
        ({"at_risk": 1.0, "at_utility": 1.0}, "not both"),
        ({"at_risk": float("nan")}, "cannot be brought to nan"),
        ({"at_risk": 1.0, "runs": 0}, "'runs' parameter of compare must be a whole number of at least 1. Got 0"),
        ({"at_risk": 1.0, "seed": -1}, "'seed' parameter of compare"),
        ({"at_risk": 1.0, "risk": "movd"}, "Did you mean 'moved'"),
        ({"at_risk": 1.0, "utility": "moved"}, "no utility measure 'moved'"),
        ({"at_risk": 1.0, "also": ["ben"]}, "Did you mean 'bent'"),
        ({"at_risk": 1.0, "methods": ["hilbret"]}, "Did you mean 'hilbert'"),
        ({"at_risk": 1.0, "methods": []}, "Name the methods"),
        ({"at_risk": 1.0, "methods": "mdav"}, "as a list"),
        ({"at_risk": 1.0, "methods": ["kd", "kd"]}, "'kd' is named twice"),
        ({"at_risk": 1.0, "attributes": ["xx"]}, "The table has no column 'xx'"),
        ({"at_risk": 1.0, "attributes": "x"}, "list of names"),
    ],
)
def test_what_cannot_be_asked_is_told(table: pl.DataFrame, choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        compare(table, **{"methods": ["kd"], "risk": "moved", "utility": "bent"} | choices)


def test_columns_that_no_distance_sees_are_told(table: pl.DataFrame) -> None:
    more = table.with_columns(place=pl.Series(["a", "b"] * 20), same=pl.lit(7))
    notes = by_moved(more, ["kd"], frontier=True).notes
    assert notes[0].startswith("Column 'place' has no order")
    assert notes[1].startswith("Column 'same' has one value only")


def test_a_policy_says_more_of_the_attributes(table: pl.DataFrame) -> None:
    policy = Policy(quasi_identifiers=("x", "y"), attributes={"y": {"kind": "nominal"}})
    assert by_moved(table, ["kd"], attributes=policy, frontier=True).notes[0].startswith("Column 'y' has no order")


def test_a_measure_without_a_number_is_told(table: pl.DataFrame) -> None:
    from shoal.measure import measure

    @measure("risk", "safer")
    def nothing(pair: Any) -> float:
        """Never a number."""
        return float("nan")

    with pytest.raises(InputError, match="'nothing' has no finite value"):
        compare(table, methods=[BENT], risk="nothing", utility="bent", at_risk=1.0)
