"""`--measures` of `shoal risk` and `shoal utility`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shoal.measure import measures
from tests.cli.conftest import Shoal
from tests.oracles.linkage import E3_X, E3_Y

QUASI = ("--quasi", "a,b")


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """Example E3 of docs/spec.md#linkage."""
    paths = tmp_path / "original.csv", tmp_path / "masked.csv"
    for table, path in zip((E3_X, E3_Y), paths, strict=True):
        pl.DataFrame(table, schema=["a", "b"]).write_csv(path)
    return paths


def test_risk_measures(shoal: Shoal, tables: tuple[Path, Path]) -> None:
    original, masked = tables
    run = shoal("risk", masked, *QUASI, "--original", original, "--measures", "rank_linkage,correct_links", "--json")
    assert (run.code, run.err) == (0, "")
    linkage = run.json["measures"]["rank_linkage"]
    assert linkage["value"] == pytest.approx(0.384219, abs=1e-6)
    assert linkage["higher_is"] == "safer"
    assert "nearest masked record" in linkage["meaning"]
    assert "correct_links" not in run.json["measures"]
    assert "shuffled or perturbed" in run.json["left_out"]["correct_links"]
    assert run.json["records"] == 5


def test_all_utility_measures(shoal: Shoal, tables: tuple[Path, Path]) -> None:
    run = shoal("utility", *tables, *QUASI, "--measures", "all", "--paired", "--json")
    assert (run.code, run.err) == (0, "")
    assert run.json["measures"].keys() == measures("utility").keys()
    assert run.json["measures"]["earth_movers_distance"]["value"] == pytest.approx(0.302327, abs=1e-6)
    assert run.json["information_loss"] > 0
    unpaired = shoal("utility", *tables, *QUASI, "--measures", "all", "--json").json
    assert unpaired["left_out"].keys() == {"information_loss", "separation_loss", "correlation_agreement", "sse"}


def test_tables_for_people_fit_the_terminal(shoal: Shoal, tables: tuple[Path, Path]) -> None:
    original, masked = tables
    for run in (
        shoal("risk", masked, *QUASI, "--original", original, "--measures", "all"),
        shoal("utility", original, masked, *QUASI, "--measures", "all"),
    ):
        assert run.code == 0
        assert "higher is" in run.out
        assert max(map(len, run.out.splitlines())) <= 80


def test_without_asking_there_are_none(shoal: Shoal, tables: tuple[Path, Path]) -> None:
    assert "measures" not in shoal("utility", *tables, *QUASI, "--json").json
    assert "measures" not in shoal("risk", tables[1], *QUASI, "--json").json


def test_what_cannot_be_asked(shoal: Shoal, tables: tuple[Path, Path]) -> None:
    original, masked = tables
    for words, sentence in {
        (
            "utility",
            original,
            masked,
            *QUASI,
            "--measures",
            "pmsee",
        ): "no utility measure 'pmsee'. Did you mean 'pmse'?",
        ("utility", original, masked, *QUASI, "--measures", "nowhere:f"): "'nowhere:f' cannot be imported",
        ("risk", masked, *QUASI, "--measures", "rank_linkage"): "give both --original and --measures",
        ("risk", masked, *QUASI, "--original", original): "give both --original and --measures",
    }.items():
        run = shoal(*words)
        assert run.code == 2
        assert sentence in run.sentence
