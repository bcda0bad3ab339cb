"""The story of a release for a table that is never in memory as a whole: the same promises, kept part by part."""
