"""Algorithm 1 against its oracle, the paper's toy, and intruders who know less."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.transactions import attack as module
from shoal.transactions.attack import SIMILARITIES, jaccard_attack, read_truth
from shoal.transactions.histories import Roles, histories_of, read_histories
from tests.oracles.transactions import algorithm_1, histories, jaccard

DATA = os.environ.get("SHOAL_DATA")
TOY = ["abc", "abd", "acd", "ax", "xyz", "pq", "pqr"]
PADDED = ["abcd", "abcd", "abcd", "axyz", "axyz", "pqr", "pqr"]

# few items often: ties; many items: sizes and prefixes that filter
baskets = st.lists(st.sets(st.integers(0, 12), min_size=1) | st.sets(st.integers(0, 40), min_size=1), min_size=2)


def test_the_toy_of_method_2() -> None:
    found = jaccard_attack(histories(TOY), histories(PADDED))
    assert found.guesses["guess"].to_list() == [1, 1, 1, 5, 5, 7, 7]
    assert found.reid == 3 / 7
    assert found.reid_fair == pytest.approx((1 / 3 + 1 / 3 + 1 / 3 + 1 + 1) / 7)
    assert found.own_similarity == pytest.approx(0.738095, abs=1e-6)
    assert found.tied == 3
    assert found.baseline == 1 / 7


@given(baskets, st.data())
def test_guesses_are_those_of_the_oracle_whatever_is_filtered(originals: list[set[int]], data: st.DataObject) -> None:
    change = st.sets(st.integers(0, 45), max_size=6)
    masked = [(own ^ data.draw(change)) or own for own in originals]
    people = data.draw(st.permutations(range(len(originals))))
    truth = pl.DataFrame({"pseudonym": range(1, len(people) + 1), "customer": [person + 1 for person in people]})
    found = jaccard_attack(histories([sorted(own) for own in originals]), histories(map(sorted, masked)), truth=truth)
    expected = algorithm_1(originals, masked)
    assert [guess - 1 for guess in found.guesses["guess"]] == [guess for guess, _, _ in expected]
    assert found.guesses["similarity"].to_list() == [best for _, best, _ in expected]
    assert found.guesses["ties"].to_list() == [ties for _, _, ties in expected]
    own = [jaccard(theirs, originals[person]) for theirs, person in zip(masked, people, strict=True)]
    assert found.guesses["own_similarity"].to_list() == own
    assert found.reid == sum(g == p for (g, _, _), p in zip(expected, people, strict=True)) / len(people)
    fair = sum(1 / ties for (_, best, ties), s in zip(expected, own, strict=True) if s == best) / len(people)
    assert found.reid_fair == pytest.approx(fair)


@given(baskets)
def test_weighted_jaccard_of_single_records_is_jaccard(originals: list[set[int]]) -> None:
    before = histories([sorted(own) for own in originals])
    after = histories([sorted(own)[: 1 + len(own) // 2] for own in originals])
    plain, weighted = (jaccard_attack(before, after, similarity=kind) for kind in ("jaccard", "weighted"))
    assert plain.guesses.equals(weighted.guesses)


def test_weighted_jaccard_compares_quantities() -> None:
    roles = Roles("c", "i", quantity="q")
    before = histories_of(pl.DataFrame({"c": [1, 1, 2, 2], "i": list("abab"), "q": [1, 9, 9, 1]}), roles)
    after = histories_of(pl.DataFrame({"c": [1, 1, 2, 2], "i": list("abab"), "q": [2, 8, 8, 3]}), roles)
    found = jaccard_attack(before, after, similarity="weighted")
    assert found.reid == found.reid_fair == 1
    assert found.guesses["similarity"].to_list() == pytest.approx([9 / 11, 9 / 12])
    assert jaccard_attack(before, after).reid_fair == 0.5


def test_tf_idf_cosine_is_that_of_the_vector() -> None:
    before = histories([["g1", "g2"], ["g1", "g2", "g3"], ["g1", "g4"], ["g1", "g4", "g5"]])
    after = histories([["g1", "g2"], ["g1", "g2"], ["g1", "g2"], ["g1", "g4", "g5"]])
    found = jaccard_attack(before, after, similarity="tfidf").guesses
    assert found["own_similarity"].to_list() == pytest.approx([1, 0.635943, 0.258615, 1], abs=1e-6)
    assert found["guess"].to_list() == [1, 1, 1, 4]


def test_items_only_in_the_masked_table_count_in_the_union() -> None:
    found = jaccard_attack(histories(["ab", "cd"]), histories(["abzy", "zz"]))
    assert found.guesses["similarity"].to_list() == [0.5, 0.0]
    assert found.guesses["ties"].to_list() == [1, 2]  # nobody is nearer than another
    assert found.reid_fair == 0.75


def test_an_intruder_who_knows_less_finds_fewer() -> None:
    rng = np.random.default_rng(5)
    table = histories([rng.choice(60, 12, replace=False) for _ in range(200)])
    rates = [jaccard_attack(table, table, known=m, seed=1).reid_fair for m in (1, 2, 4, 12)]
    assert rates == sorted(rates)
    assert rates[0] < 0.2
    assert rates[-1] == 1
    assert jaccard_attack(table, table, known=2, seed=1).guesses.equals(
        jaccard_attack(table, table, known=2, seed=1).guesses
    )
    one = jaccard_attack(table, table, known=1, seed=1)
    assert one.own_similarity == pytest.approx(1 / 12)  # one of the twelve


def test_a_window_leaves_the_others_unknown() -> None:
    days = [dt.date(2011, 1, day) for day in (1, 2, 3, 4)]
    before = histories_of(pl.DataFrame({"c": [1, 1, 2, 2], "i": list("abcd"), "t": days}), Roles("c", "i", "t"))
    found = jaccard_attack(before, histories(["ab", "cd"]), window=(days[0], days[1]))
    assert found.guesses["own_similarity"].to_list() == [1.0, 0.0]
    assert found.guesses["chance"].to_list() == [1.0, 0.5]


def test_linked_once_each_finds_more() -> None:
    before = histories(["ab", "abcd", "xy"])
    after = histories(["abc", "abcd", "xy"])  # the first is nearer to the second, who is taken
    found = jaccard_attack(before, after, one_to_one=True, seed=0)
    assert (found.reid, found.assigned) == (2 / 3, 1.0)
    alike = histories(["ab"] * 40)  # nothing to go by: no better than chance
    assert jaccard_attack(alike, alike, one_to_one=True, seed=0).assigned < 0.2


def test_too_many_customers_for_an_assignment_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ASSIGNED", 2)
    with pytest.raises(InputError, match="2 customers at most, here are 3"):
        jaccard_attack(histories(["a", "b", "c"]), histories(["a", "b"]), one_to_one=True)


def test_pseudonyms_need_their_secret_map(tmp_path: Path) -> None:
    before = histories(["ab", "cd"])
    after = histories_of(pl.DataFrame({"c": ["x", "x", "y"], "i": list("cda")}), Roles("c", "i"))
    with pytest.raises(InputError, match=r"'x' is not an original customer \(2 of 2 are so\)"):
        jaccard_attack(before, after)
    (tmp_path / "map.csv").write_text("customer,pseudonym\n2,x\n1,y\n")
    assert jaccard_attack(before, after, truth=read_truth(tmp_path / "map.csv")).reid == 1
    with pytest.raises(InputError, match="needs columns 'pseudonym' and 'customer', not a"):
        jaccard_attack(before, after, truth=pl.DataFrame({"a": ["x"]}))
    (tmp_path / "map.csv").write_text("customer,pseudonym\n2,x\n")
    with pytest.raises(InputError, match="'y' has no original customer in the secret map"):
        jaccard_attack(before, after, truth=read_truth(tmp_path / "map.csv"))
    (tmp_path / "map.csv").write_text("customer,pseudonym\n2,x\n1,x\n")
    with pytest.raises(InputError, match="gives 'x' more than one customer"):
        jaccard_attack(before, after, truth=read_truth(tmp_path / "map.csv"))


def test_wrong_choices_are_told() -> None:
    table = histories(["ab", "cd"])
    with pytest.raises(InputError, match="'known' parameter"):
        jaccard_attack(table, table, known=0)
    with pytest.raises(InputError, match="Did you mean 'jaccard'"):
        jaccard_attack(table, table, similarity="jacard")  # type: ignore[arg-type]


@pytest.mark.skipif(not DATA, reason="SHOAL_DATA does not name the folder of data sets")
def test_everyone_of_the_papers_file_is_found_in_it() -> None:
    path = Path(DATA or "", "purchases", "transactions_400.csv")
    table = read_histories(path, customer="1", item="5", quantity="7", header=False)
    assert [jaccard_attack(table, table, similarity=kind).reid for kind in SIMILARITIES] == [1, 1, 1]
    assert 0.6 < jaccard_attack(table, table, known=3, seed=1).reid_fair < 0.8
