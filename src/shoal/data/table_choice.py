"""A further table that is released together with the one of people: its file, its key, and roles of its own."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from shoal.data.attribute_choice import AttributeChoice


class TableChoice(BaseModel):
    """What a policy states of a table beside that of people."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(description="where it is")
    key: str | None = Field(
        None, description="the column that says whom a row is about; if not given, the policy's person"
    )
    identifiers: tuple[str, ...] = Field((), description="never released")
    quasi_identifiers: tuple[str, ...] = Field((), description="what an intruder may know")
    confidential: tuple[str, ...] = Field((), description="what must not be learnt")
    insensitive: tuple[str, ...] = Field((), description="released as they are")
    rest: Literal["drop", "insensitive"] = Field("drop", description="what becomes of columns that no role names")
    time: str | None = Field(None, description="the column that puts a person's rows in order")
    attributes: dict[str, AttributeChoice] = Field({}, description="what is stated of single columns")
