"""Sets too long to be read: what is shown instead is short, true of every record, and counted as what it admits."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.cells import plain_text
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role
from shoal.data.short_sets import LONGEST, set_cells
from shoal.draft import draft
from shoal.errors import InputError
from shoal.release import write
from shoal.releases.ledger import Ledger

ATTRIBUTE = Attribute("a", frozenset({Role.QUASI_IDENTIFIER}), Kind.NOMINAL)
LABEL = st.one_of(
    st.text("ab;{}[]*\\ 0", min_size=1, max_size=6),
    st.from_regex(r"\A9[0-9]{4}\Z"),
    st.sampled_from(["all but {a}", "all but {a;b}", "{a;b}", "[a;b]", "937**", "*", "all but ", "all but {", "a}"]),
)


def admitted(text: str, values: pl.Series) -> set[str]:
    """The values that a cell admits, by the reader of cells."""
    runs = read_cells(pl.Series([text]), ATTRIBUTE, values).runs
    assert runs is not None
    spans = zip(runs.low.astype(int), runs.high.astype(int), strict=True)
    return {values[i] for low, high in spans for i in range(low, high + 1)}


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_whatever_a_set_is_shown_as_admits_all_of_it_and_what_is_counted(data: st.DataObject) -> None:
    values = pl.Series(sorted(data.draw(st.sets(LABEL, min_size=2, max_size=25))), dtype=pl.String)
    sets = data.draw(st.lists(st.sets(st.integers(0, len(values) - 1), min_size=1), min_size=1, max_size=4))
    longest = data.draw(st.integers(3, 60))
    codes = np.array([code for each in sets for code in sorted(each)], np.int32)
    offsets = np.append(0, np.cumsum([len(each) for each in sets])).astype(np.int64)
    cells = set_cells(values, offsets, codes, longest)
    for i, each in enumerate(sets):
        own = {values[code] for code in each}
        shown = admitted(cells.text[i], values)
        assert own <= shown
        assert len(shown) == cells.size[i]
        assert {values[int(cells.low[i])], values[int(cells.high[i])]} <= shown
        if len(each) > 1:
            assert len(cells.text[i]) <= longest
        if i not in cells.shortened:
            assert own == shown
        # Also to whoever knows another domain, or none: nobody is denied what they have.
        wider = pl.concat([values, pl.Series(["zz", "yy"])])
        assert own <= admitted(cells.text[i], wider)


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(LABEL, min_size=1, max_size=8, unique=True))
def test_a_value_that_looks_like_a_complement_reads_back_as_itself(labels: list[str]) -> None:
    values = pl.Series(sorted(labels))
    shown = read_cells(plain_text(values), ATTRIBUTE, values)
    assert shown.low.tolist() == shown.high.tolist() == list(range(len(values)))


def test_the_shortest_that_admits_least_is_shown() -> None:
    codes = [f"{area}{number:02d}" for area in "AB" for number in range(100)]
    values = pl.Series([*codes, "other"])

    def shown(*held: int) -> tuple[str, float]:
        cells = set_cells(values, np.array([0, len(held)]), np.array(held, np.int32))
        return cells.text[0], cells.size[0]

    assert shown(1, 2) == ("{A01;A02}", 2)
    assert shown(*range(60)) == ("A**", 100)  # a beginning, where too many are left out to be named
    assert shown(*range(10)) == ("{" + ";".join(codes[:10]) + "}", 10)
    assert shown(*range(200)) == ("all but {other}", 200)
    assert shown(*range(60), *range(100, 160)) == ("*", 201)
    assert shown(*range(3, 201)) == ("all but {A00;A01;A02}", 198)
    assert shown(*range(201)) == ("*", 201)


def test_a_complement_of_all_that_is_known_is_a_label_of_its_own() -> None:
    cells = read_cells(pl.Series(["all but {a;b}", "a", "b"]), ATTRIBUTE)
    assert cells.size.tolist() == [1, 1, 1]
    assert len(set(cells.low)) == 3


def streets(records: int = 400) -> pl.DataFrame:
    """A column of long texts, hardly any of them twice, as a class's set would be too long to read."""
    name = [f"The house of the family number {i % 350} at the far end of the street" for i in range(records)]
    return pl.DataFrame(
        {"street": name, "age": [i % 7 for i in range(records)], "ill": [str(i % 3) for i in range(records)]}
    )


