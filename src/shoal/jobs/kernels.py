"""Compiled kernels take a second to load: that can be done while a large table is read."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread


def load_kernels() -> None:
    """Loads compiled code in another thread, by masking a small table, while a large one is read."""
    Thread(target=_mask_something).start()


def _mask_something() -> None:
    import polars as pl

    from shoal.draft import draft
    from shoal.policy import Policy

    with suppress(RuntimeError):  # Ctrl-C may end the program before this is done
        draft(pl.DataFrame({"a": range(10)}), Policy(quasi_identifiers=["a"]))
