"""The way each method takes through the parts of a large table.

What the whole table must be asked for is asked first, and gives a method that treats every part alike. Grouping needs
near records in one part; all others take their parts at random, so that no part tells anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import polars as pl

from shoal.engines.table import Parts
from shoal.masking.grouped import Grouping
from shoal.masking.method import Method, class_size
from shoal.masking.recoding.coarsening import Coarsen
from shoal.masking.recoding.recode import Recode
from shoal.masking.recoding.safe_harbor import SafeHarbor
from shoal.parted import grouped
from shoal.parted.coarsened import coarsened, refuse_suppressing
from shoal.parted.grouped import at_random, in_parts
from shoal.parted.measured import measured_in_parts, refuse_measures
from shoal.parted.perturbed import perturbed
from shoal.parted.recoded import recoded, refuse_recoding
from shoal.parted.safe_harbor import safe_harbor
from shoal.parted.source import Source
from shoal.policy import Policy


def refuse_method(policy: Policy, engine: str) -> None:
    """What the policy asks for and no part of a table can do, before anything is read."""
    method = policy.method
    policy.refuse_suppression()
    refuse_measures(policy.models, engine)
    if isinstance(method, Recode):
        refuse_recoding(method, policy.models, engine)
    elif isinstance(method, Coarsen | SafeHarbor):
        refuse_suppressing(method, policy.models, policy.suppression, engine)


def prepared(source: Source) -> Method:
    """The method as each part is masked by it."""
    method: Method = source.policy.method
    class_size(range(source.records), source.promises)  # whatever the method, a class needs k records
    if isinstance(method, Grouping):
        return method
    if isinstance(method, Recode):
        return recoded(source, method)
    if isinstance(method, Coarsen):
        return coarsened(source, method)
    if isinstance(method, SafeHarbor):
        return safe_harbor(source, method)
    return perturbed(source, method, -(-source.records // grouped.PART)) if method.perturbs else method


def parts_of(source: Source, seed: int) -> Parts:
    """The records brought together as the method asks; at random where a risk is to be measured in parts."""
    method = source.policy.method
    if isinstance(method, Grouping) and not measured_in_parts(source.promises):
        return in_parts(source, method, seed)
    return at_random(source, seed, grouped.PART)


def trial_of(source: Source) -> pl.DataFrame:
    """Some records, to see what a part will show; a perturbing method needs columns that vary."""
    sample = source.summary.sample
    if not source.policy.method.perturbs:
        sample = sample.head(max(source.k, 1000))
    others = {name: dtype for name, dtype in source.table.schema.items() if name not in sample.columns}
    missing = (pl.lit(None, dtype).alias(name) for name, dtype in others.items())
    return sample.with_columns(*missing).select(source.table.schema.names())


def once(notes: Sequence[Sequence[str]]) -> Iterator[str]:
    """What the parts say, each sentence once; of those that differ in their numbers only, the first."""
    said: dict[str, list[str]] = {}
    for note in (note for part in notes for note in dict.fromkeys(part)):
        said.setdefault(re.sub(r"[\d.,]*\d", "#", note), []).append(note)
    for same in said.values():
        others = len(same) - 1 if len(set(same)) > 1 else 0
        yield f"{same[0]} So or alike in {others:,} other parts." if others else same[0]
