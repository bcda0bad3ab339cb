"""Risk: what an intruder can still do with a release, one file a measure or attack."""
