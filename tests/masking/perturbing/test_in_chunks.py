"""Perturbing inside random parts keeps what methods keep; a risk measured in parts is never more optimistic."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.chunked_release import ChunkedRelease, anonymize_in_chunks, anonymize_to
from shoal.data.microdata import Microdata
from shoal.engines.disk import Disk
from shoal.engines.table import FACTS
from shoal.errors import InputError, PromiseError
from shoal.masking import chunks
from shoal.measure import measure
from shoal.privacy.check import released_classes
from shoal.privacy.model import Source
from shoal.report.words import each_note_once

NUMERIC = [
    shoal.Noise(0.2),
    shoal.MultiplicativeNoise(0.3),
    shoal.Swap(0.05),
    shoal.Shuffle(0.7),
    shoal.Resample(0.5),
    shoal.IndividualRanking(5),
    shoal.IndividualRanking(5, subsets=(("age", "income"),)),
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 500)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 300)


def people(records: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.normal(45, 12, records)
    return pl.DataFrame(
        {
            "age": age,
            "income": np.exp(10 + age / 100 + rng.normal(0, 0.4, records)),
            "visits": rng.geometric(0.2, records),
            "sex": rng.choice(["f", "m", "x"], records, p=[0.5, 0.4, 0.1]),
            "number": np.arange(records),
        }
    )


def policy(method: object, *models: object, quasi: tuple[str, ...] = ("age", "income", "visits")) -> shoal.Policy:
    return shoal.Policy(quasi_identifiers=quasi, insensitive=["number"], models=models, method=method)


def released(table: pl.DataFrame, chosen: shoal.Policy, seed: int = 1) -> tuple[ChunkedRelease, pl.DataFrame]:
    with Disk() as disk:
        release = anonymize_in_chunks(disk.table(table.lazy()), chosen, seed=seed)
        return release, release.frame.collect()


@pytest.mark.parametrize("method", NUMERIC, ids=str)
def test_every_part_is_perturbed_by_draws_of_its_own(method: object) -> None:
    chosen = policy(method)
    release, found = released(people(), chosen)
    assert release.facts["chunks"] == 6
    assert sorted(found["number"]) == list(range(3000))
    assert found["number"].to_list() != list(range(3000))
    paired = found.sort("number")
    assert (paired["income"] != people()["income"]).mean() > 0.5
    assert paired["income"].mean() == pytest.approx(people()["income"].mean(), rel=0.05)
    assert released(people(), chosen)[1].equals(found)
    assert method.seedless or not released(people(), chosen, seed=2)[1].sort("number").equals(paired)


@pytest.mark.parametrize("method", [shoal.Swap(0.05), shoal.Shuffle(0.7)], ids=str)
def test_what_changes_places_stays_the_same_altogether(method: object) -> None:
    _, found = released(people(), policy(method))
    for name in ("age", "income", "visits"):
        assert found[name].sort().equals(people()[name].sort())


def test_categories_are_drawn_anew_in_parts() -> None:
    chosen = policy(shoal.Pram(0.3), quasi=("sex",))
    _, found = released(people(), chosen)
    changed = (found.sort("number")["sex"] != people()["sex"]).mean()
    assert 0.1 < changed < 0.3


METHODS = [shoal.Noise(0.05), shoal.Swap(0.05), shoal.IndividualRanking(4)]


@pytest.mark.parametrize(
    ("method", "quasi"),
    [*((method, ("age", "income", "visits")) for method in METHODS), (shoal.Pram(0.1), ("sex", "town"))],
    ids=str,
)
def test_no_fewer_are_found_again_in_parts_than_in_the_whole(method: object, quasi: tuple[str, ...]) -> None:
    table = people().with_columns(town=pl.Series(np.random.default_rng(1).integers(400, size=3000).astype(str)))
    release, found = released(table, policy(method, shoal.MeasuredRisk(1.0), quasi=quasi))
    classes = released_classes(
        found.sort("number"), release.survey.schema, Source(Microdata(table, release.survey.schema), None)
    )
    whole = shoal.MeasuredRisk(1.0).verdict(classes).achieved
    assert release.verdicts[0].achieved >= whole > 0
    assert any("The measured-risk is the mean of 6 random chunks" in note for note in release.notes)


def test_the_risk_is_the_mean_of_the_parts_by_records() -> None:
    release, _ = released(people(2700), policy(shoal.Noise(0.2), shoal.MeasuredRisk(1.0)))
    records = np.array([fact["records"] for fact in release.chunks])
    risks = np.array([fact["risks"][0] for fact in release.chunks])
    assert len(set(records)) > 1
    assert release.verdicts[0].achieved == pytest.approx((records * risks).sum() / 2700)


def test_a_risk_that_is_too_high_withholds_the_release(tmp_path: Path) -> None:
    chosen = policy(shoal.Noise(0.01), shoal.MeasuredRisk(0.1))
    with pytest.raises(PromiseError, match=re.escape("does not keep measured-risk: 0.1 was asked for")):
        released(people(), chosen)
    with Disk() as disk, pytest.raises(PromiseError, match="measured-risk"):
        anonymize_to(disk.table(people().lazy()), chosen, str(tmp_path / "out"), seed=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_is_written_is_what_was_measured(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = policy(shoal.Noise(0.5), shoal.MeasuredRisk(0.9))
    with Disk() as disk:
        release = anonymize_to(disk.table(people().lazy()), chosen, str(tmp_path / "out"), kind, seed=1)
        again = anonymize_in_chunks(disk.table(people().lazy()), chosen, seed=1)
        assert again.verdicts == release.verdicts
        again.write(tmp_path / "again", kind)
        certificate = json.loads((tmp_path / "again" / "_certificate.json").read_text(encoding="utf-8"))
        assert certificate["models"][0]["name"] == "measured-risk"
        monkeypatch.setattr(pl.DataFrame, f"write_{kind}", changed(getattr(pl.DataFrame, f"write_{kind}")))
        with pytest.raises(PromiseError, match="not what its risk was measured on"):
            again.write(tmp_path / "changed", kind)
    assert not (tmp_path / "changed").exists()


def changed(write: object) -> object:
    """A disk that writes other ages than it was given."""
    return lambda frame, path, **how: write(frame.with_columns(pl.col("age") * 1.001), path, **how)


def test_k_anonymity_of_noise_is_refused_as_in_memory() -> None:
    chosen = policy(shoal.Noise(), shoal.KAnonymity(2))
    with pytest.raises(PromiseError) as memory:
        shoal.anonymize(people(), chosen)
    with pytest.raises(PromiseError) as parts:
        released(people(), chosen)
    assert str(parts.value) == str(memory.value)


TOGETHER = (("age", "income", "visits"),)


def test_microaggregated_parts_are_k_anonymous_together() -> None:
    release, found = released(
        people(), policy(shoal.IndividualRanking(4, subsets=TOGETHER), shoal.KAnonymity(4), shoal.MeasuredRisk(1.0))
    )
    assert [verdict.model for verdict in release.verdicts] == ["k-anonymity", "measured-risk"]
    assert release.verdicts[0].achieved >= 4
    assert found.group_by("age", "income", "visits").len()["len"].min() >= 4


def test_a_measured_risk_of_grouped_records_is_measured_in_random_parts() -> None:
    release, _ = released(people(), policy(shoal.Hilbert(), shoal.KAnonymity(3), shoal.MeasuredRisk(1.0)))
    assert all(verdict.holds for verdict in release.verdicts)
    assert 0 < release.verdicts[1].achieved < 1


def test_a_measure_that_may_be_too_optimistic_in_parts_is_refused_by_name() -> None:
    @measure("risk", "riskier")
    def largest_income(pair: object) -> float:
        """Of anybody."""
        return 0.0

    with pytest.raises(InputError, match="cannot promise the measured risk 'largest_income'"):
        released(people(), policy(shoal.Noise(), shoal.MeasuredRisk(1.0, "largest_income")))


def test_a_column_that_may_be_constant_in_a_part_is_refused_before_any_work() -> None:
    rare = people().with_columns(visits=(pl.int_range(3000) % 1000 == 0).cast(pl.Int64))
    shoal.anonymize(rare, policy(shoal.Noise(), shoal.MeasuredRisk(1.0)))
    with pytest.raises(InputError, match="Column 'visits' holds one value in all but 3 records"):
        released(rare, policy(shoal.Noise(), shoal.MeasuredRisk(1.0)))


def test_what_parts_say_is_said_once() -> None:
    parts = [["Blocks of 5.", "In 'x' 12 values."], ["In 'x' 1,300 values."], ["Blocks of 5.", "In 'x' 7 values."]]
    assert list(each_note_once(parts)) == ["Blocks of 5.", "In 'x' 12 values. So or alike in 2 other chunks."]


def test_facts_do_not_show() -> None:
    _, found = released(people(), policy(shoal.Noise(), shoal.MeasuredRisk(1.0)))
    assert FACTS not in found.columns
