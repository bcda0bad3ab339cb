"""What a policy says of free text: which columns are released as they are, and which are masked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, get_args

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from shoal.data.free_text import MaskTexts, is_free_text, masker_of
from shoal.data.schema import Kind, Role
from shoal.errors import InputError, did_you_mean

Treatment = Literal["text, released as it is, no promise", "text, masked by patterns, no promise"]
AS_IT_IS, MASKED = get_args(Treatment)


class TextChoice(BaseModel):
    """Columns of free text that are released: as they are, or masked by patterns and by the record's identifiers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    release: tuple[str, ...] = Field((), description="columns of free text to release as they are")
    mask: tuple[str, ...] = Field((), description="columns of free text to release masked; nothing is promised")
    masker: str | None = Field(None, description="one's own function of texts, as module:function, after the patterns")

    @classmethod
    def nothing(cls) -> TextChoice:
        """No free text is released."""
        return cls.model_validate({})

    @property
    def columns(self) -> tuple[str, ...]:
        """All that are released."""
        return (*self.release, *self.mask)

    def stated(self, shown: Collection[str]) -> dict[str, dict[str, str]]:
        """What a certificate says of those that are shown, each by its name; nothing where there is none."""
        stated = dict.fromkeys(self.release, AS_IT_IS) | dict.fromkeys(self.mask, MASKED)
        texts = {name: treatment for name, treatment in stated.items() if name in shown}
        return {"text": texts} if texts else {}

    def notes(self) -> tuple[str, ...]:
        """What the custodian should know of each."""
        return (
            *(f"Column {name!r} is free text, released as it is: nothing is promised of it." for name in self.release),
            *(
                f"Column {name!r} is free text, masked by patterns and by the record's identifiers: names of others, "
                "places and employers stay, and nothing is promised of it. Read some of it before you publish."
                for name in self.mask
            ),
        )

    def refuse(self, columns: Collection[str], identifiers: Sequence[str]) -> None:
        """Refuses columns that are not there, are named twice, or are never released; and a masker that is none."""
        for name in self.columns:
            if name not in columns:
                raise InputError(f"The table has no column {name!r} of free text.{did_you_mean(name, columns)}")
            if name in identifiers:
                raise InputError(
                    f"Column {name!r} is an identifier, never released: it cannot be released as free text."
                )
        if both := sorted(set(self.release) & set(self.mask)):
            raise InputError(f"Column {both[0]!r} is to be released as it is and to be masked: choose one.")
        if self.masker is not None and not self.mask:
            raise InputError("A masker of text is named, but no column to mask (--mask-text COLUMN).")
        if self.masker is not None:
            masker_of(self.masker)

    def work(self, identifiers: Sequence[str]) -> MaskTexts | None:
        """What masks them; None where none is masked."""
        return MaskTexts(self.mask, tuple(identifiers), self.masker) if self.mask else None


def texts_left_out(
    sample: pl.DataFrame,
    roles: Mapping[str, Collection[Role]],
    named: Collection[str],
    kinds: Mapping[str, Kind | None],
    choice: TextChoice,
) -> list[str]:
    """Columns of free text that no role names, which are left out; one that is named, and not released, is refused.

    `named` are the columns that a policy names, others have their role by being left over; of those whose kind is
    stated (`kinds`) that is believed.
    """
    left_out = []
    columns, chosen = set(sample.columns), set(choice.columns)
    for name, role in roles.items():
        if name in chosen or Role.IDENTIFIER in role or name not in columns:
            continue
        stated = kinds.get(name)
        if stated is Kind.TEXT or (stated is None and is_free_text(sample[name])):
            if name in named:
                raise InputError(
                    f"Column {name!r} is free text, of which nothing can be promised: leave it out, or have it "
                    f"released all the same, as it is (--release-text {name}) or masked by patterns (--mask-text "
                    f"{name}). If its values are categories, say so (--kind {name}=nominal)."
                )
            left_out.append(name)
    return left_out


def left_out_note(names: Sequence[str]) -> tuple[str, ...]:
    """What the custodian should know of free text that was left out."""
    if not names:
        return ()
    listed = ", ".join(repr(name) for name in names)
    return (
        f"Free text is left out: {listed} (--release-text COLUMN releases it as it is, --mask-text COLUMN masked by "
        "patterns).",
    )
