"""Records of a table in parts can be released in the order of the input, where the engine's tables have one."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.chunked_release import CERTIFICATE, anonymize_in_chunks, anonymize_to
from shoal.data.discharges import discharges
from shoal.engines.disk import Disk
from shoal.engines.spark import Spark
from shoal.errors import InputError
from tests.engines.sessions import ON_SPARK, on_spark

TABLE = discharges(2300, seed=5)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.masking.chunks.CHUNK", 500)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 300)


def policy(method: object, **choices: object) -> shoal.Policy:
    return shoal.Policy(
        quasi_identifiers=["age_yrs", "sex", "patzip"], confidential=["charge"], method=method, **choices
    )


@pytest.mark.parametrize(
    "chosen",
    [policy(shoal.Sorted()), policy(shoal.Coarsen(3), suppression=0.5)],
    ids=["all released", "some left out"],
)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_the_files_in_order_are_the_release_in_memory(tmp_path: Path, chosen: shoal.Policy, kind: str) -> None:
    memory = shoal.anonymize(TABLE, chosen, seed=1).table
    with Disk() as disk:
        release = anonymize_to(disk.table(TABLE.lazy()), chosen, str(tmp_path / "r"), kind, seed=1, keep_order=True)
        assert release.facts["chunks"] > 3
    files = sorted((tmp_path / "r").glob("part-*"))
    assert len(files) > 3
    if kind == "parquet":
        assert_frame_equal(pl.read_parquet(files), memory)
    else:
        shown = pl.read_csv(files, infer_schema=False)
        assert_frame_equal(shown, memory.cast(pl.String))
    assert json.loads((tmp_path / "r" / CERTIFICATE).read_text())["record_order"] == "as in the source"


def test_the_command_keeps_the_order_on_disk(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from shoal.cli.main import app

    (tmp_path / "d").mkdir()
    for number, part in enumerate(TABLE.iter_slices(1000)):
        part.write_parquet(tmp_path / "d" / f"part-{number}.parquet")
    words = ["anonymize", tmp_path / "d", "-o", tmp_path / "r", "--quasi", "age_yrs,sex", "--confidential", "charge"]
    run = CliRunner().invoke(app, [*map(str, words), "--k", "5", "--write", "keep-order"])
    assert run.exit_code == 0, run.output
    released = pl.read_parquet(sorted((tmp_path / "r").glob("part-*")))
    assert released["charge"].to_list() == TABLE["charge"].to_list()


@pytest.mark.parametrize("engine", [pytest.param("spark", marks=ON_SPARK)])
def test_a_table_of_spark_has_no_order_to_keep(engine: str, spark: Spark) -> None:
    with pytest.raises(InputError, match=r"'spark' cannot keep the order of the input: .* use --engine disk"):
        anonymize_in_chunks(on_spark(spark, TABLE), policy(shoal.Hilbert()), keep_order=True)
