"""Who stands in which class of a release: what an intruder knows who has everybody's quasi-identifiers and the method.

She runs the method again. That it gives the very rows of the release says that she has the right one, and places
everybody; where it depends on values that she does not know, she is granted the right places: the worst case. Strata
deal records of the same value by lot: where neither the release as it was made nor its seed is at hand, a release of
the same people by the same method is attacked in its stead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import MISSING, Coded
from shoal.errors import InputError
from shoal.masking.method import Masked, Strata
from shoal.masking.partition import Partition
from shoal.risk.attack import Scene

SUPPRESSED = -1
MOST_VALUES = 64  # of a confidential attribute that has more, bands are guessed
BANDS = 10
_LIKE_IT = (
    "Strata deal records of the same value by lot, so that this release cannot be made again: another one of the same "
    "people by the same method was attacked (give the seed that it was made with to attack this very one)."
)


@dataclass(frozen=True)
class Standing:
    """Everybody's place in the release."""

    label: npt.NDArray[np.int64]  # record -> released class, SUPPRESSED where there is none
    base: Partition | None = None  # the classes before any was merged, where they follow from quasi-identifiers alone
    strata: Strata | None = None  # how strata were grouped, where they were
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> npt.NDArray[np.int64]:
        """The records that were released."""
        return np.flatnonzero(self.label != SUPPRESSED)


def standing(scene: Scene) -> Standing:
    """Places everybody; refused where the release is not what the method makes of the table."""
    quasi = scene.known()
    released = _sorted(scene.released.select(pl.col(quasi).cast(pl.String)))
    like = None
    for place, masked in _again(scene):
        shown = _shown(masked, quasi)
        if shown.height == released.height and _sorted(shown).equals(released):
            return replace(place, label=_labels(shown, masked.kept, len(scene.original)))
        if place.strata is not None and _sizes(shown) == _sizes(released):
            like = replace(place, label=_labels(shown, masked.kept, len(scene.original)), notes=(_LIKE_IT,))
    if like is not None:
        return like
    raise InputError(
        "The release is not what the policy's method makes of the original, so that nobody can be placed in it: give "
        "the policy that it was made with. (Methods that draw at random make no classes to be placed in, and of strata "
        "the seed may be needed that the release was made with.)"
    )


def _shown(masked: Masked, quasi: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({name: masked.columns[name].values().cast(pl.String) for name in quasi})


def _sorted(table: pl.DataFrame) -> pl.DataFrame:
    return table.sort(table.columns)


def _sizes(shown: pl.DataFrame) -> list[int]:
    return sorted(shown.group_by(pl.all()).len()["len"].to_list())


def _again(scene: Scene) -> Iterator[tuple[Standing, Masked]]:
    """The method again by every way it may have taken, people not yet placed."""
    original = scene.original
    nobody = np.full(len(original), SUPPRESSED)
    for way in scene.method.ways(original, scene.promises, suppression=scene.suppression, seed=scene.seed):
        place = Standing(nobody, way.base, way.strata)
        if way.strata is not None and scene.made is not None:
            yield place, scene.made
        yield place, way.mask()


def _labels(shown: pl.DataFrame, kept: npt.NDArray[np.int64] | None, records: int) -> npt.NDArray[np.int64]:
    """record -> released class: all that show the same."""
    classes = shown.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    label = np.full(records, SUPPRESSED)
    label[slice(None) if kept is None else kept] = classes
    return label


@dataclass(frozen=True)
class Guessable:
    """A confidential attribute as what is guessed: its values, or bands of them where they are many."""

    name: str  # in words
    codes: npt.NDArray[np.int64]  # record -> what she has; missing is the last
    values: int


def guessable(coded: Coded) -> Guessable:
    """A confidential attribute as what is guessed of it."""
    codes = np.where(coded.codes == MISSING, len(coded.values), coded.codes).astype(np.int64)
    occurring, codes = np.unique(codes, return_inverse=True)
    if len(occurring) <= MOST_VALUES:
        return Guessable(coded.name, codes, len(occurring))
    up_to = np.cumsum(np.bincount(codes)) - 1
    bands = up_to[codes] * BANDS // len(codes)
    return Guessable(f"{coded.name} (which tenth)", np.unique(bands, return_inverse=True)[1], len(np.unique(bands)))


def frequencies(label: npt.NDArray[np.int64], target: Guessable) -> npt.NDArray[np.float64]:
    """[record, value] -> the value's share in her released class; of who is suppressed, its share in the release."""
    kept = label != SUPPRESSED
    counts = np.zeros((int(label.max(initial=-1)) + 1, target.values))
    np.add.at(counts, (label[kept], target.codes[kept]), 1.0)
    whole = counts.sum(axis=0)
    shares = np.vstack([counts, whole])  # SUPPRESSED, -1, leads to the last
    return np.asarray((shares / shares.sum(axis=1, keepdims=True))[label])
