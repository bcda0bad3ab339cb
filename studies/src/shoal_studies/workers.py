"""Work side by side, a thread a core: the kernels beneath let go of the interpreter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers() -> Iterator[ThreadPoolExecutor]:
    """Where a study is interrupted, what has not begun never does."""
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
