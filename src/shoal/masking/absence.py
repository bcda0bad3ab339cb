"""Who is left out of a recoding tells something: that the class she would stand in fails a promise about what it holds.

One recoding of all records cannot merge a class that fails; it can only leave it out. An intruder who knows everybody's
quasi-identifiers recodes them alike and sees which classes are missing. It cannot be helped there, so it is said, and
measured by the minimality attack (`shoal.risk.minimality`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.masking.method import Masked
from shoal.privacy.model import PrivacyModel


def would_show_alike(original: Microdata, masked: Masked, out: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of records left out of one recoding of all: 0, 1, ..., the same for those that would have shown the same."""
    kept = np.delete(np.arange(len(original)), out)
    key = np.zeros(len(out), np.int64)
    for coded in original.quasi:
        column = masked.columns[coded.name]
        cell = np.arange(len(coded.values) + 1) + len(column.text)  # of a value that nobody shows; missing the last
        cell[coded.codes[kept]] = column.index
        _, key = np.unique(key * (int(cell.max()) + 1) + cell[coded.codes[out]], return_inverse=True)
    return key


def told_by_absence(records: int, models: Sequence[PrivacyModel]) -> tuple[str, ...]:
    """What the custodian should know of so many records in classes that were left out for what they hold."""
    if records == 0:
        return ()
    held = dict.fromkeys(f"{model.name} of {model.attribute!r}" for model in models if model.attribute)
    return (
        f"{records:,} records were left out because their classes fail {' or '.join(held)}. Whoever knows everybody's "
        "quasi-identifiers sees which classes are missing, and so what they probably held: shoal attack measures it. A "
        "grouping (--method hilbert) leaves out nobody for it.",
    )
