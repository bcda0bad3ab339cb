"""Microdata: a table and its schema, each attribute encoded once; every algorithm sees only the arrays."""
