"""What the top of the report says: of which table, for whom and when, as far as the policy says it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Self

from shoal.policy import Policy
from shoal.report.reported import Reported

_ASKED = {  # what the policy's [project] may say -> what it is called here
    "period": "Period",
    "recipient": "Recipient",
    "purpose": "Purpose",
    "known": "Who may know what",
    "other_releases": "Other releases",
    "decided_by": "Who decides",
}


@dataclass(frozen=True)
class About:
    """A title, what is known of the release, and what nobody has said of it."""

    title: str
    stated: list[tuple[str, str]]
    unstated: list[str]

    @classmethod
    def of(cls, release: Reported) -> Self:
        """By the policy's project; where that says nothing, by the name of the file."""
        policy, project = release.policy, release.policy.project
        answers = {title: getattr(project, key) for key, title in _ASKED.items()}
        return cls(
            project.title or policy.table_name or "A released table",
            [
                *_table(policy),
                *((title, answer) for title, answer in answers.items() if answer),
                ("Made on", f"{dt.date.today():%d %B %Y}".removeprefix("0")),
            ],
            [title.lower() for title, answer in answers.items() if not answer],
        )


def _table(policy: Policy) -> list[tuple[str, str]]:
    name = policy.table_name
    return [("Table", name)] if name and policy.project.title else []
