"""Tests here may run on each engine (`tests/engines/sessions.py`)."""

from tests.engines.sessions import engine, pytest_generate_tests, spark

__all__ = ["engine", "pytest_generate_tests", "spark"]
