"""How every kernel is compiled: to machine code that is kept beside the package and runs free of Python's lock."""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import njit
from numba.core.event import Event, Listener, register

from shoal.kernels import heard

kernel: Any = partial(njit, cache=True, nogil=True)


class _Compiling(Listener):
    def on_start(self, event: Event) -> None:
        for tell in list(heard):
            tell()

    def on_end(self, event: Event) -> None:
        pass


register("numba:compile", _Compiling())  # type: ignore[no-untyped-call]
