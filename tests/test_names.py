"""No column of Shoal's own can be mistaken for a user's: what a column of a known kind is called changes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scripts.sources import tree

import shoal
from shoal.assess import released_schema
from shoal.chunked_release import anonymize_in_chunks as anonymize_parts
from shoal.data.files import read_table
from shoal.data.frames import OWN, to_polars
from shoal.engines.disk import Disk
from shoal.engines.opening import open_table
from shoal.errors import InputError
from shoal.releases.audit import audit
from shoal.releases.published import published
from shoal.risk.measure import assess_risk
from tests.cli.conftest import run_command

ROOT = Path(shoal.__file__).parent
NAMING = {
    *("agg", "alias", "bottom_k", "coalesce", "col", "DataFrame", "drop", "explode", "filter", "fromkeys", "group_by"),
    *("join", "LazyFrame", "len", "over", "rename", "Schema", "select", "Series", "sort", "unique", "value_counts"),
    *("with_columns", "with_row_index"),
}
WIDTH = 5  # columns of a table: two quasi-identifiers, two confidential, one insensitive


def named_in(tree: ast.Module) -> Iterator[str]:
    """The texts by which a module may call a column."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in NAMING:
            yield from (word.arg for word in node.keywords if word.arg)
            yield from (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
        if isinstance(node, ast.Assign):
            yield from (part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant))


def names_of_ours() -> list[str]:
    found = {name for path in ROOT.rglob("*.py") for name in named_in(tree(path))}
    words = {name for name in found if isinstance(name, str) and len(name) <= 20 and name.isprintable()}
    ours = {name for name in words if name.strip(" @_").replace(" ", "").replace("_", "").isalnum()}
    old = {f"@{name.strip(OWN)}" for name in found if isinstance(name, str) and name.isidentifier()}
    known = {"@facts", "@position", "@draw", "@records", "@value", "@from", "@place", "@to", "@class", "@people"}
    return sorted(ours | known | {name for name in old if name in words})


@cache
def tables() -> list[list[str]]:
    """All these names, as those of tables."""
    ours = names_of_ours()
    return [[*ours[i : i + WIDTH], *ours[:WIDTH]][:WIDTH] for i in range(0, len(ours), WIDTH)]


def table(names: list[str]) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, 9, 40), rng.choice(["a", "b"], 40), rng.integers(0, 4, 40) * 1.5, rng.integers(0, 3, 40)]
    return pl.DataFrame(dict(zip(names, [*columns, rng.integers(0, 99, 40)], strict=True)))


def policy(names: list[str], **choices) -> shoal.Policy:
    models = [shoal.KAnonymity(3), shoal.TCloseness(0.9, names[2]), shoal.LDiversity(2, names[3])]
    roles = {"quasi_identifiers": names[:2], "confidential": names[2:4], "insensitive": names[4:]}
    # A name like "place" would say that these are codes.
    numbers = {key: {"kind": "numeric"} for key in [names[0], names[2]]}
    return shoal.Policy(**roles, **({"models": models, "attributes": numbers} | choices))


PLAIN = [f"plain{i}" for i in range(WIDTH)]


def renamed(frame: pl.DataFrame) -> pl.DataFrame:
    frame.columns = PLAIN
    return frame


def memory(names: list[str]) -> pl.DataFrame:
    return shoal.anonymize(table(names), policy(names), seed=1).table


def disk(names: list[str]) -> pl.DataFrame:
    with Disk() as engine:
        return anonymize_parts(engine.table(table(names).lazy()), policy(names), seed=1).frame.collect()


def test_the_names_are_found() -> None:
    assert {"@facts", "@draw", "subject", "class", "cell", "key", "records", "same", "len", "told"} <= set(
        names_of_ours()
    )


@pytest.mark.slow
@pytest.mark.parametrize("made", [memory, disk])
def test_a_release_is_the_same_whatever_its_columns_are_called(made) -> None:
    expected = made(PLAIN)
    for names in tables():
        assert_frame_equal(renamed(made(names)), expected)


