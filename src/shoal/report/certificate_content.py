"""What a certificate may state, and of which type: one that states anything else is none of ours."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from shoal.data.people import BY_CUSTODIAN, BY_FILE, COUNTED, OF_HOUSEHOLDS
from shoal.data.text_choice import Treatment

PSEUDONYMOUS = (
    "a pseudonym stands for one value, which nobody learns from it without the secret key; this is not anonymity: the "
    "data are personal data still, and records with the same pseudonym can be put together by anybody"
)


def _counted(number: Any) -> Any:
    if isinstance(number, int) and abs(number) > 2**63:
        raise ValueError("no number of a certificate has more digits")
    return number


Count = Annotated[int, Field(ge=0, le=2**63)]
Number = Annotated[float, BeforeValidator(_counted)]
Names = Annotated[tuple[str, ...], Field(strict=False)]


class Content(BaseModel):
    """All that a certificate states, and of which type; one that states anything else is none of ours."""

    model_config = ConfigDict(extra="forbid", strict=True)

    made_by: Annotated[str, Field(pattern=r"^shoal \d[\w.+-]{0,40}$")]
    records: Count
    counts: Literal[COUNTED, BY_CUSTODIAN, BY_FILE, OF_HOUSEHOLDS]  # type: ignore[valid-type]
    person: str | None = None
    missing_person: Literal["one-each"] | None = None
    columns: Names
    quasi_identifiers: Names
    confidential: Names
    insensitive: Names
    pseudonyms: dict[str, _Pseudonym] = {}
    pseudonymous: Literal[PSEUDONYMOUS] | None = None  # type: ignore[valid-type]
    linked: dict[str, Count] = {}
    shifted_dates: Names = ()
    attributes: dict[str, _Described]
    labels: dict[str, dict[str, _Listed]] = {}
    text: dict[str, Treatment] | None = None
    read: _Read | None = None
    classes: Count
    smallest_class: Count
    models: Annotated[tuple[_Model, ...], Field(strict=False)]
    record_order: Literal["shuffled", "as in the source"]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Pseudonym(BaseModel):
    """What a column of pseudonyms is: of what, and in which form."""

    model_config = ConfigDict(extra="forbid", strict=True)

    domain: str
    form: str
    length: Count | None = None


class _Read(BaseModel):
    """How the file is laid out and its values are written, where it does not show it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | dict[str, str] | None = None
    date_format: str | dict[str, str] | None = None
    year_from: int | None = None
    missing: Names | dict[str, Names] | None = None


class _Described(BaseModel):
    """The kind of an attribute, and its order; a file or a rule, for instance, a certificate does not name."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["numeric", "ordinal", "nominal", "date"]
    domain: Names | None = None


class _Listed(BaseModel):
    """The values that a label stands for, and how many rarer ones are not named."""

    model_config = ConfigDict(extra="forbid", strict=True)

    values: Names
    rarer: Count


class _Model(BaseModel):
    """What was asked and found; what else a model takes is one word, one number or a truth each, and no file."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, str | bool | Number]

    name: str
    asked: Number
    achieved: Number | None = None
    holds: bool
    means: str | None = None
    population: None = None
