"""Measures by name: a pair of tables, the register, one's own, and what is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from shoal.assess import measured
from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.measure import Pair, evaluate, find_measure, measure, measures
from shoal.policy import Policy
from tests.oracles.linkage import E3_X, E3_Y, pair_of

TABLE = pl.DataFrame(
    {
        "age": [20, 30, 40, 50, None, 70],
        "town": ["a", "b", "c", "a", "b", None],
        "grade": ["low", "high", "low", "mid", "mid", "low"],
        "pay": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
    }
)
MASKED = TABLE.with_columns(
    age=pl.Series(["[20;30]"] * 2 + ["[40;50]"] * 2 + ["*", "70"]),
    town=pl.Series(["{a;b}", "{a;b}", "c", "a", "*", None]),
    grade=pl.Series(["[low;mid]", "high", "low", "mid", "mid", "*"]),
)
POLICY = Policy(
    quasi_identifiers=["age", "town", "grade"],
    attributes={"grade": {"kind": "ordinal", "domain": ["low", "mid", "high"]}},
)


# ---- a pair of tables


def test_values_stand_at_their_positions_and_ranges_at_their_midpoints() -> None:
    schema = POLICY.schema(TABLE)
    microdata = Microdata(TABLE, schema)
    cells = {n: read_cells(MASKED[n], schema[n], microdata[n].values) for n in schema.quasi_identifiers}
    pair = Pair.of(microdata, cells)
    assert [a.name for a in pair.attributes] == ["age", "town", "grade"]
    nan = np.nan
    expected = [[20, 30, 40, 50, nan, 70], [0, 1, 2, 0, 1, nan], [0, 2, 0, 1, 1, 0]]
    assert np.array_equal(pair.original.T, expected, equal_nan=True)
    shown = [[25, 25, 45, 45, 45, 70], [nan, nan, 2, 0, nan, nan], [0.5, 2, 0, 1, 1, 1]]
    assert np.array_equal(pair.masked.T, shown, equal_nan=True)


def test_a_release_without_records_is_refused() -> None:
    schema = POLICY.schema(TABLE)
    with pytest.raises(InputError, match="No record is released"):
        Pair.of(Microdata(TABLE, schema), {"age": read_cells(MASKED["age"][:0], schema["age"])})


def test_only_what_is_in_an_order_and_varies_is_ordered() -> None:
    nan = np.nan
    x = np.array([[1.0, 5, 0, nan, nan], [2, 5, 1, nan, 3], [nan, 5, 2, nan, 4]])
    kinds = [Kind.NUMERIC, Kind.NUMERIC, Kind.NOMINAL, Kind.DATE, Kind.ORDINAL]
    assert [a.name for a in pair_of(x, x, kinds).ordered.attributes] == ["a0", "a4"]
    with pytest.raises(InputError, match="there is nothing to measure"):
        _ = pair_of(x[:, 1:4], x[:, 1:4], kinds[1:4]).ordered


def test_standardised_by_the_original_alone() -> None:
    before, after = pair_of([[0.0], [2], [np.nan]], [[4.0], [np.nan], [1]]).standardised
    assert (before.ravel().tolist(), after.ravel().tolist()) == ([-1, 1, 0], [3, 0, 0])


# ---- the register


def test_every_measure_says_what_it_means_and_which_direction_is_good() -> None:
    known = measures()
    assert {m.about for m in known.values()} == {"risk", "utility"}
    for each in known.values():
        assert each.meaning.endswith(".")
        assert each.higher_is in {"risk": ("riskier", "safer"), "utility": ("better", "worse")}[each.about]
    assert measures("risk").keys().isdisjoint(measures("utility"))


@pytest.mark.parametrize("name", measures())
def test_every_measure_has_a_value_and_says_nothing_was_lost_of_an_unmasked_table(name: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    one = find_measure(name)
    masked = one(pair_of(x, x + rng.normal(size=x.shape)))
    unmasked = one(pair_of(x, x))
    assert unmasked == pytest.approx(1.0 if one.higher_is == "riskier" else 0.0, abs=1e-9)
    assert masked < unmasked if one.higher_is == "riskier" else masked > unmasked


def test_an_unknown_name_is_told_with_the_nearest_known() -> None:
    with pytest.raises(InputError, match=r"There is no risk measure 'rank_linkag'\. Did you mean 'rank_linkage'"):
        find_measure("rank_linkag", "risk")
    with pytest.raises(InputError, match=r"no utility measure 'rank_linkage'\. Known are"):
        find_measure("rank_linkage", "utility")


def test_a_measure_must_say_what_it_means() -> None:
    with pytest.raises(InputError, match="'silent' says nothing of itself"):

        @measure("risk", "safer")
        def silent(pair: Pair) -> float:
            return 0.0


# ---- one's own


def test_ones_own_by_module_and_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_measures.py").write_text(
        "from shoal.measure import measure\n"
        "@measure('utility', 'better')\n"
        "def shown(pair):\n"
        "    '''Share of cells shown.'''\n"
        "    return (pair.masked == pair.masked).mean()\n"
        "def plain(pair): return 0.0\n"
        "number = 7\n"
    )
    (tmp_path / "my_broken_measures.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    found = evaluate(pair_of(E3_X, E3_Y), ["my_own_measures:shown", "sse"], "utility")
    assert found.values["shown"] == 1.0
    assert found.measures["shown"].meaning == "Share of cells shown."
    for name, problem in {
        "my_own_measures:plain": "is no risk measure: decorate the function",
        "my_own_measures:shown": "is no risk measure",
        "my_own_measures:number": "is no risk measure",
        "my_own_measures:nothing": "module 'my_own_measures' has no 'nothing'",
        "my_broken_measures:any": "ZeroDivisionError",
        "there_is_no_such_module:any": "cannot be imported",
        "my_own_measures:": "is not MODULE:FUNCTION",
    }.items():
        with pytest.raises(InputError, match=problem):
            find_measure(name, "risk")


# ---- several at once


def test_what_has_no_value_is_left_out_with_the_reason() -> None:
    @measure("utility", "better")
    def endless(pair: Pair) -> float:
        """Never a number."""
        return float("nan")

    one_attribute = pair_of(E3_X[:, :1], E3_Y[:, :1])
    found = evaluate(one_attribute, ["all"], "utility", unpaired="the records were shuffled")
    assert found.left_out["sse"] == "the records were shuffled"
    assert "no relations" in found.left_out["correlation_difference"]
    assert "no finite value" in found.left_out["endless"]
    assert found.values.keys() | found.left_out.keys() == measures("utility").keys()
    assert not found.values.keys() & found.left_out.keys()


def test_a_result_for_machines_and_for_people() -> None:
    pair = replace(pair_of(E3_X, E3_Y), linked_at_most=3)
    found = evaluate(pair, ["rank_linkage", "interval_disclosure"], "risk", unpaired="shuffled")
    one = found.to_dict()["measures"]["rank_linkage"]
    assert json.dumps(found.to_dict())
    assert one == {
        "value": found.values["rank_linkage"],
        "meaning": measures()["rank_linkage"].meaning,
        "higher_is": "safer",
        "how": "3 of 5 records, drawn at random",
    }
    page = StringIO()
    Console(file=page, width=80).print(found)
    for words in ("rank_linkage", "safer", "random", "interval_disclosure", "shuffled"):
        assert words in page.getvalue()
        assert words in found._repr_html_()


def test_of_frames_by_policy() -> None:
    found = measured(TABLE, MASKED, POLICY, "utility", ["sse", "marginals_1way"])
    assert found.left_out == {}
    assert found.values["marginals_1way"] == pytest.approx((3 / 6 + 3 / 6 + 1 / 6) / 3)
    shuffled = measured(TABLE, MASKED.reverse(), POLICY, "utility", ["sse", "marginals_1way"])
    assert "shuffled or perturbed" in shuffled.left_out["sse"]
    assert shuffled.values["marginals_1way"] == found.values["marginals_1way"]
    declared = measured(TABLE, MASKED.reverse(), POLICY, "utility", ["sse"], paired=True)
    assert declared.values["sse"] > found.values["sse"]
