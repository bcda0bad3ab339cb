"""`python -m shoal`."""

from shoal.cli.main import run

run()
