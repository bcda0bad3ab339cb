"""Tools of those who work on Shoal."""
