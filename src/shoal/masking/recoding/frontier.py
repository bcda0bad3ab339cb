"""The frontier of global recodings: for each number of suppressed records the least cost, so that a person can choose.

A node is on it when every node that suppresses no more records costs more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.data.microdata import Microdata
from shoal.masking.method import class_size
from shoal.masking.recoding.lattice import lattice_of, search
from shoal.masking.recoding.recode import Recode
from shoal.privacy.model import PrivacyModel


def frontier(microdata: Microdata, method: Recode, models: Sequence[PrivacyModel]) -> pl.DataFrame:
    """One line a node, fewest suppressed first: records suppressed, their share, cost, each attribute's level.

    Judged by class size; other models are judged on the node that is chosen.
    """
    lattice = lattice_of(microdata)
    k = class_size(microdata, models)
    nodes = search(lattice, k, len(microdata), method.cost, method.mean, seconds=method.seconds, whole=True)
    order = np.lexsort((nodes.cost, nodes.suppressed))
    cost = nodes.cost[order]
    earlier = np.append(np.inf, np.minimum.accumulate(cost)[:-1])
    chosen = order[cost < earlier]
    levels = [lattice.by_attribute(lattice.at(int(number))) for number in nodes.number[chosen]]
    table = pl.DataFrame({"suppressed": nodes.suppressed[chosen], "cost": nodes.cost[chosen]})
    names = microdata.schema.quasi_identifiers
    by_level = pl.DataFrame(levels, schema={f"level of {name}": pl.Int64 for name in names}, orient="row")
    share = (pl.col("suppressed") / len(microdata)).alias("share")
    return table.with_columns(share).select("suppressed", "share", "cost").hstack(by_level)
