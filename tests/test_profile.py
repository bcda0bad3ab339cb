"""A profile's counts agree with slow, obvious ones; its identifying sets with trying them all."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
import os
import tomllib
from collections import Counter
from importlib import import_module
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.schema import Kind, Role
from shoal.errors import InputError
from shoal.profile import AttributeProfile, Profile, profile

profiling = import_module("shoal.risk.identifying_sets")
unhurried = settings(deadline=None)  # the first example loads libraries

VALUES = {
    "number": st.integers(0, 3),
    "real": st.sampled_from([0.0, -0.0, 1.5, math.nan]),
    "text": st.sampled_from(["a", "b", ""]),
    "truth": st.booleans(),
    "date": st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 3)),
}


@st.composite
def tables(draw: st.DrawFn, most_columns: int = 6) -> pl.DataFrame:
    """Few records, so that no column is taken for a record number; every kind of value, missing ones too."""
    records = draw(st.integers(1, 19))
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=most_columns))
    columns = {}
    for i, kind in enumerate(kinds):
        cells = st.lists(st.none() | VALUES[kind], min_size=records, max_size=records)
        columns[f"q{i}"] = pl.Series(draw(cells), dtype=_TYPES[kind])
    return pl.DataFrame(columns)


_TYPES = {"number": pl.Int64, "real": pl.Float64, "text": pl.String, "truth": pl.Boolean, "date": pl.Date}


def plain_rows(frame: pl.DataFrame) -> list[dict[str, object]]:
    """Records as dictionaries; NaN is missing, and missing equals missing."""
    return [
        {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()} for row in frame.to_dicts()
    ]


def slow_uniques(rows: list[dict[str, object]], names: tuple[str, ...]) -> int:
    counts = Counter(tuple(row[name] for name in names) for row in rows)
    return sum(count == 1 for count in counts.values())


def slow_separation(values: list[object]) -> float:
    pairs = list(combinations(values, 2))
    return sum(a != b for a, b in pairs) / len(pairs) if pairs else 0.0


def slow_sets(rows: list[dict[str, object]], names: list[str], most: int) -> list[tuple[int, int]]:
    """(attributes, uniques) of the best set of each size that beats the smaller ones, up to 90 % of all."""
    goal, found = slow_uniques(rows, tuple(names)), [(0, 0)]
    for size in range(1, min(most, len(names)) + 1):
        best = max(slow_uniques(rows, chosen) for chosen in combinations(names, size))
        if best > found[-1][1]:
            found.append((size, best))
        if best >= 0.9 * goal:
            break
    return found[1:]


def searched(found: Profile) -> list[str]:
    return [a.name for a in found.attributes if a.role is Role.QUASI_IDENTIFIER and a.distinct > 1]


def assert_counts_are_true(found: Profile, rows: list[dict[str, object]]) -> None:
    for identifying in found.identifying_sets:
        assert identifying.uniques == slow_uniques(rows, identifying.attributes)
        assert identifying.unique_share == identifying.uniques / len(rows)


@unhurried
@given(tables())
def test_measures_of_attributes_agree_with_counting_by_hand(frame: pl.DataFrame) -> None:
    rows = plain_rows(frame)
    for a in profile(frame).attributes:
        values = [row[a.name] for row in rows]
        assert a.missing == values.count(None)
        assert a.distinct == len(set(values))
        assert a.distinction == pytest.approx(len(set(values)) / len(values))
        assert a.separation == pytest.approx(slow_separation(values))
        assert a.unique_share == slow_uniques(rows, (a.name,)) / len(values)


@unhurried
@given(tables(), st.integers(0, 6))
def test_identifying_sets_are_the_best_of_all_sets(frame: pl.DataFrame, most: int) -> None:
    rows, found = plain_rows(frame), profile(frame, sets=most)
    names = searched(found)
    assert found.exact
    assert found.uniques == slow_uniques(rows, tuple(names))
    assert [(len(s.attributes), s.uniques) for s in found.identifying_sets] == slow_sets(rows, names, most)
    assert_counts_are_true(found, rows)


@unhurried
@given(tables())
def test_leading_sets_are_the_best_few_of_each_small_size(frame: pl.DataFrame) -> None:
    rows, found = plain_rows(frame), profile(frame)
    names = searched(found)
    for size in {len(s.attributes) for s in found.leading_sets}:
        counts = sorted((slow_uniques(rows, chosen) for chosen in combinations(names, size)), reverse=True)
        leading = [s for s in found.leading_sets if len(s.attributes) == size]
        assert [s.uniques for s in leading] == [count for count in counts[:3] if count]
        assert all(s.uniques == slow_uniques(rows, s.attributes) for s in leading)
    best = {len(s.attributes): s.uniques for s in found.identifying_sets if len(s.attributes) <= 3}
    assert best.items() <= {len(s.attributes): s.uniques for s in reversed(found.leading_sets)}.items()


@unhurried
@given(tables(most_columns=3), st.data())
def test_where_people_have_several_records_those_singled_out_are_counted(
    frame: pl.DataFrame, data: st.DataObject
) -> None:
    people = data.draw(st.lists(st.integers(0, 6) | st.none(), min_size=frame.height, max_size=frame.height))
    codes = [None if who is None else f"AB-{who:06}" for who in people]
    found = profile(frame.with_columns(patient_id=pl.Series(codes, dtype=pl.String)))
    if len({who for who in people if who is not None}) in (0, 1, sum(who is not None for who in people)):
        assert found.people is None
        return
    whose = [f"nobody {i}" if who is None else who for i, who in enumerate(people)]
    rows = plain_rows(frame)
    for names, counted in [
        (tuple(searched(found)), found.people),
        *((s.attributes, s.people) for s in found.leading_sets),
    ]:
        owners: dict[tuple[object, ...], set[object]] = {}
        for row, who in zip(rows, whose, strict=True):
            owners.setdefault(tuple(row[name] for name in names), set()).add(who)
        alone = {next(iter(who)) for who in owners.values() if len(who) == 1}
        assert counted == len(alone)


def test_names_that_repeat_are_nobodys_several_records() -> None:
    frame = pl.DataFrame({"first": ["Ann", "Harold"] * 20, "last": ["Smith", "Jones"] * 20, "age": [*range(40)]})
    found = profile(frame)
    assert (found.notes, found.people) == ((), None)
    assert "person" not in tomllib.loads(found.policy_toml())


def test_what_singles_people_out_is_ranked_by_size_and_closed_by_all_together() -> None:
    frame = pl.DataFrame(
        {"patient_id": [f"P{i // 2:04}" for i in range(40)], "age": [i // 2 for i in range(40)], "sex": [0, 1] * 20}
    )
    sheet = profile(frame).sheets()[-1]
    assert sheet.header == ("Who knows", "singles out", "of records", "and people")
    assert sheet.rows == [("age, sex", "40", "100.0%", "20"), ("all 2 quasi-identifiers", "40", "100.0%", "20")]


@unhurried
@given(frame=tables(most_columns=8))
def test_with_many_attributes_sets_are_grown_and_their_counts_true(frame: pl.DataFrame) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiling, "EXHAUSTIVE_UP_TO", 2)
        found = profile(frame)
        rows, names = plain_rows(frame), searched(found)
        assert found.exact == (len(names) <= 2)
        assert_counts_are_true(found, rows)
        best_alone = slow_sets(rows, names, 1)  # a greedy search still tries every single attribute
        assert [(len(s.attributes), s.uniques) for s in found.identifying_sets][: len(best_alone)] == best_alone
        sizes = [s.uniques for s in found.identifying_sets]
        assert sizes == sorted(set(sizes))


def test_a_large_table_is_searched_on_a_sample_but_counted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "SEARCH_ROWS", 50)
    frame = pl.DataFrame({"a": [i % 30 for i in range(600)], "b": [i // 30 for i in range(600)], "c": [0, 1] * 300})
    found = profile(frame)
    assert not found.exact
    assert "50 records" in found.search
    assert [(s.attributes, s.uniques) for s in found.identifying_sets] == [(("a", "b"), 600)]
    assert found == profile(frame)


def test_keys_too_long_for_64_bits_are_counted_exactly() -> None:
    columns = {f"q{i}": [(i + 7) * (r // 2 if r < 200 else r) ** 2 % 701 for r in range(400)] for i in range(12)}
    columns["flag"] = [r % 2 if r < 20 else 0 for r in range(400)]  # parts ten of the hundred pairs
    frame = pl.DataFrame(columns)
    found = profile(frame)
    assert len(searched(found)) == 13
    assert math.prod(a.distinct for a in found.attributes) > 2**64
    assert found.uniques == slow_uniques(frame.to_dicts(), tuple(columns))
    assert 0 < found.uniques < 400
    assert_counts_are_true(found, frame.to_dicts())


def test_bounds_never_exceed_what_an_attribute_can_add() -> None:
    """Against all ways to give the records of a class of two and a class of four one more value each."""
    classes = profiling._Classes(sizes=np.array([2, 4]), counts=np.array([1, 1]))
    for values in (1, 2, 3, 4, 5):
        most = max(
            slow_uniques([{"class": c, "v": v} for c, v in zip("aabbbb", given_values, strict=True)], ("class", "v"))
            for given_values in product(range(values), repeat=6)
        )
        assert classes.uniques_at_most(values) == most


def test_missing_is_a_value() -> None:
    found = profile(pl.DataFrame({"q": [None, "a", "a", None], "r": [None, None, None, 1]}))
    q, r = found.attributes
    assert (q.missing, q.distinct, q.unique_share) == (2, 2, 0.0)
    assert (r.missing, r.distinct, r.unique_share) == (3, 2, 0.25)
    assert q.separation == pytest.approx(4 / 6)
    assert found.uniques == 2  # (missing, 1) and (missing, missing)


def test_only_quasi_identifiers_that_vary_are_searched() -> None:
    frame = pl.DataFrame(
        {
            "ssn": [f"219-09-{1000 + i}" for i in range(40)],
            "one": [1] * 40,
            "age": [i % 8 for i in range(40)],
            "income": [*range(40)],
        }
    )
    found = profile(frame)
    assert [a.role for a in found.attributes][:3] == [Role.IDENTIFIER, Role.INSENSITIVE, Role.QUASI_IDENTIFIER]
    assert (found.searched, found.uniques, found.identifying_sets) == (1, 0, ())


def test_attributes_in_the_tables_order_with_type_kind_and_reason() -> None:
    frame = pl.DataFrame(
        {
            "level": pl.Series(["low", "high"] * 4, dtype=pl.Enum(["low", "high"])),
            "when": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)] * 4,
            "code": pl.Series(["x", "y"] * 4, dtype=pl.Categorical),
            "nothing": pl.Series([None] * 8, dtype=pl.Null),
        }
    )
    found = profile(frame).attributes
    assert [(a.name, a.kind) for a in found] == [
        ("level", Kind.ORDINAL),
        ("when", Kind.DATE),
        ("code", Kind.NOMINAL),
        ("nothing", Kind.NOMINAL),
    ]
    assert [a.dtype for a in found][1:3] == ["Date", "Categorical"]
    assert (found[1].hipaa, found[3].role) == ("C", Role.INSENSITIVE)
    assert all(a.reason for a in found)


def test_other_frames_are_taken() -> None:
    frame = pl.DataFrame({"age": [1, 2, 2], "sex": ["f", None, "m"]})
    assert profile(frame.to_arrow()).to_dict() == profile(frame).to_dict() == profile(frame.lazy()).to_dict()


@pytest.mark.parametrize("empty", [pl.DataFrame(), pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)})])
def test_a_table_without_records_is_refused(empty: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="no records"):
        profile(empty)


def test_what_has_no_kind_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="'items'"):
        profile(pl.DataFrame({"age": [1], "items": [[1, 2]]}))


def test_fewer_than_no_sets_are_refused() -> None:
    with pytest.raises(InputError, match="Got -1"):
        profile(pl.DataFrame({"a": [1]}), sets=-1)


# What people and files are shown --------------------------------------------------------------------------

WEIRD = [
    'say "no"',
    "it's",
    "two words",
    "two\nlines",
    "tab\there",
    "back\\slash",
    "",
    "😀 é ]",
    "\x7f\x01",
    "# [b]",
]


def test_policy_is_valid_toml_whatever_the_columns_are_called() -> None:
    frame = pl.DataFrame({name: [i, i, i + 1] for i, name in enumerate(WEIRD)})
    policy = tomllib.loads(profile(frame).policy_toml())
    assert policy == {
        "identifiers": [],
        "quasi_identifiers": WEIRD,
        "confidential": [],
        "insensitive": [],
        "models": [{"name": "k-anonymity", "k": 5}],
        "method": {"name": "hilbert"},
    }


@unhurried
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), min_size=1, max_size=4, unique=True))
def test_policy_keeps_every_name(names: list[str]) -> None:
    policy = tomllib.loads(profile(pl.DataFrame({name: [1, 1, 2] for name in names}), sets=0).policy_toml())
    roles = ("identifiers", "quasi_identifiers", "confidential", "insensitive")
    assert sorted(name for role in roles for name in policy[role]) == sorted(names)


def test_policy_lists_each_attribute_under_its_role_with_the_reason() -> None:
    frame = pl.DataFrame({"email": ["a@b.org", "c@d.org"], "sex": ["f", "m"], "charge": [1, 2], "one": [1, 1]})
    text = profile(frame).policy_toml()
    policy = tomllib.loads(text)
    assert policy["identifiers"] == ["email"]
    assert policy["quasi_identifiers"] == ["sex"]
    assert policy["confidential"] == ["charge"]
    assert policy["insensitive"] == ["one"]
    assert '"email",  # E-mail addresses, by name and values (HIPAA item F).' in text


def test_everything_goes_into_json() -> None:
    found = profile(pl.DataFrame({"age": [1, 2, 2], "sex": ["f", None, "m"]}))
    read = json.loads(json.dumps(found.to_dict()))
    assert (read["records"], read["uniques"], read["exact"]) == (3, 3, True)
    assert read["attributes"][0]["role"] == "quasi_identifier"
    assert read["identifying_sets"][0] == {"attributes": ["sex"], "uniques": 3, "unique_share": 1.0, "people": None}
    assert [each["attributes"] for each in read["leading_sets"]] == [["sex"], ["age"]]
    assert set(read["attributes"][0]) == set(AttributeProfile.__dataclass_fields__)


def test_the_table_shown_fits_eighty_columns_and_cuts_nothing() -> None:
    from rich.console import Console

    names = ["a_rather_long_name_of_an_attribute", "[bold]sex[/bold]", "charge"]
    frame = pl.DataFrame({name: [i + r % 3 for r in range(9)] for i, name in enumerate(names)})
    shown = io.StringIO()
    Console(file=shown, width=80).print(profile(frame))
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in shown.getvalue()
    assert any("[bold]sex[/bold]" in line and "quasi-identifier" in line for line in lines)
    assert any("charge" in line and "confidential" in line for line in lines)


def test_html_escapes_what_columns_are_called() -> None:
    text = profile(pl.DataFrame({"<b>&": [1, 2, 2]}))._repr_html_()
    assert "<td>&lt;b&gt;&amp;</td>" in text
    assert "<b>&" not in text


# Real data ------------------------------------------------------------------------------------------------


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="SHOAL_DATA does not name the folder of real data")
def test_hospital_discharges_get_sensible_roles() -> None:
    frame = pl.read_parquet(Path(os.environ["SHOAL_DATA"]) / "discharges" / "nhds2010.parquet")
    found = profile(frame, sets=2)
    roles = {a.name: a.role for a in found.attributes}
    quasi = "age sex race marital_status dc_month care_days region hospital_ownership adm_type"
    confidential = [f"dx{i:02}" for i in range(1, 16)] + [
        "pc01",
        "DRG",
        "dx_adm",
        "payor_primary",
        "dc_status",
    ]
    assert [name for name, role in roles.items() if role is Role.IDENTIFIER] == ["id"]
    assert {roles[name] for name in quasi.split()} == {Role.QUASI_IDENTIFIER}
    assert {roles[name] for name in confidential} == {Role.CONFIDENTIAL}
    assert {a.name: a.hipaa for a in found.attributes}["age"] == "C"  # ages over 89, the survey's top code is 99
    assert [len(s.attributes) for s in found.identifying_sets] == [1, 2]
    uniques = frame.group_by(found.identifying_sets[1].attributes).len().filter(pl.col("len") == 1).height
    assert found.identifying_sets[1].uniques == uniques


def test_a_profile_says_of_each_column_whether_it_holds_codes_or_numbers_and_its_policy_says_so_too() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "hid": [1000 + i // 2 for i in range(300)],
            "patzip": rng.integers(90001, 96000, 300),
            "sex": rng.integers(1, 3, 300),
            "age": rng.choice(["0-17", "18-64", "65+"], 300),
            "los": rng.integers(0, 40, 300),
            "roof": rng.integers(1, 6, 300),
        }
    )
    found = profile(frame)
    assert {a.name: a.kind_reason for a in found.attributes} == {
        "hid": "Code: it identifies.",
        "patzip": "Code: its name says postcode.",
        "sex": "Code: its name says sex or gender.",
        "age": "In an order by itself: its values are bands of numbers, 0-17 to 65+.",
        "los": "Number: no sign of codes.",
        "roof": "Number, or perhaps a code: 5 different whole numbers.",
    }
    assert tomllib.loads(found.policy_toml())["attributes"] == {
        "patzip": {"kind": "nominal", "hierarchy": {"type": "prefix"}},
        "sex": {"kind": "nominal"},
        "age": {"kind": "ordinal", "domain": ["0-17", "18-64", "65+"]},
    }
    assert found.notes[1:] == (
        "Numbers that may be codes, for there are few different ones: roof. If they are, say --kind roof=nominal.",
    )