POLICY = {
    "quasi_identifiers": ["street", "age"],
    "confidential": ["ill"],
    "attributes": {"street": {"kind": "nominal"}},  # no free text
}


@pytest.mark.parametrize("method", ["hilbert", "kd", "sorted", "coarsen", "cut-points"])
def test_no_method_shows_a_set_that_nobody_can_read(method: str) -> None:
    choices = {"name": method, **({"resolution": 4} if method == "coarsen" else {})}
    table = streets()
    release = shoal.anonymize(
        table, shoal.Policy(**POLICY, method=choices, models=[shoal.KAnonymity(4)], suppression=0.2)
    )
    assert release.table["street"].str.len_chars().max() <= LONGEST
    assert any("'street'" in note and "200 characters" in note for note in release.notes)
    own = release.original["street"]
    cells = read_cells(release.table["street"], ATTRIBUTE, own.values)
    assert cells.runs is not None
    kept = own.codes if release.masked.kept is None else own.codes[release.masked.kept]
    for code, cell in zip(kept, cells.index, strict=True):
        within = slice(*cells.runs.starts[cell : cell + 2])
        assert ((cells.runs.low[within] <= code) & (code <= cells.runs.high[within])).any()


def test_the_loss_counts_what_is_shown() -> None:
    policy = shoal.Policy(**POLICY, models=[shoal.KAnonymity(4)])
    readable = shoal.anonymize(streets(), policy)
    whole = shoal.anonymize(streets(), policy.changed(method=shoal.Hilbert(longest=100_000)))
    assert whole.table["street"].str.len_chars().max() > LONGEST
    assert readable.attribute_losses["street"] > whole.attribute_losses["street"]


def test_a_length_that_no_set_has_is_refused() -> None:
    with pytest.raises(InputError, match="longest"):
        shoal.Hilbert(longest=0)


def test_a_file_of_shortened_sets_is_judged_and_measured_like_any_other(tmp_path: Path) -> None:
    labels = [f"The house of the family number {i}, at the far end of the street" for i in range(8)]
    table = pl.DataFrame({"street": [labels[i % 8] for i in range(64)], "age": [i // 7 * 10 for i in range(64)]})
    table = table.with_columns(ill=pl.lit("x"))
    policy = shoal.Policy(**POLICY, models=[shoal.KAnonymity(7)])
    release = shoal.anonymize(table, policy)
    assert release.table["street"].str.contains("^all but ").any()
    release.write(tmp_path / "r.csv", certificate=tmp_path / "r.json", keep_order=True)
    written = pl.read_csv(tmp_path / "r.csv")
    assert all(verdict.holds for verdict in shoal.check(written, policy))
    assert release.risk().to_dict()["uniques"] == 0
    again = shoal.utility(table, written, policy, paired=True)
    assert again.to_dict()["information_loss"] == pytest.approx(release.information_loss)


def test_an_incremental_release_never_admits_less_than_the_one_before(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", b"k" * 32, "id")
    labels = [f"The house of the family number {i}, at the far end of the street" for i in range(8)]
    table = pl.DataFrame({"id": [str(i) for i in range(64)], "street": [labels[i % 8] for i in range(64)]})
    table = table.with_columns(age=pl.int_range(64) // 7 * 10, ill=pl.lit("x"))
    policy = shoal.Policy(**POLICY, identifiers=["id"], models=[shoal.KAnonymity(7)])
    ever = []
    for people in (table, table.filter(pl.col("id").cast(pl.Int64) % 8 > 1), table):
        made = draft(people, policy, after=ledger)
        path = tmp_path / f"r{len(ever)}.csv"
        released = write(made, path, ledger=ledger, keep_order=True)
        kept = people["id"] if made.masked.kept is None else people["id"].gather(made.masked.kept)
        ever.append(dict(zip(kept, released.table["street"], strict=True)))
    assert any(text.startswith("all but ") for text in ever[0].values())
    values = pl.Series(labels)
    for before, after in pairwise(ever):
        for person in before.keys() & after.keys():
            assert admitted(before[person], values) <= admitted(after[person], values)
