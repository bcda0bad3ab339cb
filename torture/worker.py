"""Runs Shoal's command line again and again in one process: words come in as a JSON list, what came of them goes out.

The only module here that imports Shoal. Tables are so small that what works on parts would never see two: the parts
are made small as well.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

import shoal.engines.disk
import shoal.parted.grouped
from shoal.cli.main import run

PART, BATCH = 40, 25  # records


def main() -> None:
    shoal.parted.grouped.PART = shoal.parted.grouped.RANDOM_PART = PART
    shoal.engines.disk.BATCH = BATCH
    answers = sys.stdout
    for line in sys.stdin:
        out, err = io.StringIO(), io.StringIO()
        sys.argv = ["shoal", *json.loads(line)]
        code: object = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                run()
            except SystemExit as ended:
                code = ended.code
        answer = {"code": code or 0, "out": out.getvalue(), "err": err.getvalue()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
