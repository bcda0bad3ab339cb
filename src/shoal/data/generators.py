"""Generators: tables to try things on, one file a generator. A new one is its file and one line here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from shoal.catalogue import Catalogue, Entry
from shoal.errors import unwritten

if TYPE_CHECKING:
    import polars as pl

    from shoal.data.discharges import Discharges as Discharges
    from shoal.data.purchases import Purchases as Purchases


class Generator(Entry):
    """Makes a table with no real person in it; its parameters say of what size. The same seed gives the same table.

    One that works in chunks says so (`in_chunks`), and gives them.
    """

    examples: ClassVar[tuple[str, ...]] = ()  # of how it is called, for its help

    @property
    def records(self) -> int | None:
        """How many records there will be; None where only the table tells."""
        return None

    def table(self, seed: int | None = None) -> pl.DataFrame:
        """All records."""
        raise unwritten(self, "table")

    def chunks(self, size: int, seed: int | None = None) -> Iterator[pl.DataFrame]:
        """The same records, so many at a time."""
        raise unwritten(self, "chunks")

    def made(self, records: int) -> str:
        """What was made, in words."""
        return f"{records:,} records"


GENERATORS: Catalogue[type[Generator]] = Catalogue("generator", __file__, base="shoal.data.generators:Generator")
