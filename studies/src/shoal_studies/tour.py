"""The five studies as one tour: each into its own folder, and one page that holds all they found against the papers.

A study that finished with the same settings, code and real data is not run again, so that a tour cut short goes on
where it stopped. Studies run one after the other: each keeps all cores busy by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.show import Result, Sheet
from shoal_studies import big_data, k_map, proper_anonymization, purchases, risk_utility
from shoal_studies.driver import Study
from shoal_studies.papers import Item
from shoal_studies.result import PAGE, RESULTS, check_folder, run_key, unwritable, write_json, write_whole

STUDIES = (proper_anonymization.STUDY, big_data.STUDY, k_map.STUDY, purchases.STUDY, risk_utility.STUDY)
Progress = Callable[[str, float], None]  # what is done next, and how many seconds of work lie behind it


@dataclass(frozen=True)
class Found:
    """What a finished study left in its folder."""

    study: Study
    results: Mapping[str, Any]

    def statements(self, part: str) -> list[dict[str, Any]]:
        return [statement for statement in self.results["statements"] if statement["where"] == part]

    @property
    def beyond(self) -> list[str]:
        """Parts that are no figure or table of the paper: its text in numbers, and what we ask besides."""
        items = {item.part for item in self.study.paper.items}
        return [name for name in self.results["parts"] if name not in items]

    @property
    def entries(self) -> list[Item]:
        """The figures and tables of the paper; those that one part makes again stand together."""
        together: dict[str, list[Item]] = {}
        for item in self.study.paper.items:
            together.setdefault(item.part or item.name, []).append(item)
        return [
            replace(items[0], name=", ".join(i.name for i in items), shows=" ".join(i.shows for i in items))
            for items in together.values()
        ]

    @property
    def repeated(self) -> list[Item]:
        return [item for item in self.study.paper.items if item.part]

    @cached_property
    def counts(self) -> tuple[int, int]:
        """Statements that agree, and those that differ."""
        agree = sum(statement["agrees"] for statement in self.results["statements"])
        return agree, len(self.results["statements"]) - agree

    def to_dict(self) -> dict[str, object]:
        paper = self.study.paper
        return {
            "study": self.study.name,
            "page": f"{self.study.name}/{PAGE}",
            "reference": f"{paper.authors}: {paper.title}. {paper.published}.",
            "doi": paper.doi or None,
            "table": self.results["table"],
            "settings": self.results["settings"],
            "agree": self.counts[0],
            "differ": self.counts[1],
            "items": [
                {
                    "name": item.name,
                    "shows": item.shows,
                    "part": item.part or None,
                    "why_not": item.why_not or None,
                    "statements": self.statements(item.part),
                }
                for item in paper.items
            ],
            "beyond": [
                {"part": name, "title": self.results["parts"][name]["title"], "statements": self.statements(name)}
                for name in self.beyond
            ],
        }


@dataclass(frozen=True)
class Tour(Result):
    taken: tuple[Found, ...]
    output: Path

    @property
    def counts(self) -> tuple[int, int]:
        return sum(each.counts[0] for each in self.taken), sum(each.counts[1] for each in self.taken)

    @property
    def items(self) -> tuple[int, int]:
        """Figures and tables of the papers that were made again, and all of them."""
        return sum(len(each.repeated) for each in self.taken), sum(len(each.study.paper.items) for each in self.taken)

    def to_dict(self) -> dict[str, object]:
        return {
            "agree": self.counts[0],
            "differ": self.counts[1],
            "repeated": self.items[0],
            "items": self.items[1],
            "studies": [each.to_dict() for each in self.taken],
        }

    def write(self) -> None:
        from shoal_studies.page import tour_page

        try:
            write_json(self.output / RESULTS, self.to_dict())
            write_whole(self.output / PAGE, tour_page(self).encode())
        except OSError as error:
            raise unwritable(self.output, error) from None

    def sheets(self) -> list[Sheet]:
        rows = [
            (each.study.name, *map(str, each.counts), f"{len(each.repeated)} of {len(each.study.paper.items)}")
            for each in self.taken
        ]
        agree, differ = self.counts
        title = f"{agree} statements of five papers agree, {differ} differ, each with its reason"
        return [Sheet(title, ("study", "agree", "differ", "figures and tables"), rows, numbers=3)]

    def remarks(self) -> list[str]:
        return [f"All of it: {self.output / PAGE}"]


def take_tour(output: Path, studies: Sequence[Study], progress: Progress = lambda stage, seconds: None) -> Tour:
    """Runs what is not finished yet, and writes the page over all."""
    check_folder(output)
    taken = []
    for study in studies:
        results = finished(study, output / study.name)
        if results is None:
            study.run(output / study.name, _Step(study.name, study.seconds / study.stages, progress))
            results = finished(study, output / study.name)
            assert results is not None
        else:
            progress(f"{study.name}: finished before", study.seconds)
        taken.append(Found(study, results))
    tour = Tour(tuple(taken), output)
    tour.write()
    return tour


@dataclass(frozen=True)
class _Step:
    """A study's report of its next stage, as the tour's."""

    study: str
    seconds: float
    progress: Progress

    def __call__(self, stage: str) -> None:
        self.progress(f"{self.study}: {stage}", self.seconds)


def finished(study: Study, folder: Path) -> dict[str, Any] | None:
    """The results of a run that asked for the same, with the same code and real data."""
    try:
        results: dict[str, Any] = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    same = isinstance(results, dict) and results.get("run") == run_key(study.title, study.settings)
    return results if same else None
