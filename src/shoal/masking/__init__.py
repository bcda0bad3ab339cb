"""Masking: grouping x publishing, recoding, perturbing."""
