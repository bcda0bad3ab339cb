"""A parameter of something catalogued, or of an option that holds several choices: type, default, bounds, help."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from shoal.errors import require


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of something catalogued: name, type, default, bounds, and a line of help."""

    name: str
    type: Any
    default: Any  # dataclasses.MISSING: it must be given
    help: str = ""
    above: float | None = None
    least: float | None = None
    most: float | None = None
    below: float | None = None

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is dataclasses.MISSING

    @cached_property
    def alternatives(self) -> tuple[Any, ...]:
        """The types it may have, None aside."""
        union = get_origin(self.type) in (Union, UnionType)
        return tuple(kind for kind in (get_args(self.type) if union else (self.type,)) if kind is not NoneType)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words to choose from, where it is a choice."""
        return tuple(word for kind in self.alternatives if get_origin(kind) is Literal for word in get_args(kind))

    @property
    def optional(self) -> bool:
        """Whether None is one of its values."""
        return NoneType in get_args(self.type)

    @property
    def expected(self) -> str:
        """What it must be, in words."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        collection = "a list" if self.listed or not self.of_columns else "a table by column"
        return f"{_IN_WORDS.get(self.alternatives[0], collection)}{self._bounds()}"

    def _bounds(self) -> str:
        if self.least is not None and self.most is not None:
            return f" from {self.least:g} to {self.most:g}"
        if self.above is not None and self.below is not None:
            return f" between {self.above:g} and {self.below:g}"
        ends = [("above", self.above), ("of at least", self.least), ("at most", self.most), ("below", self.below)]
        stated = " and ".join(f"{words} {end:g}" for words, end in ends if end is not None)
        return f" {stated}" if stated else ""

    def check(self, owner: str, value: object) -> None:
        """Refuses a value of another type or beyond the bounds."""
        if isinstance(value, Mapping) and self.of_columns is not None:
            for single in () if self.listed else value.values():  # of lists the class checks these itself
                good = _is(single, self.of_columns) and self._within(single)
                require(owner, self.name, single, f"{_IN_WORDS[self.of_columns]}{self._bounds()}", holds=good)
        else:
            require(owner, self.name, value, self.expected, holds=self._allows(value))

    @property
    def of_columns(self) -> type | None:
        """The type of a value by column, or of each in a list by column, where it may be a table of them."""
        tables = [kind for kind in self.alternatives if get_origin(kind) in (dict, Mapping)]
        kinds = [get_args(kind)[1] for kind in tables]
        single = [get_args(kind)[0] if get_origin(kind) is tuple else kind for kind in kinds]
        return single[0] if single and single[0] in _IN_WORDS else None

    @property
    def listed(self) -> bool:
        """Whether it is a list of texts."""
        return any(get_origin(kind) is tuple and get_args(kind)[0] is str for kind in self.alternatives)

    def _allows(self, value: object) -> bool:
        if value is None:
            return self.optional
        if self.choices:
            return isinstance(value, str | int) and value in self.choices
        kinds = [kind for kind in self.alternatives if kind in _IN_WORDS]
        if len(kinds) < len(self.alternatives) and not isinstance(value, int | float | str):
            return True  # of types that no line describes: the class checks these itself
        return any(_is(value, kind) and self._within(value) for kind in kinds)

    def _within(self, value: Any) -> bool:
        if isinstance(value, bool | str):
            return True
        return (
            (isinstance(value, int) or math.isfinite(value))  # a whole number may be too large for a float
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    def to_dict(self) -> dict[str, object]:
        """For machines."""
        ends = {end: getattr(self, end) for end in ("above", "least", "most", "below")}
        return {
            "name": self.name,
            "help": self.help,
            "type": _type_in_words(self.type),
            "required": self.required,
            **({} if self.required else {"default": self.default}),
            **({"choices": list(self.choices)} if self.choices else {}),
            **{end: value for end, value in ends.items() if value is not None},
        }


_IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _type_in_words(kind: Any) -> str:
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_type_in_words(each) for each in get_args(kind))
    if get_origin(kind) is Literal:
        return "choice"
    names = {NoneType: "none", int: "integer", float: "number", bool: "boolean", str: "string"}
    return names.get(kind, "table" if get_origin(kind) in (dict, Mapping) else "list")
