"""When a promise leaves one class or a handful: it holds, and little is left of the table. That is said, with a reason.

Which promise forced it is found by grouping again for each by itself. A promise that no release of two classes could
keep is refused before any work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.errors import InputError
from shoal.masking.enforce import enforce
from shoal.masking.grouping.kd import kd
from shoal.masking.method import beyond_size, class_size
from shoal.masking.partition import Partition
from shoal.privacy.model import PrivacyModel

FEW = 5  # classes
_NEARLY_ALL = 0.9  # of the records, in one class

Counts = npt.NDArray[np.int64]


def refuse_single_class(
    records: int, schema: Schema, counts: Callable[[str], Counts], promises: Sequence[PrivacyModel]
) -> None:
    """Refuses closeness by equal distances where every class would need more than half of the records.

    `counts` says how many records have each value of an attribute.
    """
    for model in promises:
        if model.attribute is None or records < 2:
            continue
        held = counts(model.attribute)
        if 2 * (least := model.least_class(schema[model.attribute].kind, held)) > records:
            raise InputError(
                f"{model.name} of {model.attribute!r} at {model.asked:g} would leave one class: the column has "
                f"{int((held > 0).sum()):,} values in {records:,} records, and each class would need at least "
                f"{least:,} records to show them alike. {model.advice}"
            )


def few_classes(
    classes: int, largest: int, original: Microdata, promises: Sequence[PrivacyModel], whole: int | None = None
) -> tuple[str, ...]:
    """What the custodian should know where hardly anything is told apart: which promise forced it, and what to do.

    `largest` is the size of the largest class; `original` may be a sample of the `whole` records.
    """
    records = len(original) if whole is None else whole
    k = class_size(range(records), promises)
    if not _collapsed(classes, largest, records, k) or not _varied(original):
        return ()
    what = "One class is left" if classes == 1 else f"Only {classes} classes are left"
    if classes >= FEW:
        what = f"One class holds {largest:,} of {records:,} records"
    why = _why(original, promises, min(k, len(original)))
    return (f"{what}: the promise holds, but the quasi-identifiers hardly tell anything any more. {why}",)


def _collapsed(classes: int, largest: int, records: int, k: int) -> bool:
    if classes == 0 or records < 2 * k:
        return False
    few = classes < FEW or largest >= _NEARLY_ALL * records
    return classes == 1 or (few and records >= 2 * FEW * k)


def _varied(original: Microdata) -> bool:
    """Whether the original told its records apart: no class of it held most of them."""
    key = np.zeros(len(original), np.int64)
    for coded in original.quasi:
        _, key = np.unique(key * (len(coded.values) + 1) + coded.codes, return_inverse=True)
    return bool(np.bincount(key).max() < 0.5 * len(original))


def _why(original: Microdata, promises: Sequence[PrivacyModel], k: int) -> str:
    """The promise that merges most by itself, and a way out."""
    base = kd(original, k)
    alone = [(_left_by(model, original, base), model) for model in beyond_size(promises) if model.attribute]
    left, worst = min(alone, key=lambda reached: reached[0], default=(base.classes, None))
    if worst is None or left > base.classes // 2:
        return (
            f"The class size of {k:,} or the method itself forces it: ask for smaller classes or finer intervals, or "
            "take another method."
        )
    return (
        f"{worst.name} of {worst.attribute!r} at {worst.asked:g} forces it: grouped by class size alone there would be "
        f"about {base.classes:,} classes, with this promise {left:,}. {worst.advice}"
    )


def _left_by(model: PrivacyModel, original: Microdata, base: Partition) -> int:
    """How many classes a promise leaves by itself; one where only some of the records could keep it."""
    try:
        return enforce(original, base, [model]).classes
    except InputError:
        return 1
