"""Risk and Utility: what an intruder could do with a table, and what an analyst still can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.data.reading import Reading
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.show.result import Result

if TYPE_CHECKING:
    import polars as pl

    from shoal.engines.table import Table
    from shoal.measure import Measured
    from shoal.policy import Policy
    from shoal.risk.measure import Risk as Exposure
    from shoal.risk.scenarios import Scenarios
    from shoal.show.charts import Chart
    from shoal.show.sheet import Sheet
    from shoal.utility.measure import Utility as Kept
    from shoal.utility.placed import Known


@dataclass(frozen=True, repr=False)
class RiskMeasured(Result):
    """Who is unique and what can be learnt, what three intruders can do, and the measures that were named."""

    risk: Exposure
    intruders: Scenarios
    measured: Measured | None = None

    def _parts(self) -> list[Result]:
        return [self.risk, self.intruders, *([self.measured] if self.measured is not None else [])]

    def sheets(self) -> list[Sheet]:
        """The tables of all parts, one after the other."""
        return [sheet for part in self._parts() for sheet in part.sheets()]

    def charts(self) -> list[Chart]:
        """Those of who is unique, and no others."""
        return self.risk.charts()

    def remarks(self) -> tuple[str, ...]:
        """Those of all parts, one after the other."""
        return tuple(remark for part in self._parts() for remark in part.remarks())

    def to_dict(self) -> dict[str, Any]:
        """The exposure's numbers, the intruders' under `scenarios`, and the measures."""
        more = self.measured.to_dict() if self.measured is not None else {}
        return self.risk.to_dict() | {"scenarios": self.intruders.to_dict()} | more


@dataclass(frozen=True)
class Risk(Job[RiskMeasured]):
    """Measures how exposed the people in an original or a released table are.

    `when` are conditions that must not be learnt, as `charge > 100000`; `measures` compare the table with its
    `original`, by their names; `weighted` that the policy's weights must be there, `by_people` that the table must show
    whose each record is.
    """

    source: str | Path
    policy: Policy
    when: tuple[str, ...] = ()
    population: str | None = None
    fraction: float | None = None
    threshold: float = 0.2
    original: str | Path | None = None
    measures: tuple[str, ...] = ()
    paired: bool = False
    engine: str | None = None
    master: str | None = None
    layout: Layout = field(default_factory=Layout)
    weighted: bool = False
    by_people: bool = False

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        if self.weighted and (self.population is not None or self.fraction is not None):
            raise InputError(
                "Give the population, or the sampling fraction, or sampling weights, but only one of them."
            )
        if self.paired and self.original is None:
            raise InputError("--paired is about the original: give --original and --measures as well.")
        if (self.original is None) != (not self.measures):
            raise InputError(
                "--measures compare a released table with its original: give both --original and --measures."
            )

    def work(self) -> RiskMeasured:
        """Reads the table, whole or in chunks as the engine has it, and measures it; writes nothing."""
        from shoal.engines.opening import engine_for

        engine = engine_for([path for path in (self.source, self.population) if path], self.engine)
        return self._in_memory() if engine == "memory" else self._in_parts(engine)

    def _weights(self, columns: Sequence[str]) -> str | None:
        """The policy's column of sampling weights; where a file states them, a released table need not show them."""
        stated = self.policy.weights
        if self.population is not None or self.fraction is not None:
            return None
        return stated if self.weighted or stated in columns else None

    def _need_people(self, columns: Sequence[str]) -> None:
        """Refuses to count people who were asked for where nobody can tell whose each record is."""
        from shoal.data.person import IN_CLASS

        person = self.policy.person
        if self.by_people and person not in columns and IN_CLASS not in columns:
            raise InputError(
                f"The table has neither the column {person!r}, named as person, nor {IN_CLASS!r}: whose each record is "
                "cannot be told from it. Measure the original, or leave --person out to measure records."
            )

    def _tables(self) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """The table, and its original where there is one."""
        if self.original is None:
            return self.layout.read_either(self.source, self.policy), None
        before, table = self.layout.read_both(self.original, self.source, self.policy)
        return table, before

    def _in_memory(self) -> RiskMeasured:
        from shoal.assess import measured, risk
        from shoal.risk.scenarios import scenarios

        events.stage("reading")
        table, before = self._tables()
        self._need_people(table.columns)
        events.stage("counting who is unique")
        exposure = risk(table, self.policy, when=self.when)
        schema = self.policy.schema(table, released=True)
        events.stage("thinking as an intruder")
        intruders = events.apart(scenarios)(
            table, schema, population=self.population, fraction=self.fraction, weights=self._weights(table.columns),
            threshold=self.threshold,
        )  # fmt: skip
        if before is None:
            return RiskMeasured(exposure, intruders)
        events.stage("measuring beside the original")
        named = measured(before, table, self.policy, "risk", self.measures, paired=self.paired or None)
        return RiskMeasured(exposure, intruders, named)

    def _in_parts(self, engine: str) -> RiskMeasured:
        from shoal.assess import may_be_masked, released_schema
        from shoal.engines.opening import open_table
        from shoal.risk.measure import assess_risk
        from shoal.risk.scenarios import scenarios
        from shoal.utility.tables import measured_tables

        events.stage("opening")
        masked = may_be_masked(self.policy, self.when)
        forms = self.layout.over(self.policy.reading).in_parts(engine, self.policy, released=True)
        table = open_table(self.source, engine, master=self.master, masked=masked, forms=forms)
        self._need_people(list(table.schema))
        people = open_table(self.population, engine, master=self.master) if self.population else None
        events.stage("counting who is unique")
        schema = released_schema(table, self.policy)
        exposure = assess_risk(table, schema, when=self.when, groups=self.policy.groups)
        events.stage("thinking as an intruder")
        weights = self._weights(list(table.schema))
        intruders = scenarios(
            table, schema, population=people, fraction=self.fraction, weights=weights, threshold=self.threshold
        )
        if self.original is None:
            return RiskMeasured(exposure, intruders)
        events.stage("measuring beside the original")
        both = _both_in_parts(self.original, self.source, self.policy, self.layout, engine, self.master)
        return RiskMeasured(exposure, intruders, measured_tables(*both, self.measures, "risk", paired=self.paired))


