"""How many people of a population fit each class of a table; both may be of any size and on any engine.

Of a table in memory and a population in memory all classes are matched at once (`shoal.privacy.matching`). Otherwise
the classes are listed, and each batch of people tells how many of them fit each class.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.person import numbered
from shoal.data.schema import Attribute, Person
from shoal.engines.memory import MemoryTable
from shoal.engines.opening import open_table
from shoal.engines.table import COUNTED, Batch, Table, records_of
from shoal.errors import InputError
from shoal.privacy.classes import class_sizes, classes_to_fit
from shoal.privacy.matching import ALL, Matched, Population, beside_people, count_people, match, population_of


def people_of_classes(
    table: Table, quasi: Sequence[Attribute], population: object, *, enough: int = ALL, least: bool = False
) -> Matched:
    """How many records each class has, and how many people fit it.

    `population` is a file, a folder, a frame or a table.
    Of tables in memory, counting a class may stop at `enough` people, and with `least` only the least count is exact.
    """
    if isinstance(population, str | Path) and Path(population).is_dir():
        population = open_table(population, "disk")
    if not isinstance(population, Table):
        known = population_of(population)
        if table.whole is not None:
            return match(table.whole, quasi, known, enough=enough, least=least)
        population = MemoryTable(known.table)
    names = [attribute.name for attribute in quasi]
    listed = classes_to_fit(table, names, class_sizes(table, names, records_of(table)).number)
    fitting = population.fold(_Fit(listed.drop(COUNTED), tuple(quasi)), operator.add)
    if fitting is None:
        raise InputError("The population has no records: nobody could be matched.")
    return Matched(listed[COUNTED].to_numpy(), fitting)


def refuse_repeated_people(population: object, person: Person | None) -> None:
    """Refuses a population in which somebody has several records, by the table's own column of people.

    Where it has no such column each of its records is a person. A folder is not looked through, and refused.
    """
    if person is None:
        return
    if isinstance(population, str | Path) and Path(population).is_dir():
        raise InputError(
            f"The population {str(population)!r} is a folder, in which nobody looks for people with several records: "
            "give it as one file."
        )
    known = population_of(population)
    if person.column not in known.table.columns:
        return
    people = numbered(known.table[person.column], one_each=True)
    if len(np.unique(people)) < len(people):
        raise InputError(
            f"{known.name} has several records of somebody in {person.column!r}, and k-map would count each as a "
            "person: give it one record a person."
        )


@dataclass(frozen=True)
class _Fit:
    """How many of a batch of people fit each class."""

    classes: pl.DataFrame
    attributes: tuple[Attribute, ...]

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        people = Population(batch.frame)
        read = [beside_people(self.classes[a.name], a, people.column(a.name)) for a in self.attributes]
        return count_people([side for side, _ in read], [cells for _, cells in read])
