"""The risk facade: original tables and releases, any knowledge of the intruder."""

from __future__ import annotations

import json
import os
from io import StringIO
from itertools import chain, combinations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.masking.grouping.ordered import zero_distance
from shoal.masking.publishing.range import publish_range
from shoal.risk.measure import assess_risk
from shoal.utility.information_loss import information_loss
from tests.oracles import fitting
from tests.oracles import measures as oracle

QUASI = ("age", "sex", "ethnicity", "race", "zip", "county", "quarter", "los")


def schema_of(quasi: dict[str, Kind], confidential: dict[str, Kind] | None = None) -> Schema:
    known = [Attribute(name, frozenset({Role.QUASI_IDENTIFIER}), kind) for name, kind in quasi.items()]
    secret = [Attribute(name, frozenset({Role.CONFIDENTIAL}), kind) for name, kind in (confidential or {}).items()]
    return Schema((*known, *secret))


PATIENTS = schema_of(dict.fromkeys(QUASI, Kind.NUMERIC), {"charge": Kind.NUMERIC, "diagnosis": Kind.NOMINAL})


# ---- the paper's examples


def test_table_s2_every_patient_is_unique() -> None:
    risk = assess_risk(oracle.TABLE_S2, PATIENTS, when=["charge > 100000"]).to_dict()
    assert risk["records"] == risk["uniques"] == 6
    assert risk["reidentification_risk"] == risk["highest_risk"] == risk["average_risk"] == 1.0
    assert risk["smallest_class"] == 1
    assert risk["attribute_disclosure"] == {"charge > 100000": 1.0}
    assert risk["uniques_rule"] == "class equality"


def test_table_s6_nobody_is_unique_but_values_are_disclosed() -> None:
    cancer = "diagnosis like '%Cancer'"
    risk = assess_risk(oracle.TABLE_S6, PATIENTS, when=["charge > 100000", cancer]).to_dict()
    assert risk["uniques"] == 0
    assert risk["uniques_rule"] == "worst case (fitting)"
    assert risk["uniques_proven"] is True
    assert risk["smallest_class"] == 3
    assert risk["highest_risk"] == risk["average_risk"] == pytest.approx(1 / 3)
    assert risk["attribute_disclosure"] == {"charge > 100000": 0.75, cancer: 1.0}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["[24;28]", "[24;26]", "[24;26]", "28", "28"], Kind.NUMERIC),
        (["[2020-02-28;2020-03-01]", "2020-02-28", "2020-02-28", "2020-03-01", "2020-03-01"], Kind.DATE),
    ],
)
def test_a_release_measured_without_its_original_reads_intervals_as_numbers_or_dates(
    cells: list[str], kind: Kind
) -> None:
    """As mere labels the first record would be covered; but 27, or the leap day, fits no other record."""
    frame = pl.DataFrame({"age": cells})
    assert assess_risk(frame, schema_of({"age": Kind.NOMINAL})).uniques == 1
    assert assess_risk(frame, schema_of({"age": kind})).uniques == 1


def test_ranges_of_texts_without_an_order_are_refused() -> None:
    frame = pl.DataFrame({"size": ["[L;M]", "L", "L", "M", "M"]})
    with pytest.raises(InputError, match="nothing says in which order its texts stand"):
        assess_risk(frame, schema_of({"size": Kind.NOMINAL}))


def test_worst_case_looks_into_ranges_where_equality_does_not() -> None:
    frame = pl.DataFrame({"age": ["26", "[24;28]"]})
    schema = schema_of({"age": Kind.NUMERIC})
    assert assess_risk(frame, schema).uniques == 1  # 26 fits the range, 25 fits nobody else
    plain = assess_risk(frame, schema, worst_case=False)
    assert (plain.uniques, plain.uniques_rule) == (2, "class equality")


# ---- what the intruder knows (Figure S3)

GROUPS = {"spatial": ["county"], "census": ["age", "sex"], "temporal": ["quarter", "los"]}


@pytest.mark.parametrize("masked", [False, True])
def test_every_union_of_groups_is_measured(masked: bool) -> None:
    frame = oracle.TABLE_S2
    if masked:
        frame = frame.with_columns(pl.Series("age", ["*", "35", "35", "35", "*", "61"]))
    known = assess_risk(frame, PATIENTS, groups=GROUPS).attributes_known
    subsets = list(chain.from_iterable(combinations(GROUPS, size) for size in (1, 2, 3)))
    assert [k.groups for k in known] == subsets
    for k in known:
        alone = schema_of({name: Kind.NUMERIC for group in k.groups for name in GROUPS[group]})
        assert k.uniques == assess_risk(frame, alone).uniques
        assert k.reidentification_risk == k.uniques / 6
    assert known[0].uniques == 1  # only one patient lives in county 19


