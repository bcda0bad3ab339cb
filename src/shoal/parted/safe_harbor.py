"""Safe-harbor masking of a large table: distinct rows climb the ladder where the table is not, records follow in parts.

How far a record climbs depends on nothing but its row in the ladder's attributes and on how many have each row; the
engine counts these. The rows that climb at all travel to the parts, with their levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.engines.whole import LISTED
from shoal.errors import InputError
from shoal.masking.method import Masked, Method
from shoal.masking.recoding.safe_harbor import SafeHarbor, Step, climb, in_words, ladder_attributes, ladder_k, shown_by
from shoal.parted import frequencies
from shoal.parted.coarsened import without_small
from shoal.parted.frequencies import Keys, how_many, rows_of
from shoal.parted.source import Source
from shoal.privacy.model import PrivacyModel


@dataclass(frozen=True)
class Codes:
    """A record's codes of these attributes as one number; missing is the first code of each."""

    names: tuple[str, ...]
    room: tuple[int, ...]  # codes of each attribute, missing among them

    def __call__(self, microdata: Microdata) -> Keys:
        key = np.zeros(len(microdata), np.uint64)
        for name, room in zip(self.names, self.room, strict=True):
            key = key * np.uint64(room) + (microdata[name].codes + 1).astype(np.uint64)
        return key

    def of(self, keys: Keys) -> dict[str, npt.NDArray[np.int32]]:
        """attribute -> the code in each key."""
        found = {}
        for name, room in zip(reversed(self.names), reversed(self.room), strict=True):
            keys, code = np.divmod(keys, np.uint64(room))
            found[name] = code.astype(np.int32) - np.int32(1)
        return found


class Climbed(Method):
    """The levels found, for every part alike."""

    ladder: tuple[Step, ...]
    codes: Codes
    keys: Keys  # of the rows that climb, ascending
    levels: npt.NDArray[np.int16]
    notes: tuple[str, ...]

    name: ClassVar[str] = SafeHarbor.name

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        keys = self.codes(microdata)
        levels = np.zeros(len(keys), np.int16)
        if len(self.keys):
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            levels = np.where(self.keys[at] == keys, self.levels[at], levels)
        return Masked(shown_by(microdata, self.ladder, levels), notes=self.notes)


def safe_harbor(source: Source, method: SafeHarbor) -> Method:
    ladder, quasi = method.steps, source.schema.quasi_identifiers
    codes = _codes(source, ladder_attributes(quasi, ladder))
    found = how_many(source, codes, prod(codes.room))
    if found > frequencies.LIMIT:
        raise InputError(
            f"The ladder's attributes have about {found:,} distinct rows, more than the {frequencies.LIMIT:,} that can "
            "be counted at once: coarsen those with most values first, or use a grouped method."
        )
    rows = rows_of(source, codes)
    k = ladder_k(source.promises)
    attributes = [source.sample[name] for name in codes.names]
    levels, left_over = climb(attributes, codes.of(rows.keys), rows.counts, ladder, k)
    climbs = levels > 0
    masked, residual = int(rows.counts[climbs].sum()), int(rows.counts[left_over].sum())
    notes = in_words(quasi, ladder, source.records, masked, residual, k)
    return without_small(source, Climbed(ladder, codes, rows.keys[climbs], levels[climbs], notes))


def _codes(source: Source, names: Sequence[str]) -> Codes:
    for name in names:
        if source.attributes.whole[name].values is None:
            raise InputError(
                f"Column {name!r} has more than {LISTED:,} values, too many for the ladder: coarsen it first, or leave "
                "it out of the quasi-identifiers."
            )
    room = tuple(len(source.sample[name].values) + 1 for name in names)
    if prod(room) >= 1 << 64:
        raise InputError(
            "The ladder's attributes have too many values together to be counted in 64 bits: coarsen those with most "
            "values first, or use a grouped method."
        )
    return Codes(tuple(names), room)
