"""The populations of paper 3's simulation, and how their attributes may be recoded.

The paper's physicians cannot be had: generated patients stand for them. Its crashes and veterans can, nearly: they are
read where SHOAL_DATA names a folder with them; if not, generated admissions stand for the crashes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from shoal.data import build_hierarchy, number_bands
from shoal.data.hierarchy import Hierarchy, from_levels
from shoal.data.hierarchy_files import read_hierarchy
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal_studies.k_map.recodings import Population

PHYSICIANS, CRASHES = 23_590, 101_034  # records of the paper's populations
PATIENTS = "generated patients"
LEAST = 150  # records of a population, so that a tenth of it can have a class of 15

Made = tuple[pl.DataFrame, dict[str, Hierarchy]]


def sources(data: str | None) -> dict[str, Callable[[int], Made]]:
    """The file, or the paper's crashes and veterans, or generated admissions; always generated patients too."""
    if data is not None:
        given: dict[str, Callable[[int], Made]] = {f"records of {Path(data).name}": lambda seed: _file(data)}
    else:
        given = {name: _from(path, make) for name, (path, make) in _real().items() if path.is_file()}
    return (given or {"generated admissions": _admissions}) | {PATIENTS: _patients}


def _real() -> dict[str, tuple[Path, Callable[[Path], Made]]]:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        return {}
    return {
        "crashes": (Path(folder, "fars", "fars.csv"), _crashes),
        "veterans": (Path(folder, "cup", "cup.csv"), _veterans),
    }


def _from(path: Path, make: Callable[[Path], Made]) -> Callable[[int], Made]:
    return lambda seed: make(path)


def population(name: str, table: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> Population:
    """All its attributes are quasi-identifiers, recoded along their hierarchies."""
    quasi = frozenset({Role.QUASI_IDENTIFIER})
    schema = Schema(tuple(Attribute(name, quasi, Kind.NOMINAL, hierarchy=hierarchies[name]) for name in table.columns))
    return Population(name, Microdata(table, schema))


def _crashes(path: Path) -> Made:
    """Age, sex, race and date of death (0: survived), without those of unknown age or sex, as in the paper."""
    from shoal.data.files import read_table

    date = 100 * pl.col("ideathmon") + pl.col("ideathday")
    table = read_table(path).filter(pl.col("iage") < 99, pl.col("isex") < 2)
    table = table.select(age="iage", sex="isex", race="irace", died=date)
    return table, {
        "age": _age(table["age"]),
        "sex": _shown_or_not(table["sex"]),
        "race": read_hierarchy(path.parent / "hierarchies" / "irace.csv", "race"),
        "died": number_bands.steps(table["died"], "died", steps=[10, 100, 300, 600], origin=100),  # months: 100
    }


def _veterans(path: Path) -> Made:
    """ZIP code, age and gender, without those of other or unknown gender, as in the paper."""
    from shoal.data.files import read_table

    table = read_table(path).filter(pl.col("GENDER") < 2).select(zip="ZIP", age="AGE", sex="GENDER")
    return table, _by_home_age_and_sex(table)


def _patients(seed: int) -> Made:
    """Stand for the paper's physicians: as many, by postal code, a year and sex."""
    from shoal.data.discharges import discharges

    table = discharges(PHYSICIANS, seed).select(zip="patzip", age="age_yrs", sex="sex")
    return table, _by_home_age_and_sex(table)


def _admissions(seed: int) -> Made:
    """Stand for the paper's crashes: as many, by age, sex, race, place and time."""
    from shoal.data.discharges import discharges

    table = discharges(CRASHES, seed + 1)
    table = table.select(age="age_yrs", sex="sex", race="race", county="patcnty", quarter="adm_qtr")
    return table, {
        "age": _age(table["age"]),
        "sex": _shown_or_not(table["sex"]),
        "race": _shown_or_not(table["race"]),
        "county": number_bands.steps(table["county"], "county", steps=[4, 16]),
        "quarter": number_bands.steps(table["quarter"], "quarter", steps=[2], origin=1),
    }


def _file(data: str) -> Made:
    """All columns are quasi-identifiers, their hierarchies learnt; records with missing values are left out."""
    from shoal.data.files import read_table

    table = read_table(data).drop_nulls().drop_nans()
    if table.height < LEAST:
        raise InputError(
            f"{data} has {table.height} complete records: a population has {LEAST} at least, so that "
            "samples of a tenth can have a class."
        )
    return table, {name: build_hierarchy.auto(table[name], name) for name in table.columns}


def _by_home_age_and_sex(table: pl.DataFrame) -> dict[str, Hierarchy]:
    zip_code = build_hierarchy.mask(table["zip"], "zip")
    return {"zip": zip_code, "age": _age(table["age"]), "sex": _shown_or_not(table["sex"])}


def _age(values: pl.Series) -> Hierarchy:
    return number_bands.steps(values, "age", steps=[5, 10, 20, 40])


def _shown_or_not(values: pl.Series) -> Hierarchy:
    return from_levels([values.unique().sort().cast(pl.String)], values.name)
