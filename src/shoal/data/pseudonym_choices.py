"""What a policy says of pseudonyms and of shifted dates: `[pseudonyms.COLUMN]` and `[shift]`. Never a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

from shoal.data.date_shift import DAYS
from shoal.data.pseudonym_forms import FORMS, Code, Form, form_of
from shoal.data.schema import Role
from shoal.errors import InputError, did_you_mean

_MOST_DAYS = 36_500


class PseudonymChoice(BaseModel):
    """What stands for the values of one identifying column in the release."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    domain: str = Field(min_length=1, description="what the value identifies, such as person or provider")
    form: str = Field(
        default=Code.name,
        description="how it looks, and who can undo it",
        json_schema_extra={"enum": [*FORMS]},
    )
    length: int | None = Field(default=None, description="of codes: characters (16)")

    @field_validator("form")
    @classmethod
    def _known(cls, word: str) -> str:
        return form_of(word).name

    def made_by(self) -> Form:
        """The form, with its length."""
        return form_of(self.form, self.length)

    def stated(self) -> dict[str, Any]:
        """As a certificate and a policy state it."""
        return self.model_dump(exclude_none=True)


class ShiftChoice(BaseModel):
    """Dates that are moved by as many days for each person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: tuple[str, ...] = Field(min_length=1, description="the dates")
    subject: str | None = Field(
        default=None, description="whose dates they are; unless said the person, or the column that has a pseudonym"
    )
    domain: str | None = Field(
        default=None, description="what the subject identifies; unless said as its pseudonym says, or person"
    )
    days: int = Field(default=DAYS, ge=1, le=_MOST_DAYS, description="the most by which a date is moved")
    keep_weekday: bool = Field(default=False, description="move by whole weeks")

    def by(self, pseudonyms: Mapping[str, PseudonymChoice], person: str | None) -> str:
        """The column whose values have a shift each."""
        subject = self.subject or person or (next(iter(pseudonyms)) if len(pseudonyms) == 1 else None)
        if subject is None:
            raise InputError("Dates are shifted by person: say by which column (subject = ... of [shift]).")
        return subject


class ShownPseudonyms(NamedTuple):
    """A column of pseudonyms that are the same in every release of that domain and key."""

    column: str
    domain: str
    form: str
    key_id: str


def give_roles(
    roles: dict[str, frozenset[Role]],
    columns: Sequence[str],
    pseudonyms: Mapping[str, PseudonymChoice],
    shift: ShiftChoice | None,
) -> None:
    """An identifier with a pseudonym is shown by that; refused where shifted dates have no role that releases them."""
    for name in pseudonyms:
        if name not in columns:
            hint = did_you_mean(name, columns)
            raise InputError(f"The table has no column {name!r}, named with a pseudonym.{hint}")
        roles[name] = roles.get(name, frozenset()) - {Role.IDENTIFIER} | {Role.PSEUDONYM}
    for name in shift.columns if shift is not None else ():
        if name not in roles or Role.IDENTIFIER in roles[name]:
            raise InputError(
                f"The dates {name!r} are shifted, but no role releases them: name them as quasi-identifier, which a "
                "shifted date still is (--quasi), or as confidential or insensitive."
            )
