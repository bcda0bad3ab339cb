"""How every kernel is compiled: to machine code that is kept beside the package and runs free of Python's lock.

The first run waits for it, so kernels are written to be compiled soon: `np.empty` and a loop for `np.zeros`, `np.full`
and `x[:] = 0`, a condition for `min` and `max` of two, each of which numba compiles as a function of its own; a helper
that is called in one place is drawn in there (`inline="always"`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import njit
from numba.core.event import Event, Listener, register

from shoal.kernels import heard

# Nobody calls a kernel from C.
kernel: Any = partial(njit, cache=True, nogil=True, no_cfunc_wrapper=True)


class _Compiling(Listener):
    def on_start(self, event: Event) -> None:
        for tell in list(heard):
            tell()

    def on_end(self, event: Event) -> None:
        pass


register("numba:compile", _Compiling())  # type: ignore[no-untyped-call]
