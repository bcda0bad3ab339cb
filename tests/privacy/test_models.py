"""Privacy models: the kernels' levels and the check's verdicts against the definitions, and at their boundaries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.microdata import Coded, encode
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError, PromiseError
from shoal.masking.partition import Partition
from shoal.privacy import KAnonymity, LDiversity, TCloseness
from shoal.privacy.check import judge, refuse_broken, released_classes
from shoal.privacy.l_diversity import whatever_spelled
from shoal.privacy.model import EquivalenceClasses, PrivacyModel
from tests.oracles import privacy as oracle

CONFIDENTIAL = frozenset({Role.CONFIDENTIAL})
VARIANTS = ("distinct", "entropy", "recursive")

tables = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from(["x", "y", "z", None]), min_size=n, max_size=n),
        st.lists(st.sampled_from([3, 1, 4, 15, 9, None]), min_size=n, max_size=n),
    )
)


def coded(values: Sequence[object], kind: Kind = Kind.NUMERIC, dtype: object = pl.Int64) -> Coded:
    return encode(pl.Series("c", values, dtype=dtype), Attribute("c", CONFIDENTIAL, kind))


def partition(shown: Sequence[object]) -> Partition:
    parts = oracle.classes([(value,) for value in shown])
    return Partition(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))


def released(shown: Sequence[object], values: pl.Series, kind: Kind) -> EquivalenceClasses:
    frame = pl.DataFrame([pl.Series("q", shown, dtype=pl.String), values.alias("c")])
    return EquivalenceClasses(frame, ("q",), {"q": Kind.NOMINAL, "c": kind})


def asked_both_ways(
    model: PrivacyModel,
    shown: Sequence[object],
    values: Sequence[object],
    kind: Kind = Kind.NUMERIC,
    dtype: object = pl.Int64,
) -> tuple[list[float], float]:
    """Each class's level by the kernel, and the worst by the check."""
    groups = partition(shown)
    levels = model.levels(coded(values, kind, dtype), groups.order, groups.starts).tolist()
    return levels, model.verdict(released(shown, pl.Series(values, dtype=dtype), kind)).achieved


# ---- against the definitions


@given(tables)
def test_k_anonymity_is_the_smallest_class(table: tuple[list[str | None], list[int | None]]) -> None:
    levels, achieved = asked_both_ways(KAnonymity(2), *table)
    assert min(levels) == achieved == oracle.k_anonymity([(value,) for value in table[0]])


@pytest.mark.parametrize("variant", VARIANTS)
def test_l_diversity_is_that_of_the_least_diverse_class(variant: str) -> None:
    @given(tables, st.sampled_from([0.3, 1.0, 2.5]))
    def as_defined(table: tuple[list[str | None], list[int | None]], c: float) -> None:
        shown, values = table
        levels, achieved = asked_both_ways(LDiversity(2, "c", variant, c), shown, values)
        parts = oracle.classes([(value,) for value in shown])
        assert levels == pytest.approx([oracle.diversity([values[i] for i in part], variant, c) for part in parts])
        assert achieved == pytest.approx(oracle.l_diversity([(value,) for value in shown], values, variant, c))

    as_defined()


@pytest.mark.parametrize("ordered", [True, False])
def test_t_closeness_is_the_distance_of_the_farthest_class(ordered: bool) -> None:
    @given(tables)
    def as_defined(table: tuple[list[str | None], list[int | None]]) -> None:
        shown, values = table
        model = TCloseness(0.5, "c", "ordered" if ordered else "equal")
        levels, achieved = asked_both_ways(model, shown, values)
        line = oracle.line_of(values)
        expected = [
            oracle.ordered_distance(inside, values, line) if ordered else oracle.equal_distance(inside, values)
            for inside in ([values[i] for i in part] for part in oracle.classes([(value,) for value in shown]))
        ]
        assert levels == pytest.approx(expected, abs=1e-12)
        assert achieved == pytest.approx(max(expected), abs=1e-12)

    as_defined()


