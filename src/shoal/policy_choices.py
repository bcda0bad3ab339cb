"""What a policy can be made of, as type checkers know it, and what is said of one that cannot be."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from shoal.data.attribute_choice import AttributeChoice, AttributeTable
from shoal.data.person import MissingPerson
from shoal.data.project_choice import ProjectChoice
from shoal.data.pseudonym_choices import PseudonymChoice, ShiftChoice
from shoal.data.reading import Reading, ReadingChoices
from shoal.data.table_choice import TableChoice
from shoal.data.text_choice import TextChoice
from shoal.errors import did_you_mean
from shoal.masking.method import Method
from shoal.masking.publishing.confidential import Showing
from shoal.privacy.model import PrivacyModel

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

Names = list[str] | tuple[str, ...]  # a text is a sequence of texts too, and not meant


class Choices(TypedDict, total=False):
    """What a policy can be made of, as type checkers and editors know it: a misspelt choice is found before it runs."""

    identifiers: Names
    quasi_identifiers: Names
    confidential: Names
    insensitive: Names
    rest: Literal["drop", "insensitive"]
    models: PrivacyModel | Sequence[PrivacyModel | dict[str, Any]]
    method: Method | dict[str, Any]
    suppression: float
    show: Mapping[str, Showing]
    epsilon: float | None
    groups: Mapping[str, Names]
    weights: str | None
    text: TextChoice | Mapping[str, Any]
    attributes: Mapping[str, AttributeChoice | AttributeTable]
    person: str | None
    missing_person: MissingPerson
    household: str | None
    tables: Mapping[str, TableChoice | dict[str, Any]]
    consistent: Mapping[str, str]
    pseudonyms: Mapping[str, PseudonymChoice | dict[str, Any]]
    shift: ShiftChoice | dict[str, Any] | None
    reading: Reading | ReadingChoices
    project: ProjectChoice | dict[str, Any]


def policy_fault(fault: ErrorDetails, known: Sequence[str]) -> str:
    """What pydantic found, in our form; `known` are the keys of a policy."""
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        tables: dict[str, type[BaseModel]] = {
            "pseudonyms": PseudonymChoice, "shift": ShiftChoice, "project": ProjectChoice,
        }  # fmt: skip
        table = tables.get(str(fault["loc"][0]), AttributeChoice)
        keys = list(table.model_fields) if "." in where else known
        hint = did_you_mean(str(fault["loc"][-1]), keys) or f" Known are {', '.join(keys)}."
        return f"The policy has no {where!r}.{hint}"
    what = fault["msg"].removeprefix("Input ").replace("valid tuple", "list")
    return f"The policy's {where!r} {what}. Got {reprlib.repr(fault['input'])} instead."