def test_a_release_is_the_same_whatever_some_columns_are_called() -> None:
    expected = memory(PLAIN)
    for names in tables()[:: len(tables()) // 10]:
        assert_frame_equal(renamed(memory(names)), expected)


@pytest.mark.slow
def test_risks_are_the_same_whatever_the_columns_are_called() -> None:
    def risks(names: list[str]) -> list[object]:
        frame = table(names)
        held = policy(names, models=[shoal.KAnonymity(2)])
        with Disk() as engine:
            source = engine.table(frame.lazy())
            parts = assess_risk(source, released_schema(source, held), groups=held.groups)
        in_memory = shoal.risk(frame, held)
        return [parts.uniques, parts.sizes.tolist(), in_memory.uniques, sorted(in_memory.sizes.tolist())]

    expected = risks(PLAIN)
    for names in tables():
        assert risks(names) == expected, names


@pytest.mark.slow
def test_pooled_releases_are_the_same_whatever_the_columns_are_called() -> None:
    def pooled(names: list[str]) -> list[object]:
        frame = table(names).with_columns(pl.int_range(40).alias("who it is"))
        both = [
            published(f"release {i}", part, "who it is", names[i : i + 1], names[2:4])
            for i, part in enumerate((frame.head(30), frame.tail(30)))
        ]
        found = audit(both, 2, names[2:4]).to_dict()
        attacked = [(one["published"], one["victims"]) for pair in found["pairs"] for one in pair["differencing"]]
        return [found["histogram"], found["subjects_below_k"], attacked]

    expected = pooled(PLAIN)
    for names in tables():
        assert pooled(names) == expected, names


@pytest.mark.slow
def test_a_population_is_the_same_whatever_the_columns_are_called() -> None:
    def kept(names: list[str]) -> pl.DataFrame:
        frame = table(names)
        hierarchy = [[str(i), f"{i // 3 * 3}..", "*"] for i in range(9)]
        attributes = {names[0]: {"hierarchy": hierarchy, "kind": "nominal"}}
        models = [shoal.KMap(3, population=frame)]
        chosen = {"models": models, "method": shoal.Recode(), "suppression": 0.9, "attributes": attributes}
        roles = {"quasi_identifiers": names[:1], "insensitive": names[4:]}
        return shoal.anonymize(frame, shoal.Policy(**roles, **chosen), seed=1).table

    expected = kept(PLAIN)
    for names in tables():
        frame = kept(names)
        frame.columns = expected.columns
        assert_frame_equal(frame, expected)


@pytest.mark.parametrize("door", ["frame", "csv", "parquet", "disk", "folder"])
def test_the_one_character_that_is_ours_is_refused_at_every_door(tmp_path: Path, door: str) -> None:
    frame = pl.DataFrame({f"{OWN}facts": [1, 2]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    doors = {
        "frame": lambda: to_polars(frame),
        "csv": lambda: read_table(tmp_path / "t.csv"),
        "parquet": lambda: read_table(tmp_path / "t.parquet"),
        "disk": lambda: open_table(frame, "disk"),
        "folder": lambda: open_table(tmp_path / "t.parquet", "disk"),
    }
    with pytest.raises(InputError, match=r"'facts' holds the character U\+FDD0"):
        doors[door]()


def test_the_command_line_takes_names_of_ours(tmp_path: Path) -> None:
    names = ["@facts", "@records", "@draw", "@position", "@value"]
    table(names).write_csv(tmp_path / "t.csv")
    roles = ["--quasi", "@facts,@records", "--confidential", "@draw,@position", "--insensitive", "@value", "--k", "3"]
    for engine, output in (("memory", "r.csv"), ("disk", "r")):
        words = ["anonymize", tmp_path / "t.csv", *roles, "--engine", engine, "-o", tmp_path / output]
        assert run_command(*words) == 0
    parts = pl.read_csv(tmp_path / "r" / "part-*.csv")
    assert parts.columns == pl.read_csv(tmp_path / "r.csv").columns == names
    assert parts.height == 40


@pytest.mark.parametrize("door", ["frame", "parquet", "disk", "folder"])
def test_a_name_that_arrow_would_cut_short_is_refused_at_every_door(tmp_path: Path, door: str) -> None:
    frame = pl.DataFrame({"age\0": [1, 2]})
    frame.write_parquet(tmp_path / "t.parquet")
    doors = {
        "frame": lambda: to_polars(frame),
        "parquet": lambda: read_table(tmp_path / "t.parquet"),
        "disk": lambda: open_table(frame, "disk"),
        "folder": lambda: open_table(tmp_path / "t.parquet", "disk"),
    }
    with pytest.raises(InputError, match="holds a NUL character; rename it"):
        doors[door]()