@pytest.mark.parametrize(
    ("values", "kind", "dtype"),
    [
        (["low", "high", "mid", "low", None, "mid"], Kind.ORDINAL, pl.Enum(["none", "low", "mid", "high"])),
        ([True, False, None, True, True, False], Kind.NOMINAL, pl.Boolean),
        (["b", "a", "c", "a", "c", "c"], Kind.NOMINAL, pl.Categorical),
        ([2**63 - 1, -(2**63), 0, 2**63 - 2, 0, None], Kind.NUMERIC, pl.Int64),
        ([-0.0, 0.0, 1e308, -1e308, 5e-324, 1.0], Kind.NUMERIC, pl.Float64),
        ([dt.date(2020, 1, i) for i in (3, 1, 2, 3, 1, 9)], Kind.DATE, pl.Date),
    ],
)
@pytest.mark.parametrize("distance", ["auto", "ordered", "equal"])
def test_values_of_every_kind(values: list[object], kind: Kind, dtype: object, distance: str) -> None:
    shown = ["x", "y", "x", "y", "y", "x"]
    model = TCloseness(0.5, "c", distance)
    levels, achieved = asked_both_ways(model, shown, values, kind, dtype)
    categories = dtype.categories.to_list() if isinstance(dtype, pl.Enum) else None
    rows = [(value,) for value in shown]
    expected = oracle.t_closeness(rows, values, ordered=model.ordered(kind), order=categories)
    assert model.ordered(kind) == (distance == "ordered" or (distance == "auto" and kind is not Kind.NOMINAL))
    assert max(levels) == pytest.approx(expected)
    assert achieved == pytest.approx(expected)


def test_a_declared_order_counts_not_the_alphabet() -> None:
    domain = ("low", "mid", "high")
    schema = Schema(
        (
            Attribute("q", frozenset({Role.QUASI_IDENTIFIER}), Kind.NOMINAL),
            Attribute("c", CONFIDENTIAL, Kind.ORDINAL, domain),
        )
    )
    values = ["low", "mid", "mid", "high", "high", "high"]
    frame = pl.DataFrame({"q": list("xxyyyz"), "c": values})
    model = TCloseness(0.5, "c")
    expected = oracle.t_closeness([(q,) for q in "xxyyyz"], values, ordered=True, order=domain)
    assert expected != oracle.t_closeness([(q,) for q in "xxyyyz"], values, ordered=True)
    assert model.verdict(released_classes(frame, schema)).achieved == pytest.approx(expected)
    groups = partition("xxyyyz")
    levels = model.levels(encode(frame["c"], schema["c"]), groups.order, groups.starts)
    assert levels.max() == pytest.approx(expected)


def test_levels_of_some_classes_are_taken_against_the_whole_table() -> None:
    """As merging asks for them."""
    values = coded([1, 1, 2, 3])
    assert TCloseness(0.5, "c").levels(values, np.array([0, 1]), np.array([0, 2])).tolist() == [
        oracle.ordered_distance([1, 1], [1, 1, 2, 3], [1, 2, 3])
    ]


# ---- vectors and large tables


def test_the_vector_of_entropy_diversity() -> None:
    levels, achieved = asked_both_ways(LDiversity(2, "c", "entropy"), ["x"] * 10, [1] * 6 + [2] * 3 + [3])
    assert levels == pytest.approx([2.454556], abs=1e-6)
    assert achieved == pytest.approx(2.454556, abs=1e-6)


def test_recursive_diversity_by_hand() -> None:
    """Counts 4, 2, 1 and c = 1.5: 4 < 1.5 x 7 and 4 < 1.5 x 3, but not 4 < 1.5 x 1."""
    model = LDiversity(2, "c", "recursive", 1.5)
    assert asked_both_ways(model, ["x"] * 7, [1, 1, 1, 1, 2, 2, 3]) == ([2.0], 2.0)


