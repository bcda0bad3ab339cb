"""Incremental releases on an engine keep what those in memory keep, however small the chunks."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.chunked_release import ChunkedRelease, anonymize_to
from shoal.data.discharges import discharges
from shoal.draft import draft
from shoal.engines.disk import Disk
from shoal.engines.table import Table
from shoal.errors import InputError, PromiseError
from shoal.masking.grouping.mdav import Mdav
from shoal.release import Release, write
from shoal.releases.audit import audit
from shoal.releases.ledger import Ledger, entries
from tests.oracles.releases import anonymity

Engine = Callable[[pl.DataFrame], Table]

K = 3
QUASI = ["age_yrs", "sex", "patzip"]
POLICY = shoal.Policy(
    identifiers=["id"], quasi_identifiers=QUASI, confidential=["charge"], models=[shoal.KAnonymity(K)]
)
KEY = b"a key of more than sixteen bytes"
EVERYBODY = discharges(200, seed=3).select(*QUASI, "charge").with_row_index("id").cast({"id": pl.Int64})
FIRST = EVERYBODY[:150]
SECOND = EVERYBODY[10:].with_columns(charge=pl.when(pl.col("id").is_between(40, 60)).then(1).otherwise("charge"))

each_engine = pytest.mark.each_engine(spark="slow")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch, 60)


def make_small(patch: pytest.MonkeyPatch, records: int) -> None:
    for name in ("shoal.masking.chunks.CHUNK", "shoal.masking.chunks.RANDOM_CHUNK", "shoal.engines.table.CHUNK"):
        patch.setattr(name, records)
    patch.setattr("shoal.releases.published.PIECE", 2 * records)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db", KEY, "id")


def in_memory(frame: pl.DataFrame, ledger: Ledger, policy: shoal.Policy = POLICY) -> Release:
    made = draft(frame, policy, seed=1, after=ledger)
    return write(made, ledger.path.parent / "memory.parquet", ledger=ledger, seed=1, overwrite=True)


def on_engine(table: Table, ledger: Ledger, policy: shoal.Policy = POLICY, **choices: Any) -> ChunkedRelease:
    folder = str(ledger.path.parent / "engine")
    return anonymize_to(table, policy, folder, seed=1, ledger=ledger, incremental=True, overwrite=True, **choices)


def copy_of(ledger: Ledger) -> Ledger:
    copied = ledger.path.with_name("copy.db")
    shutil.copy(ledger.path, copied)
    return Ledger(copied, KEY, "id")


def stood(ledger: Ledger, number: int = -1) -> dict[bytes, tuple[str, ...]]:
    """Of each person the cells of her class, in the order of the attributes' names."""
    release = entries(ledger.path)[number].published
    cells = release.shown.select(sorted(release.shown.columns))[release.members["class"]]
    return dict(zip(release.members["subject"], cells.iter_rows(), strict=True))


def told(release: Release | ChunkedRelease) -> list[str]:
    return [note for note in release.notes if "wait until" in note or "withheld" in note]


@each_engine
@pytest.mark.usefixtures("small_chunks")
def test_the_same_people_are_shown_as_in_memory(engine: Engine, ledger: Ledger) -> None:
    in_memory(FIRST, ledger)
    other = copy_of(ledger)
    release, expected = on_engine(engine(SECOND), ledger), in_memory(SECOND, other)
    assert stood(ledger).keys() == stood(other).keys()
    assert (release.records, told(release)) == (expected.records, told(expected))
    assert 0 < release.facts["withheld"] == expected.masked.facts["withheld"]
    assert release.facts["classes_kept"] == expected.masked.facts["classes_kept"]
    assert release.facts["classes_new"] > 0
    assert audit(ledger.releases(), K).holds


