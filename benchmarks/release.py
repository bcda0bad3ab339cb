"""From table to verified release: speed against a bare sort and a bare read + write, memory, growth, and quality."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from benchmarks.measure import Claim, seconds
from shoal.data.discharges import discharges

QUASI = ["oshpd_id", "age_yrs", "sex", "ethncty", "race", "patzip", "patcnty", "los", "adm_qtr"]


def _policy(grouping: str = "hilbert", k: int = 5, t: float | None = None, quasi: list[str] = QUASI) -> shoal.Policy:
    models: list[object] = [shoal.KAnonymity(k)]
    if t is not None:
        models.append(shoal.TCloseness(t))
    confidential = ["charge"] if quasi is QUASI else ["care_days"]
    numbers = {name: {"kind": "numeric"} for name in QUASI if quasi is QUASI}  # as the papers take all nine
    return shoal.Policy(
        quasi_identifiers=quasi,
        confidential=confidential,
        models=models,
        method=shoal.METHODS.find(grouping)(),
        attributes=numbers,
    )


def _as_read(rows: int) -> pl.DataFrame:
    """The generated discharges with the types a text file gives: 64-bit integers."""
    return discharges(rows, seed=1).with_columns(pl.col(pl.Int32).cast(pl.Int64))


def compute(rows: int) -> list[Claim]:
    """In memory: mask, publish as text, judge; against one sort of the whole table by a float key."""
    table = _as_read(rows)
    keyed = table.with_columns(pl.Series("key", np.random.default_rng(0).random(rows)))
    sort = seconds(lambda: keyed.sort("key"))
    claims = [Claim("one Polars sort of the table", f"{sort:.2f} s")]
    for grouping, limit in (("sorted", 8), ("hilbert", 12)):
        taken = seconds(lambda grouping=grouping: shoal.anonymize(table, _policy(grouping)))
        ratio = taken / sort
        claims.append(Claim(grouping, f"{taken:.2f} s = {ratio:.1f} sorts", f"within {limit}", ratio <= limit))
    return claims


def files(rows: int) -> list[Claim]:
    """File to file, the whole process with start-up, reading, judging the written file; against read + write."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "d.csv"), Path(folder, "r.csv")
        discharges(rows, seed=1).write_csv(source)
        _shoal(source, target)

        released = pl.read_csv(target, infer_schema=False)

        def read_write() -> None:
            pl.read_csv(source)
            released.write_csv(Path(folder, "copy.csv"))

        floor = seconds(read_write)
        taken = seconds(lambda: _shoal(source, target))
        size = (source.stat().st_size + target.stat().st_size) / 1e6
    ratio = taken / floor
    return [
        Claim(f"bare read + write ({size:.0f} MB of files)", f"{floor:.2f} s"),
        Claim("default, verified", f"{taken:.2f} s = {ratio:.1f} x", "within 6", ratio <= 6),
    ]


def _shoal(source: Path, target: Path) -> None:
    command = [sys.executable, "-m", "shoal", "anonymize", str(source), "-o", str(target), "--quasi", ",".join(QUASI)]
    command += [f"--kind={name}=numeric" for name in QUASI]
    subprocess.run([*command, "--confidential", "charge", "--k", "5", "--json"], check=True, capture_output=True)


_PEAK = """
import resource, sys, polars as pl, shoal
from benchmarks.release import _policy
release = shoal.anonymize(pl.read_parquet(sys.argv[1]), _policy(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
release.frame
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def memory(rows: int) -> list[Claim]:
    """Peak resident memory of a process that holds the table and its release, over the table's size in memory."""
    claims = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "d.parquet")
        table = _as_read(rows)
        table.write_parquet(source)
        size = table.estimated_size()
        for grouping in ("sorted", "hilbert"):
            child = [sys.executable, "-c", _PEAK, str(source), grouping]
            said = subprocess.run(child, check=True, capture_output=True, text=True).stdout
            judged, shown = (int(kilobytes) * 1024 for kilobytes in said.split())
            measured = f"{judged / 1e9:.2f} GB = {judged / size:.1f} x; {shown / size:.1f} x with its frame"
            claims.append(Claim(f"peak, {grouping}", measured, "within 6", judged <= 6 * size))
    return claims


def scaling(rows: int) -> list[Claim]:
    """Rows a second: cost grows no faster than n log n."""
    sizes = [rows // 16, rows // 4, rows, rows * 4]
    rates = []
    for n in sizes:
        table = _as_read(n)
        rates.append(n / seconds(lambda table=table: shoal.anonymize(table, _policy()), repeats=1))
    claims = [
        Claim(f"{n / 1e6:g} million rows", f"{rate / 1e6:.2f} million rows/s")
        for n, rate in zip(sizes, rates, strict=True)
    ]
    growth = (sizes[-1] / rates[-1]) / (sizes[0] / rates[0])
    allowed = sizes[-1] * np.log(sizes[-1]) / (sizes[0] * np.log(sizes[0]))
    claims.append(
        Claim(
            "time for 64 times the rows",
            f"{growth:.0f} x",
            f"within {allowed:.0f} (n log n)",
            bool(growth <= allowed * 1.15),
        )
    )
    return claims


def quality(rows: int) -> list[Claim]:
    """Information loss (Eq. 3) at k = 5."""
    table = discharges(rows, seed=1)
    loss = {g: shoal.anonymize(table, _policy(g)).information_loss for g in ("sorted", "kd", "hilbert")}
    share = loss["sorted"] / loss["hilbert"]
    claims = [
        Claim("generated discharges", ", ".join(f"{g} {v:.4f}" for g, v in loss.items())),
        Claim("sorted / default", f"{share:.1f}", "at least 16", share >= 16),
    ]
    if nhds := _nhds():
        table, quasi = nhds
        loss = {
            g: shoal.anonymize(table, _policy(g, quasi=quasi)).information_loss for g in ("sorted", "kd", "hilbert")
        }
        claims.append(
            Claim(
                "NHDS 2010", ", ".join(f"{g} {v:.4f}" for g, v in loss.items()), "default at most 0.0441",
                loss["hilbert"] <= 0.0441,
            )
        )  # fmt: skip
    return claims


def closeness(rows: int) -> list[Claim]:
    """k = 5 with t = 0.1: Algorithm S4 against the default."""
    tables = [("generated discharges", discharges(rows // 4, seed=1), QUASI)]
    if nhds := _nhds():
        tables.append(("NHDS 2010", *nhds))
    claims = []
    for name, table, quasi in tables:
        paper, ours = (
            shoal.anonymize(table, _policy(g, t=0.1, quasi=quasi)).information_loss for g in ("stratified", "hilbert")
        )
        claims.append(Claim(name, f"S4 {paper:.4f}, default {ours:.4f}", "at most 0.6 of S4", ours <= 0.6 * paper))
    return claims


def _nhds() -> tuple[pl.DataFrame, list[str]] | None:
    """The survey of 2010 with every category, the month too, coded by its sorted label."""
    folder = os.environ.get("SHOAL_DATA")
    path = Path(folder or "", "discharges", "nhds2010.parquet")
    if not folder or not path.exists():
        return None
    raw = pl.read_parquet(path)
    names = ["sex", "race", "marital_status", "dc_month", "region", "n_beds", "hospital_ownership"]
    coded = [raw[name].cast(pl.String).rank("dense").cast(pl.Int64).alias(name) for name in names]
    age = raw.select(pl.when(pl.col("age_unit") == "years").then("age").otherwise(0).alias("age"))["age"]
    return pl.DataFrame([age, *coded, raw["care_days"]]), ["age", *names]
