"""What can be compared: masking methods of which all is decided but how strongly they mask.

Each method of the catalogue that has a `strength` can, by its word: `noise`, `swap:order=ascending`; with the strength
given, `mdav:k=5`, it is measured there and not brought anywhere. And so can one's own: `module:function`, where
`function(frame, parameter, seed)` gives a frame, or `module:Class`.

One's own function gets a Polars frame of the attributes, the parameter and a seed, and gives a frame of the same
columns with as many records, in the same order; what it leaves to chance it draws by the seed, and one that leaves
nothing to chance does without: `function(frame, parameter)`. It is asked at any positive parameter unless it says
otherwise: `function.strength = Strength("p", 0.01, 1.0)`. A class that is a method like ours will do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from inspect import getsourcefile, isclass, signature
from math import inf
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import polars as pl

from shoal.catalogue import import_own
from shoal.choices import read_choice, word_and_items
from shoal.data.frames import to_polars
from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.errors import InputError, StoppedError, did_you_mean
from shoal.masking import METHODS
from shoal.masking.method import Masked, Method, Strength
from shoal.parameters import Parameter
from shoal.privacy.model import PrivacyModel

ANY = Strength("parameter", 0, inf)


@dataclass(frozen=True)
class Contender:
    """A method at whatever strength it is asked for, with what is promised at that strength."""

    name: str
    parameter: Strength
    at: Callable[[float], tuple[Method, tuple[PrivacyModel, ...]]]
    random: bool = True  # differs from seed to seed, so that several runs are averaged

    @classmethod
    def of(cls, name: str, kind: type[Method], *, random: bool | None = None, **choices: Any) -> Contender:
        """A method by its class, with all but its strength chosen; where that is chosen too, it is the only one."""
        strength = kind.strength
        if strength is None:
            raise InputError(
                f"The method {kind.name!r} has no one number that says how strongly it masks, so that it cannot be "
                f"compared. Known are {', '.join(comparable())}, and one's own as module:function."
            )
        if (only := choices.pop(strength.name, None)) is not None:
            strength = replace(strength, least=only, most=only)
        return cls(
            name,
            strength,
            lambda value: kind.at(value, **choices),
            random=not kind.seedless if random is None else random,
        )

    def method(self, value: float) -> Method:
        """The method at that strength."""
        return self.at(value)[0]

    def models(self, value: float) -> tuple[PrivacyModel, ...]:
        """What is promised at that strength."""
        return self.at(value)[1]

    def mask(self, microdata: Microdata, value: float, seed: int) -> Masked:
        """The table masked at that strength."""
        method, models = self.at(value)
        return method.mask(microdata, models, seed=seed)

    def setting(self, value: float) -> str:
        """The strength in words."""
        return f"{self.parameter.name} = {value:.4g}"

    def among(self, records: int) -> Contender:
        """A whole strength counts records or intervals: there cannot be more of them than records."""
        if not self.parameter.whole:
            return self
        most = max(min(self.parameter.most, records), self.parameter.least)
        return replace(self, parameter=replace(self.parameter, most=most))


def comparable() -> list[str]:
    """The words of methods that have a strength to be calibrated."""
    return [kind.name for kind in METHODS if kind.strength is not None]


def contender(name: str) -> Contender:
    """By its word, or by `module:function` for one's own."""
    word, _ = word_and_items(name, METHODS)
    if word in METHODS:
        return _with_parameters(name, METHODS.find(word))
    if ":" in word:
        return _own(word, name, import_own(word, "method"))
    hint = METHODS.hint(name) if name in METHODS.former else did_you_mean(name, comparable())
    hint = hint or f" Known are {', '.join(comparable())}, and one's own as module:function."
    raise InputError(f"There is no method {name!r} to compare.{hint}")


def _with_parameters(text: str, kind: type[Method]) -> Contender:
    """With what is chosen behind the word; the strength may be among it, though it is the promise's."""
    strength = kind.strength
    own = () if strength is None else (Parameter(strength.name, int if strength.whole else float, None),)
    known = {each.name for each in kind.parameters()}
    _, choices = read_choice(text, METHODS, [each for each in own if each.name not in known])
    return Contender.of(text, kind, **choices)


def _own(path: str, text: str, given: Any) -> Contender:
    if isclass(given) and issubclass(given, Method) and given.strength is not None:
        return _with_parameters(text, given)
    if isclass(given) or not callable(given):
        raise InputError(
            f"{path!r} is no method: give a function of a frame, a parameter and a seed, or a class that is a Method "
            "and has a strength."
        )
    takes = len(signature(given).parameters)
    if takes not in (2, 3):
        raise InputError(f"The method {path!r} takes {takes} arguments: it must take a frame, a parameter and a seed.")
    strength = given.strength if isinstance(given, Strong) else ANY
    return Contender(path, strength, lambda value: (Own(given, value, path, source_of(given)), ()), random=takes == 3)


@runtime_checkable
class Strong(Protocol):
    """A function of one's own that says between which values its parameter lies."""

    strength: Strength


def source_of(given: Any) -> str:
    """A digest of the file that a function or class was written in: when it changes, so may what it gives."""
    try:
        return sha256(Path(getsourcefile(given) or "").read_bytes()).hexdigest()
    except (OSError, TypeError):  # typed in at a prompt
        return repr(given)


class Own(Method):
    """A user's own function at a parameter, as a method."""

    function: Callable[..., Any]
    value: float
    path: str
    source: str

    def __repr__(self) -> str:
        return f"{self.path}({self.value!r}) of {self.source}"

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """The frame that the function gives for the table, read back as what is shown of each record."""
        names = microdata.schema.quasi_identifiers
        shown = self._called(microdata.frame.select(names), seed)
        if lost := [name for name in names if name not in shown.columns]:
            raise InputError(f"The method {self.path!r} gives no column {lost[0]!r}: it must give all it was given.")
        if shown.height != len(microdata):
            raise InputError(
                f"The method {self.path!r} gives {shown.height} records of {len(microdata)}: "
                "it must give as many, in the same order."
            )
        return Masked({name: read_cells(shown[name], microdata.schema[name], microdata[name].values) for name in names})

    def _called(self, frame: pl.DataFrame, seed: int | None) -> pl.DataFrame:
        seeds = () if len(signature(self.function).parameters) == 2 else (seed,)
        try:
            return to_polars(self.function(frame, self.value, *seeds))[0]
        except StoppedError:
            raise
        except Exception as error:  # whatever a stranger's code raises, the user must know whose it is
            raise InputError(
                f"The method {self.path!r} fails at parameter {self.value:g}: {type(error).__name__}: {error}."
            ) from error
