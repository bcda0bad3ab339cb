"""Pseudonyms and shifted dates are the same on each engine."""

from collections.abc import Callable

import polars as pl
import pytest

from shoal.chunked_release import anonymize_in_chunks
from shoal.data.pseudonym_forms import FORMS
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.privacy import KAnonymity
from shoal.privacy.classes import all_of
from tests.oracles.histories import least_alike
from tests.test_pseudonyms import KEY, beside, policy, visits

Engine = Callable[[pl.DataFrame], Table]


@pytest.mark.each_engine(spark="slow")
@pytest.mark.parametrize("form", FORMS)
def test_the_same_pseudonyms_and_dates_on_each_engine(form: str, engine: Engine) -> None:
    original = visits()
    released = anonymize_in_chunks(engine(original), policy(form))
    assert not any("identified" in name for name in released.table.schema)
    both = beside(original, all_of(released.table))
    values = original["patient"].unique()
    expected = FORMS[form]().made(values.cast(pl.String).to_list(), KEY, "person")
    shown = dict(zip(values.to_list(), expected, strict=True))
    assert both["patient shown"].to_list() == [shown[who] for who in both["patient"]]
    moved = (both["admitted shown"] - both["admitted"]).dt.total_days()
    assert moved.equals((both["discharged shown"] - both["discharged"]).dt.total_days())
    assert both.with_columns(moved=moved).group_by("patient").agg(pl.col("moved").n_unique())["moved"].max() == 1


@pytest.mark.each_engine(spark="slow")
def test_two_values_with_one_code_are_refused_on_each_engine(engine: Engine) -> None:
    short = policy(pseudonyms={"patient": {"domain": "person", "length": 4}}, shift=None)
    with pytest.raises(InputError, match="length=6"):
        anonymize_in_chunks(engine(visits(12_000, 12_000)), short)


@pytest.mark.each_engine(spark="slow")
def test_at_how_many_people_linked_holds_is_judged_and_certified(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 60)
    people = visits().with_columns(pl.when(pl.int_range(pl.len()) % 40 > 0).then("patient"), age=pl.lit(30))
    released = anonymize_in_chunks(engine(people), policy(models=[KAnonymity(3)]))
    shown = all_of(released.table)
    alone = pl.coalesce("patient", pl.format("nobody {}", pl.int_range(pl.len())))
    least = least_alike([zip(shown.select(alone).to_series(), shown["age"], strict=True)])
    assert released.certificate["linked"] == {"patient": least}
    assert sum(f"linked holds at {least:,}" in note for note in released.notes) == 1
