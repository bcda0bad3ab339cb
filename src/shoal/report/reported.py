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
from shoal.risk.owners import Owners


class Tables(NamedTuple):
    """All records before and after, on the engine that made the release."""

    original: Table
    released: Table


class Reported(Protocol):
    """What the custodian's page asks of a judged release, be it in memory or of a table in chunks."""

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
        """What the custodian should know of how it was made and judged."""
        ...

    @property
    def read(self) -> int:
        """How many records the whole original has."""
        ...

    @property
    def records(self) -> int:
        """How many records are released."""
        ...

    @property
    def suppressed(self) -> int:
        """How many records of the original are left out."""
        ...

    @property
    def owners(self) -> Sequence[Owners]:
        """The people, or households, whose records they are; empty where these are not counted."""
        ...

    @property
    def information_loss(self) -> float:
        """By Eq. 3 of paper 1, over all records."""
        ...

    @property
    def separation_loss(self) -> float | None:
        """Of the pairs of records that were told apart, the share that no longer is; None where it is not known."""
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
        """The quasi-identifiers of the records that are compared, as they are shown."""
        ...

    @property
    def table(self) -> pl.DataFrame:
        """What is released of the records that are compared."""
        ...

    @property
    def drawn(self) -> int | None:
        """How many records are compared, where they are not all of the original's."""
        ...

    def tables(self) -> Tables:
        """All records before and after, for what is counted on any engine."""
        ...
