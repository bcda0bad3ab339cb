"""What records lost that stand beside their originals, for whatever has both: a release inherits it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata


class Shown(Protocol):
    """What is shown of a table's attributes, and of which records."""

    @property
    def columns(self) -> Mapping[str, MaskedColumn]:
        """Attribute -> its cells."""
        ...

    @property
    def kept(self) -> npt.NDArray[np.int64] | None:
        """The records that are shown; None: all, in their order."""
        ...


class Losses(ABC):
    """By distances (Eq. 3), and by who is no longer told apart. Suppressed records count as wildcards."""

    @property
    @abstractmethod
    def original(self) -> Microdata:
        """The table it was made of."""

    @property
    @abstractmethod
    def masked(self) -> Shown:
        """What was made of it."""

    @cached_property
    def information_loss(self) -> float:
        """How far released values may lie from the original ones, in standard deviations (Sánchez et al. 2016, Eq. 3).

        Suppressed records count as wildcards.
        """
        from shoal.utility.information_loss import information_loss

        return information_loss(self.original, self.masked.columns, self.masked.kept)

    @cached_property
    def attribute_losses(self) -> dict[str, float]:
        """What each quasi-identifier lost, in its own standard deviations."""
        from shoal.utility.information_loss import attribute_loss

        columns, kept = self.masked.columns, self.masked.kept
        quasi = self.original.schema.quasi_identifiers
        return {name: attribute_loss(self.original[name], columns[name], kept) for name in quasi}

    @cached_property
    def separation_losses(self) -> dict[str, float]:
        """Of the pairs of records that each quasi-identifier told apart, the share that it no longer does.

        It counts records and not distances, so that attributes of any kind can be compared by it.
        """
        from shoal.utility.separation_loss import separation_losses

        return separation_losses(self.original, self.masked.columns, self.masked.kept)

    @property
    def separation_loss(self) -> float | None:
        """The same on the average of all of them; None where one has too many values to be counted."""
        from shoal.utility.separation_loss import mean_share

        return mean_share(self.separation_losses, len(self.original.schema.quasi_identifiers))
