"""Algorithm S1 hands out each original value exactly as often as it was masked."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.masking.regenerate import read_counts, regenerate

RACE = {"1": 568394, "2": 136264, "3": 10761, "4": 130597, "5": 193477, "6": 32857}  # paper 1, Algorithm S1


def counted(column: pl.Series) -> dict[object, int]:
    return dict(column.value_counts().iter_rows())


def test_the_papers_race_counts_come_back_exactly() -> None:
    masked = sum(RACE.values())
    assert masked == 1_072_350
    shown = ["1"] * 1000 + ["6"] * 7
    frame = pl.DataFrame({"race": pl.concat([pl.Series(shown), pl.repeat("*", masked, eager=True)])})
    made = regenerate(frame, {"race": RACE}, seed=1)["race"]
    assert made.dtype == pl.Int64
    assert made[:1007].to_list() == [1] * 1000 + [6] * 7  # what was shown stays
    assert counted(made[1007:]) == {int(value): count for value, count in RACE.items()}


def test_values_are_handed_out_in_random_order_given_by_the_seed() -> None:
    frame = pl.DataFrame({"x": ["*"] * 200})
    counts = {"x": {"a": 100, "b": 100}}
    one, again, other = (regenerate(frame, counts, seed=seed)["x"].to_list() for seed in (1, 1, 2))
    assert one == again != other
    assert 20 < one[:100].count("a") < 80
    assert regenerate(frame, counts)["x"].to_list() != regenerate(frame, counts)["x"].to_list()


def test_each_attribute_draws_from_its_own_stream() -> None:
    frame = pl.DataFrame({"x": ["*"] * 50, "y": ["*"] * 50})
    counts = {"a": 25, "b": 25}
    both = regenerate(frame, {"y": counts, "x": counts}, seed=3)
    assert both["x"].to_list() == regenerate(frame, {"x": counts}, seed=3)["x"].to_list()
    assert both["x"].to_list() != both["y"].to_list()


@pytest.mark.parametrize("mask", ["*", "[24;28]", "{24;26}", "2*", "937**", "85+", "[2020-01-01;2020-02-01]"])
def test_every_form_of_mask_is_filled(mask: str) -> None:
    assert regenerate(pl.DataFrame({"x": ["7", mask]}), {"x": {"26": 1}})["x"].to_list() == [7, 26]


@pytest.mark.parametrize("value", ["a", r"a\*", r"\[a\;b\]", r"\*", "a+", "[a]", "", None])
def test_plain_and_missing_values_are_no_masks(value: str | None) -> None:
    original = {r"a\*": "a*", r"\[a\;b\]": "[a;b]", r"\*": "*"}
    made = regenerate(pl.DataFrame({"x": [value, "*"]}), {"x": {"b": 1}})["x"].to_list()
    assert made == [original.get(str(value), value), "b"]


def test_a_top_code_that_the_counts_list_is_a_value() -> None:
    made = regenerate(pl.DataFrame({"age": ["85+", "*", "3"]}), {"age": {"85+": 1}})
    assert made["age"].to_list() == ["85+", "85+", "3"]


@pytest.mark.parametrize(
    ("shown", "value", "dtype"),
    [
        ("7", "8", pl.Int64),
        ("7", "8.5", pl.Float64),
        ("2020-01-31", "2020-02-01", pl.Date),
        ("00501", "93722", pl.String),  # leading zeros are part of a code
        ("2020-01-31", "2020-02-31", pl.String),
        ("7", "x", pl.String),
    ],
)
def test_a_filled_column_gets_its_natural_type_back(shown: str, value: str, dtype: type[pl.DataType]) -> None:
    made = regenerate(pl.DataFrame({"x": [shown, None, "*"]}), {"x": {value: 1}})["x"]
    assert made.dtype == dtype
    assert made.null_count() == 1


def test_only_named_columns_with_masks_change() -> None:
    frame = pl.DataFrame({"x": ["1", "2"], "y": ["*", "*"], "n": [1, 2]})
    assert regenerate(frame, {"x": {}, "n": {"1": 0}}).equals(frame)


def test_counts_that_do_not_add_up_are_refused() -> None:
    frame = pl.DataFrame({"race": ["*", "*", "1"]})
    with pytest.raises(InputError, match="The counts of 'race' sum to 3, but 2 of its cells are masked"):
        regenerate(frame, {"race": {"1": 3}})
    with pytest.raises(InputError, match="sum to 0"):
        regenerate(frame, {"race": {"1": 0}}, rescale=True)
    with pytest.raises(InputError, match="hold -1"):
        regenerate(frame, {"race": {"1": 3, "2": -1}})
    with pytest.raises(InputError, match="Did you mean 'race'"):
        regenerate(frame, {"rac": {"1": 2}})


def test_rescaling_gives_the_rest_to_the_largest_remainders() -> None:
    frame = pl.DataFrame({"x": ["*"] * 10})
    made = regenerate(frame, {"x": {"a": 50, "b": 33, "c": 17}}, rescale=True)["x"]
    assert counted(made) == {"a": 5, "b": 3, "c": 2}


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8).filter(any), st.integers(1, 60))
def test_rescaled_counts_stay_within_one_of_their_share(counts: list[int], cells: int) -> None:
    frame = pl.DataFrame({"x": ["*"] * cells})
    of_value = {f"v{e}": count for e, count in enumerate(counts)}
    made = counted(regenerate(frame, {"x": of_value}, rescale=True)["x"])
    for value, count in of_value.items():
        assert abs(made.get(value, 0) - count * cells / sum(counts)) < 1


# ---- the counts


def test_counts_read_alike_from_csv_and_json(tmp_path: Path) -> None:
    counts = {"race": {"1": 5, "a,b": 2}, "age": {"0": 1}}
    (tmp_path / "c.csv").write_text('\ufeffattribute,value,count\nrace,1,5\nrace,"a,b",2\n\nage,0, 1\n', "utf-8")
    (tmp_path / "c.json").write_text(json.dumps(counts))
    assert read_counts(tmp_path / "c.csv") == counts
    assert read_counts(str(tmp_path / "c.json")) == counts


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("c.csv", "", "'attribute,value,count'"),
        ("c.csv", "a,b\n1,2\n", "'attribute,value,count'"),
        ("c.csv", "attribute,value,count\nrace,1,5\nrace,2,x\n", "Line 3"),
        ("c.csv", "attribute,value,count\nrace,1,-5\n", "'-5' as count"),
        ("c.csv", "attribute,value,count\nrace\n", "lacks the attribute or the value"),
        ("c.csv", "attribute,value,count\nrace,1,5\nrace,1,6\n", "a second time"),
        ("c.json", "{", "not JSON: line 1"),
        ("c.json", "[1]", "must have the form"),
        ("c.json", '{"race": 5}', "must have the form"),
        ("c.json", '{"race": {"1": 2.5}}', "give 2.5 for value '1' of 'race'"),
    ],
)
def test_counts_that_cannot_be_read_are_refused(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as refusal:
        read_counts(tmp_path / name)
    assert why in str(refusal.value)


def test_files_that_are_not_there_or_not_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_counts(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("attribute,value,count\nrace,caf\xe9,1\n".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_counts(tmp_path / "latin.csv")
