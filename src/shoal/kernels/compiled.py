"""How every kernel is compiled: to machine code that is kept beside the package and runs free of Python's lock.

The first run waits for it, so kernels are written to be compiled soon: `np.empty` and a loop for `np.zeros`, `np.full`
and `x[:] = 0`, a condition for `min` and `max` of two, each of which numba compiles as a function of its own; a helper
that is called in one place is drawn in there (`inline="always"`).
"""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

from numba import njit
from numba.core.event import Event, Listener, register

from shoal.kernels import heard

# Nobody calls a kernel from C.
kernel: Any = partial(njit, cache=True, nogil=True, no_cfunc_wrapper=True)


class _Compiling(Listener):
    """Tells who listens that a kernel is being compiled; meanwhile no garbage is looked for, a tenth of the time."""

    def __init__(self) -> None:
        self._under_way = 0
        self._collects = gc.isenabled()

    def on_start(self, event: Event) -> None:
        if not self._under_way:
            self._collects = gc.isenabled()
            gc.disable()
        self._under_way += 1  # kernels that it calls are compiled within
        for tell in list(heard):
            tell()

    def on_end(self, event: Event) -> None:
        self._under_way -= 1
        if not self._under_way and self._collects:
            gc.enable()


register("numba:compile", _Compiling())  # type: ignore[no-untyped-call]
