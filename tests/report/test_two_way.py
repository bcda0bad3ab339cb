"""Two-way tables agree with counting record by record, each spread over all that it admits."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import polars as pl
import pytest

from shoal import KAnonymity, Policy, Release, anonymize
from shoal.report.two_way import BANDS, TABLES, two_way_tables

N = 240


def made(**columns: object) -> Release:
    table = pl.DataFrame(columns)
    kinds = {name: {"kind": "nominal"} for name in columns if table[name].dtype == pl.String}
    policy = Policy(quasi_identifiers=list(columns), models=[KAnonymity(4)], attributes=kinds)
    return anonymize(table, policy, seed=1)


def tables(release: Release) -> list:
    quasi = release.original.quasi
    return two_way_tables(quasi, [release.masked.columns[coded.name] for coded in quasi])


def cells(text: object, values: list[object]) -> list[object]:
    """Every original value that a released cell admits."""
    if text is None:
        return [None]
    if text == "*":
        return [value for value in values if value is not None]
    if found := re.fullmatch(r"\[(.*);(.*)\]", str(text)):
        return [value for value in values if value is not None and float(found[1]) <= value <= float(found[2])]
    if found := re.fullmatch(r"\{(.*)\}", str(text)):
        return found[1].split(";")
    return [value for value in values if str(value) == str(text)]


def band_of(value: object, labels: tuple[str, ...]) -> int:
    if value is None:
        return labels.index("(missing)")
    for band, label in enumerate(labels):
        ends = label.split(" to ")
        if label == str(value) or (len(ends) == 2 and int(ends[0]) <= value <= int(ends[1])):
            return band
    return next(band for band, label in enumerate(labels) if label.endswith("others"))


@pytest.mark.parametrize("gaps", [False, True])
def test_tables_agree_with_spreading_record_by_record(gaps: bool) -> None:
    rng = np.random.default_rng(0)
    age = [None if gaps and i % 50 == 0 else int(v) for i, v in enumerate(rng.integers(0, 40, N))]
    place = [f"c{(v or 0) // 4 + int(rng.integers(0, 2))}" for v in age]
    release = made(age=age, place=place)
    (found,) = tables(release)
    assert found.names == ("age", "place")
    assert ("(missing)" in found.rows) is gaps
    assert len(found.columns) == BANDS + 1
    before, after = np.zeros((2, len(found.rows), len(found.columns)))
    for one, other in zip(age, place, strict=True):
        before[band_of(one, found.rows), band_of(other, found.columns)] += 1 / N
    ages, places = sorted(set(age) - {None}), sorted(set(place))
    for one, other in release.table.iter_rows():
        spread = list(product(cells(one, ages), cells(other, places)))
        for a, b in spread:
            after[band_of(a, found.rows), band_of(b, found.columns)] += 1 / len(spread) / N
    assert found.before == pytest.approx(before)
    assert found.after == pytest.approx(after)
    assert found.moved == pytest.approx(np.abs(before - after).sum() / 2)


def test_the_pairs_that_depend_most_come_first() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 30, N)
    found = tables(made(loose=rng.integers(0, 30, N), a=a, b=a // 2, c=a + rng.integers(0, 25, N)))
    assert len(found) == TABLES
    assert found[0].names == ("a", "b")
    assert found[1].names == ("a", "c")


def test_categories_of_a_hierarchy_are_cut_in_its_order() -> None:
    rows = tuple((f"c{i:02}", f"of {i // 4}", "*") for i in range(20))
    table = pl.DataFrame({"a": [f"c{i % 20:02}" for i in range(N)], "b": range(N)})
    attributes = {"a": {"hierarchy": rows}}
    policy = Policy(quasi_identifiers=["a", "b"], models=[KAnonymity(4)], attributes=attributes)
    (found,) = tables(anonymize(table, policy, seed=1))
    assert found.rows == tuple(f"c{i:02} to c{i + 3:02}" for i in range(0, 20, 4))
    assert found.before.sum(axis=1) == pytest.approx(0.2)


def test_one_attribute_has_no_table_and_a_constant_none_that_fails() -> None:
    assert tables(made(a=[1, 2] * 20)) == []
    (found,) = tables(made(a=[1, 2] * 20, same=["x"] * 40))
    assert (found.rows, found.columns) == (("1", "2"), ("x",))
    assert found.moved == pytest.approx(0)


def test_an_attribute_that_is_missing_everywhere_has_one_band() -> None:
    (found,) = tables(made(a=[1, 2] * 20, none=pl.Series([None] * 40, dtype=pl.Int64)))
    assert found.columns == ("(missing)",)
    assert found.after.sum() == pytest.approx(1)
