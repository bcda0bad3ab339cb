"""`shoal warm-up`: compiles on this machine what the first run would otherwise wait for."""

from __future__ import annotations

import os
from contextlib import chdir, redirect_stderr, redirect_stdout
from tempfile import TemporaryDirectory

import typer

_EXAMPLES = """Examples:

shoal warm-up

shoal warm-up --quiet"""

_QUASI = "--quasi age_yrs,sex,patzip,los"
_ROLES = f"{_QUASI} --confidential charge --k 5"
_GOODS = "t.csv --customer customer --item good"

# Small tables through the usual commands: whatever kernels these use is compiled and kept beside the package.
COMMANDS = (
    "sample discharges --rows 400 --seed 7 -o d.csv",
    "profile d.csv",
    f"anonymize d.csv -o r.csv {_ROLES} --report r.html --certificate r.json",
    f"anonymize d.csv -o l.csv {_ROLES} --l 2",
    f"anonymize d.csv -o c.csv {_ROLES} --t 0.4",
    f"anonymize d.csv -o e.csv {_QUASI} --confidential race --k 5 --t 0.9",
    f"anonymize d.csv -o p.csv {_ROLES} --person oshpd_id",
    *(f"anonymize d.csv -o {method}.csv {_ROLES} --method {method}" for method in ("kd", "sorted", "mdav", "mdav+")),
    f"anonymize d.csv -o stratified.csv {_ROLES} --t 0.4 --method stratified",
    f"releases audit r.csv kd.csv {_QUASI} --confidential charge",
    f"attack d.csv r.csv {_ROLES}",
    "hierarchy build d.csv age_yrs -o age_yrs.csv --steps 10,30",
    "anonymize d.csv -o recode.csv --quasi age_yrs --k 5 --suppress 1 --method recode --hierarchies .",
    "anonymize d.csv -o cut-points.csv --quasi age_yrs,los --k 5 --suppress 1 --method cut-points",
    "compare d.csv --attributes age_yrs,los,charge --at-risk 1 --runs 1 --no-cache",
    "check r.csv --certificate r.json",
    f"risk r.csv {_QUASI}",
    f"utility d.csv r.csv {_QUASI}",
    "sample purchases --customers 60 --seed 7 -o t.csv",
    f"transactions risk {_GOODS}",
    f"transactions anonymize {_GOODS} -o s.csv --clusters 6 --min-size 5 --map m.csv",
    f"transactions anonymize {_GOODS} -o b.csv --k 2 --m 2",
    f"transactions attack t.csv s.csv {_GOODS.removeprefix('t.csv ')} --truth m.csv --trained",
)


def register(app: typer.Typer) -> None:
    """Adds `shoal warm-up`."""

    @app.command("warm-up", epilog=_EXAMPLES)
    def warm_up() -> None:
        """Compiles on this machine, once, what releases, checks, comparisons and purchases use: for images."""
        with (
            TemporaryDirectory() as folder,
            chdir(folder),
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
        ):
            for command in COMMANDS:
                app(command.split(), prog_name="shoal", standalone_mode=False)
        typer.echo("Compiled for this machine: the next run finds it ready.")
