"""Sets of categories that people can read: one that is too long is shown by something shorter that admits all of it.

Defined in docs/spec.md#short-sets.

Of what is short enough, that which admits least of the domain is shown: the codes of that length with the same
beginning (`937**`), every category but some (`all but {a;b}`, which admits no more than the set), otherwise `*`. Each
is true of every value of the set, whatever domain it is read by. Classes that now show alike are one class, so that
none gets smaller. Like a set, what is shown names values of the table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import ALL_BUT, WILDCARD, MaskedColumn, inner_text, set_text

LONGEST = 200  # characters of a set, unless told
_LAST = chr(0x10FFFF)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SetCells:
    """Sets as they are shown, one a class: the text, and of what it admits the number, the first and the last code."""

    text: pl.Series
    size: npt.NDArray[np.float64]
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    shortened: npt.NDArray[np.int64]  # the sets that were too long


def set_cells(values: pl.Series, offsets: Ints, codes: npt.NDArray[np.int32], longest: int = LONGEST) -> SetCells:
    """The sets of codes[offsets[c]:offsets[c + 1]], which ascend, none of them longer than that many characters."""
    counts = np.diff(offsets)
    lengths = inner_text(values).str.len_chars().to_numpy().astype(np.int64)
    upto = np.append(0, np.cumsum(lengths[codes]))
    written = upto[offsets[1:]] - upto[offsets[:-1]] + counts + 1
    low, high = codes[offsets[:-1]], codes[offsets[1:] - 1]
    long = np.flatnonzero((counts > 1) & (written > longest))
    if not len(long):
        return SetCells(set_text(values, offsets, codes), counts.astype(np.float64), low, high, long)
    short = np.ones(len(counts), np.bool_)
    short[long] = False
    kept = np.where(short, counts, 0)  # the texts of the others are not even made
    text = set_text(values, np.append(0, np.cumsum(kept)), codes[np.repeat(short, counts)])
    domain = _Domain(values, lengths)
    shown = [domain.shortest(codes[offsets[cell] : offsets[cell + 1]], longest) for cell in long]
    text = text.scatter(long, pl.Series([label for label, _ in shown], dtype=pl.String))
    size, low, high = counts.astype(np.float64), low.copy(), high.copy()
    size[long] = [len(admitted) for _, admitted in shown]
    low[long], high[long] = ([admitted[end] for _, admitted in shown] for end in (0, -1))
    return SetCells(text, size, low, high, long)


@dataclass(frozen=True)
class _Domain:
    """All categories, and what stands for many of them in few characters."""

    values: pl.Series
    lengths: Ints  # of the values as they stand in a set

    @cached_property
    def texts(self) -> list[str]:
        return self.values.cast(pl.String).to_list()

    @cached_property
    def by_length(self) -> dict[int, list[tuple[str, int]]]:
        """How long -> the texts that are, in order, and their codes."""
        of: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for code, text in enumerate(self.texts):
            of[len(text)].append((text, code))
        return {length: sorted(texts) for length, texts in of.items()}

    def shortest(self, codes: npt.NDArray[np.int32], longest: int) -> tuple[str, npt.NDArray[np.int32]]:
        """What is shown of a set, and the codes that it admits, ascending."""
        beginning, same = self._beginning(codes)
        fits = len(beginning) <= longest
        if fits and len(same) == len(codes):
            return beginning, same
        all_but = self._all_but(codes, longest)
        if all_but is not None:
            return all_but, codes
        if fits and len(same) < len(self.texts):
            return beginning, same
        return WILDCARD, np.arange(len(self.texts), dtype=np.int32)

    def _beginning(self, codes: npt.NDArray[np.int32]) -> tuple[str, npt.NDArray[np.int32]]:
        """`937**` and the codes that it admits; all of them where the texts have no beginning in common."""
        texts = [self.texts[code] for code in codes]
        shared = _shared_beginning(min(texts), max(texts))
        length = len(texts[0])
        if not shared or any(len(text) != length for text in texts):
            return WILDCARD, np.arange(len(self.texts), dtype=np.int32)
        alike = self.by_length[length]
        first, last = (bisect_left(alike, (end,)) for end in (shared, shared + _LAST))
        stars = WILDCARD * (length - len(shared))
        admitted = np.array([code for _, code in alike[first:last]], np.int32)
        return inner_text(pl.Series([shared]))[0] + stars, np.sort(admitted)

    def _all_but(self, codes: npt.NDArray[np.int32], longest: int) -> str | None:
        """`all but {a;b}`, where it leaves out something and is short enough."""
        others = np.setdiff1d(np.arange(len(self.texts)), codes, assume_unique=True)
        written = len(ALL_BUT) + int(self.lengths[others].sum()) + len(others) + 1
        if not len(others) or written > longest:
            return None
        return ALL_BUT + "{" + ";".join(inner_text(self.values.gather(others))) + "}"


def _shared_beginning(least: str, greatest: str) -> str:
    """What both have in common, and so all texts between them."""
    pairs = zip(least, greatest, strict=False)
    return least[: next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(least), len(greatest)))]


def shortened_note(column: MaskedColumn, longest: int = LONGEST) -> tuple[str, ...]:
    """What the custodian should know of a column whose sets were too long; nothing where none was."""
    if not column.shortened:
        return ()
    name = column.attribute.name
    sets = "1 set" if column.shortened == 1 else f"{column.shortened:,} sets"
    return (
        f"Column {name!r} has {sets} of more than {longest:,} characters, shown by their common beginning, by what "
        f"they leave out, or as {WILDCARD}: a hierarchy of the column would lose less.",
    )