@each_engine
def test_where_one_chunk_holds_all_it_is_the_release_in_memory(engine: Engine, ledger: Ledger) -> None:
    other = Ledger(ledger.path.with_name("other.db"), KEY, "id")
    for frame in (FIRST, SECOND, SECOND[:-2]):
        release, expected = on_engine(engine(frame), ledger), in_memory(frame, other)
        shown = pl.read_parquet(sorted((ledger.path.parent / "engine").glob("part-*")))
        assert shown.sort(shown.columns).equals(expected.table.sort(shown.columns))
        assert stood(ledger) == stood(other)
        assert told(release) == told(expected)
        assert {name: release.facts[name] for name in expected.masked.facts} == expected.masked.facts
        assert release.information_loss == pytest.approx(expected.information_loss)


@each_engine
@pytest.mark.usefixtures("small_chunks")
def test_other_models_are_kept_by_merging_whole_classes(engine: Engine, ledger: Ledger) -> None:
    few = EVERYBODY.with_columns(charge=pl.col("id") % 4)
    in_memory(few[:150], ledger)
    promised = POLICY.changed(models=[shoal.KAnonymity(K), shoal.LDiversity(2)])
    release = on_engine(engine(few), ledger, promised)
    assert all(verdict.holds for verdict in release.verdicts)
    assert release.records == 200
    assert audit(ledger.releases(), K).holds


@each_engine
@pytest.mark.usefixtures("small_chunks")
def test_fewer_than_k_new_people_wait(engine: Engine, ledger: Ledger) -> None:
    on_engine(engine(FIRST), ledger)
    release = on_engine(engine(EVERYBODY[:152]), ledger)
    assert release.records == 150
    assert release.facts["classes_new"] == 0
    assert told(release) == ["2 new records wait until there are 3 new ones: alone they could be told apart."]
    assert on_engine(engine(EVERYBODY[:153]), ledger).records == 153


@each_engine
@pytest.mark.usefixtures("small_chunks")
def test_the_order_of_the_input_and_a_report_go_with_it(engine: Engine, ledger: Ledger, tmp_path: Path) -> None:
    in_memory(FIRST, ledger)
    table = engine(SECOND)
    ordered = table.ordered
    release = on_engine(table, ledger, keep_order=ordered, report=tmp_path / "report.html")
    assert "withheld" in (tmp_path / "report.html").read_text()
    shown = pl.read_parquet(sorted((tmp_path / "engine").glob("part-*")))
    there = SECOND.filter(ledger.digests(SECOND).is_in(list(stood(ledger))))
    assert release.records == there.height
    if ordered:
        assert shown["charge"].equals(there["charge"])


def test_from_frame_to_frame_and_into_the_ledger(ledger: Ledger, tmp_path: Path) -> None:
    in_memory(FIRST, ledger)
    other = copy_of(ledger)
    release = shoal.anonymize(SECOND.lazy(), POLICY, seed=1, after=ledger, engine="disk")
    assert release.frame.collect().columns == [*QUASI, "charge"]
    assert len(entries(ledger.path)) == 1  # nothing is recorded before it is written
    release.write(tmp_path / "second", ledger=ledger, seed=1)
    in_memory(SECOND, other)
    assert stood(ledger) == stood(other)
    assert [entry.seed for entry in entries(ledger.path)] == [1, 1]
    plain = shoal.anonymize(SECOND.lazy(), POLICY, engine="disk")
    for made, book in ((plain, ledger), (release, other)):
        with pytest.raises(InputError, match="was not made after this ledger: make it with after=ledger"):
            made.write(tmp_path / "third", ledger=book)
    with pytest.raises(InputError, match=r"has no column 'ids' to tell subjects by\. Did you mean 'id'"):
        shoal.anonymize(SECOND.lazy(), POLICY, after=Ledger(ledger.path, KEY, "ids"), engine="disk")
    assert not (tmp_path / "third").exists()


