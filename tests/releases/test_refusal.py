"""Refusal over the pool: who is pushed below k, and a least change that really makes the release acceptable."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import PromiseError
from shoal.releases.published import Published
from shoal.releases.refusal import exposure, refuse_exposed
from tests.oracles.releases import anonymity

SUBJECTS = [f"s{i}" for i in range(14)]
classes = st.dictionaries(st.sampled_from(SUBJECTS), st.integers(0, 3), min_size=1)


def release(classes: dict[str, int]) -> Published:
    """Classes numbered 0, 1, ..., none of them empty."""
    _, label = np.unique(list(classes.values()), return_inverse=True)
    members = pl.DataFrame({"subject": list(classes), "class": label.astype(np.int32)})
    return Published("r", members, pl.DataFrame({"box": [str(c) for c in range(label.max() + 1)]}))


def pushed(earlier: list[dict[str, int]], new: dict[str, int], k: int) -> dict[str, int]:
    before, after = anonymity(earlier), anonymity([*earlier, new])
    return {s: n for s, n in after.items() if n < k and n < before.get(s, len(SUBJECTS) + 1)}


@settings(deadline=None)
@given(st.lists(classes, min_size=1, max_size=3), classes, st.integers(2, 4))
def test_those_pushed_below_k_are_found(earlier: list[dict[str, int]], new: dict[str, int], k: int) -> None:
    found = exposure([release(one) for one in earlier], release(new), k)
    plain = pushed(earlier, new, k)
    assert (found.subjects if found else 0) == len(plain)
    if found:
        assert found.smallest == min(plain.values())


@settings(deadline=None)
@given(st.lists(classes, min_size=1, max_size=2), classes, st.integers(2, 4))
def test_the_least_change_makes_it_acceptable(earlier: list[dict[str, int]], new: dict[str, int], k: int) -> None:
    published = release(new)
    found = exposure([release(one) for one in earlier], published, k)
    if found is None:
        return
    merged = {
        subject: int(found.merge[label]) for subject, label in published.members.select("subject", "class").iter_rows()
    }
    # The records to leave out, found by trying: of each broken atom as many as may not stay.
    groups: dict[tuple[object, ...], list[str]] = {}
    everyone = {subject for one in [*earlier, new] for subject in one}
    for subject in everyone:
        groups.setdefault(tuple(one.get(subject) for one in earlier), []).append(subject)
    hurt = set(pushed(earlier, new, k))
    left_out = 0
    for group in groups.values():
        present = [subject for subject in group if subject in new]
        if not hurt & set(group):
            continue
        absent = len(group) - len(present)
        out = max(0, k - absent) if absent else 0
        out = len(present) if len(present) - out < k else out
        left_out += out
        for subject in present[:out]:
            del merged[subject]
    assert left_out == found.withhold
    assert pushed(earlier, merged, k) == {}


def test_nobody_is_pushed_by_the_same_classes_again() -> None:
    again = {"s0": 0, "s1": 0, "s2": 1, "s3": 1}
    assert exposure([release(again)], release(again), 2) is None


def test_who_stood_below_before_does_not_forbid_all_that_follows() -> None:
    alone = {"s0": 0, "s1": 1, "s2": 1}
    assert exposure([release(alone)], release(alone), 2) is None


def test_the_sentence_says_who_where_and_what_would_help() -> None:
    earlier = dict.fromkeys(SUBJECTS[:6], 0) | dict.fromkeys(SUBJECTS[6:12], 1)
    new = dict.fromkeys(SUBJECTS[:2], 0) | dict.fromkeys(SUBJECTS[2:12], 1)
    with pytest.raises(PromiseError) as refused:
        refuse_exposed([release(earlier)], release(new), 3)
    sentence = str(refused.value)
    assert "leave 2 subjects with fewer than 3" in sentence
    assert "2 at the least (in the class box 0)" in sentence
    assert "merge 2 of its 2 classes into 1." in sentence
    assert "--incremental" in sentence


def test_somebody_who_left_is_exposed_too() -> None:
    earlier = dict.fromkeys(SUBJECTS[:8], 0)
    with pytest.raises(PromiseError, match=r"1 subject with fewer than 3.*no longer in it.*leave out 2 records"):
        refuse_exposed([release(earlier)], release(dict.fromkeys(SUBJECTS[:7], 0)), 3)
