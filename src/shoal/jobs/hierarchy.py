"""Hierarchies, the trees by which values are made coarser: built from a table, and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout, column_of
from shoal.jobs.paths import check_paths
from shoal.show.result import Result

if TYPE_CHECKING:
    from shoal.data.hierarchy import Hierarchy
    from shoal.show.sheet import Sheet


@dataclass(frozen=True)
class BuildHierarchy(Job["Hierarchy"]):
    """Builds the hierarchy of a table's column as a policy would (`by`: `{"type": "steps", "steps": [5, 10]}`).

    `reads` are files that `by` came from, which are never written over.
    """

    source: str
    column: str
    by: Mapping[str, Any]
    output: Path
    overwrite: bool = False
    layout: Layout = field(default_factory=Layout)
    reads: tuple[str | Path | None, ...] = ()

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        check_paths([self.source, *self.reads], None, [self.output], overwrite=self.overwrite)

    def work(self) -> Hierarchy:
        """Reads the column, builds its hierarchy and writes that as a file."""
        from shoal.data.build_hierarchy import build
        from shoal.data.hierarchy_files import write_hierarchy

        events.stage("reading")
        values = column_of(self.layout.read(self.source), self.column)
        events.stage("building")
        hierarchy = events.apart(build)(self.by, values, self.column)
        events.check()
        write_hierarchy(hierarchy, self.output, overwrite=self.overwrite)
        return hierarchy


@dataclass(frozen=True)
class ShowHierarchy(Job["Hierarchy"]):
    """Reads a hierarchy from its file, to be looked at."""

    file: Path

    def work(self) -> Hierarchy:
        """Reads the file; writes nothing."""
        from shoal.data.hierarchy_files import read_hierarchy

        events.stage("reading")
        return read_hierarchy(self.file, self.file.stem)


@dataclass(frozen=True, repr=False)
class HierarchyChecked(Result):
    """A hierarchy that is a tree; and of the table looked up in it the records and those that are missing."""

    hierarchy: Hierarchy
    records: int | None = None
    missing: int | None = None

    def sheets(self) -> list[Sheet]:
        """The hierarchy's levels, from fine to coarse."""
        return self.hierarchy.sheets()

    def to_dict(self) -> dict[str, Any]:
        """The hierarchy in numbers, and how many records were looked up in it."""
        table = {} if self.records is None else {"records": self.records, "missing": self.missing}
        return self.hierarchy.to_dict() | table


@dataclass(frozen=True)
class CheckHierarchy(Job[HierarchyChecked]):
    """Judges a hierarchy: whether it is a tree and, where `data` is named, lists every value of its column."""

    file: Path
    column: str
    data: str | None = None
    layout: Layout = field(default_factory=Layout)

    def work(self) -> HierarchyChecked:
        """Reads the hierarchy and looks up the column's values in it; refused where one is not listed."""
        from shoal.data.hierarchy_files import read_hierarchy

        events.stage("reading the hierarchy")
        hierarchy = read_hierarchy(self.file, self.column)
        if self.data is None:
            return HierarchyChecked(hierarchy)
        events.stage("reading the table")
        values = column_of(self.layout.read(self.data), self.column)
        events.stage("looking up its values")
        events.apart(hierarchy.encode)(values)
        return HierarchyChecked(hierarchy, len(values), values.null_count())