@each_engine
def test_what_cannot_go_on_is_refused_in_a_sentence(engine: Engine, ledger: Ledger) -> None:
    with pytest.raises(InputError, match="shows classes by ranges"):
        on_engine(engine(FIRST), ledger, POLICY.changed(method=Mdav()))
    in_memory(FIRST[:3], ledger)
    with pytest.raises(PromiseError, match=r"Nobody of the 4 records can be shown .* at k = 3: nothing was released"):
        on_engine(engine(EVERYBODY[1:5]), ledger)
    with pytest.raises(InputError, match="names somebody in 'id' in more than one record"):
        on_engine(engine(pl.concat([FIRST, FIRST[:1]])), ledger)
    with pytest.raises(InputError, match="The key is not that of the ledger"):
        on_engine(engine(FIRST), Ledger(ledger.path, KEY[::-1], "id"))
    with pytest.raises(PromiseError, match="promised k = 3, this one only 2"):
        on_engine(engine(FIRST[:3]), ledger, POLICY.changed(models=[shoal.KAnonymity(2)]))
    assert len(entries(ledger.path)) == 1


# ---- whatever comes, goes or changes


OF_PEOPLE = POLICY.changed(quasi_identifiers=["age", "city"])


def person(i: int, age: int | None = None, city: str | None = None) -> dict[str, Any]:
    return {
        "id": i,
        "age": 20 + i * 7 % 40 if age is None else age,
        "city": "abc"[i % 3] if city is None else city or None,
        "charge": 10 * (i % 4),
    }


def table(people: dict[int, dict[str, Any]]) -> pl.DataFrame:
    schema = {"id": pl.Int64, "age": pl.Int64, "city": pl.String, "charge": pl.Int64}
    return pl.DataFrame([people[i] for i in sorted(people)], schema=schema)


@pytest.mark.parametrize("seed", range(3))
def test_whoever_comes_goes_or_changes_everybody_stays_one_of_k(seed: int, ledger: Ledger) -> None:
    draw = random.Random(seed)
    people = {i: person(i) for i in range(30)}
    releases = 0
    with pytest.MonkeyPatch.context() as patch, Disk() as disk:
        make_small(patch, 20)
        for night in range(3):
            if night:
                known = max(people) + 1
                people |= {i: person(i) for i in range(known, known + draw.randrange(12))}
                for i in draw.sample(sorted(people), draw.randrange(4)):
                    del people[i]
                for i in draw.sample(sorted(people), draw.randrange(6)):
                    people[i] = person(i, draw.randrange(15, 70), draw.choice(["a", "d", ""]))
            try:
                on_engine(disk.table(table(people).lazy()), ledger, OF_PEOPLE)
            except PromiseError as refused:
                if "Nobody" not in str(refused):  # all would have to be withheld; nothing else is a reason
                    raise
                continue
            releases += 1
            assert len(entries(ledger.path)) == releases
            check_atoms(ledger)
            check_cells(ledger, table(people))
    assert releases > 1


def check_atoms(ledger: Ledger) -> None:
    """By the oracle who stood where, by the audit what changed as well."""
    classes = [dict(one.published.members.select("subject", "class").iter_rows()) for one in entries(ledger.path)]
    assert min(anonymity(classes).values()) >= K
    assert audit(ledger.releases(), K).holds


def check_cells(ledger: Ledger, frame: pl.DataFrame) -> None:
    """Each shows the values of today and all that was ever shown of her."""
    values = dict(zip(ledger.digests(frame), frame.select("age", "city").iter_rows(), strict=True))
    past = [stood(ledger, number) for number in range(len(entries(ledger.path)))]
    for subject, (age, city) in past[-1].items():
        for earlier in (release[subject] for release in past if subject in release):
            assert ages(earlier[0]) <= ages(age)
            assert cities(earlier[1]) <= cities(city)
        assert values[subject][0] in ages(age)
        assert values[subject][1] in cities(city)


def ages(cell: str) -> set[int]:
    low, _, high = cell.strip("[]").partition(";")
    return set(range(int(low), int(high or low) + 1))


def cities(cell: str | None) -> set[str | None]:
    return {None, *"abcd"} if cell == "*" else {None} if cell is None else set(cell.strip("{}").split(";"))
