"""A release whose people are kept in pieces: ranges of their digests, so that any number of them can be judged.

Digests are spread evenly. Where two releases are divided into the same ranges, whoever is in both is in pieces of the
same number, and what is asked of each person is asked piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import polars as pl

from shoal.releases.published import Published


class Recorded(Protocol):
    """A release of any size, as far as it must be known to judge others beside it."""

    @property
    def name(self) -> str:
        """What messages and tables call it."""
        ...

    @property
    def pieces(self) -> int:
        """How many ranges of digests it is kept in: a power of two."""
        ...

    @property
    def records(self) -> int:
        """How many members it has: people, or records of people."""
        ...

    @property
    def of_people(self) -> bool:
        """Whether a member is a record, of a person who may have several."""
        ...

    @property
    def people(self) -> int:
        """How many people it is about."""
        ...

    @property
    def shown(self) -> pl.DataFrame:
        """What each class shows, as in `Published`."""
        ...

    @property
    def attributes(self) -> list[str]:
        """The attributes of which something stands for everybody's own value."""
        ...

    def piece(self, number: int, of: int) -> Published:
        """The people whose digest lies in range `number` of so many; no fewer ranges than it has pieces."""
        ...

    def whole(self) -> Published:
        """The whole release in memory."""
        ...


@dataclass(frozen=True)
class InPieces:
    """A release that is read piece by piece."""

    name: str
    records: int
    pieces: int
    attributes: list[str]
    read_shown: Callable[[], pl.DataFrame] = field(repr=False)
    read: Callable[[int], Published] = field(repr=False)  # the people of a piece, nothing of what is shown
    _last: list[tuple[int, Published]] = field(default_factory=list, repr=False)
    of_people: bool = False

    @cached_property
    def people(self) -> int:
        """How many people it is about; nobody is in two pieces."""
        if not self.of_people:
            return self.records
        return sum(self.piece(number, self.pieces).people for number in range(self.pieces))

    @cached_property
    def shown(self) -> pl.DataFrame:
        """What each class shows, read when it is first asked for."""
        return self.read_shown()

    def piece(self, number: int, of: int) -> Published:
        """The people whose digest lies in range `number` of so many."""
        own = number * self.pieces // of
        if not self._last or self._last[0][0] != own:  # ranges are asked for in order
            self._last[:] = [(own, self.read(own))]
        read = self._last[0][1]
        return read if of == self.pieces else read.piece(number, of)

    def whole(self) -> Published:
        """The whole release in memory."""
        parts = [self.piece(number, self.pieces) for number in range(self.pieces)]
        members, values = (pl.concat(frames) for frames in zip(*((p.members, p.values) for p in parts), strict=True))
        return Published(self.name, members, self.shown, values, self.of_people)


def side_by_side(releases: Sequence[Recorded]) -> Iterator[list[Published]]:
    """All releases, one range of people after the other."""
    of = max((release.pieces for release in releases), default=1)
    for number in range(of):
        yield [release.piece(number, of) for release in releases]
