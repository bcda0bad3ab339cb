"""A folder with a small table, and the app for it; all of it is left out where the extra `ui` is not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if not all(map(find_spec, ("starlette", "tomlkit"))):
    collect_ignore_glob = ["test_*.py"]

if TYPE_CHECKING:
    from tests.web.client import Client

ROWS = [f"p{i},{20 + i % 7},{'MF'[i % 2]},{93700 + i % 5},{1000 * i % 13000},{'abc'[i % 3]}" for i in range(120)]
CSV = "name,age,sex,zip,charge,ward\n" + "".join(f"{row}\n" for row in ROWS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "hospital"
    place.mkdir()
    (place / "d.csv").write_text(CSV)
    (tmp_path / "secret.csv").write_text(CSV)
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def client(folder: Path) -> Client:
    from tests.web.client import Client

    return Client(folder)
