"""Runs a compiled kernel over consecutive blocks on all cores (the kernels release the interpreter's lock)."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise


def blocks(n: int, size: int) -> list[tuple[int, int]]:
    """[0, n) in blocks of `size`; the last takes the remainder, so that no block but an only one is shorter."""
    edges = [*range(0, max(n - size, 0) + 1, size), n]
    return list(pairwise(edges))


def in_blocks(n: int, size: int, work: Callable[[int, int], None]) -> None:
    """work(start, stop) for every block, side by side."""
    if n <= size:
        work(0, n)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        under_way = [pool.submit(work, start, stop) for start, stop in blocks(n, size)]
        try:
            for block in under_way:
                block.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
