"""The classes of a recoding, and leaving out those that miss a model about who they are.

Of a table in chunks the engine counts the classes: each is known by two hashes of what its records show. Those that
miss k-anonymity are left out everywhere, or nowhere where they hold more records than may be suppressed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.frames import OWN
from shoal.data.identity import identity_text
from shoal.data.microdata import Microdata
from shoal.engines.table import COUNTED, Batch
from shoal.errors import InputError
from shoal.masking.chunks import Attributes, WholeTable
from shoal.masking.enforce import failing
from shoal.masking.method import Masked, Method
from shoal.masking.partition import Partition
from shoal.privacy.classes import CLASS, in_classes
from shoal.privacy.model import PrivacyModel

_WHO = f"{OWN}who"


def classes_of(columns: Sequence[tuple[npt.NDArray[np.int32], int]]) -> Partition:
    """Records that have the same code in every column; a column is its codes and how many there are."""
    from shoal.kernels.sorting import argsort_keys

    key = np.zeros(len(columns[0][0]), np.uint64)
    room = 1
    for codes, count in columns:
        if room * count >= 1 << 63:  # number the keys anew before 64 bits overflow
            seen, inverse = np.unique(key, return_inverse=True)
            key, room = inverse.astype(np.uint64), len(seen)
        if count > 1:
            key = key * np.uint64(count) + codes.astype(np.uint64)
            room *= count
    order = argsort_keys(key)
    key = key[order]
    return Partition(order, np.append(np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)]), len(key)))


def suppress_failing(
    microdata: Microdata, masked: Masked, models: Sequence[PrivacyModel], suppression: float
) -> Masked:
    """Leaves out the classes that miss a model about who they are where the limit covers all of them, else nothing.

    A part would cost records and still leave a release that is refused. None is left out for what it holds
    (l-diversity, t-closeness): whoever recodes everybody alike sees which classes are missing, and would know.
    """
    limit = int(suppression * len(microdata) + 1e-9)  # 0.29 x 100 is less than 29 for a computer
    if limit == 0 or not models or not masked.columns:
        return masked
    partition = classes_of([(column.index, len(column.text)) for column in masked.columns.values()])
    bad = failing(microdata, partition, [model for model in models if model.attribute is None])
    lost = int(partition.sizes[bad].sum())
    may, notes = _may_suppress(lost, limit, len(microdata))
    masked = replace(masked, notes=(*masked.notes, *notes))
    return _only(masked, np.sort(partition.order[np.repeat(~bad, partition.sizes)])) if may else masked


def enlarged(
    microdata: Microdata,
    recoded: Callable[[int], Masked],
    k: int,
    models: Sequence[PrivacyModel],
    suppression: float,
) -> Masked:
    """The table `recoded` into classes of k records, or of more until each holds the people that are promised."""
    while True:
        masked = suppress_failing(microdata, recoded(k), models, suppression)
        if k == len(microdata) or not _misses_who(microdata, masked, models):
            return masked
        k = min(len(microdata), k + k // 2 + 1)


def _misses_who(microdata: Microdata, masked: Masked, models: Sequence[PrivacyModel]) -> bool:
    """Whether a class that is kept misses a model about who it is, and larger ones may not."""
    asked = [model for model in models if model.about_who]
    if not asked or not masked.columns:
        return False
    partition = classes_of([(column.index, len(column.text)) for column in masked.columns.values()])
    if masked.kept is not None:
        partition = Partition(masked.kept[partition.order], partition.starts)
    return bool(failing(microdata, partition, asked).any())


def _may_suppress(lost: int, limit: int, records: int) -> tuple[bool, tuple[str, ...]]:
    """Whether those in classes that miss a model are left out, and a sentence on it."""
    if lost == 0:
        return False, ()
    if lost > limit or lost == records:
        note = f"{lost:,} records are in classes that miss a model, more than may be suppressed: all were kept."
        return False, (note,)
    return True, (f"{lost:,} records in classes that miss a model were suppressed.",)


def _only(masked: Masked, kept: npt.NDArray[np.int64]) -> Masked:
    columns = {name: replace(column, index=column.index[kept]) for name, column in masked.columns.items()}
    return replace(masked, columns=columns, kept=kept)


# ---- in chunks


def refuse_suppressing(method: str, models: Sequence[PrivacyModel], suppression: float, engine: str) -> None:
    """Refuses to leave out classes for how few people of a population fit them: an engine counts records alone."""
    for model in models:
        if suppression > 0 and model.counted_in is not None:
            raise InputError(
                f"The engine {engine!r} cannot suppress classes that miss {model.name} after method {method!r}: "
                "allow no suppression, use the memory engine, or 'recode' with hierarchies."
            )


class WithoutSmall(Method):
    """A method, and the classes of its result that are left out."""

    method: Method
    out: pl.DataFrame  # what they show
    notes: tuple[str, ...]

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """As the method masks, without the records whose class is to be left out."""
        masked = self.method.mask(microdata, models, seed=seed)
        masked = replace(masked, notes=(*masked.notes, *self.notes))
        if not self.out.height:
            return masked
        shown = classes_shown(masked.columns).with_row_index("@record")
        kept = shown.join(self.out, on=CLASS, how="anti", maintain_order="left")["@record"]
        return _only(masked, kept.to_numpy().astype(np.int64))


def without_small(whole: WholeTable, method: Method) -> Method:
    """The method, without the classes below k where the limit covers them all."""
    limit = int(whole.suppression * whole.records + 1e-9)
    if limit == 0 or whole.k == 1:
        return method
    small = _small(whole, method)
    may, notes = _may_suppress(int(small[COUNTED].sum()), limit, whole.records)
    return WithoutSmall(method, small.select(CLASS) if may else small.select(CLASS).clear(), notes)


def enlarged_in_chunks(whole: WholeTable, recoded: Callable[[int], Method]) -> Method:
    """As `enlarged`: the method for classes of k records, or of more until each that is kept holds k people."""
    k = whole.k
    while True:
        method = recoded(k)
        kept = without_small(whole, method)
        out = kept.out.height if isinstance(kept, WithoutSmall) else 0
        if whole.schema.person is None or k == whole.records or _small(whole, method).height == out:
            return kept
        k = min(whole.records, k + k // 2 + 1)


def _small(whole: WholeTable, method: Method) -> pl.DataFrame:
    """The classes of fewer than k records, or people where these are counted, with their records."""
    person = whole.schema.person
    shown = pl.Schema({CLASS: pl.String()} | ({} if person is None else {_WHO: pl.String()}))
    classes = whole.table.map(_Classes(whole.attributes, method), shown)
    counts = classes.counts([CLASS]) if person is None else _of_people(classes.counts([CLASS, _WHO]))
    return counts.filter(pl.col(COUNTED if person is None else _WHO) < whole.k)


@dataclass(frozen=True)
class _Classes:
    """Each record's class under the method."""

    attributes: Attributes
    method: Method

    def __call__(self, batch: Batch) -> pl.DataFrame:
        microdata = self.attributes.microdata(batch.frame)
        shown = classes_shown(self.method.mask(microdata, ()).columns)
        person = self.attributes.schema.person
        return shown if person is None else shown.with_columns(identity_text(batch.frame[person.column]).alias(_WHO))


def _of_people(pairs: pl.DataFrame) -> pl.DataFrame:
    """The records and the people of each class, of the records that each person has there; nobody is one each."""
    people = pl.col(_WHO).drop_nulls().n_unique() + pl.col(COUNTED).filter(pl.col(_WHO).is_null()).sum()
    return pairs.group_by(CLASS).agg(pl.col(COUNTED).sum(), people.cast(pl.Int64).alias(_WHO))


def classes_shown(columns: Mapping[str, MaskedColumn]) -> pl.DataFrame:
    """The class of each record, made of the texts that it shows."""
    texts = pl.DataFrame({name: column.text.cast(pl.String).gather(column.index) for name, column in columns.items()})
    return in_classes(texts, texts.columns)
