"""Paper 3's worked example (Figures 1 and 2): what k-anonymity and k-map make of the same fourteen people."""

from __future__ import annotations

import polars as pl

from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.risk.scenarios import scenarios
from shoal_studies.result import Part, Statement

DISCLOSED = 14  # of the people below; all 31 are the identification database
PEOPLE = """M1959 M1962 F1955 M1959 F1942 F1975 F1966 F1987 M1975 M1978 F1964 M1959 F1975 M1967
            M1961 M1974 F1978 F1961 F1968 M1973 F1966 M1967 M1971 F1974 F1977 M1968 M1954 F1952 F1956 F1988 F1941"""
K = 2


def figures_1_and_2() -> Part:
    database = pl.DataFrame([{"sex": one[0], "born": int(one[1:])} for one in PEOPLE.split()])
    rows = []
    for figure, years, counted in (("Figure 1", 10, database[:DISCLOSED]), ("Figure 2", 5, database)):
        common = _bands(counted, years).group_by("sex", "born").len().filter(pl.col("len") >= K)
        table = _bands(database[:DISCLOSED], years)
        kept = table.join(common, on=["sex", "born"], how="semi", maintain_order="left")
        found = scenarios(kept, _SCHEMA, population=database)
        assert found.journalist is not None
        rows.append(
            {
                "figure": figure,
                "years in a band": years,
                "suppressed": DISCLOSED - kept.height,
                "highest risk, prosecutor": found.prosecutor.highest,
                "highest risk, journalist": found.journalist.highest,
            }
        )
    data = pl.DataFrame(rows)
    (_, _, gone, _, risk), (_, _, gone_by_map, _, risk_by_map) = data.rows()
    statements = (
        Statement(
            "Figure 1: 2-anonymized by decades of birth, 3 of 14 records are suppressed, and the risk is 0.25: half of "
            "what was accepted.",
            f"{gone} of {DISCLOSED} suppressed, highest journalist risk {risk:g}.",
            (gone, risk) == (3, 0.25),
            "Other records share a class.",
        ),
        Statement(
            "Figure 2: by k-map nobody is suppressed, bands have 5 years, and the risk is the accepted 0.5.",
            f"{gone_by_map} of {DISCLOSED} suppressed, highest journalist risk {risk_by_map:g}.",
            (gone_by_map, risk_by_map) == (0, 0.5),
            "Other records share a class.",
        ),
    )
    return Part("Figures 1 and 2", "The paper's example: fourteen people in a database of 31", data, statements)


_QUASI = frozenset({Role.QUASI_IDENTIFIER})
_SCHEMA = Schema((Attribute("sex", _QUASI, Kind.NOMINAL), Attribute("born", _QUASI, Kind.NUMERIC)))


def _bands(table: pl.DataFrame, years: int) -> pl.DataFrame:
    first = pl.col("born") // years * years
    return table.select("sex", pl.format("[{};{}]", first, first + years - 1).alias("born"))
