"""What the workers can do, by role: a task is a function of plain values that gives plain values, and a line here.

They run in the project's folder: every path is seen from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.web.tasks import check, look, make, records

TASKS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "reader": {
        "look": look.look,
        "profile": look.profile,
        "singled": look.singled,
        "judge": look.judge,
        "catalogue": look.catalogue,
        "promises": look.promises,
        "records": records.records,
    },
    "maker": {"demo": make.demo, "result": make.result, "release": make.release, "check": check.check},
}
