"""Comparing methods at equal risk or equal utility (paper 5)."""
