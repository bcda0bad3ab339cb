"""Table S3's masking order: each unique record climbs the ladder just far enough, and is shown so."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections import Counter
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.masking.method import Masked
from shoal.masking.recoding.safe_harbor import TABLE_S3, SafeHarbor, Step, ladder_levels
from shoal.privacy.k_anonymity import KAnonymity

QUASI = frozenset({Role.QUASI_IDENTIFIER})
NAMES = ["age_yrs", "ethncty", "race", "sex", "adm_qtr", "patzip", "patcnty"]
A3 = [
    (42, 2, 1, 1, 1, 93722, 10),
    (42, 2, 1, 1, 1, 93722, 10),
    (43, 2, 1, 1, 1, 93722, 10),
    (44, 1, 1, 1, 1, 93722, 10),
    (44, 2, 2, 2, 1, 93722, 10),
    (58, 2, 1, 2, 3, 93711, 10),
    (12, 2, 1, 2, 4, 90001, 19),
]
LADDER = (
    Step("age_yrs", "bands", cuts=tuple(range(5, 100, 5))),
    *TABLE_S3[1:4],
    Step("age_yrs", "bands", cuts=(20, 40, 60, 80)),
    *TABLE_S3[5:],
)


def table(frame: pl.DataFrame, **kinds: Kind) -> Microdata:
    return Microdata(frame, Schema(tuple(Attribute(n, QUASI, kinds.get(n, Kind.NUMERIC)) for n in frame.columns)))


def shown(masked: Masked) -> list[tuple[str | None, ...]]:
    return pl.DataFrame([column.values() for column in masked.columns.values()]).rows()


PATIENTS = pl.DataFrame(A3, schema=NAMES, orient="row")


def test_each_record_climbs_just_far_enough() -> None:
    assert ladder_levels(table(PATIENTS), LADDER, 2).tolist() == [0, 0, 1, 2, 4, 8, 10]


def test_each_record_is_shown_at_its_own_level() -> None:
    masked = SafeHarbor(LADDER).mask(table(PATIENTS), [])
    assert shown(masked) == [
        ("42", "2", "1", "1", "1", "93722", "10"),
        ("42", "2", "1", "1", "1", "93722", "10"),
        ("[40;44]", "2", "1", "1", "1", "93722", "10"),
        ("[40;44]", "*", "1", "1", "1", "93722", "10"),
        ("[40;44]", "*", "*", "*", "1", "93722", "10"),
        ("*", "*", "*", "*", "*", "937**", "10"),
        ("*", "*", "*", "*", "*", "*", "*"),
    ]
    assert masked.notes[0] == "5 of 7 records were masked."
    assert masked.notes[1].startswith("0 records stay alike with fewer than 2")


def test_zip_codes_as_text_are_masked_alike() -> None:
    frame = PATIENTS.with_columns(pl.col("patzip").cast(pl.String))
    assert shown(SafeHarbor(LADDER).mask(table(frame, patzip=Kind.NOMINAL), [])) == shown(
        SafeHarbor(LADDER).mask(table(PATIENTS), [])
    )


def test_the_default_ladder_is_table_s3_with_twenty_and_five_age_bands() -> None:
    order = [(step.attribute, step.action) for step in TABLE_S3]
    assert order == [
        ("age_yrs", "bands"),
        ("ethncty", "suppress"),
        ("race", "suppress"),
        ("sex", "suppress"),
        ("age_yrs", "bands"),
        ("age_yrs", "suppress"),
        ("adm_qtr", "suppress"),
        ("patzip", "prefix"),
        ("patcnty", "suppress"),
        ("patzip", "suppress"),
    ]
    bands = SafeHarbor(TABLE_S3[:1]).mask(table(pl.DataFrame({"age_yrs": [*range(100), None]})), [])
    of_age = [row[0] for row in shown(bands)]
    assert of_age[0] == "0"
    assert of_age[1:5] == ["[1;4]"] * 4
    assert of_age[80:] == ["[80;84]"] * 5 + ["85+"] * 15 + [None]
    assert len(set(of_age)) == 20  # with that of missing ages


def test_k_comes_from_the_models() -> None:
    frame = pl.DataFrame({"sex": [1, 1, 2, 2, 2], "race": [1, 1, 1, 1, 2]})
    ladder = (Step("race", "suppress"), Step("sex", "suppress"))
    assert ladder_levels(table(frame), ladder, 2).tolist() == [0, 0, 0, 0, 1]
    masked = SafeHarbor(ladder).mask(table(frame), [KAnonymity(3)])
    assert shown(masked) == [("*", "*")] * 2 + [("2", "*")] * 3


def test_attributes_off_the_ladder_do_not_count_and_are_shown_as_they_are() -> None:
    frame = pl.DataFrame({"sex": [1, 1], "los": [3, 40]})
    assert shown(SafeHarbor((Step("sex", "suppress"),)).mask(table(frame), [])) == [("1", "3"), ("1", "40")]


def test_records_that_no_step_helps_are_counted() -> None:
    masked = SafeHarbor((Step("zip", "prefix", keep=3),)).mask(table(pl.DataFrame({"zip": [93722, 93711, 10001]})), [])
    assert shown(masked) == [("937**",), ("937**",), ("100**",)]
    assert masked.notes[-1].startswith("1 records stay alike with fewer than 2")


def test_steps_on_absent_attributes_are_skipped_with_a_note_and_keep_their_numbers() -> None:
    frame = PATIENTS.select("race", "sex", "adm_qtr")
    masked = SafeHarbor(TABLE_S3).mask(table(frame), [])
    assert masked.notes[:4] == tuple(
        f"Steps on {name!r} were skipped: it is no quasi-identifier of the table."
        for name in ("age_yrs", "ethncty", "patzip", "patcnty")
    )
    assert ladder_levels(table(frame), TABLE_S3, 2).tolist() == [0, 0, 0, 0, 4, 7, 7]


def test_a_ladder_of_which_the_table_has_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"None of the safe-harbor ladder's attributes .*Did you mean 'races'?"):
        SafeHarbor(TABLE_S3).mask(table(pl.DataFrame({"races": [1, 2]})), [])


# ---- which column is what


def test_columns_are_found_by_what_they_are() -> None:
    names = ["Alter", "ethnische_herkunft", "Rasse", "Geschlecht", "Quartal", "PLZ", "Landkreis"]
    masked = SafeHarbor().mask(table(PATIENTS.rename(dict(zip(NAMES, names, strict=True)))), [])
    assert shown(masked) == shown(SafeHarbor(TABLE_S3).mask(table(PATIENTS), []))
    assert masked.notes[0].startswith(
        "Masked in the order of Table S3: 'Alter' as age (by name), 'ethnische_herkunft' as ethnicity (by name), "
        "'Rasse' as race (by name)"
    )
    assert "'PLZ' as zip (by name)" in masked.notes[0]


def test_what_is_absent_and_what_no_step_treats_is_stated() -> None:
    frame = pl.DataFrame({"sex": [1, 1, 2], "los": [3, 3, 4], "age": [50, 50, 60]})
    assert SafeHarbor().mask(table(frame), []).notes[1:3] == (
        "Steps on ethnicity, race, date, zip, county were skipped: no quasi-identifier looks like it.",
        "No step treats 'los': shown as they are.",
    )


def test_a_column_is_what_it_is_stated_to_be_and_others_of_that_sort_are_left() -> None:
    frame = pl.DataFrame({"years": [41, 42], "zip": ["93711", "93722"], "home": ["10001", "10002"]})
    method = SafeHarbor(columns={"age": "years", "zip": "home"})
    masked = method.mask(table(frame, zip=Kind.NOMINAL, home=Kind.NOMINAL), [])
    assert shown(masked) == [("*", "93711", "100**"), ("*", "93722", "100**")]
    assert "'years' as age (as given), 'home' as zip (as given)" in masked.notes[0]
    assert masked.notes[2] == "No step treats 'zip': shown as they are."


def test_every_column_of_a_sort_takes_its_steps() -> None:
    frame = pl.DataFrame({"zip": ["93711", "93722"], "birth_zip": ["10001", "10002"]})
    masked = SafeHarbor().mask(table(frame, zip=Kind.NOMINAL, birth_zip=Kind.NOMINAL), [])
    assert shown(masked) == [("937**", "100**")] * 2


def test_ages_that_are_no_numbers_are_suppressed_and_not_put_into_bands() -> None:
    frame = pl.DataFrame({"age": ["[0-10)", "[10-20)"], "sex": [1, 1]})
    masked = SafeHarbor().mask(table(frame, age=Kind.NOMINAL), [])
    assert shown(masked) == [("*", "*")] * 2
    assert "'age' holds no numbers, so it is not put into bands." in masked.notes


@pytest.mark.parametrize(
    ("columns", "names", "why"),
    [
        ({"agee": "a"}, ["a"], "knows no sort of column 'agee'. Did you mean 'age'?"),
        ({"age": "a", "zip": "a"}, ["a"], "Column 'a' is given as age and as zip"),
        ({"age": "yeers"}, ["years"], "Column 'yeers', given as age, is no quasi-identifier of the table. Did you"),
        ({}, ["los", "height"], "None of the quasi-identifiers (los, height) looks like one"),
    ],
)
def test_columns_that_cannot_be_matched_are_refused(columns: dict[str, str], names: list[str], why: str) -> None:
    with pytest.raises(InputError) as refusal:
        SafeHarbor(columns=columns).mask(table(pl.DataFrame({name: [1, 2] for name in names})), [])
    assert why in str(refusal.value)


def test_a_ladder_names_its_columns_itself() -> None:
    with pytest.raises(InputError, match="both 'ladder' and 'columns'"):
        SafeHarbor(LADDER, columns={"age": "age"})


def test_missing_values_are_a_value_until_they_are_suppressed() -> None:
    frame = pl.DataFrame({"age": [None, None, 50, None], "sex": [1, 1, 1, 2]})
    ladder = (Step("age", "bands", cuts=(18, 65)), Step("sex", "suppress"), Step("age", "suppress"))
    assert ladder_levels(table(frame), ladder, 2).tolist() == [0, 0, 3, 2]
    assert shown(SafeHarbor(ladder).mask(table(frame), [])) == [
        (None, "1"),
        (None, "1"),
        ("*", "*"),
        (None, "*"),
    ]


def test_bands_that_do_not_nest_start_from_the_original_value() -> None:
    frame = pl.DataFrame({"age": [16, 19, 3, 30]})
    ladder = (Step("age", "bands", cuts=(15, 20)), Step("age", "bands", cuts=(18,)))
    assert shown(SafeHarbor(ladder).mask(table(frame), [KAnonymity(2)])) == [
        ("[15;19]",),
        ("[15;19]",),
        ("[3;17]",),
        ("18+",),
    ]


def test_codes_stored_as_numbers_get_their_zeros_back() -> None:
    frame = pl.DataFrame({"zip": [501, 544, 93722]})
    masked = SafeHarbor((Step("zip", "prefix", keep=3),)).mask(table(frame), [])
    assert shown(masked) == [("005**",), ("005**",), ("937**",)]
    column = masked.columns["zip"]
    assert column.low[column.index].tolist() == [500, 500, 93700]
    assert column.high[column.index].tolist() == [599, 599, 93799]


def test_codes_no_longer_than_the_prefix_stay_as_they_are() -> None:
    frame = pl.DataFrame({"n": [1, 12], "t": ["a*", "b"]})
    ladder = (Step("n", "prefix", keep=3), Step("t", "prefix", keep=2))
    assert shown(SafeHarbor(ladder).mask(table(frame, t=Kind.NOMINAL), [])) == [("1", r"a\*"), ("12", "b")]


def test_records_left_in_failing_classes_may_be_suppressed() -> None:
    frame = pl.DataFrame({"sex": [1, 1, 1, 2], "los": [5, 5, 5, 5]})
    masked = SafeHarbor((Step("sex", "suppress"),)).mask(table(frame), [KAnonymity(2)], suppression=0.25)
    assert shown(masked) == [("1", "5")] * 3
    assert masked.kept is not None
    assert masked.kept.tolist() == [0, 1, 2]


# ---- the ladder as data


def test_a_ladder_reads_from_a_policy_file() -> None:
    tables = tomllib.loads(
        """
        ladder = [
            {attribute = "age", action = "bands", cuts = [18, 65.5]},
            {attribute = "zip", action = "prefix", keep = 3},
            {attribute = "zip", action = "suppress"},
        ]
        """
    )
    steps = (
        Step("age", "bands", cuts=(18, 65.5)),
        Step("zip", "prefix", keep=3),
        Step("zip", "suppress"),
    )
    assert SafeHarbor(**tables) == SafeHarbor(steps)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"attribute": "a", "action": "hide"}, "'action' parameter of the step on 'a'"),
        ({"attribute": "a", "action": "bands"}, "one or more ascending numbers"),
        ({"attribute": "a", "action": "bands", "cuts": [5, 3]}, "one or more ascending numbers"),
        ({"attribute": "a", "action": "bands", "cuts": ["x"]}, "one or more ascending numbers"),
        ({"attribute": "a", "action": "prefix"}, "a whole number of at least 1"),
        ({"attribute": "a", "action": "prefix", "keeps": 3}, "Did you mean 'keep'?"),
        ({"attribute": "a"}, "needs 'attribute' and 'action'"),
    ],
)
def test_steps_that_make_no_sense_are_refused(step: dict[str, object], why: str) -> None:
    with pytest.raises(InputError) as refusal:
        SafeHarbor([step])  # type: ignore[list-item]
    assert why in str(refusal.value)


def test_an_empty_ladder_is_refused() -> None:
    with pytest.raises(InputError, match="one step or more"):
        SafeHarbor([])


def test_steps_that_do_not_fit_the_column_are_refused() -> None:
    days = table(pl.DataFrame({"day": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]}), day=Kind.DATE)
    with pytest.raises(InputError, match="puts 'day' into bands, but the column is date"):
        SafeHarbor((Step("day", "bands", cuts=(1,)),)).mask(days, [])
    with pytest.raises(InputError, match="keeps the first digits of 'day'"):
        SafeHarbor((Step("day", "prefix", keep=4),)).mask(days, [])
    with pytest.raises(InputError, match="keeps the first digits of 'x'"):
        SafeHarbor((Step("x", "prefix", keep=1),)).mask(table(pl.DataFrame({"x": [-11, 12]})), [])


# ---- any table


def view(step: Step, value: int | None) -> str:
    """What one step shows of a value, as plainly as can be."""
    if step.action == "suppress":
        return "*"
    if value is None:
        return "missing"
    if step.action == "prefix":
        return f"{value:05}"[: step.keep]
    return f"band {sum(value >= cut for cut in step.cuts)}"


def slow_levels(rows: list[tuple[int | None, ...]], ladder: tuple[Step, ...], k: int) -> list[int]:
    """Paper 1's rule, record by record: the least level at which k records look alike."""
    levels: list[int | None] = [None] * len(rows)
    for level in range(len(ladder) + 1):
        seen = []
        for row in rows:
            look = [str(value) for value in row]
            for step in ladder[:level]:
                j = int(step.attribute)
                look[j] = view(step, row[j])
            seen.append(tuple(look))
        count = Counter(seen)
        for i, look_of in enumerate(seen):
            if levels[i] is None and count[look_of] >= k:
                levels[i] = level
    return [len(ladder) if level is None else level for level in levels]


