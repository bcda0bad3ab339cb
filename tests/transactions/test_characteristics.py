"""b, mu and h: by the oracle on small histories, by the paper's figures on its own file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.transactions import characteristics as module
from shoal.transactions.characteristics import characteristics, shared_by_proposition_1
from shoal.transactions.histories import read_histories
from tests.oracles.transactions import histories, pair_statistics

DATA = os.environ.get("SHOAL_DATA")


@given(st.lists(st.sets(st.integers(0, 15), min_size=1), min_size=2, max_size=12))
def test_the_characteristics_are_those_of_the_oracle(sets: list[set[int]]) -> None:
    found = characteristics(histories([sorted(own) for own in sets]))
    mean, largest, shared = pair_statistics(sets)
    assert (found.mean_jaccard, found.largest_jaccard, found.shared_goods) == pytest.approx((mean, largest, shared))
    assert found.goods_a_customer == pytest.approx(sum(map(len, sets)) / len(sets))
    assert (found.pairs, found.sampled) == (len(sets) * (len(sets) - 1) // 2, False)


def test_proposition_1_on_the_papers_rounded_numbers() -> None:
    assert shared_by_proposition_1(65, 0.03) == pytest.approx(3.7864, abs=1e-4)


def test_of_many_customers_a_sample_of_pairs_comes_near(monkeypatch: pytest.MonkeyPatch) -> None:
    table = histories([[i % 7, i % 5, 10 + i % 3] for i in range(400)])
    whole = characteristics(table)
    monkeypatch.setattr(module, "EVERY_PAIR", 100)
    monkeypatch.setattr(module, "SAMPLED", 80)
    found = characteristics(table, seed=1)
    assert found.sampled
    assert found.pairs == 80 * 320 + 80 * 79 // 2
    assert found.mean_jaccard == pytest.approx(whole.mean_jaccard, rel=0.05)
    assert found.mean_jaccard != whole.mean_jaccard
    assert found.shared_goods == whole.shared_goods
    assert any("80 drawn customers" in row[-1] for sheet in found.sheets() for row in sheet.rows)


@pytest.mark.skipif(not DATA, reason="SHOAL_DATA does not name the folder of data sets")
def test_the_papers_file_has_the_papers_characteristics() -> None:
    path = Path(DATA or "", "purchases", "transactions_400.csv")
    found = characteristics(read_histories(path, customer="1", item="5", header=False))
    assert (found.customers, found.records, found.goods) == (400, 38_087, 2_781)
    assert found.goods_a_customer == 65.725
    assert found.mean_jaccard == pytest.approx(0.03001, abs=5e-6)
    assert found.largest_jaccard == 0.4
    assert found.h == pytest.approx(3.83, abs=5e-3)
    assert found.shared_goods == pytest.approx(4.414, abs=5e-4)
