"""What a policy states of one attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field

from shoal.data.schema import Kind, Scalar


class AttributeChoice(BaseModel):
    """What the custodian states of one attribute; the rest is inferred."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind | None = None
    domain: tuple[Scalar, ...] | None = Field(
        default=None, description="least and greatest value, or all categories in their order"
    )
    hierarchy: str | tuple[tuple[str, ...], ...] | dict[str, Any] | None = Field(
        default=None,
        description="a file of lines value;level 1;..., the lines themselves, or how to build it (type = ...)",
    )
    unlisted: Literal["refuse", "top"] = Field(
        default="refuse", description="what becomes of values that the hierarchy does not list"
    )
    weight: float = Field(default=1.0, gt=0)
    label: str | None = Field(default=None, min_length=1, description="what people call it, in reports and tables")


class AttributeTable(TypedDict, total=False):
    """The same as a table, as type checkers and editors know it."""

    kind: Kind | Literal["numeric", "ordinal", "nominal", "date", "text"] | None
    domain: Sequence[Scalar] | None
    hierarchy: str | Sequence[Sequence[str]] | dict[str, Any] | None
    unlisted: Literal["refuse", "top"]
    weight: float
    label: str | None