values = st.one_of(st.integers(90_000, 90_020), st.integers(10_000, 99_999), st.none())
steps = st.one_of(
    st.builds(Step, st.sampled_from("012"), st.just("suppress")),
    st.builds(Step, st.sampled_from("012"), st.just("prefix"), keep=st.integers(1, 4)),
    st.builds(
        Step,
        st.sampled_from("012"),
        st.just("bands"),
        cuts=st.sets(st.integers(90_000, 90_020), min_size=1).map(lambda cuts: tuple(sorted(cuts))),
    ),
)


@given(
    st.lists(st.tuples(values, values, values), min_size=1, max_size=25),
    st.lists(steps, min_size=1, max_size=6).map(tuple),
    st.integers(2, 4),
)
def test_levels_agree_with_the_rule_and_cells_admit_the_values(
    rows: list[tuple[int | None, ...]], ladder: tuple[Step, ...], k: int
) -> None:
    rows = [*rows, (99_999, 99_999, 99_999)]  # every column has codes of five digits
    frame = pl.DataFrame(rows, schema=dict.fromkeys("012", pl.Int64), orient="row")
    microdata = table(frame)
    ladder = (
        *ladder,
        *(Step(name, "suppress") for name in "012" if name not in {s.attribute for s in ladder}),
    )
    levels = ladder_levels(microdata, ladder, k)
    assert levels.tolist() == slow_levels(rows, ladder, k)
    masked = SafeHarbor(ladder).mask(microdata, [KAnonymity(k)])
    for name, column in masked.columns.items():
        low, high = column.low[column.index], column.high[column.index]
        own = [0, *(taken for taken, step in enumerate(ladder, 1) if step.attribute == name), len(ladder) + 1]
        text = column.values().to_list()
        for i, value in enumerate(frame[name].to_list()):
            assert np.isnan(low[i]) or value is None or low[i] <= value <= high[i]
            taken = next(a for a, b in pairwise(own) if a <= levels[i] < b)
            assert (text[i] == "*") == (taken > 0 and ladder[taken - 1].action == "suppress")
            assert (text[i] is None) == (value is None and text[i] != "*")
        back = read_cells(column.values(), column.attribute, microdata[name].values)
        np.testing.assert_array_equal(back.low[back.index], low)
        np.testing.assert_array_equal(back.high[back.index], high)
