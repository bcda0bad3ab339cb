"""Compiled kernels: arrays in, arrays out, no objects. Compiled on first use and cached."""

from collections.abc import Callable

heard: list[Callable[[], None]] = []  # called whenever a kernel is compiled, which is once on a machine, not loaded