@pytest.mark.parametrize("distance", ["ordered", "equal"])
def test_counts_of_hundreds_of_thousands_do_not_overflow(distance: str) -> None:
    """Products of class sizes leave 32 bits, and their sums over the ranks of distinct records 53 and 64."""
    counts = {("x", 1): 150_000, ("x", 2): 100_000, ("y", 1): 3, ("y", 3): 70_001, ("z", 2): 50_000}
    shown = [q for (q, _), n in counts.items() for _ in range(n)]
    values = [c for (_, c), n in counts.items() for _ in range(n)]
    levels, achieved = asked_both_ways(TCloseness(0.5, "c", distance), shown, values)
    everyone = {c: sum(n for (_, value), n in counts.items() if value == c) / len(values) for c in (1, 2, 3)}
    expected = []
    for q in "xyz":
        size = sum(n for (shows, _), n in counts.items() if shows == q)
        gap = [counts.get((q, c), 0) / size - everyone[c] for c in (1, 2, 3)]
        ordered = (abs(gap[0]) + abs(gap[0] + gap[1])) / 2
        expected.append(ordered if distance == "ordered" else sum(map(abs, gap)) / 2)
    assert levels == pytest.approx(expected, abs=1e-12)
    assert achieved == pytest.approx(max(expected), abs=1e-12)


def test_as_many_values_as_records() -> None:
    n = 200_000
    shown = (np.arange(n) // 2).astype(str).tolist()
    values = np.random.default_rng(0).permutation(n)
    levels, achieved = asked_both_ways(TCloseness(0.5, "c"), shown, values.tolist())
    i = int(np.argmax(levels))
    low, high = sorted(values[2 * i : 2 * i + 2])
    F = np.arange(1, n + 1) / n
    G = (np.arange(n) >= low) / 2 + (np.arange(n) >= high) / 2
    assert achieved == pytest.approx(np.abs(F - G).sum() / (n - 1), abs=1e-9)
    assert max(levels) == pytest.approx(achieved, abs=1e-9)


# ---- verdicts


def test_a_level_just_reached_holds_and_one_just_missed_does_not() -> None:
    shown, values = ["x", "x", "y", "y"], pl.Series([1, 2, 1, 3])
    classes = released(shown, values, Kind.NUMERIC)
    assert KAnonymity(2).verdict(classes).holds
    assert not KAnonymity(3).verdict(classes).holds
    assert LDiversity(2, "c").verdict(classes).holds
    assert not LDiversity(2.01, "c").verdict(classes).holds
    reached = oracle.t_closeness([(q,) for q in shown], values.to_list(), ordered=True)
    assert TCloseness(reached, "c").verdict(classes).holds
    assert not TCloseness(reached - 1e-6, "c").verdict(classes).holds


@pytest.mark.parametrize("t", [0.1, 0.3, 1 / 3])
def test_rounding_does_not_decide(t: float) -> None:
    """(0.1 + 0.2) - 0.3 is not zero for a computer."""
    assert TCloseness(t, "c").meets(np.array([t, t + 1e-12, t + 1e-6])).tolist() == [True, True, False]


def test_missing_is_a_class_and_a_value_of_its_own() -> None:
    classes = released(["x", None, None, "x"], pl.Series([1, None, 1, 1]), Kind.NUMERIC)
    assert sorted(classes.sizes) == [2, 2]
    assert LDiversity(1, "c").verdict(classes).achieved == 1
    assert LDiversity(1, "c").verdict(released([None] * 2, pl.Series([1, None]), Kind.NUMERIC)).achieved == 2


def test_one_value_is_as_close_as_can_be_and_not_diverse() -> None:
    for distance in ("ordered", "equal"):
        assert asked_both_ways(TCloseness(0, "c", distance), "xxyy", [7, 7, 7, 7]) == ([0.0, 0.0], 0.0)
    assert asked_both_ways(LDiversity(1, "c", "entropy"), "xxyy", [7, 7, 7, 7]) == ([1.0, 1.0], 1.0)


@pytest.mark.parametrize("name", ["len", "share", "@value", "@n", "@p", "@d", "@row", "@level", "@0", "@1", "@share"])
def test_what_columns_are_called_does_not_matter(name: str) -> None:
    frame = pl.DataFrame({name: ["x", "x", "y", "y"], "c": [1, 2, 1, 3]})
    classes = EquivalenceClasses(frame, (name,), {"c": Kind.NUMERIC})
    models = [KAnonymity(2), LDiversity(2, "c"), TCloseness(1, "c", "ordered"), TCloseness(1, "c", "equal")]
    plain = EquivalenceClasses(frame.rename({name: "q"}), ("q",), {"c": Kind.NUMERIC})
    assert judge(classes, models) == judge(plain, models)
    swapped = EquivalenceClasses(frame.select(pl.col("c").alias(name), q=name), ("q",), {name: Kind.NUMERIC})
    assert LDiversity(2, name).verdict(swapped).achieved == 2
    assert TCloseness(1, name, "equal").verdict(swapped).achieved == judge(plain, models)[3].achieved


def test_without_quasi_identifiers_all_records_are_one_class() -> None:
    classes = EquivalenceClasses(pl.DataFrame({"c": [1, 2, 2]}), (), {"c": Kind.NUMERIC})
    assert classes.sizes.tolist() == [3]
    assert [v.achieved for v in judge(classes, [KAnonymity(2), LDiversity(2, "c"), TCloseness(0, "c")])] == [3, 2, 0]


def test_no_records_break_no_promise() -> None:
    classes = EquivalenceClasses(pl.DataFrame({"q": []}, schema={"q": pl.String}), ("q",), {})
    assert KAnonymity(5).verdict(classes).holds


def test_a_broken_promise_is_refused_in_a_sentence() -> None:
    verdicts = judge(released("xxy", pl.Series([1, 2, 3]), Kind.NUMERIC), [KAnonymity(2)])
    with pytest.raises(PromiseError, match=r"does not keep k-anonymity: 2 was asked for, 1 is reached"):
        refuse_broken(verdicts)


# ---- what can be asked


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, True, "5"])
def test_k_is_a_whole_number_of_at_least_two(k: object) -> None:
    with pytest.raises(InputError, match="whole number of at least 2"):
        KAnonymity(k)  # type: ignore[arg-type]


