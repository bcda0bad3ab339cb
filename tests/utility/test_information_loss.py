"""Information loss, Eqs. 3 and 4."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.masking.grouping.ordered import zero_distance
from shoal.masking.partition import Partition
from shoal.masking.publishing.range import publish_range
from shoal.utility.information_loss import attribute_loss, information_loss
from tests.oracles import measures as oracle

QUASI = oracle.TABLE_S2.columns[:8]


def quasi(name: str, kind: Kind = Kind.NUMERIC, domain: tuple[int, int] | None = None) -> Attribute:
    return Attribute(name, frozenset({Role.QUASI_IDENTIFIER}), kind, domain)


def read(microdata: Microdata, release: pl.DataFrame) -> dict[str, object]:
    return {c.name: read_cells(release[c.name], c.attribute, c.values) for c in microdata.quasi}


# ---- the papers' vectors (docs/spec.md#sorted-runs, #information-loss)


def test_table_s6_loses_what_the_vector_says() -> None:
    microdata = Microdata(oracle.TABLE_S2, Schema(tuple(map(quasi, QUASI))))
    assert information_loss(microdata, read(microdata, oracle.TABLE_S6)) == pytest.approx(0.530513, abs=1e-6)


def test_the_standard_deviations_of_table_s2_are_those_of_a_sample() -> None:
    microdata = Microdata(oracle.TABLE_S2, Schema(tuple(map(quasi, QUASI))))
    expected = [12.76584, 0.408248, 0.408248, 0.408248, 66.761266, 3.464102, 0.983192, 19.366638]
    assert [coded.sigma for coded in microdata.quasi] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("k", "loss"), [(3, 0.701415), (2, 0.420849)])
def test_seven_records_in_a_row(k: int, loss: float) -> None:
    frame = pl.DataFrame({"x": range(1, 8), "y": range(10, 80, 10)})
    microdata = Microdata(frame, Schema((quasi("x"), quasi("y"))))
    partition = zero_distance(microdata, k)
    index = partition.class_of(7)
    masked = {coded.name: publish_range(coded, partition, index) for coded in microdata.quasi}
    assert information_loss(microdata, masked) == pytest.approx(loss, abs=1e-6)


# ---- against the definition

rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 9)),
        st.sampled_from(["a", "b", "c", "d", None]),
        st.integers(0, 2),
    ),
    min_size=2,
    max_size=14,
)


def distances(values: list[int | str | None], classes: list[int], nominal: bool) -> list[float]:
    """Each record's standardised distance to what its class shows, from the definitions."""
    present = [value for value in values if value is not None]
    domain = sorted(set(present))
    if len(domain) < 2:
        return [0.0] * len(values)
    sigma = oracle.nominal_deviation(present) if nominal else oracle.deviation(present)
    whole = 1.0 if nominal else float(domain[-1]) - float(domain[0])
    found = []
    for value, label in zip(values, classes, strict=True):
        members = [v for v, c in zip(values, classes, strict=True) if c == label]
        mixed = None in members and members.count(None) < len(members)
        shown = domain if mixed else sorted(set(members))
        if value is None:
            found.append(whole / sigma if mixed else 0.0)
        elif nominal:
            found.append((len(shown) - 1) / (len(domain) - 1) / sigma)
        else:
            found.append(oracle.farther_end(value, shown[0], shown[-1]) / sigma)
    return found


@given(rows)
def test_ranges_sets_and_missing_follow_the_definition(
    records: list[tuple[int | None, str | None, int]],
) -> None:
    numbers, labels, classes = (list(column) for column in zip(*records, strict=True))
    frame = pl.DataFrame({"n": numbers, "c": labels}, schema={"n": pl.Int64, "c": pl.String})
    microdata = Microdata(frame, Schema((quasi("n"), quasi("c", Kind.NOMINAL))))
    order = np.argsort(classes, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(np.sort(classes), prepend=-1)), len(order))
    partition = Partition(order, starts)
    index = partition.class_of(len(order))
    masked = {coded.name: publish_range(coded, partition, index) for coded in microdata.quasi}
    by_number, by_label = distances(numbers, classes, nominal=False), distances(labels, classes, nominal=True)
    expected = oracle.information_loss(list(zip(by_number, by_label, strict=True)))
    assert information_loss(microdata, masked) == pytest.approx(expected)
    assert attribute_loss(microdata["n"], masked["n"]) == pytest.approx(np.mean(by_number))
    shown = frame.with_columns(column.values() for column in masked.values())
    assert information_loss(microdata, read(microdata, shown)) == pytest.approx(expected)


# ---- masks of other kinds


def test_a_wildcard_reaches_to_the_farther_end_of_the_domain() -> None:
    microdata = Microdata(pl.DataFrame({"x": [1, 3]}), Schema((quasi("x", domain=(0, 10)),)))
    loss = information_loss(microdata, read(microdata, pl.DataFrame({"x": ["*", "3"]})))
    assert loss == pytest.approx(9 / np.sqrt(2) / 2)


def test_a_prefix_reaches_to_the_farther_end_of_its_codes() -> None:
    microdata = Microdata(pl.DataFrame({"zip": [93722, 93711]}), Schema((quasi("zip"),)))
    loss = information_loss(microdata, read(microdata, pl.DataFrame({"zip": ["937**", "93711"]})))
    assert loss == pytest.approx(77 / oracle.deviation([93722, 93711]) / 2)


def test_suppressed_records_count_as_wildcards_throughout() -> None:
    frame = pl.DataFrame({"x": [1, 2, 9], "c": ["a", "b", "b"]})
    microdata = Microdata(frame, Schema((quasi("x"), quasi("c", Kind.NOMINAL))))
    kept = np.array([0, 1])
    suppressed = information_loss(microdata, read(microdata, frame[:2].cast(pl.String)), kept)
    stars = pl.DataFrame({"x": ["1", "2", "*"], "c": ["a", "b", "*"]})
    assert suppressed == pytest.approx(information_loss(microdata, read(microdata, stars)))
    assert suppressed > 0


def test_a_constant_attribute_loses_nothing() -> None:
    microdata = Microdata(pl.DataFrame({"x": [5, 5]}), Schema((quasi("x", domain=(0, 10)),)))
    assert information_loss(microdata, read(microdata, pl.DataFrame({"x": ["*", "*"]}))) == 0.0
