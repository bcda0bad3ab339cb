"""Whole studies of three papers take minutes: what is read off them is tested by `make test-all`."""

from __future__ import annotations

import pytest

QUICK = ("test_big_data.py", "test_proper_anonymization.py")
WHOLE = {"study", "paper", "census"}  # fixtures


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Items of this folder only: pytest hands a folder's hook all of them."""
    for item in items:
        long = "tests/studies/" in item.nodeid and item.path.name not in QUICK
        if long and not WHOLE.isdisjoint(item.fixturenames):  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.slow)
