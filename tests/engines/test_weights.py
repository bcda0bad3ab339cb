"""k-map by sampling weights on every engine: weights go along unseen, and classes are judged by their sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.check import check_table
from shoal.chunked_release import anonymize_in_chunks
from shoal.chunked_split import split_in_chunks
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.masking.recoding import frequencies
from shoal.policy import Policy
from shoal.privacy.classes import all_of
from shoal.privacy.k_map_by_weights import KMapByWeights
from tests.risk.test_individual import HIERARCHY, survey

Engine = Callable[[pl.DataFrame], Table]

SURVEY = survey()

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK", "masking.chunks.RANDOM_CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 150)


def promised(k: int = 20, **choices: Any) -> Policy:
    trees = {"age": {"hierarchy": HIERARCHY}, "sex": {"hierarchy": [["f", "*"], ["m", "*"]]}}
    stated = {"quasi_identifiers": ["age", "sex"], "confidential": ["ill"], "attributes": trees}
    return Policy(**{**stated, "models": [KMapByWeights(k, "w")], "method": shoal.Recode(), **choices})


@pytest.mark.parametrize("suppression", [0.0, 0.05])
@pytest.mark.parametrize("test", ["truncated-poisson", "individual"])
def test_the_release_and_its_verdict_are_those_of_memory(engine: Engine, test: str, suppression: float) -> None:
    chosen = promised(suppression=suppression, models=[KMapByWeights(20, "w", test=test)])
    release, memory = anonymize_in_chunks(engine(SURVEY), chosen, seed=1), shoal.anonymize(SURVEY, chosen, seed=1)
    shown = all_of(release.table)
    assert shown.columns == ["age", "sex", "ill"]
    assert_frame_equal(shown, memory.table, check_row_order=False)
    [ours], [expected] = release.verdicts, memory.verdicts
    assert 2 <= release.sizes.smallest < 20
    assert ours.achieved == pytest.approx(expected.achieved)
    assert (ours.holds, ours.note) == (True, expected.note)
    assert "achieved" not in release.certificate["models"][0]


def test_levels_searched_on_a_sample_are_verified_on_the_weights_of_all(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frequencies, "LIMIT", 20)
    release = anonymize_in_chunks(engine(SURVEY), promised(), seed=1)
    assert any("verified on all 1,000" in note for note in release.notes)
    assert release.verdicts[0].achieved >= 20


def test_a_release_is_judged_beside_the_originals_weights_or_those_it_shows(engine: Engine) -> None:
    memory = shoal.anonymize(SURVEY, promised(), seed=1)
    fixed = promised(models=[KMapByWeights(20, "w", cells_fixed=True)])
    shown = engine(memory.table)

    def reached(table: Table, original: pl.DataFrame | None = None) -> float:
        beside = {} if original is None else {"original": engine(original), "paired": True}
        [verdict] = check_table(table, None, fixed.changed(rest="insensitive"), **beside).verdicts
        return verdict.achieved

    expected = pytest.approx(memory.verdicts[0].achieved)
    if shown.ordered and shown.whole is None:
        assert reached(shown, SURVEY) == expected
        assert reached(shown, SURVEY.with_columns(w=pl.lit(1.0))) == memory.sizes.min()
    assert reached(engine(memory.table.with_columns(SURVEY["w"]))) == expected
    with pytest.raises(InputError, match="does not show the sampling weights 'w'"):
        reached(shown)
    with pytest.raises(InputError, match="shows that 20 people fit it only if its cells were fixed"):
        check_table(engine(memory.table.with_columns(SURVEY["w"])), None, promised(insensitive=["w"]))


def test_weights_are_needed_of_every_record_and_go_along_with_each_table(engine: Engine) -> None:
    with pytest.raises(Exception, match="cannot be sampling weights"):
        anonymize_in_chunks(engine(SURVEY.with_columns(w=pl.lit(0.0))), promised(), seed=1)
    if engine(SURVEY).whole is None:
        chosen = promised(confidential=["ill", "job"], suppression=0.05)
        split = split_in_chunks(engine(SURVEY.with_columns(job=pl.col("age") % 7)), chosen, seed=1).judged()
        for release in (split.merged, *split.tables.values()):
            assert "w" not in release.table.schema
            assert release.verdicts[0].achieved >= 20
