"""`python -m benchmarks [NAME ...]` prints a table of what is claimed; `--write` keeps it in benchmarks/RESULTS.md."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from datetime import date
from pathlib import Path

from benchmarks import (
    linkage,
    microaggregation,
    out_of_core,
    perturbing,
    recoding,
    release,
    releases,
    report,
    spark,
    stopping,
    transactions,
)
from benchmarks.measure import Claim

BENCHMARKS: dict[str, Callable[[int], list[Claim]]] = {
    "compute": release.compute,
    "files": release.files,
    "memory": release.memory,
    "scaling": release.scaling,
    "quality": release.quality,
    "closeness": release.closeness,
    "recoding": recoding.recoding,
    "linkage": linkage.linkage,
    "perturbing": perturbing.perturbing,
    "transactions": transactions.transactions,
    "microaggregation": microaggregation.microaggregation,
    "releases": releases.releases,
    "report": report.report,
    "out-of-core": out_of_core.out_of_core,
    "spark": spark.spark,
    "stopping": stopping.stopping,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--write", action="store_true", help="keep the table in benchmarks/RESULTS.md")
    chosen = parser.parse_args()
    lines = ["| benchmark | measured | claim | holds |", "|---|---|---|---|"]
    for name in chosen.names or BENCHMARKS:
        for claim in BENCHMARKS[name](chosen.rows):
            lines.append(claim.row(name))
            print(lines[-1], flush=True)
    if chosen.write:
        head = f"# Benchmarks\n\n{chosen.rows:,} rows, {platform.machine()}, 2 cores, {date.today()}: `make bench`.\n\n"
        Path(__file__).with_name("RESULTS.md").write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
