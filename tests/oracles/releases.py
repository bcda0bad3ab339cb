"""Pooled releases the slow way: signatures as tuples, all pairs of records compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence


def anonymity(classes: Sequence[dict[str, Hashable]]) -> dict[str, int]:
    """Subject -> how many share her signature; each release is given as subject -> class."""
    everyone = {subject for release in classes for subject in release}
    signature = {subject: tuple(release.get(subject, "absent") for release in classes) for subject in everyone}
    size = Counter(signature.values())
    return {subject: size[signature[subject]] for subject in everyone}


Box = tuple[frozenset[Hashable], ...]


def candidates(first: Sequence[Box], second: Sequence[Box]) -> list[int]:
    """For each record of the first release, how many of the second meet it in every attribute."""
    return [sum(all(a & b for a, b in zip(one, other, strict=True)) for other in second) for one in first]
