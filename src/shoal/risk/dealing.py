"""Dealing a class's values out among its people anew: what intruders do who know the values and not who has which."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata

Records = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Line:
    """The released records class after class: place by place."""

    record: Records  # place -> record
    group: Records  # place -> class
    first: Records  # class -> its first place
    size: Records  # class -> its places

    @classmethod
    def of(cls, label: Records, order: Records) -> Line:
        """The classes of these labels, 0, 1, ..., each in the order given."""
        record = order[np.argsort(label[order], kind="stable")]
        size = np.bincount(label)
        return cls(record, label[record], np.cumsum(size) - size, size)


def redealt(line: Line, held: Records, dice: np.random.Generator) -> Records:
    """All of every class anew; `held` says of each place whose values it holds."""
    return held[np.lexsort((dice.random(len(held)), line.group))]


def holding(table: Microdata, dealt: Records) -> Microdata:
    """The table with confidential values dealt out anew: record -> whose values she has."""
    anew = Microdata(table.frame, table.schema, table.whole)
    anew.coded.update({name: table[name] for name in table.schema.quasi_identifiers})
    for name in table.schema.confidential:
        anew.coded[name] = replace(table[name], codes=table[name].codes[dealt])
    return anew
