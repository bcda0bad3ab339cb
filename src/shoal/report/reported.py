"""What the report asks of a release, whichever engine made it.

Counts are of all records, by the tables themselves. What compares values is taken from records with their originals
beside them: in memory all of them, elsewhere some that were drawn when they were masked, and the page says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import polars as pl

from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.engines.table import Table
from shoal.masking.method import Masked
from shoal.policy import Policy
from shoal.privacy.model import PrivacyModel, Verdict


class Tables(NamedTuple):
    """All records before and after, on the engine that made the release."""

    original: Table
    released: Table


class Reported(Protocol):
    """A judged release."""

    @property
    def schema(self) -> Schema:
        """The attributes, with their roles and kinds."""
        ...

    @property
    def policy(self) -> Policy:
        """All choices that it was made by."""
        ...

    @property
    def promises(self) -> tuple[PrivacyModel, ...]:
        """The models that it keeps."""
        ...

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """How each promise was judged."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the custodian should know."""
        ...

    @property
    def read(self) -> int:
        """Records of the whole original."""
        ...

    @property
    def records(self) -> int:
        """Records released."""
        ...

    @property
    def suppressed(self) -> int:
        """Records left out."""
        ...

    @property
    def information_loss(self) -> float:
        """Over all records."""
        ...

    @property
    def attribute_losses(self) -> Mapping[str, float]:
        """What each quasi-identifier lost, over all records."""
        ...

    @property
    def original(self) -> Microdata:
        """The records of the original that are compared: all, or some that were drawn."""
        ...

    @property
    def masked(self) -> Masked:
        """What became of these."""
        ...

    @property
    def table(self) -> pl.DataFrame:
        """What is released of these."""
        ...

    @property
    def drawn(self) -> int | None:
        """How many they are, where they are not all."""
        ...

    def tables(self) -> Tables:
        """All records, to be counted."""
        ...
