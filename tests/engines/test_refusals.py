"""What a table in parts cannot have is refused in one sentence, before or as soon as it is known."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.assess import known_of
from shoal.chunked_release import anonymize_in_chunks
from shoal.data.discharges import discharges
from shoal.engines.disk import Disk
from shoal.engines.opening import engine_for, engine_of
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.masking.recoding.safe_harbor import Step
from shoal.releases.audit_tables import audit_tables
from shoal.risk.scenarios import scenarios
from shoal.utility import statistics
from shoal.utility.tables import measured_tables

TABLE = discharges(200, seed=1)


def policy(*quasi: str, **choices: Any) -> shoal.Policy:
    return shoal.Policy(quasi_identifiers=quasi or ("age_yrs", "sex"), **choices)


def on_disk(disk: Disk, table: pl.DataFrame = TABLE) -> Table:
    return disk.table(table.lazy())


def test_a_table_of_no_quasi_identifier() -> None:
    nobody = shoal.Policy(confidential=["charge"])
    with Disk() as disk:
        with pytest.raises(InputError, match=r"No quasi-identifier is named: .*\(--quasi a,b\)"):
            anonymize_in_chunks(on_disk(disk), nobody)
        with pytest.raises(InputError, match="No quasi-identifier is named"):
            audit_tables({"one": on_disk(disk)}, nobody.quasi_identifiers, "id", 5)


def test_ladders_of_too_many_values_together() -> None:
    wide = pl.DataFrame({f"c{i}": range(60) for i in range(12)})  # 61 to the twelfth is more than 2 to the 64th
    method = shoal.SafeHarbor([Step(name, "suppress") for name in wide.columns])
    with Disk() as disk, pytest.raises(InputError, match="too many values together to be counted in 64 bits"):
        anonymize_in_chunks(on_disk(disk, wide), policy(*wide.columns, method=method, suppression=1.0))


def test_lengths_of_numbers_that_no_float_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.whole.LISTED", 10)
    table = pl.DataFrame({"a": [2**60 + i for i in range(50)]})
    with Disk() as disk, pytest.raises(InputError, match=r"'a' has more than .* values, and numbers beyond 2\^53"):
        anonymize_in_chunks(on_disk(disk, table), policy("a", method=shoal.Coarsen(3, "width")))


def test_a_population_of_nobody() -> None:
    with Disk() as disk, pytest.raises(InputError, match="The population has no records: nobody"):
        scenarios(on_disk(disk), policy().schema(TABLE), population=on_disk(disk, TABLE.clear()))


def test_two_way_tables_of_one_attribute_or_of_too_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    with Disk() as disk:
        source = on_disk(disk)

        def left_out(*quasi: str) -> str:
            known = known_of(source, policy(*quasi))
            return measured_tables(known, source, ["marginals_2way"]).left_out["marginals_2way"]

        assert left_out("sex") == "There is only one attribute: there are no two-way tables."
        monkeypatch.setattr(statistics, "_CELLS", 5)
        assert left_out("age_yrs", "sex").startswith("The two-way table of age_yrs and sex has more than 5 cells")


class Elsewhere:
    """A table of another engine, as far as anybody asks."""

    engine = "spark"


def test_an_audit_of_nothing_or_across_engines() -> None:
    with Disk() as disk:
        with pytest.raises(InputError, match="There is no release to audit: name some"):
            audit_tables({}, ["sex"], "id", 5)
        with pytest.raises(InputError, match="on different engines: open all of them on the same"):
            audit_tables({"one": on_disk(disk), "two": Elsewhere()}, ["sex"], "id", 5)  # type: ignore[dict-item]


def test_a_spark_frame_is_sparks() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    assert engine_of(frame) == engine_for((TABLE, frame)) == "spark"
    with pytest.raises(InputError, match="worked on by Spark, not by 'disk': collect it first"):
        engine_of(frame, "disk")
