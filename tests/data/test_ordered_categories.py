"""Ordinal text: its order comes from its type, from the policy or from --kind; never from the alphabet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import Policy, anonymize, check, profile, risk
from shoal.data.files import read_table
from shoal.data.frames import to_polars
from shoal.data.schema import Kind
from shoal.engines.opening import open_table
from shoal.errors import InputError
from tests.engines.test_table import collected

ORDER = ["Preschool", "Primary", "Bachelors", "Masters", "Doctorate"]
VALUES = ["Masters", "Preschool", "Primary", "Bachelors", "Preschool", "Masters"]
POLICY = Policy(quasi_identifiers=["education"], models={"name": "k-anonymity", "k": 2})
ORDERED = pl.Enum(ORDER)


def of_pandas() -> pd.DataFrame:
    return pd.DataFrame({"education": pd.Categorical(VALUES, categories=ORDER, ordered=True)})


def of_arrow() -> pa.Table:
    indices = pa.array([ORDER.index(value) for value in VALUES], pa.int8())
    return pa.table({"education": pa.DictionaryArray.from_arrays(indices, ORDER, ordered=True)})


def of_duckdb() -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.execute(f"CREATE TYPE level AS ENUM ({', '.join(map(repr, ORDER))})")
    connection.execute("CREATE TABLE people (education level)")
    connection.executemany("INSERT INTO people VALUES (?)", [[value] for value in VALUES])
    return connection.table("people")


def of_polars() -> pl.DataFrame:
    return pl.DataFrame({"education": pl.Series(VALUES, dtype=ORDERED)})


def text() -> pl.DataFrame:
    return pl.DataFrame({"education": VALUES})


# ---- an order that the type states


@pytest.mark.parametrize("made", [of_pandas, of_arrow, of_duckdb, of_polars])
def test_a_type_that_states_an_order_makes_a_column_ordinal(made: Any) -> None:
    table, _ = to_polars(made())
    assert table.schema == {"education": ORDERED}
    release = anonymize(made(), POLICY, seed=1)
    assert set(release.table["education"]) == {"Preschool", "[Primary;Bachelors]", "Masters"}
    (note,) = (note for note in release.notes if "ordinal" in note)
    assert note.endswith("Preschool < Primary < Bachelors < Masters < Doctorate.")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_file_keeps_the_order_of_pandas_categories(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"d{suffix}"
    of_pandas().to_parquet(path, row_group_size=2) if suffix == ".parquet" else of_pandas().to_feather(path)
    assert read_table(path).schema == {"education": ORDERED}
    table = open_table(path, "disk")
    assert table.schema == {"education": ORDERED}
    assert collected(table)["education"].to_list() == VALUES


@pytest.mark.parametrize("made", [of_duckdb, lambda: of_polars().lazy(), of_pandas, of_arrow])
def test_the_disk_engine_takes_the_same_order(made: Any) -> None:
    release = anonymize(made(), POLICY, seed=1, engine="disk")
    assert release.survey.schema["education"].domain == tuple(ORDER)
    assert any("in the order that its type states" in note for note in release.notes)


def test_categories_without_an_order_stay_nominal() -> None:
    frame = of_pandas()
    frame["education"] = frame["education"].cat.as_unordered()
    arrow = pa.table({"education": pa.array(VALUES).dictionary_encode()})
    for made in (frame, arrow, text(), text().cast(pl.Categorical)):
        table, _ = to_polars(made)
        assert POLICY.schema(table)["education"].kind is Kind.NOMINAL


def test_dictionaries_that_differ_from_chunk_to_chunk_state_no_order() -> None:
    one = of_arrow()
    other = pa.table({"education": pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["Primary"], ordered=True)})
    table, _ = to_polars(pa.concat_tables([one, other]))
    assert table["education"].dtype == pl.Categorical


def test_ordered_categories_that_are_no_text_keep_the_order_of_numbers() -> None:
    frame = pd.DataFrame({"education": pd.Categorical([3, 1, 2], categories=[3, 1, 2], ordered=True)})
    assert to_polars(frame)[0]["education"].dtype.is_integer()


def test_the_kind_and_order_of_a_type_give_way_to_the_policy() -> None:
    nominal = POLICY.model_copy(update={"attributes": Policy(attributes={"education": {"kind": "nominal"}}).attributes})
    release = anonymize(of_polars(), nominal, seed=1)
    assert release.schema["education"].kind is Kind.NOMINAL
    assert not any("ordinal" in note for note in release.notes)


# ---- text that nothing orders


def ordinal(**choice: Any) -> Policy:
    return Policy(
        quasi_identifiers=["education"],
        models={"name": "k-anonymity", "k": 2},
        attributes={"education": {"kind": "ordinal", **choice}},
    )


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_ordinal_text_without_an_order_is_refused_with_its_values(engine: Any, dtype: Any) -> None:
    frame = text().cast(dtype)
    with pytest.raises(InputError) as refusal:
        anonymize(frame if engine == "memory" else frame.lazy(), ordinal(), engine=engine)
    sentence = str(refusal.value)
    assert "--kind 'education=ordinal:low,middle,high'" in sentence
    assert "under [attributes.education]" in sentence
    assert sentence.endswith("It holds Bachelors, Masters, Preschool, Primary.")


def test_a_long_list_of_values_is_cut_short_and_a_name_is_quoted() -> None:
    frame = pl.DataFrame({"age group": [f"group {i}" for i in range(20)]})
    policy = Policy(quasi_identifiers=["age group"], attributes={"age group": {"kind": "ordinal"}})
    with pytest.raises(InputError, match=r'under \[attributes\."age group"\]\. It holds .* and 8 more\.'):
        policy.schema(frame)


def test_text_of_numbers_is_text() -> None:
    with pytest.raises(InputError, match="nothing says in which order"):
        ordinal().schema(pl.DataFrame({"education": ["2", "10"]}))


@pytest.mark.parametrize("values", [[3, 1, 2], [True, False], [2.5, None]])
def test_numbers_and_yes_no_need_no_order(values: list[Any]) -> None:
    assert ordinal().schema(pl.DataFrame({"education": values}))["education"].kind is Kind.ORDINAL


def test_an_order_in_the_policy_is_followed() -> None:
    release = anonymize(text(), ordinal(domain=ORDER), seed=1)
    assert set(release.table["education"]) == {"Preschool", "[Primary;Bachelors]", "Masters"}
    assert check(release.table, ordinal(domain=ORDER))[0].holds


def test_a_category_that_stands_twice_in_the_order_is_refused() -> None:
    with pytest.raises(InputError, match="lists 'Masters' more than once"):
        ordinal(domain=["Masters", "Preschool", "Masters"]).schema(text())


@pytest.mark.parametrize("span", ["[Preschool;Masters]", "Preschool to Masters"])
def test_a_released_range_of_texts_is_not_read_by_the_alphabet(span: str) -> None:
    shown = pl.DataFrame({"education": [span, span, "Primary", "Primary"]})
    with pytest.raises(InputError, match="nothing says in which order"):
        risk(shown, ordinal())
    assert risk(shown, ordinal(domain=ORDER)).uniques == 0


def test_an_ordinal_confidential_text_of_a_release_needs_its_order() -> None:
    policy = Policy(
        quasi_identifiers=["age"],
        confidential=["education"],
        models={"name": "t-closeness", "t": 0.9},
        attributes={"education": {"kind": "ordinal"}},
    )
    with pytest.raises(InputError, match="nothing says in which order"):
        check(text().with_columns(age=pl.lit(1)), policy)


def test_a_profile_shows_the_kind_and_its_policy_says_how_to_state_an_order() -> None:
    found = profile(of_pandas())
    assert found.attributes[0].kind is Kind.ORDINAL
    assert "domain = [" in found.policy_toml()
    assert profile(text()).attributes[0].kind is Kind.NOMINAL
