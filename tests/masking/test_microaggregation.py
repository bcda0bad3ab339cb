"""Microaggregation as a method: groups, subsets, individual ranking, missing values, and what it refuses."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.draft import prepare
from shoal.kernels.microaggregation import least_squares_cuts
from shoal.masking import METHODS, Hilbert, IndividualRanking, Mdav, MdavPlus
from shoal.masking.grouped import Grouping
from shoal.masking.grouping import mdav as grouping
from shoal.masking.method import Method
from shoal.masking.publishing.centroid import centroids
from shoal.testing import SEED, Case, cases, check_method, is_sentence
from tests.oracles import microaggregation as oracle
from tests.oracles import privacy

QUASI = frozenset({Role.QUASI_IDENTIFIER})


def table(frame: pl.DataFrame, **kinds: Kind) -> Microdata:
    return Microdata(frame, Schema(tuple(Attribute(n, QUASI, kinds.get(n, Kind.NUMERIC)) for n in frame.columns)))


def normal(n: int, m: int = 3) -> pl.DataFrame:
    return pl.DataFrame(np.random.default_rng(n).normal(size=(n, m)), schema=[f"x{j}" for j in range(m)])


def masked(method: Method, microdata: Microdata, k: int | None = None) -> pl.DataFrame:
    models = [] if k is None else [shoal.KAnonymity(k)]
    return pl.DataFrame([column.values() for column in method.mask(microdata, models).columns.values()])


def together(k: int, microdata: Microdata, **choices: bool) -> IndividualRanking:
    """All attributes in one subset."""
    return IndividualRanking(k, subsets=(tuple(microdata.schema.quasi_identifiers),), **choices)


# ---- on a line


@given(st.lists(st.integers(-9, 99), min_size=2, max_size=14), st.integers(2, 4))
def test_no_grouping_of_a_line_has_less_sse(values: list[int], k: int) -> None:
    assume(len(values) >= k)
    line = np.sort(np.array(values, np.float64))
    starts = least_squares_cuts(line, k)
    sizes = np.diff(starts)
    assert starts[0] == 0
    assert ((sizes >= k) & (sizes < 2 * k)).all()
    found = oracle.sse(line[:, None], np.repeat(np.arange(len(sizes)), sizes))
    assert found == pytest.approx(oracle.least_sse(values, k), abs=1e-9)


def test_numbers_far_from_zero_are_grouped_as_near_it() -> None:
    """Sums of squares of numbers near 10^9 would leave no digit for their differences."""
    line = np.sort(np.random.default_rng(0).random(500))
    assert least_squares_cuts(line + 1e9, 3).tolist() == least_squares_cuts(np.round(line + 1e9, 7) - 1e9, 3).tolist()


def test_individual_ranking_treats_each_attribute_by_itself() -> None:
    frame = pl.DataFrame({"a": [1, 9, 2, 8, None], "b": [1.0, 2.0, 30.0, 40.0, 50.0]})
    found = masked(IndividualRanking(2), table(frame))
    assert found["a"].to_list() == [1.5, 8.5, 1.5, 8.5, None]
    assert found["b"].to_list() == [1.5, 1.5, 40.0, 40.0, 40.0]


def test_individual_ranking_of_ordered_categories_and_dates() -> None:
    days = [dt.date(2020, 1, day) for day in (1, 2, 30, 31)]
    microdata = table(pl.DataFrame({"o": ["d", "c", "a", "b"], "d": days}), o=Kind.ORDINAL, d=Kind.DATE)
    found = masked(IndividualRanking(2), microdata)
    assert found["o"].to_list() == ["c", "c", "a", "a"]
    assert found["d"].dtype == pl.Date
    assert found["d"].n_unique() == 2


# ---- in space


@pytest.mark.parametrize("by", ["mdav", "mdav+"])
def test_groups_of_at_least_k_show_their_means(by: str) -> None:
    frame = normal(200)
    found = masked(METHODS.find(by)(), table(frame), 4)
    sizes = found.group_by(pl.all()).len()["len"]
    assert sizes.min() >= 4
    assert sizes.max() < 8
    for name in frame.columns:
        assert found[name].mean() == pytest.approx(frame[name].mean())


def test_the_improved_groups_have_less_sse() -> None:
    frame = normal(400)
    plain, better = (masked(METHODS.find(by)(), table(frame), 5) for by in ("mdav", "mdav+"))
    error, less = ((frame.to_numpy() - found.to_numpy()) ** 2 for found in (plain, better))
    assert less.sum() < 0.95 * error.sum()


def test_subsets_are_grouped_apart() -> None:
    frame = normal(60, 4)
    found = masked(IndividualRanking(3, subsets=(("x2",), ("x0", "x3"))), table(frame))
    assert found.columns == frame.columns
    for alone in ("x1", "x2"):
        assert found[alone].equals(masked(IndividualRanking(3), table(frame.select(alone)))[alone])
    assert found.select("x0", "x3").equals(masked(Mdav(), table(frame.select("x0", "x3")), 3))


def test_ranges_instead_of_standard_deviations_make_other_groups() -> None:
    frame = normal(100).with_columns(x0=pl.Series([1000.0, *range(99)]))
    by_sigma, by_range = (masked(Mdav(scale=scale), table(frame), 3) for scale in ("sigma", "range"))
    assert not by_sigma.equals(by_range)
    low, width = frame["x0"].min(), 1000.0
    scaled = frame.with_columns(
        (pl.col("x0") - low) / width,
        *((pl.col(n) - pl.col(n).min()) / (pl.col(n).max() - pl.col(n).min()) for n in ("x1", "x2")),
    )
    group = oracle.mdav(scaled.to_numpy(), 3)
    means = pl.DataFrame({"g": group, "x": frame["x0"]}).select(pl.col("x").mean().over("g"))["x"]
    assert by_range["x0"].to_list() == pytest.approx(means.to_list())


def test_integers_stay_integers_if_asked() -> None:
    frame = pl.DataFrame({"x": pl.Series([1, 2, 2, 9, 9, 10], dtype=pl.Int16)})
    assert masked(IndividualRanking(3), table(frame))["x"].dtype == pl.Float64
    found = masked(IndividualRanking(3, whole=True), table(frame))["x"]
    assert found.dtype == pl.Int16
    assert found.to_list() == [2, 2, 2, 9, 9, 9]


def test_values_stay_within_a_stated_domain_if_asked() -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 50.0, 60.0]})
    microdata = Microdata(frame, Schema((Attribute("x", QUASI, Kind.NUMERIC, domain=(0, 20)),)))
    assert masked(IndividualRanking(2, clamp=True), microdata)["x"].to_list() == [1.5, 1.5, 20.0, 20.0]
    assert masked(IndividualRanking(2), microdata)["x"].to_list() == [1.5, 1.5, 55.0, 55.0]
    with pytest.raises(shoal.InputError, match="no quasi-identifier states one"):
        IndividualRanking(2, clamp=True).mask(table(frame), [])


def test_missing_values_stay_where_they_are_and_groups_of_few_are_told() -> None:
    frame = pl.DataFrame({"y": [1, 3, None, None, None, 5], "c": [*"aab", None, *"zz"]})
    frame = frame.with_columns(pl.Series([1, 1, 1, 9, 9, 9]).alias(f"x{j}") for j in range(9))  # who stands together
    microdata = table(frame, c=Kind.NOMINAL)
    found = together(3, microdata).mask(microdata, [])
    assert found.columns["y"].values().to_list() == [2.0, 2.0, None, None, None, 5.0]
    assert found.columns["c"].values().to_list() == ["a", "a", "a", None, "z", "z"]
    assert [note for note in found.notes if "'y'" in note] == [
        "In 'y' 3 values are centres of fewer than 3: the others of their groups are missing."
    ]


def test_the_same_centres_as_publishing_shows() -> None:
    microdata = table(normal(50))
    partition = grouping.mdav(microdata, 4)
    for name, column in together(4, microdata).mask(microdata, []).columns.items():
        cells: MaskedColumn = centroids(microdata[name], partition)
        assert column.low.tolist() == cells.low[partition.class_of(50)].tolist()


# ---- what it refuses


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"k": 1}, "'k' parameter of individual-ranking must be a whole number of at least 2. Got 1"),
        ({"k": 2.5}, "at least 2. Got 2.5"),
        ({"k": True}, "at least 2. Got True"),
        ({"whole": 1}, "'whole' parameter"),
        ({"subsets": (("a", "b"), ("b",))}, "share no attribute"),
    ],
)
def test_parameters_are_refused_in_a_sentence(choices: dict[str, object], said: str) -> None:
    with pytest.raises(shoal.InputError, match=said):
        IndividualRanking(**choices)


def test_a_scale_that_is_none_is_refused() -> None:
    with pytest.raises(shoal.InputError, match="'scale' parameter of mdav must be one of sigma, range"):
        Mdav(scale="rank")  # type: ignore[arg-type]


def test_too_few_records_and_values_are_refused() -> None:
    with pytest.raises(shoal.InputError, match="k = 5 is larger than the table's 3 records"):
        IndividualRanking().mask(table(normal(3)), [])
    few = table(pl.DataFrame({"x": [1, 2, None, None]}))
    with pytest.raises(shoal.InputError, match="'x' holds only 2 values, fewer than k = 3"):
        IndividualRanking(3).mask(few, [])


def test_attributes_that_cannot_be_treated_are_refused_by_name() -> None:
    frame = pl.DataFrame({"c": ["a", "b", "c", "d"]})
    with pytest.raises(shoal.InputError, match="cannot treat column 'c' by itself, which is nominal"):
        IndividualRanking(2).mask(table(frame, c=Kind.NOMINAL), [])
    with pytest.raises(shoal.InputError, match="names 'x9', which is no quasi-identifier"):
        IndividualRanking(2, subsets=(("x9",),)).mask(table(normal(9)), [])


# ---- random tables


@pytest.mark.parametrize(
    "method",
    [IndividualRanking(3), IndividualRanking(2, whole=True)],
    ids=["as it comes", "whole"],
)
def test_any_table_is_masked_or_refused_in_a_sentence(method: IndividualRanking) -> None:
    sentences: list[str] = []

    @given(cases(method))
    def check(case: Case) -> None:
        try:
            original, _ = prepare(case.table, case.policy)
            columns, again = (method.mask(original, [], seed=seed).columns for seed in (None, SEED))
        except shoal.InputError as refused:
            sentences.append(str(refused))
            return
        assert list(columns) == original.schema.quasi_identifiers
        for name, column in columns.items():
            coded = original[name]
            shown, there = column.values(), coded.codes >= 0
            assert shown.is_not_null().to_list() == there.tolist()
            assert shown.equals(again[name].values(), null_equal=True)
            low, high = column.low[column.index][there], column.high[column.index][there]
            assert (low == high).all()
            if there.any():  # a centre lies among what is there, but for the rounding of whole numbers
                step = 4096.0 if method.whole else 0.0  # next to 2^64 numbers are so far apart
                assert coded.positions[0] - step <= low.min()
                assert high.max() <= coded.positions[-1] + step

    check()
    assert all(is_sentence(sentence) for sentence in sentences)


@pytest.mark.parametrize("grouping", ["mdav", "mdav+"])
def test_ranges_of_the_groups_conform(grouping: str) -> None:
    check_method(METHODS.find(grouping)(publish="range"), examples=60)


@pytest.mark.parametrize("method", [Mdav(), MdavPlus("median"), Hilbert("mean")], ids=lambda m: m.name)
def test_classes_shown_by_their_centres_keep_the_promise(method: Grouping) -> None:
    sentences: list[str] = []

    @given(cases(method))
    def check(case: Case) -> None:
        try:
            release = shoal.anonymize(case.table, case.policy, seed=SEED)
        except shoal.InputError as refused:
            sentences.append(str(refused))
            return
        rows = release.table.select(pl.col(release.schema.quasi_identifiers).cast(pl.String)).rows()
        assert privacy.k_anonymity(rows) >= case.policy.models[0].k
        assert all(verdict.holds for verdict in shoal.check(release.table, case.policy))

    check()
    assert all(is_sentence(sentence) for sentence in sentences)


# ---- grouped


def test_each_grouping_is_shown_as_it_is_known_for_unless_told() -> None:
    assert [METHODS.find(g)().shown_by for g in ("hilbert", "kd", "mdav", "mdav+")] == [
        "range",
        "range",
        "mean",
        "mean",
    ]
    assert Mdav("range").shown_by == "range"
    with pytest.raises(shoal.InputError, match="'publish' parameter of mdav must be one of range, mean, median"):
        Mdav("mode")


def test_a_release_by_means_is_one_of_numbers() -> None:
    frame = normal(60, 2)
    policy = shoal.Policy(quasi_identifiers=frame.columns, models=[shoal.KAnonymity(4)], method=Mdav())
    release = shoal.anonymize(frame, policy)
    assert release.table.dtypes == [pl.Float64] * 2
    assert release.verdicts[0].achieved >= 4
    assert release.table.equals(masked(together(4, table(frame)), table(frame)))


def test_a_large_table_tells_of_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_WHOLE", 100)
    frame = normal(150)
    for method in (Mdav(), together(5, table(frame))):
        assert "in blocks" in method.mask(table(frame), [shoal.KAnonymity(5)]).notes[0]
    assert Hilbert().mask(table(frame), [shoal.KAnonymity(5)]).notes == ()
