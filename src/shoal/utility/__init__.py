"""Utility: what an analyst can still do with a release, one file a measure."""
