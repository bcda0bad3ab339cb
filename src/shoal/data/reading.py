"""How a file is read, where that is not left to be found out: what `--read` and a policy's `[read]` say.

A key is a line of `Reading` and its type in `ReadingChoices`. The command line, policies with their schema, jobs and
Python have it from here; whatever reads files is handed the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypedDict

from shoal.catalogue import Entry, parameter
from shoal.errors import InputError, did_you_mean


class ReadingChoices(TypedDict, total=False):
    """The keys of `Reading`, as type checkers and editors know them."""

    delimiter: str | None
    encoding: str | None
    decimal: str | None
    text: list[str] | tuple[str, ...]


class Reading(Entry):
    """The delimiter, encoding and decimal mark of text files, each detected if None; and columns that are text."""

    name: ClassVar[str] = "--read"

    delimiter: str | None = parameter("of a text file: one character, tab, space or comma", default=None)
    encoding: str | None = parameter("of a text file, such as latin-1; otherwise detected", default=None)
    decimal: str | None = parameter("the decimal mark", default=None)
    text: tuple[str, ...] = parameter("columns to read as text", default=())

    @classmethod
    def of(cls, stated: Mapping[str, Any] | Reading | None) -> Self:
        """What a policy or a caller in Python states by key; keys with a hyphen may have an underscore."""
        if stated is None or isinstance(stated, Reading):
            return cls(**({} if stated is None else stated.chosen()))
        if not isinstance(stated, Mapping):
            raise InputError(f"How a file is read is a table of choices, such as delimiter. Got {stated!r} instead.")
        known = [each.name for each in cls.parameters()]
        choices: dict[str, Any] = {key.replace("-", "_"): value for key, value in stated.items()}
        for key in choices:
            if key not in known:
                hint = did_you_mean(key, known) or f" Known are {', '.join(known)}."
                raise InputError(f"The policy has no 'read.{key}'.{hint}")
        lists = {key: tuple(value) for key, value in choices.items() if isinstance(value, list)}
        return cls(**choices | lists)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(name, str) for name in self.text):
            raise InputError(f"Columns to read as text are a list of names. Got {self.text!r} instead.")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"A decimal mark is '.' or ','. Got {self.decimal!r} instead.")

    @property
    def of_text_files(self) -> list[str]:
        """What is stated here that only a text file has."""
        return [name for name in ("delimiter", "encoding", "decimal") if getattr(self, name) is not None]

    def over(self, policy: Reading) -> Self:
        """Key by key what is stated here, and otherwise what the policy states."""
        return type(self)(**(policy.chosen() | self.chosen()))

    def with_text(self, names: tuple[str, ...]) -> Self:
        """The same, with these columns read as text as well."""
        return type(self)(**(self.chosen() | {"text": tuple(dict.fromkeys((*self.text, *names)))}))


AS_IT_SEEMS = Reading()  # all of it detected
