"""Whole studies take minutes: what is read off them is tested by `make test-all`."""

from __future__ import annotations

import pytest

WHOLE = {"study", "paper", "census"}  # fixtures


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Items of this folder only: pytest hands a folder's hook all of them."""
    for item in items:
        if "tests/studies/" in item.nodeid and not WHOLE.isdisjoint(item.fixturenames):  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.slow)