def test_groups_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="Did you mean 'county'"):
        assess_risk(oracle.TABLE_S2, PATIENTS, groups={"spatial": ["conty"]})
    with pytest.raises(InputError, match="'charge', which is not a quasi-identifier"):
        assess_risk(oracle.TABLE_S2, PATIENTS, groups={"money": ["charge"]})
    with pytest.raises(InputError, match="is empty"):
        assess_risk(oracle.TABLE_S2, PATIENTS, groups={"spatial": []})
    with pytest.raises(InputError, match="at most 8"):
        assess_risk(oracle.TABLE_S2, PATIENTS, groups={str(i): ["age"] for i in range(9)})


# ---- against the definition

values = {"a": [1, 2, 3, None], "b": ["x", "y", None]}
plain_rows = st.lists(st.tuples(*map(st.sampled_from, values.values())), min_size=1, max_size=25)


@given(plain_rows)
def test_plain_tables_follow_the_definition_and_missing_is_a_value(rows: list[tuple[object, ...]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.String}, orient="row")
    risk = assess_risk(frame, schema_of({"a": Kind.NUMERIC, "b": Kind.NOMINAL}))
    sizes = oracle.class_sizes(rows)
    assert risk.uniques == sizes.count(1)
    assert risk.classes.smallest_class == sizes[0]
    assert risk.classes.average_risk == pytest.approx(oracle.average_risk(rows))
    assert risk.uniques_rule == "class equality"


cells = {
    "1": {1},
    "2": {2},
    "4": {4},
    "[1;3]": {1, 2, 3},
    "[2;4]": {2, 3, 4},
    "*": {1, 2, 3, 4},
    "{1;4}": {1, 4},
}
masked_rows = st.lists(st.tuples(*[st.sampled_from(list(cells))] * 2), min_size=1, max_size=8)


@given(masked_rows)
def test_masked_tables_follow_the_worst_case(rows: list[tuple[str, ...]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    attributes = [Attribute(n, frozenset({Role.QUASI_IDENTIFIER}), Kind.NUMERIC, domain=(1, 4)) for n in "ab"]
    risk = assess_risk(frame, Schema(tuple(attributes)))
    boxes = [[frozenset(cells[cell]) for cell in row] for row in rows]
    assert risk.uniques == sum(fitting.uniques(boxes))
    assert risk.uniques <= oracle.class_sizes(rows).count(1)


# ---- everyday tables


def test_a_wildcard_in_one_column_makes_the_others_fit_too() -> None:
    frame = pl.DataFrame({"age": [30, 31, 31], "zip": ["*", "93722", "93722"]})
    risk = assess_risk(frame, schema_of({"age": Kind.NUMERIC, "zip": Kind.NOMINAL}))
    assert risk.uniques_rule == "worst case (fitting)"
    assert risk.uniques == 1


def test_odd_names_nan_and_categories() -> None:
    frame = pl.DataFrame(
        {
            'my "age"': [1.0, float("nan"), None, 1.0],
            "len": pl.Series(["a", "b", "b", "a"], dtype=pl.Categorical),
            "q0": [True, False, False, True],
        }
    )
    risk = assess_risk(frame, schema_of({'my "age"': Kind.NUMERIC, "len": Kind.NOMINAL, "q0": Kind.NOMINAL}))
    assert (risk.uniques, risk.classes.smallest_class) == (0, 2)


def test_an_empty_table_has_no_risk() -> None:
    risk = assess_risk(oracle.TABLE_S2.clear(), PATIENTS, when=["charge > 1"]).to_dict()
    assert risk["records"] == risk["uniques"] == risk["smallest_class"] == 0
    assert risk["reidentification_risk"] == risk["highest_risk"] == risk["average_risk"] == 0.0
    assert risk["satisfied_by_nobody"] == ["charge > 1"]


def test_a_confidential_attribute_that_is_also_quasi_identifying_is_not_learnt() -> None:
    both = Attribute("charge", frozenset({Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL}), Kind.NUMERIC)
    assert assess_risk(oracle.TABLE_S2, Schema((both,))).disclosure_by_value == ()


def test_the_most_disclosed_value_of_each_confidential_attribute_is_named() -> None:
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "diag": ["flu", "hiv", "hiv", "hiv"]})
    risk = assess_risk(frame, schema_of({"q": Kind.NUMERIC}, {"diag": Kind.NOMINAL})).to_dict()
    assert risk["disclosure_by_value"] == {"diag": {"maximum": 2 / 3, "condition": "diag = 'hiv'"}}


