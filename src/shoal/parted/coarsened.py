"""Coarsening of a large table: each attribute by itself, as all its values say, in every part alike.

Where classes may be suppressed, the engine counts them: a class is known by two hashes of what its records show. Those
that miss k-anonymity are left out everywhere, or nowhere where they hold more records than may be suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata, Whole
from shoal.engines.table import COUNTED, Batch
from shoal.engines.whole import LISTED
from shoal.errors import InputError
from shoal.masking.method import Masked, Method, beyond_size
from shoal.masking.recoding.coarsening import Coarsen, may_suppress
from shoal.parted.source import Attributes, Source
from shoal.privacy.classes import CLASS, in_classes
from shoal.privacy.model import PrivacyModel

_EXACT = float(1 << 53)  # whole numbers beyond have no number of their own among floats


def refuse_suppressing(method: Method, models: Sequence[PrivacyModel], suppression: float, engine: str) -> None:
    """Only how large a class is can be counted."""
    for model in beyond_size(models):
        if suppression > 0:
            raise InputError(
                f"The engine {engine!r} cannot suppress classes that miss {model.name} after method {method.name!r}: "
                "allow no suppression, use the memory engine, or a grouped method."
            )


def coarsened(source: Source, method: Coarsen) -> Method:
    resolutions = method.resolutions(source.schema.quasi_identifiers)
    for name in resolutions:
        _refuse_unlisted(name, source.attributes.whole[name], method)
    return without_small(source, method)


def _refuse_unlisted(name: str, whole: Whole, method: Coarsen) -> None:
    if whole.values is not None:
        return
    if method.mode == "labels":
        raise InputError(
            f"Column {name!r} has more than {LISTED:,} values, too many to be cut into runs of values: "
            "cut its domain into equal lengths (mode = 'width')."
        )
    if max(abs(whole.least), abs(whole.greatest)) > _EXACT:
        raise InputError(
            f"Column {name!r} holds numbers beyond 2^53, and too many to be listed: use the memory engine, or leave it "
            "out of the quasi-identifiers."
        )


# ---- suppression


class WithoutSmall(Method):
    """A method, and the classes of its result that are left out."""

    method: Method
    out: pl.DataFrame  # what they show
    notes: tuple[str, ...]

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        masked = self.method.mask(microdata, models, seed=seed)
        masked = replace(masked, notes=(*masked.notes, *self.notes))
        if not self.out.height:
            return masked
        shown = classes_shown(masked.columns).with_row_index("@record")
        kept = shown.join(self.out, on=CLASS, how="anti", maintain_order="left")["@record"].to_numpy().astype(np.int64)
        columns = {name: replace(column, index=column.index[kept]) for name, column in masked.columns.items()}
        return replace(masked, columns=columns, kept=kept)


def without_small(source: Source, method: Method) -> Method:
    """The method, without the classes below k where the limit covers them all."""
    limit = int(source.policy.suppression * source.records + 1e-9)
    if limit == 0 or source.k == 1:
        return method
    shown = pl.Schema({CLASS: pl.String()})
    counts = source.table.map(_Classes(source.attributes, method), shown).counts([CLASS])
    small = counts.filter(pl.col(COUNTED) < source.k)
    may, notes = may_suppress(int(small[COUNTED].sum()), limit, source.records)
    return WithoutSmall(method, small.select(CLASS) if may else small.select(CLASS).clear(), notes)


@dataclass(frozen=True)
class _Classes:
    """Each record's class under the method."""

    attributes: Attributes
    method: Method

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return classes_shown(self.method.mask(self.attributes.microdata(batch.frame), ()).columns)


def classes_shown(columns: Mapping[str, MaskedColumn]) -> pl.DataFrame:
    """What each record shows, as one text."""
    texts = pl.DataFrame({name: column.text.cast(pl.String).gather(column.index) for name, column in columns.items()})
    return in_classes(texts, texts.columns)
