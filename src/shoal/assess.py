"""What an intruder could do and what an analyst still can: risk and utility of any frame under a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.data.frames import to_polars
from shoal.policy import Policy
from shoal.risk.measure import Risk, assess_risk
from shoal.utility.measure import Utility, assess_utility


def risk(frame: Any, policy: Policy, *, when: Sequence[str] = ()) -> Risk:
    """Of an original or a released table; `when` are conditions on confidential attributes, as `charge > 100000`."""
    table, _ = to_polars(frame)
    return assess_risk(table, policy.schema(table, released=True), when=when, groups=policy.groups)


def utility(original: Any, masked: Any, policy: Policy) -> Utility:
    """What the masked table kept of the original one."""
    before, _ = to_polars(original)
    after, _ = to_polars(masked)
    return assess_utility(before, after, policy.schema(before))
