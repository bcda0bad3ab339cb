"""Compare: which method keeps most of a table's value at the risk one can accept; and a release by the best."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.jobs.paths import check_paths
from shoal.show.result import Result

if TYPE_CHECKING:
    from shoal.compare.contenders import Contender
    from shoal.compare.result import Comparison
    from shoal.policy import Policy
    from shoal.release import Release
    from shoal.show.charts import Chart
    from shoal.show.sheet import Sheet


@dataclass(frozen=True, repr=False)
class Compared(Result):
    """The methods, best first, and the release by the best of them where one was asked for."""

    comparison: Comparison
    release: Release | None = None
    output: str | None = None

    def sheets(self) -> list[Sheet]:
        """The comparison's tables and, where the best was released, what it promises."""
        from shoal.show.sheet import Sheet

        sheets = list(self.comparison.sheets())
        if self.release is not None:
            rows = [(v.model, f"{v.asked:g}", f"{v.achieved:.4g}") for v in self.release.verdicts]
            title = f"Released: {self.output}, by {self.release.policy.method!r}"
            sheets.append(Sheet(title, ("promise", "asked", "reached"), rows, numbers=2))
        return sheets

    def charts(self) -> list[Chart]:
        """Risk against utility, method by method."""
        return self.comparison.charts()

    def remarks(self) -> tuple[str, ...]:
        """What was noticed when the best was released, then what was when methods were compared."""
        return (*(self.release.notes if self.release is not None else ()), *self.comparison.remarks())

    def to_dict(self) -> dict[str, Any]:
        """The comparison and, where the best was released, the release by its name."""
        facts = self.comparison.to_dict()
        if self.release is not None:
            method = repr(self.release.policy.method)
            facts["release"] = {"output": self.output, "method": method, **self.release.to_dict()}
        return facts


@dataclass(frozen=True)
class Compare(Job[Compared]):
    """Compares methods at equal risk or equal utility, or over the whole `frontier`.

    The policy's quasi-identifiers are what is masked, all columns if it names none. With `output` the best method makes
    a release, held to the risk. What was measured is kept in the folder `cache`, and known again there. `reads` are
    files that the policy came from, which are never written over.
    """

    source: str | Path
    policy: Policy
    methods: tuple[str | Contender, ...] = ()
    at_risk: float | None = None
    at_utility: float | None = None
    risk: str = "rank_linkage"
    utility: str = "earth_movers_distance"
    also: tuple[str, ...] = ()
    frontier: bool = False
    runs: int = 5
    seed: int = 0
    output: str | None = None
    plot: Path | None = None
    overwrite: bool = False
    cache: Path | None = None
    layout: Layout = field(default_factory=Layout)
    reads: tuple[str | Path | None, ...] = ()

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        from shoal.compare.best import refuse_to_promise
        from shoal.compare.comparison import ask
        from shoal.show.figure import check_format

        if self.output is not None and self.at_risk is None:
            raise InputError("--best writes a release held to a risk: give it together with --at-risk and -o FILE.")
        reads = [self.source, *self.reads, *self.policy.files]
        check_paths(reads, self.output, [self.plot], overwrite=self.overwrite)
        if self.plot is not None:
            check_format(self.plot)
        question = ask(self.risk, self.utility, self.also, self.at_risk, self.at_utility, self.frontier)
        if self.output is not None:
            refuse_to_promise(question)

    @property
    def stages(self) -> int:
        """About how many values will be tried."""
        from shoal.compare.calibrate import TYPICAL
        from shoal.compare.comparison import METHODS, POINTS

        calibrated = self.at_risk is not None or self.at_utility is not None
        return len(self.methods or METHODS) * ((TYPICAL + 1) * calibrated + POINTS * self.frontier)

    def work(self) -> Compared:
        """Reads the table, tries the methods and, where they are named, writes the best release and the chart."""
        from shoal.compare.comparison import METHODS, compare
        from shoal.report.figures import write_figure

        events.stage("reading")
        table = self.layout.over(self.policy.reading).read(self.source, self.policy)
        policy = self.policy
        if not policy.quasi_identifiers:
            policy = policy.changed(quasi_identifiers=tuple(table.columns))
        comparison = compare(
            table, policy, self.methods or METHODS, at_risk=self.at_risk, at_utility=self.at_utility, risk=self.risk,
            utility=self.utility, also=self.also, runs=self.runs, seed=self.seed, frontier=self.frontier,
            cache=self.cache,
        )  # fmt: skip
        release = None
        if self.output is not None:
            events.stage("releasing the best")
            release = comparison.release(table).write(self.output, overwrite=self.overwrite)
        if self.plot is not None:
            events.check()
            write_figure(comparison.plot(), self.plot, overwrite=self.overwrite)
        return Compared(comparison, release, self.output)
