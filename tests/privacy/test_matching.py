"""People of a population who fit what a class shows."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.hierarchy import hierarchy_of
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.draft import assemble
from shoal.errors import InputError
from shoal.masking.grouped import publish
from shoal.masking.partition import Partition
from shoal.privacy.matching import Population, match, people_beside, population_of
from tests.oracles.matching import Cell, fitting

QUASI = frozenset({Role.QUASI_IDENTIFIER})
TREE = hierarchy_of(
    [("a", "early", "any"), ("ab", "early", "any"), ("b", "late", "any"), ("c", "late", "any")], "letter"
)
NUMBER = Attribute("number", QUASI, Kind.NUMERIC)
LETTER = Attribute("letter", QUASI, Kind.NOMINAL, hierarchy=TREE)
CODE = Attribute("code", QUASI, Kind.NOMINAL)
DAY = Attribute("day", QUASI, Kind.DATE)

ANY: list[Cell] = [("*", lambda v: True), (None, lambda v: v is None)]


def some(*values: object) -> list[object]:
    return [*values, None]


NUMBERS = some(-3, 0, 9, 10, 12, 19, 20, 85, 90, 2**53 + 1)
LETTERS = some("a", "ab", "b", "c", "elsewhere")
CODES = some("937", "938", "94", "9", "937*", "x;y")
DAYS = some(dt.date(2019, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 2, 29))


def one_of(*values: object) -> Callable[[object], bool]:
    return lambda v: v in values


NUMBER_CELLS: list[Cell] = [
    *ANY,
    ("12", one_of(12)),
    ("[0;12]", lambda v: v is not None and 0 <= v <= 12),
    ("[10;85]", lambda v: v is not None and 10 <= v <= 85),
    ("[11;11]", one_of(11)),
    ("{-3;20}", one_of(-3, 20)),
    ("1*", lambda v: v is not None and 10 <= v <= 19),
    ("85+", lambda v: v is not None and v >= 85),
    (str(2**53), one_of(2**53)),
]
LETTER_CELLS: list[Cell] = [
    *ANY,
    ("ab", one_of("ab")),
    ("early", one_of("a", "ab")),
    ("any", one_of("a", "ab", "b", "c")),
    ("{a;c}", one_of("a", "c")),
    ("elsewhere", one_of("elsewhere")),
    ("nobody", one_of("nobody")),
]
CODE_CELLS: list[Cell] = [
    *ANY,
    ("937", one_of("937")),
    ("93*", one_of("937", "938")),
    (r"937\*", one_of("937*")),
    (r"{x\;y;94}", one_of("x;y", "94")),
    ("5**", one_of()),
]
DAY_CELLS: list[Cell] = [
    *ANY,
    ("2020-01-01", one_of(dt.date(2020, 1, 1))),
    ("[2020-01-01;2020-03-01]", lambda v: v is not None and v.year == 2020),  # type: ignore[attr-defined]
]

people = st.lists(st.tuples(*map(st.sampled_from, (NUMBERS, LETTERS, CODES, DAYS))), min_size=1, max_size=25)
records = st.lists(
    st.tuples(*map(st.sampled_from, (NUMBER_CELLS, LETTER_CELLS, CODE_CELLS, DAY_CELLS))), min_size=1, max_size=12
)


def population(rows: list[tuple[object, ...]]) -> Population:
    schema = {"number": pl.Int64, "letter": pl.String, "code": pl.String, "day": pl.Date}
    return Population(pl.DataFrame(rows, schema=schema, orient="row"))


def released(rows: list[tuple[Cell, ...]]) -> pl.DataFrame:
    texts = [[shown for shown, _ in row] for row in rows]
    return pl.DataFrame(texts, schema=dict.fromkeys(("number", "letter", "code", "day"), pl.String), orient="row")


@pytest.mark.parametrize("seed", range(3))
def test_counts_the_people_whom_every_cell_admits(seed: int) -> None:
    """Every combination of cells at once, against a random population that lacks some of the values."""
    rng = np.random.default_rng(seed)
    values = [rng.permutation(np.array(known, object))[:-2] for known in (NUMBERS, LETTERS, CODES, DAYS)]
    who = list(zip(*(rng.choice(known, 150).tolist() for known in values), strict=True))
    rows = list(product(NUMBER_CELLS, LETTER_CELLS, CODE_CELLS, DAY_CELLS))
    found = match(released(rows), [NUMBER, LETTER, CODE, DAY], population(who))
    assert Counter(zip(found.sizes.tolist(), found.people.tolist(), strict=True)) == fitting(rows, who)


@given(records, people)
def test_counts_them_also_where_few_cells_are_shown(
    rows: list[tuple[Cell, ...]], who: list[tuple[object, ...]]
) -> None:
    found = match(released(rows), [NUMBER, LETTER, CODE, DAY], population(who))
    assert Counter(zip(found.sizes.tolist(), found.people.tolist(), strict=True)) == fitting(rows, who)


@given(records, people, st.integers(1, 5))
def test_counting_may_stop_early_where_that_is_all_that_is_asked(
    rows: list[tuple[Cell, ...]], who: list[tuple[object, ...]], enough: int
) -> None:
    release, attributes = released(rows), [NUMBER, LETTER, CODE, DAY]
    whole = match(release, attributes, population(who)).people
    least = match(release, attributes, population(who), least=True).people
    some = match(release, attributes, population(who), enough=enough).people
    assert least.min() == whole.min()
    assert np.sort(np.minimum(some, enough)).tolist() == np.sort(np.minimum(whole, enough)).tolist()


def test_bands_that_do_not_overlap_are_joined_and_agree_with_boxes() -> None:
    rng = np.random.default_rng(3)
    who = pl.DataFrame({"x": rng.integers(0, 1000, 20_000), "y": rng.integers(0, 50, 20_000)})
    x, y = (Attribute(name, QUASI, Kind.NUMERIC) for name in "xy")
    bands = who.select(pl.format("[{};{}]", pl.col("x") // 10 * 10, pl.col("x") // 10 * 10 + 9), "y")[::10]
    by_hand = who.select(pl.col("x") // 10, "y").group_by("x", "y").len()
    joined = match(bands, [x, y], Population(who))
    present = bands.unique().height
    assert joined.people.max() <= by_hand["len"].max()
    assert len(joined.people) == present
    wide = pl.concat([bands.with_columns(pl.col("y").cast(pl.String)), pl.DataFrame({"x": ["*"], "y": ["*"]})])
    boxes = match(wide, [x, y], Population(who))
    assert sorted(boxes.people.tolist()) == sorted([*joined.people.tolist(), who.height])


def test_a_sample_never_has_more_records_than_people_fit() -> None:
    rng = np.random.default_rng(4)
    who = pl.DataFrame({"x": rng.integers(0, 30, 2000), "y": rng.choice(list("abc"), 2000)})
    found = match(
        who[:500], [Attribute("x", QUASI, Kind.NUMERIC), Attribute("y", QUASI, Kind.NOMINAL)], Population(who)
    )
    assert (found.people >= found.sizes).all()
    assert found.sizes.sum() == 500


def test_text_with_masks_is_read_as_what_the_population_holds() -> None:
    who = Population(pl.DataFrame({"zip": [93700, 93799, 93800], "age": [20, 29, 30]}))
    release = pl.DataFrame({"zip": ["937**", "*"], "age": ["[20;29]", "[25;40]"]})
    found = match(release, [Attribute(name, QUASI, Kind.NOMINAL) for name in ("zip", "age")], who)
    assert sorted(found.people.tolist()) == [2, 2]


ordered = Attribute("grade", QUASI, Kind.ORDINAL, domain=("low", "middle", "high"))


def test_ordered_categories_are_matched_in_their_order() -> None:
    who = Population(pl.DataFrame({"grade": ["high", "middle", "middle", "low", None]}))
    release = pl.DataFrame({"grade": ["[low;middle]", "high", None, "*"]})
    found = match(release, [ordered], who)
    assert sorted(found.people.tolist()) == [1, 1, 3, 5]


# ---- partitions, before anything is published


@st.composite
def partitions(draw: st.DrawFn, n: int) -> Partition:
    order = draw(st.permutations(range(n)))
    cuts = draw(st.sets(st.integers(1, n - 1), max_size=4))
    return Partition(np.array(order), np.array([0, *sorted(cuts), n]))


@given(
    st.lists(st.tuples(*map(st.sampled_from, (NUMBERS, [*LETTERS[:4], None], CODES, DAYS))), min_size=6, max_size=6),
    people,
    partitions(6),
)
def test_a_partition_matches_whom_its_published_classes_match(
    table: list[tuple[object, ...]], others: list[tuple[object, ...]], partition: Partition
) -> None:
    who = population([*table, *others])
    attributes = (NUMBER, LETTER, CODE, DAY)
    microdata = Microdata(population(table).table, Schema(attributes))
    shown = assemble(microdata, publish(microdata, partition))
    first = partition.order[partition.starts[:-1]]
    alone = [int(match(shown[[int(record)]], attributes, who).people[0]) for record in first]
    found = people_beside(microdata, partition.order, partition.starts, who)
    assert found.tolist() == alone
    assert (found >= partition.sizes).all()


# ---- what cannot be


def test_a_population_without_a_quasi_identifier_is_refused() -> None:
    with pytest.raises(InputError, match="no column 'age'"):
        match(
            pl.DataFrame({"age": [1]}),
            [Attribute("age", QUASI, Kind.NUMERIC)],
            Population(pl.DataFrame({"years": [1]})),
        )


def test_text_where_the_table_has_numbers_is_refused() -> None:
    with pytest.raises(InputError, match=r"population.*'age'"):
        match(
            pl.DataFrame({"age": [1]}),
            [Attribute("age", QUASI, Kind.NUMERIC)],
            Population(pl.DataFrame({"age": ["x"]})),
        )


def test_a_population_comes_from_a_file_or_any_frame(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 2]})
    frame.write_csv(tmp_path / "people.csv")
    from_file = population_of(str(tmp_path / "people.csv"))
    assert from_file.table.equals(frame)
    assert population_of(str(tmp_path / "people.csv")) is from_file
    assert population_of(frame.to_arrow()).table.equals(frame)
    with pytest.raises(InputError):
        population_of(str(tmp_path / "nobody.csv"))


def test_an_empty_release_matches_nobody() -> None:
    found = match(
        pl.DataFrame({"x": []}, schema={"x": pl.Int64}),
        [Attribute("x", QUASI, Kind.NUMERIC)],
        population_of(pl.DataFrame({"x": [1]})),
    )
    assert len(found.people) == 0


def test_a_population_of_nobody_is_refused() -> None:
    with pytest.raises(InputError, match="no records"):
        population_of(pl.DataFrame({"age": []}))
