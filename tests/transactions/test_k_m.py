"""k^m-anonymity of baskets, against every set of goods counted one by one."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.hierarchy import hierarchy_of
from shoal.errors import InputError, PromiseError
from shoal.transactions.histories import read_baskets
from shoal.transactions.k_m import RareSet, anonymize_baskets, rare_set, read_taxonomy, refuse_rare
from tests.oracles.transactions import histories

DATA = os.environ.get("SHOAL_DATA")
GOODS = "abcdefgh"
TAXONOMY = hierarchy_of(
    [[good, "vowel" if good in "ae" else "early" if good < "e" else "late", "*"] for good in GOODS], "goods"
)

baskets = st.lists(st.sets(st.sampled_from(GOODS), min_size=1).map(sorted).map("".join), min_size=3, max_size=25)


def counted(sets: list[set[str]], m: int) -> dict[tuple[str, ...], int]:
    """How many baskets hold each set of at most m goods that occurs."""
    found: dict[tuple[str, ...], int] = {}
    for own in sets:
        for size in range(1, m + 1):
            for goods in combinations(sorted(own), size):
                found[goods] = found.get(goods, 0) + 1
    return found


@given(baskets, st.integers(2, 3), st.integers(1, 4))
def test_a_rare_set_is_found_if_there_is_one(goods: list[str], k: int, m: int) -> None:
    counts = counted([set(own) for own in goods], m)
    rare = {each: count for each, count in counts.items() if count < k}
    found = rare_set(histories(goods), k, m)
    if found is None:
        assert rare == {}
    else:
        assert rare[tuple(sorted(found.goods))] == found.baskets
        assert len(found.goods) == min(map(len, rare))


@given(baskets, st.integers(2, 3), st.integers(1, 3), st.booleans())
def test_recoded_baskets_hold_no_rare_set(goods: list[str], k: int, m: int, with_taxonomy: bool) -> None:
    original = histories(goods)
    try:
        release = anonymize_baskets(original, k, m, taxonomy=TAXONOMY if with_taxonomy else None)
    except PromiseError:
        assert not with_taxonomy  # all shown as * is always enough
        return
    sets = release.table.group_by("customer").agg("item")["item"].to_list()
    assert min(counted([set(own) for own in sets], m).values()) >= k
    assert release.table.is_unique().all()
    if with_taxonomy:
        assert len(sets) == len(goods)


def test_nothing_is_recoded_without_need() -> None:
    original = histories(["ab", "ab", "cd", "cd"])
    for taxonomy in (None, TAXONOMY):
        release = anonymize_baskets(original, 2, 2, taxonomy=taxonomy)
        assert release.loss == 0
        assert release.shown_as.to_list() == ["a", "b", "c", "d"]


def test_of_a_rare_pair_the_good_with_fewer_records_is_taken_out() -> None:
    release = anonymize_baskets(histories(["ab", "a", "a", "a", "a", "b", "c", "c", "d", "d"]), 2, 2)
    assert release.shown_as.to_list() == ["a", None, "c", "d"]
    assert release.loss == pytest.approx(2 / 11)
    assert release.to_dict()["suppressed_baskets"] == 1


def test_a_group_is_shown_for_all_its_goods() -> None:
    release = anonymize_baskets(histories(["b", "c", "c", "e", "e"]), 2, 1, taxonomy=TAXONOMY)
    assert release.shown_as.to_list() == ["early", "early", "e"]
    assert release.loss == pytest.approx(3 / 5 * 2 / 7)  # three records that may be any of three goods of eight


def test_the_written_file_is_judged(tmp_path: Path) -> None:
    release = anonymize_baskets(histories(["ab", "ab", "c", "c"]), 2, 2, key=b"k" * 16)
    release.write(tmp_path / "r.csv")
    written = pl.read_csv(tmp_path / "r.csv")
    assert written.columns == ["customer", "item"]
    assert written.height == 6
    release.table.extend(pl.DataFrame({"customer": [9], "item": ["z"]}))
    with pytest.raises(PromiseError, match="hold z"):
        release.write(tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


def test_what_cannot_be_asked() -> None:
    original = histories(["ab", "cd"])
    with pytest.raises(InputError, match="'k'"):
        rare_set(original, 1, 2)
    with pytest.raises(InputError, match="'m'"):
        rare_set(original, 2, 0)
    with pytest.raises(InputError, match="more than the 2 baskets"):
        anonymize_baskets(original, 3, 1)
    with pytest.raises(PromiseError, match="Only 1 basket hold"):
        refuse_rare(original, 2, 1)


@pytest.mark.skipif(DATA is None, reason="SHOAL_DATA does not name the folder of real data")
def test_groceries_with_their_taxonomy() -> None:
    folder = Path(str(DATA)) / "baskets"
    groceries = read_baskets(folder / "groceries_transactions.csv")
    assert rare_set(groceries, 2, 1) == RareSet(("baby food",), 1)
    recoded = anonymize_baskets(groceries, 5, 2, taxonomy=read_taxonomy(folder / "groceries_item_hierarchy.csv"))
    suppressed = anonymize_baskets(groceries, 5, 2)
    assert recoded.to_dict()["baskets"] == 9_835
    assert recoded.loss < suppressed.loss / 2
