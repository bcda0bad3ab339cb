"""Groupings: who stands together. Each gives a Partition of classes of at least k records."""
