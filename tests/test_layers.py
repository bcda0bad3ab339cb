"""Imports point downwards only, lazy ones and those for types included; `scripts/imports.py` has the rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.imports import HEIGHT, ROOT, forbidden, imports

pytestmark = pytest.mark.xdist_group("sources")


def test_every_room_has_its_layer() -> None:
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert rooms - {"__init__"} <= set(HEIGHT)


def test_imports_point_downwards_and_so_in_no_circle() -> None:
    assert forbidden(imports()) == []


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.py").write_text(
        "from shoal.errors import InputError\nif TYPE_CHECKING:\n    from shoal.policy import Policy\n"
        "def f():\n    import shoal.release\n"
    )
    (tmp_path / "release.py").write_text("from shoal.data.a import f\n")
    found = imports(tmp_path)
    assert {(one.target, one.when, one.upward) for one in found if one.room == "data"} == {
        ("errors", "at once", False),
        ("policy", "for types", True),
        ("release", "lazily", True),
    }
    assert len(forbidden(found)) == 2


def test_shoal_knows_the_studies_by_one_door_only() -> None:
    """They are a package of their own, which need not be installed."""
    users = [path for path in ROOT.rglob("*.py") if "shoal_studies" in path.read_text(encoding="utf-8")]
    assert users == [ROOT / "cli" / "study.py"]


def test_kernels_know_arrays_only() -> None:
    assert [one.module for one in imports() if one.room == "kernels"] == []
