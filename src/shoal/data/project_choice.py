"""What a policy says of the project that it belongs to: its table, its files, and what only a person can say of it.

Nothing here changes how a table is masked or judged: `shoal run` and the app go by it, and the report shows it.
"""

from __future__ import annotations

from pathlib import PurePath

from pydantic import BaseModel, ConfigDict, Field, field_validator

_PLAIN = "a plain name of a file, which is written to a folder of its own below releases"


class ProjectChoice(BaseModel):
    """The table that a policy is about, how the files of its releases are called, and what these are for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str | None = Field(None, description="the table to be released, as seen from the policy's folder")
    release: str = Field("release.csv", description="how the released file is called")
    certificate: str = Field("certificate.json", description="how its certificate is called")
    report: str = Field("report.html", description="how the custodian's report is called")
    title: str | None = Field(None, description="what the table is, for people")
    period: str | None = Field(None, description="the time that its records are of")
    recipient: str | None = Field(None, description="who receives the release")
    purpose: str | None = Field(None, description="what it is for")
    known: str | None = Field(None, description="who may know what of the people in it, and from where")
    other_releases: str | None = Field(None, description="what else was or will be released of the same people")
    decided_by: str | None = Field(None, description="who decides that it is released")

    @classmethod
    def nothing(cls) -> ProjectChoice:
        """Nothing is said of a project."""
        return cls.model_validate({})

    @field_validator("release", "certificate", "report")
    @classmethod
    def _plain(cls, name: str) -> str:
        if name in ("", ".", "..") or name != PurePath(name).name or any(mark in name for mark in "\\:\0\n"):
            raise ValueError(f"must be {_PLAIN}")
        return name
