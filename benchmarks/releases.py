"""Two releases that share 60 % of their people: the audit, the intruder's view, the ledger, a release that goes on."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from benchmarks.measure import Claim
from shoal.data.discharges import discharges
from shoal.data.schema import Attribute
from shoal.draft import draft
from shoal.policy import Policy
from shoal.privacy import KAnonymity
from shoal.release import judged, write
from shoal.releases.audit import Audit, audit
from shoal.releases.ledger import Ledger
from shoal.releases.linking import Linked, link
from shoal.releases.published import published

Result = TypeVar("Result")

_QUASI = ("oshpd_id", "age_yrs", "sex", "ethncty", "race", "patzip", "patcnty", "los", "adm_qtr")


def releases(rows: int) -> list[Claim]:
    n = min(rows, 1_000_000)
    everyone = discharges(int(n * 1.4), 1).with_row_index("id")
    first, second = everyone[:n], everyone[-n:]
    policy = Policy(
        quasi_identifiers=_QUASI,
        confidential=["charge"],
        insensitive=["id"],
        models=[KAnonymity(5)],
        attributes={name: {"kind": "numeric"} for name in _QUASI},
    )
    drafts = [draft(table, policy, seed=1) for table in (first, second)]
    tables = [judged(made).table for made in drafts]
    few = [table.head(n // 10) for table in tables]
    quasi = [attribute for attribute in drafts[0].schema if attribute.name in _QUASI]
    _audited(few)
    _linked(few, quasi)  # the first run may compile
    tenth, _ = _seconds(lambda: _audited(few))
    taken, found = _seconds(lambda: _audited(tables))
    claims = [
        Claim(f"audit of {n:,} x 2, reading classes included", f"{taken:.1f} s", "within 60 s", taken <= 60),
        Claim("time of ten times the records", f"{taken / tenth:.1f} x", "at most 20 x", taken <= 20 * tenth),
        Claim(
            "subjects below k = 5 though both releases keep it",
            f"{found.subjects_below_k:,} of {len(found.anonymity):,}, {found.smallest_pooled_class} at the least",
        ),
    ]
    taken, _ = _seconds(lambda: _linked(few, quasi))
    claims.append(Claim(f"candidates of {n // 10:,} x 2 by what is shown", f"{taken:.1f} s"))
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db", b"k" * 32, "id")
        target = Path(folder) / "r.csv"
        plain, _ = _seconds(lambda: write(drafts[0], target))
        taken, _ = _seconds(lambda: write(drafts[0], target, ledger=ledger, overwrite=True))
        claims.append(Claim(f"recording {n:,} subjects", f"{taken - plain:.1f} s", "within 10 s", taken - plain <= 10))
        taken, release = _seconds(
            lambda: write(draft(second, policy, after=ledger), target, ledger=ledger, overwrite=True)
        )
        claims.append(Claim("a release that goes on from it", f"{taken:.1f} s, {release.records:,} records"))
        kept = audit(ledger.releases(), 5)
        claims.append(
            Claim("smallest pooled class with the ledger", f"{kept.smallest_pooled_class}", "at least 5", kept.holds)
        )
    return claims


def _audited(tables: Sequence[pl.DataFrame]) -> Audit:
    named = zip("AB", tables, strict=True)
    return audit([published(name, table, "id", _QUASI, ["charge"]) for name, table in named], 5, ["charge"])


def _linked(tables: Sequence[pl.DataFrame], quasi: Sequence[Attribute]) -> tuple[Linked, Linked]:
    return link(("A", "B"), tables[0], tables[1], quasi, 5)


def _seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    """Once: what is written or recorded is so only once."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
