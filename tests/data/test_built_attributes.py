"""Recode without a hierarchy builds one, shows it, and can keep it; no label names a value that few have."""

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.build_hierarchy import auto
from shoal.data.hierarchy_files import read_hierarchy
from shoal.errors import InputError
from shoal.jobs.anonymize import Anonymize
from shoal.jobs.check import Check

K = 5


def people(records: int = 600) -> pl.DataFrame:
    dice = np.random.default_rng(7)
    countries = np.array([f"land {'abcdefghijklmnopqrstuvwxyz'[i % 26]}{i // 26}" for i in range(60)])
    day = [dt.date(2019, 1, 1) + dt.timedelta(days=int(days)) for days in dice.integers(0, 1500, records)]
    country = countries[np.minimum(dice.geometric(0.12, records) - 1, 59)]
    return pl.DataFrame({"age": dice.integers(0, 96, records), "country": country, "day": day, "ill": ["x"] * records})


POLICY = shoal.Policy(
    quasi_identifiers=["age", "country", "day"],
    confidential=["ill"],
    method=shoal.Recode(),
    models=[shoal.KAnonymity(K)],
    suppression=0.05,
)


def test_recode_without_hierarchies_builds_them_and_says_so() -> None:
    release = shoal.anonymize(people(), POLICY)
    [note] = [note for note in release.notes if note.startswith("Built hierarchies")]
    assert "age (bands of 5, bands of 10, bands of 20, not shown)" in note
    assert "day (months, quarters, years, decades, not shown)" in note
    assert int(release.sizes.min()) >= K


def test_local_recoding_builds_them_too() -> None:
    release = shoal.anonymize(people(), POLICY.changed(method=shoal.Recode(local=True)))
    assert int(release.sizes.min()) >= K


@pytest.mark.parametrize(
    ("values", "widths"),
    [
        (range(96), ["5", "10", "20"]),
        (range(10), ["2"]),
        (range(0, 10_000, 7), ["500", "1000", "2000"]),
        ([i / 100 for i in range(100)], ["0.05", "0.1", "0.2"]),
        ([5], []),
    ],
)
def test_bands_of_numbers_are_nested_and_round(values: list[float], widths: list[str]) -> None:
    tree = auto(pl.Series(list(values)), "x")
    assert [tree.level_name(level) for level in range(1, tree.levels - 1)] == [f"bands of {width}" for width in widths]


def test_no_label_names_a_value_that_few_have() -> None:
    country = people()["country"]
    often = dict(country.value_counts().iter_rows())
    tree = auto(country, "country", least=K)
    rare = [value for value, count in often.items() if count < K]
    assert rare
    for level in range(1, tree.levels):
        for label, begin, end in zip(tree.labels(level), tree.starts(level)[:-1], tree.starts(level)[1:], strict=True):
            held = tree.leaf_values[int(begin) : int(end)].to_list()
            if len(held) > 1 and label != "*":
                assert not any(value in label for value in rare)
                exact = label == "{" + ";".join(held) + "}"
                counted = [
                    f"{len(held)} rare values",
                    *(f"{', '.join(held[:n])} and {len(held) - n} more" for n in (1, 2)),
                ]
                assert exact or label in counted
        with_rare = {int(tree.ancestors[level][tree.leaf_values.index_of(value)]) for value in rare}
        assert len(with_rare) == 1  # so that what no list names is in that one


GRADES = [f"{i}th grade" for i in range(5, 13)]
GRADED = shoal.Policy(
    quasi_identifiers=["age", "grade"],
    confidential=["ill"],
    method=shoal.Recode(),
    models=[shoal.KAnonymity(40)],
    suppression=0.05,
    attributes={"grade": {"kind": "ordinal", "domain": GRADES}},
)


def pupils() -> pl.DataFrame:
    return people().with_columns(grade=pl.Series([GRADES[i % 8] for i in range(600)]))


def test_categories_in_their_order_are_merged_with_their_neighbours() -> None:
    release = shoal.anonymize(pupils(), GRADED)
    groups = [[f"{GRADES[i]} to {GRADES[i + size - 1]}" for i in range(0, 8, size)] for size in (2, 4)]
    assert set(release.table["grade"]) in map(set, groups)
    assert any("grade (groups of 2, groups of 4, not shown)" in note for note in release.notes)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_whoever_checks_a_release_reads_its_spans_of_categories(tmp_path: Path, engine: str) -> None:
    source, output, certificate = tmp_path / "d.csv", tmp_path / f"r-{engine}", tmp_path / "c.json"
    output = output.with_suffix(".csv") if engine == "memory" else output
    pupils().write_csv(source)
    Anonymize(source, GRADED, output, certificate=certificate, report=tmp_path / "r.html", engine=engine).run()
    assert "5th grade to " in (tmp_path / "r.html").read_text()
    assert Check(output, certificate=certificate).run().holds
    beside = GRADED.changed(models=[shoal.KMap(5, population=str(source))])  # which asks whom each cell fits
    assert Check(output, beside).run().holds


def test_an_engine_builds_the_same_tree_as_memory(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "d.csv")
    for engine in ("memory", "disk"):
        output = tmp_path / (f"{engine}.csv" if engine == "memory" else engine)
        Anonymize(tmp_path / "d.csv", POLICY, output, engine=engine, hierarchies=tmp_path / f"h-{engine}").run()
    for name in POLICY.quasi_identifiers:
        own, other = ((tmp_path / f"h-{engine}" / f"{name}.csv").read_text() for engine in ("memory", "disk"))
        assert own == other


def test_a_release_is_repeated_with_the_hierarchies_that_were_kept(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "d.csv")
    kept = tmp_path / "kept"
    first = Anonymize(tmp_path / "d.csv", POLICY, tmp_path / "a.csv", seed=1, hierarchies=kept).run()
    described = {name: {"hierarchy": str(kept / f"{name}.csv")} for name in POLICY.quasi_identifiers}
    again = Anonymize(
        tmp_path / "d.csv", POLICY.changed(attributes=described), tmp_path / "b.csv", seed=1, keep_order=False
    ).run()
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert not any(note.startswith("Built") for note in again.notes)
    assert any(note.startswith("Built") for note in first.notes)
    assert (kept / "age.csv").stat().st_mode & 0o077 == 0
    assert read_hierarchy(kept / "age.csv", "age").levels == 5


def test_hierarchies_that_are_there_are_not_replaced_unasked(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "d.csv")
    (tmp_path / "age.csv").write_text("mine")
    job = Anonymize(tmp_path / "d.csv", POLICY, tmp_path / "r.csv", hierarchies=tmp_path)
    with pytest.raises(InputError, match=r"age\.csv' is there already"):
        job.refuse()
    with pytest.raises(InputError, match="none is"):
        Anonymize(
            tmp_path / "d.csv", POLICY.changed(method=shoal.Kd()), tmp_path / "r.csv", hierarchies=tmp_path
        ).refuse()
