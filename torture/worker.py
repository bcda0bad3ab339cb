"""Runs Shoal's command line again and again in one process: words come in as a JSON list, what came of them goes out.

The only module here that imports Shoal. Tables are so small that what works on chunks would never see two: chunks
are made small as well. Commands are put together once, which takes longer than most of them; one session of Spark,
begun when it is first asked for, serves all.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import typer.main

import shoal.engines.disk
import shoal.engines.opening
import shoal.engines.spark.session
import shoal.engines.table
import shoal.masking.chunks
from shoal.cli.main import run

CHUNK, BATCH = 40, 25  # records
QUICK = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}


def main() -> None:
    shoal.masking.chunks.CHUNK = shoal.masking.chunks.RANDOM_CHUNK = shoal.engines.table.CHUNK = CHUNK
    shoal.engines.disk.BATCH = BATCH
    typer.main.get_command = cache(typer.main.get_command)
    closing: list[Callable[[], object]] = []  # what the end of a process would bring
    shoal.engines.opening.atexit = SimpleNamespace(register=closing.append)
    session = cache(lambda: shoal.engines.spark.session.spark_session("local[2]", QUICK))
    answers = sys.stdout
    for line in sys.stdin:
        out, err = io.StringIO(), io.StringIO()
        sys.argv = ["shoal", *json.loads(line)]
        if "spark" in sys.argv:
            session()
        code: object = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                run()
            except SystemExit as ended:
                code = ended.code
            while closing:
                closing.pop()()
        answer = {"code": code or 0, "out": out.getvalue(), "err": err.getvalue()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
