"""SQL tables there and back, in one transaction or not at all."""

from __future__ import annotations

import datetime as dt
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.data.files import read_table, same_file, write_table
from shoal.errors import InputError, PromiseError

pytest.importorskip("duckdb")
pytest.importorskip("adbc_driver_sqlite")

NASTY = pl.DataFrame(
    {
        "a b": [1, None, 2**63 - 1, -(2**63)],
        'say "hi"': ["", "é\n;'\"", None, "'; DROP TABLE x; --"],
        "amount": [1.5, None, -3.25, 1e300],
        "truth": [True, None, False, True],
        "day": [dt.date(2020, 1, 2), None, dt.date(1980, 1, 1), dt.date(1, 1, 1)],
        "moment": [dt.datetime(2020, 1, 2, 3, 4, 5, 6), None, dt.datetime(1999, 1, 1), dt.datetime(1970, 1, 1)],
    }
)
NAMES = ["plain", 'a "quoted" name', "x; DROP TABLE plain; --", "it's", "Größe"]


@pytest.fixture(params=["duckdb", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:///{tmp_path}/my%20 data.db"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A PostgreSQL server of its own, reached by a socket; it refuses to run as the superuser."""
    pytest.importorskip("adbc_driver_postgresql")
    folders = [str(p) for p in Path("/usr/lib/postgresql").glob("*/bin")]
    search = os.pathsep.join([os.environ.get("PATH", ""), *folders])
    initdb, pg_ctl = shutil.which("initdb", path=search), shutil.which("pg_ctl", path=search)
    if not initdb or not pg_ctl:
        pytest.skip("no PostgreSQL server is installed")
    root = os.geteuid() == 0
    try:
        user = pwd.getpwnam("postgres" if root else pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        pytest.skip("the superuser needs a user named postgres to start PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    data = folder / "data"
    who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if root else {}
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"

    def run(*command: str | Path) -> None:
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who)

    try:
        os.chown(folder, user.pw_uid, user.pw_gid)
        run(initdb, "-D", data, "-A", "trust", "-N", "-U", "shoal", "-E", "UTF8")
        run(pg_ctl, "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://shoal@/postgres?host={folder}"
        finally:
            run(pg_ctl, "-D", data, "-w", "-m", "immediate", "stop")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(database: str, name: str) -> None:
    write_table(NASTY, f"{database}#{name}")
    assert_frame_equal(read_table(f"{database}#{name}"), NASTY)


def test_names_are_identifiers_and_nothing_else(database: str) -> None:
    for name in NAMES:
        write_table(NASTY, f"{database}#{name}")
    for name in NAMES:
        assert read_table(f"{database}#{name}").height == NASTY.height


def test_overwriting_replaces_the_table(database: str) -> None:
    write_table(NASTY, f"{database}#t")
    write_table(pl.DataFrame({"other": ["x"]}), f"{database}#t", overwrite=True)
    assert read_table(f"{database}#t").rows() == [("x",)]
    with pytest.raises(InputError, match="table 't' is there already"):
        write_table(NASTY, f"{database}#t")
    assert read_table(f"{database}#t").rows() == [("x",)]
    write_table(NASTY, f"{database}#fresh")
    assert read_table(f"{database}#fresh").height == NASTY.height


def test_what_was_written_is_checked_before_it_counts(database: str) -> None:
    write_table(pl.DataFrame({"old": [1]}), f"{database}#t")
    seen: list[pl.DataFrame] = []
    write_table(NASTY, f"{database}#new", before_commit=lambda path: seen.append(read_table(path)))
    assert_frame_equal(seen[0], NASTY)

    def refuse(path: Path) -> None:
        raise PromiseError("not safe")

    for table in ("t", "other"):
        with pytest.raises(PromiseError):
            write_table(NASTY, f"{database}#{table}", overwrite=True, before_commit=refuse)
    assert read_table(f"{database}#t").columns == ["old"]
    with pytest.raises(InputError):
        read_table(f"{database}#other")


def test_a_database_made_for_what_was_refused_goes_again(database: str, tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        raise PromiseError("no")

    with pytest.raises(PromiseError):
        write_table(NASTY, f"{database}#t", before_commit=refuse)
    assert list(tmp_path.iterdir()) == []
    write_table(NASTY, f"{database}#t")
    with pytest.raises(PromiseError):
        write_table(NASTY, f"{database}#other", before_commit=refuse)
    assert_frame_equal(read_table(f"{database}#t"), NASTY)


def test_a_killed_process_leaves_the_old_table(database: str, tmp_path: Path) -> None:
    write_table(pl.DataFrame({"old": [1]}), f"{database}#t")
    script = (
        "import sys, time, pathlib, polars as pl\n"
        "from shoal.data.files import write_table\n"
        "wait = lambda path: (pathlib.Path(sys.argv[2]).touch(), time.sleep(60))\n"
        "write_table(pl.DataFrame({'new': range(1000)}), sys.argv[1], overwrite=True, before_commit=wait)\n"
    )
    ready = tmp_path / "ready"
    process = subprocess.Popen([sys.executable, "-c", script, f"{database}#t", str(ready)])
    try:
        deadline = time.monotonic() + 60
        while not ready.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert ready.exists()
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert read_table(f"{database}#t").rows() == [(1,)]


def test_faults_give_one_sentence(database: str, tmp_path: Path) -> None:
    scheme = database.partition(":")[0]
    (tmp_path / "junk.db").write_bytes(b"junk " * 1000)
    write_table(NASTY, f"{database}#t")
    sources = [f"{database}#nowhere", f"{database}", f"{scheme}:///{tmp_path}/nowhere.db#t"]
    for source in [*sources, f"{scheme}:///{tmp_path}/junk.db#t", "mysql://host/db#t"]:
        with pytest.raises(InputError) as caught:
            read_table(source)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "nowhere.db").exists()
    with pytest.raises(InputError):
        write_table(NASTY, f"{scheme}:///{tmp_path}/nowhere/x.db#t")


def test_tables_without_records_are_refused(database: str) -> None:
    write_table(NASTY.clear(), f"{database}#t")
    with pytest.raises(InputError, match="no records"):
        read_table(f"{database}#t")


def test_categories_are_written_as_text(database: str) -> None:
    write_table(pl.DataFrame({"c": pl.Series(["x", None], dtype=pl.Categorical)}), f"{database}#t")
    assert read_table(f"{database}#t")["c"].to_list() == ["x", None]


def test_sqlite_types_are_seen_in_all_rows(tmp_path: Path) -> None:
    values = [float(i) for i in range(3000)] + [0.5]
    sqlite3 = pytest.importorskip("sqlite3")
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(int(v) if v.is_integer() else v,) for v in values])
    connection.close()
    assert read_table(f"sqlite:///{tmp_path}/t.db#t")["x"].to_list() == values


def test_duckdb_schemas(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE SCHEMA research")
    write_table(NASTY, f"duckdb:///{tmp_path}/t.db#research.t")
    assert_frame_equal(read_table(f"duckdb:///{tmp_path}/t.db#research.t"), NASTY)
    with pytest.raises(InputError):
        read_table(f"duckdb:///{tmp_path}/t.db#t")


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match=r"Using duckdb databases needs an extra package.*shoal\[sql\]"):
        read_table("duckdb:///x.db#t")


def test_the_same_table_by_other_words(tmp_path: Path) -> None:
    (tmp_path / "x.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "x.db")
    one = f"sqlite:///{tmp_path}/x.db#t"
    assert same_file(one, f"sqlite:///{tmp_path}/link.db#T")
    assert not same_file(one, f"sqlite:///{tmp_path}/x.db#u")
    assert not same_file(one, f"duckdb:///{tmp_path}/x.db#t")
    assert same_file("postgresql://ann@localhost/db#t", "postgres://bob@127.0.0.1:5432/db#public.t")
    assert not same_file("postgresql://localhost/db#t", "postgresql://elsewhere/db#t")
    assert not same_file("postgresql://localhost/db#t", "postgresql://localhost/db#T")


class TestPostgres:
    @pytest.mark.parametrize("name", NAMES)
    def test_round_trip(self, postgres: str, name: str) -> None:
        write_table(NASTY, f"{postgres}#{name}", overwrite=True)
        assert_frame_equal(read_table(f"{postgres}#{name}"), NASTY)
        with pytest.raises(InputError, match="is there already"):
            write_table(NASTY.head(1), f"{postgres}#public.{name}")
        write_table(NASTY.head(1), f"{postgres}#public.{name}", overwrite=True)
        assert read_table(f"{postgres}#{name}").height == 1

    def test_a_failed_check_leaves_what_was_there(self, postgres: str) -> None:
        write_table(pl.DataFrame({"old": [1]}), f"{postgres}#checked", overwrite=True)
        seen: list[pl.DataFrame] = []

        def refuse(path: Path) -> None:
            seen.append(read_table(path))
            raise PromiseError("not safe")

        with pytest.raises(PromiseError):
            write_table(NASTY, f"{postgres}#checked", overwrite=True, before_commit=refuse)
        assert_frame_equal(seen[0], NASTY)
        assert read_table(f"{postgres}#checked").rows() == [(1,)]

    def test_types_of_its_own(self, postgres: str) -> None:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(postgres) as connection:
            with connection.cursor() as cursor:
                cursor.execute(
                    "CREATE TABLE own AS SELECT 1.5::numeric AS fraction, 7::numeric AS whole, '12.50'::money AS price,"
                    " 12345678901234567890123::numeric AS long, '00000000-0000-0000-0000-000000000001'::uuid AS id,"
                    " '10.0.0.1'::inet AS ip, '1 day'::interval AS span, 5::smallint AS small"
                )
            connection.commit()
        row = read_table(f"{postgres}#own").row(0, named=True)
        assert (row["fraction"], row["whole"], row["price"], row["small"]) == (1.5, 7, 12.5, 5)
        assert row["long"] == "12345678901234567890123"
        assert (row["id"][-1], row["ip"], row["span"]) == ("1", "10.0.0.1/32", "1 day")

    def test_faults_give_one_sentence_without_the_password(self, postgres: str) -> None:
        for source in (f"{postgres}#nowhere", "postgresql://ann:secret@localhost:1/db#t"):
            with pytest.raises(InputError) as caught:
                read_table(source)
            assert "\n" not in str(caught.value)
            assert "secret" not in str(caught.value)
