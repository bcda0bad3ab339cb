"""What a table costs follows its width, not the square of its width."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.data.schema import Schema

LISTINGS = [(pl.DataFrame, "columns"), (Schema, "names")]


def names_listed(width: int, options: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many names a release of so many columns lists on its way."""
    folder.mkdir()
    names = [f"c{number}" for number in range(width)]
    pl.DataFrame({name: [number % 4 for number in range(24)] for name in names}).write_csv(folder / "wide.csv")
    counted: Counter[str] = Counter()

    def counting(holder: type, name: str) -> property:
        listing = getattr(holder, name)

        def get(self: object) -> object:
            listed = listing.fget(self)
            counted[name] += len(listed)
            return listed

        return property(get, listing.fset)

    with monkeypatch.context() as patched:
        for holder, name in LISTINGS:
            patched.setattr(holder, name, counting(holder, name))
        arguments = ["anonymize", str(folder / "wide.csv"), "-o", str(folder / "r.csv"), "--quasi", "c0,c1", "--k", "3"]
        result = CliRunner().invoke(app, [*arguments, *options])
    assert result.exit_code == 0, result.output
    return counted


@pytest.mark.parametrize("options", [[], ["--rest", "insensitive"]], ids=["others dropped", "others released"])
def test_no_column_makes_all_columns_be_listed_again(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow, wide = (names_listed(n, options, tmp_path / str(n), monkeypatch) for n in (20, 60))
    assert wide.total() <= 4 * narrow.total()  # it would be nine times
