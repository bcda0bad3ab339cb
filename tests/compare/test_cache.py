"""The cache of measured numbers: its owner's alone, keyed, and nothing in it is trusted to be whole."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from shoal.compare.cache import Cache, digest, key, opened
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema

AGE = Attribute("age", frozenset({Role.QUASI_IDENTIFIER}), Kind.NUMERIC)
TABLE = Microdata(pl.DataFrame({"age": [31, 32, 35]}), Schema((AGE,)))


def asked() -> str:
    return key(digest(TABLE), "mdav", 5, "sse")


def put(folder: Path, number: float = 0.5) -> None:
    with opened(folder) as cache:
        cache.put({asked(): number})


def names(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "measured.sqlite")) as database:
        return [name for (name,) in database.execute("SELECT key FROM measured")]


def test_who_guesses_the_table_cannot_try_it_on_the_database_alone(tmp_path: Path) -> None:
    for folder in (tmp_path / "one", tmp_path / "other"):
        put(folder)
        content = b"".join(path.read_bytes() for path in folder.glob("measured.sqlite*"))
        assert asked().encode() not in content
        assert digest(TABLE).encode() not in content
    assert names(tmp_path / "one") != names(tmp_path / "other")
    with opened(tmp_path / "one") as cache:
        assert cache.get(asked()) == 0.5


def test_all_of_it_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    before = os.umask(0)
    try:
        with opened(folder) as cache:
            cache.put({asked(): 0.5})
            modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    finally:
        os.umask(before)
    assert modes.pop("cache") == 0o700
    assert {"measured.sqlite", "measured.sqlite-wal", "measured.key"} <= set(modes)
    assert set(modes.values()) == {0o600}


def another_key(folder: Path) -> None:
    (folder / "measured.key").write_bytes(bytes(32))


def short_key(folder: Path) -> None:
    (folder / "measured.key").write_bytes(b"short")


def open_key(folder: Path) -> None:
    (folder / "measured.key").chmod(0o644)


def linked_key(folder: Path) -> None:
    (folder / "measured.key").rename(folder / "elsewhere")
    (folder / "measured.key").symlink_to(folder / "elsewhere")


def no_database(folder: Path) -> None:
    (folder / "measured.sqlite").write_text("no database at all, but long enough to be looked at" * 20)


def damaged_pages(folder: Path) -> None:
    path = folder / "measured.sqlite"
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 4096)


def other_types(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "measured.sqlite")) as database, database:
        database.execute("UPDATE measured SET value = 'os.system'")


def of_another_format(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "measured.sqlite")) as database, database:
        database.execute("PRAGMA user_version = 0")


@pytest.mark.parametrize("damage", [short_key, open_key, linked_key, no_database, damaged_pages])
def test_what_is_damaged_is_left_aside_with_a_note(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    put(tmp_path)
    damage(tmp_path)
    with opened(tmp_path) as cache:
        assert cache.get(asked()) is None
        cache.put({asked(): 0.25})
        assert cache.get(asked()) == 0.25  # in this run
        assert len(cache.notes) == 1
        assert "is left aside" in cache.notes[0]


@pytest.mark.parametrize("change", [another_key, other_types, of_another_format])
def test_what_does_not_answer_the_question_is_measured_anew(tmp_path: Path, change: Callable[[Path], None]) -> None:
    put(tmp_path)
    change(tmp_path)
    with opened(tmp_path) as cache:
        assert (cache.get(asked()), cache.notes) == (None, [])
        cache.put({asked(): 0.25})
    with opened(tmp_path) as cache:
        assert cache.get(asked()) == 0.25


def test_without_a_folder_it_forgets() -> None:
    cache = Cache()
    cache.put({"x": 1.0})
    assert (cache.get("x"), Cache().get("x")) == (1.0, None)