def test_bad_input_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match="No quasi-identifier is named"):
        assess_risk(oracle.TABLE_S2, schema_of({}, {"charge": Kind.NUMERIC}))
    with pytest.raises(InputError, match=r"no column 'aje', named as quasi-identifier\. Did you mean 'age'"):
        assess_risk(oracle.TABLE_S2, schema_of({"aje": Kind.NUMERIC}))
    identifier = Attribute("diagnosis", frozenset({Role.IDENTIFIER}), Kind.NOMINAL)
    schema = Schema((*schema_of({"age": Kind.NUMERIC}), identifier))
    with pytest.raises(InputError, match="never released"):
        assess_risk(oracle.TABLE_S2, schema, when=["diagnosis = 'Necrosis'"])


# ---- showing


def test_it_prints_within_80_columns_and_survives_odd_text() -> None:
    long = "an exceedingly long name of a diagnosis, so long that it will not fit on a line"
    condition = f"diagnosis in ('[bold]', '<b>', '{long}')"
    risk = assess_risk(oracle.TABLE_S6, PATIENTS, when=[condition], groups=GROUPS)
    console = Console(width=80, record=True, file=StringIO())
    console.print(risk)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "[bold]" in text
    assert "no record satisfies it" in text
    assert "spatial + census + temporal" in text
    page = risk._repr_html_()
    assert "<b>'" not in page
    assert "&lt;b&gt;" in page


def test_its_dictionary_is_json() -> None:
    risk = assess_risk(oracle.TABLE_S6, PATIENTS, when=["charge > 1"], groups=GROUPS)
    again = json.loads(json.dumps(risk.to_dict()))
    assert again["attributes_known"]["spatial + census"] == {"uniques": 0, "reidentification_risk": 0.0}
    assert again["higher_is"]["smallest_class"] == "safer"


# ---- real discharges (docs/spec.md#nhds)


@pytest.fixture(scope="module")
def discharges() -> pl.DataFrame:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA names no folder with nhds2010.parquet")
    frame = pl.read_parquet(Path(folder) / "discharges" / "nhds2010.parquet")
    # The month is a category like the others, sorted as text, as for the figures of docs/spec.md#nhds.
    names = ["sex", "race", "marital_status", "dc_month", "region", "n_beds", "hospital_ownership"]
    label = pl.col(names).cast(pl.String).fill_null("~missing")
    years = pl.when(pl.col("age_unit") == "years").then("age").otherwise(0).alias("age")
    return frame.select(years, label.rank("dense").cast(pl.Int32), "care_days")


NHDS = ["age", "sex", "race", "marital_status", "dc_month", "region", "n_beds", "hospital_ownership"]


def test_nhds_original_and_algorithm_s2(discharges: pl.DataFrame) -> None:
    schema = schema_of(dict.fromkeys(NHDS, Kind.NUMERIC), {"care_days": Kind.NUMERIC})
    long_stay = "care_days > 14"
    before = assess_risk(discharges, schema, when=[long_stay])
    assert before.uniques == 63_883
    assert before.classes.average_risk == pytest.approx(0.6002, abs=5e-5)
    assert before.attribute_disclosure[0].risk == pytest.approx(0.4831, abs=5e-5)

    microdata = Microdata(discharges, schema)
    partition = zero_distance(microdata, 2)
    index = partition.class_of(len(microdata))
    masked = {coded.name: publish_range(coded, partition, index) for coded in microdata.quasi}
    release = discharges.with_columns(column.values() for column in masked.values())
    after = assess_risk(release, schema, when=[long_stay])
    assert after.uniques == 0
    assert after.classes.average_risk == pytest.approx(0.4278, abs=5e-5)
    assert after.attribute_disclosure[0].risk == pytest.approx(0.0423, abs=5e-5)
    assert information_loss(microdata, masked) == pytest.approx(0.2686, abs=5e-5)
