"""Recodings: each attribute along its hierarchy or into intervals, by one rule for all records or class by class."""
