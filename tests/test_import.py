"""Importing Shoal and asking for help stay quick: heavy libraries load on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shoal

HEAVY = {"numba", "polars", "pyarrow", "pandas", "matplotlib", "scipy", "numpy", "pydantic"}


def loaded_after(statements: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has loaded then."""
    ask = f"{statements}\nimport sys\nprint(*{HEAVY} & set(sys.modules), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(run.stderr.split())


def test_importing_shoal_loads_nothing_heavy() -> None:
    assert loaded_after("import shoal") == set()


def test_help_loads_nothing_heavy() -> None:
    asked = "from shoal.cli.main import app\nassert app(['--help'], standalone_mode=False) == 0"
    assert loaded_after(asked) == set()


def test_naming_a_method_compiles_nothing() -> None:
    assert not loaded_after("import shoal\nshoal.Policy, shoal.anonymize, shoal.Hilbert") & {"numba", "matplotlib"}


def test_cells_are_shown_and_read_without_pandas() -> None:
    asked = """
import numpy as np, polars as pl
from shoal.data.cells import set_text
from shoal.data.schema import Attribute, Kind
from shoal.data.parse_cells import read_cells
shown = set_text(pl.Series("a", ["x", "y"]), np.array([0, 2, 3]), np.array([0, 1, 1], np.int32))
read_cells(shown, Attribute("a", frozenset(), Kind.NOMINAL))
"""
    assert "pandas" not in loaded_after(asked)


@pytest.mark.parametrize("name", shoal.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(shoal, name).__name__ == name
    assert name in dir(shoal)


def test_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        _ = shoal.anonymise


def test_public_names_stay_functions_when_folders_of_that_name_are_imported() -> None:
    import shoal.risk.measure
    import shoal.utility.measure

    assert callable(shoal.risk)
    assert callable(shoal.utility)