@dataclass(frozen=True, repr=False)
class UtilityMeasured(Result):
    """What a masked table kept, and the measures that were named."""

    utility: Kept
    measured: Measured | None = None

    def sheets(self) -> list[Sheet]:
        """The tables of what was kept, then those of the measures."""
        return [*self.utility.sheets(), *(self.measured.sheets() if self.measured is not None else [])]

    def charts(self) -> list[Chart]:
        """Those of what was kept, and no others."""
        return self.utility.charts()

    def remarks(self) -> tuple[str, ...]:
        """Those of what was kept, then those of the measures."""
        return (*self.utility.remarks(), *(self.measured.remarks() if self.measured is not None else ()))

    def to_dict(self) -> dict[str, Any]:
        """All numbers; what was left out of either is listed together."""
        facts = self.utility.to_dict()
        if self.measured is None:
            return facts
        more = self.measured.to_dict()
        return facts | more | {"left_out": dict(self.utility.left_out) | more["left_out"]}


@dataclass(frozen=True)
class Utility(Job[UtilityMeasured]):
    """Measures what a masked table kept of the original; `paired` says that row i of both is the same person."""

    original: str | Path
    masked: str | Path
    policy: Policy
    measures: tuple[str, ...] = ()
    paired: bool = False
    engine: str | None = None
    master: str | None = None
    layout: Layout = field(default_factory=Layout)

    def work(self) -> UtilityMeasured:
        """Reads both tables, whole or in chunks as the engine has it, and compares them; writes nothing."""
        from shoal.engines.opening import engine_for

        engine = engine_for((self.original, self.masked), self.engine)
        return self._in_memory() if engine == "memory" else self._in_parts(engine)

    def _in_memory(self) -> UtilityMeasured:
        from shoal.assess import measured, utility

        events.stage("reading")
        before, after = self.layout.read_both(self.original, self.masked, self.policy)
        events.stage("measuring")
        paired = self.paired or None
        kept = utility(before, after, self.policy, paired=paired)
        if not self.measures:
            return UtilityMeasured(kept)
        events.stage("taking the measures named")
        return UtilityMeasured(kept, measured(before, after, self.policy, "utility", self.measures, paired=paired))

    def _in_parts(self, engine: str) -> UtilityMeasured:
        from shoal.utility.tables import compare_tables, measured_tables

        events.stage("opening")
        before, after = _both_in_parts(self.original, self.masked, self.policy, self.layout, engine, self.master)
        events.stage("measuring")
        kept = compare_tables(before, after, paired=self.paired)
        if not self.measures:
            return UtilityMeasured(kept)
        events.stage("taking the measures named")
        return UtilityMeasured(kept, measured_tables(before, after, self.measures, paired=self.paired))


def _both_in_parts(
    original: str | Path, masked: str | Path, policy: Policy, layout: Layout, engine: str, master: str | None
) -> tuple[Known, Table]:
    """What one pass over the original tells, and its release, which is read as the original is."""
    from shoal.assess import known_of
    from shoal.engines.opening import open_table

    layout = layout.over(policy.reading)
    forms = layout.in_parts(engine, policy)
    before = known_of(open_table(original, engine, master=master, forms=forms), policy)
    shown = replace(layout.in_parts(engine, policy, released=True), reading=forms.settled(Reading.of(layout)))
    return before, open_table(masked, engine, master=master, masked=policy.quasi_identifiers, forms=shown)
