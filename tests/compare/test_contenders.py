"""Methods by their names, and one's own as `module:function`."""

from __future__ import annotations

import sys
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.compare.comparison import compare
from shoal.compare.contenders import contender
from shoal.errors import InputError
from shoal.masking.method import Strength

pytestmark = pytest.mark.usefixtures("toys")

OWN = """
import numpy as np
import polars as pl
from shoal.masking.method import Strength

times = []

def move(frame, parameter, seed):
    times.append((parameter, seed))
    return frame.with_columns(pl.all() + parameter + np.random.default_rng(seed).normal(0, 0.01))

def surely(frame, parameter):
    times.append((parameter, None))
    return frame.with_columns(pl.all() + parameter).to_pandas()

def limited(frame, parameter):
    return frame.with_columns(pl.all() + 1 / parameter)

limited.strength = Strength("closeness", 0.25, 4.0)

def blurred(frame, parameter):
    return frame.select(pl.format("[{};{}]", pl.all(), pl.all() + 2 * parameter).name.keep())

def loses_a_column(frame, parameter): return frame.drop("x")
def loses_a_record(frame, parameter): return frame.head(3)
def fails(frame, parameter): raise ValueError("no such thing")
def takes_nothing(): pass
number = 5
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_methods.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_methods", raising=False)
    return "own_methods"


def found_parameter(table: pl.DataFrame, method: str, target: float) -> float:
    found = compare(table, methods=[method], risk="moved", utility="bent", at_risk=target, runs=3)
    assert found.outcomes[0].method == method
    return found.outcomes[0].parameter


@pytest.mark.parametrize("target", [0.003, 2.5, 1234.5])
def test_ones_own_function_is_calibrated_by_bracketing(table: pl.DataFrame, own: str, target: float) -> None:
    assert found_parameter(table, f"{own}:surely", target) == pytest.approx(target, rel=0.01)
    from own_methods import times  # type: ignore[import-not-found]

    assert len(times) == len(set(times)) + 1  # once more for the measures beside


def test_ones_own_random_function_is_averaged_over_seeds(table: pl.DataFrame, own: str) -> None:
    assert found_parameter(table, f"{own}:move", 2.5) == pytest.approx(2.5, abs=0.05)
    from own_methods import times

    assert len({seed for _, seed in times}) == 3


def test_ones_own_function_may_say_its_range_and_may_fall(table: pl.DataFrame, own: str) -> None:
    assert contender(f"{own}:limited").parameter == Strength("closeness", 0.25, 4.0)
    assert found_parameter(table, f"{own}:limited", 0.8) == pytest.approx(1.25, abs=0.01)


def test_ones_own_ranges_count_by_their_midpoints(table: pl.DataFrame, own: str) -> None:
    assert found_parameter(table, f"{own}:blurred", 2.5) == pytest.approx(2.5, abs=0.01)


def test_a_class_like_ours_will_do(table: pl.DataFrame) -> None:
    assert found_parameter(table, "tests.compare.conftest:Shift", 2.5) == pytest.approx(2.5, abs=0.01)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("loses_a_column", "gives no column 'x'"),
        ("loses_a_record", "gives 3 records of 40"),
        ("fails", "fails at parameter 1: ValueError: no such thing"),
        ("takes_nothing", "takes 0 arguments"),
        ("number", "is no method"),
        ("absent", "has no 'absent'"),
    ],
)
def test_what_ones_own_does_wrong_is_told(table: pl.DataFrame, own: str, name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        found_parameter(table, f"{own}:{name}", 2.5)


def test_a_module_that_is_not_there_is_told() -> None:
    with pytest.raises(InputError, match="cannot be imported"):
        contender("no_such_module_anywhere:mask")


def test_an_edited_function_is_measured_anew(table: pl.DataFrame, own: str, tmp_path: Path) -> None:
    def ask() -> None:
        compare(table, methods=[f"{own}:surely"], risk="moved", utility="bent", at_risk=2.5, cache=tmp_path / "cache")

    ask()
    from own_methods import times

    times.clear()
    ask()
    assert times == []
    (tmp_path / "own_methods.py").write_text(OWN + "# changed\n")
    ask()
    assert times


def test_whole_parameters_end_at_the_number_of_records() -> None:
    hilbert = contender("hilbert")
    assert hilbert.parameter == Strength("k", 2, inf, whole=True)
    assert hilbert.among(40).parameter == Strength("k", 2, 40, whole=True)
    assert hilbert.among(1).parameter.most == 2


def test_a_table_of_fewer_records_than_k_is_told() -> None:
    with pytest.raises(InputError, match="k = 2 is larger than the table's 1 records"):
        compare(pl.DataFrame({"x": [1.0]}), methods=["hilbert"], risk="moved", utility="bent", at_risk=1.0)


def test_numbers_of_any_type_reach_ones_own_function(own: str) -> None:
    table = pl.DataFrame({"x": np.arange(9, dtype=np.int16)})
    assert found_parameter(table, f"{own}:surely", 2.5) == pytest.approx(2.5, rel=0.01)
