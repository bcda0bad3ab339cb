"""Compiled kernels: arrays in, arrays out, no objects. Compiled on first use and cached."""