@pytest.mark.parametrize("t", [-0.1, 1.1, "0.1", float("nan"), True])
def test_t_is_a_number_from_zero_to_one(t: object) -> None:
    with pytest.raises(InputError, match="number from 0 to 1"):
        TCloseness(t)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [{"l": 0}, {"l": float("nan")}, {"l": 2, "variant": "odd"}, {"l": 2, "c": 0}])
def test_l_is_at_least_one_and_its_variant_known(bad: dict[str, object]) -> None:
    with pytest.raises(InputError, match="parameter of l-diversity must be"):
        LDiversity(**bad)  # type: ignore[arg-type]


def test_spellings_of_a_number_are_one_value_and_long_numbers_keep_their_digits() -> None:
    one = pl.Series(["5", "5.0", "+5", "05", " 5 ", "5.", "5e0", "0.5e1", "50e-1"])
    assert whatever_spelled(one).unique().to_list() == ["5"]
    assert whatever_spelled(pl.Series(["Zo\u00eb", "Zoe\u0308", "Zo\u00eb\u00a0\u200b"])).n_unique() == 1
    assert whatever_spelled(pl.Series(["0", "-0", "0.0", ".0", "00"])).unique().to_list() == ["0"]
    assert whatever_spelled(pl.Series(["0.50", ".5", "00.5", "5e-1"])).unique().to_list() == ["0.5"]
    apart = pl.Series(
        ["18446744073709551615", "18446744073709551614", "100", "10", "1.05", "1.5", "nan", "x", "-5", "5"]
    )
    assert whatever_spelled(apart).n_unique() == len(apart)
    assert whatever_spelled(pl.Series(["", " ", None])).null_count() == 3
