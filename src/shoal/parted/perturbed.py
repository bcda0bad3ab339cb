"""Perturbing methods inside random parts: each part is distributed as the table is, and perturbed by draws of its own.

Noise, swapping and shuffling look at a part's own moments and ranks. A column that hardly varies could be constant in
one of the parts, where nothing of it can be perturbed: it is refused before.
"""

from __future__ import annotations

from math import log

from shoal.errors import InputError
from shoal.masking.method import Method
from shoal.parted.source import Source

_SURELY = 20.0  # e^-20: how improbable a part that holds one value only must be


def perturbed(source: Source, method: Method, parts: int) -> Method:
    """The method as it is, where every part can be perturbed."""
    if parts > 1 and not method.seedless:
        for name in source.schema.quasi_identifiers:
            _refuse_constant(source, name, method, parts)
    return method


def _refuse_constant(source: Source, name: str, method: Method, parts: int) -> None:
    """So many records with another value than the commonest that no part will be without: e^-(others / parts) each."""
    whole = source.attributes.whole[name]
    if whole.values is None:
        return
    others = int(whole.counts.sum() - whole.counts.max(initial=0))
    if others < parts * (_SURELY + log(parts)):
        raise InputError(
            f"Column {name!r} holds one value in all but {others:,} records, so that method {method.name!r} would find "
            f"nothing to perturb in some of {parts:,} parts: leave it out of the quasi-identifiers, or use the memory "
            "engine."
        )
