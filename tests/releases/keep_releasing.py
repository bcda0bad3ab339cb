"""`python keep_releasing.py FOLDER` releases the same people again and again, in ever new order, until it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from shoal.draft import draft
from shoal.policy import Policy
from shoal.privacy import KAnonymity
from shoal.release import write
from shoal.releases.ledger import Ledger

K = 3
TABLE = pl.DataFrame({"id": range(12), "age": range(20, 32), "charge": range(12)})
POLICY = Policy(
    quasi_identifiers=["age"],
    confidential=["charge"],
    models=[KAnonymity(K)],
    method={"name": "coarsen", "resolution": 3},
)

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    made = draft(TABLE, POLICY)
    while True:
        write(made, folder / "r.csv", ledger=Ledger(folder / "ledger.db", b"k" * 32, "id"), overwrite=True)
