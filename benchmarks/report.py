"""The custodian's report: processor time of measuring and writing the page, against that of masking the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import shoal
from benchmarks.measure import Claim
from benchmarks.release import QUASI
from shoal.data.discharges import discharges
from shoal.report.page import render

Made = TypeVar("Made")

_CODES = ("oshpd_id", "sex", "ethncty", "race", "patzip", "patcnty")


def report(rows: int) -> list[Claim]:
    """Codes as codes: sets of them cost most to compare."""
    table = discharges(rows, seed=1)
    codes = {name: {"kind": "nominal"} for name in _CODES}
    policy = shoal.Policy(quasi_identifiers=QUASI, confidential=["charge"], attributes=codes)
    render(shoal.anonymize(table.head(3_000), policy))  # compiles
    masking, release = _processor(lambda: shoal.anonymize(table, policy))
    writing, _ = _processor(lambda: render(release))
    ratio = writing / masking
    return [
        Claim("masking and judging", f"{masking:.1f} CPU s"),
        Claim("the page", f"{writing:.1f} CPU s = {ratio:.1f} x", "within 4", ratio <= 4),
    ]


def _processor(work: Callable[[], Made]) -> tuple[float, Made]:
    """Seconds of all processors, and what was made."""
    start = time.process_time()
    made = work()
    return time.process_time() - start, made
