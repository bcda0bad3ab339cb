"""What can be compared: masking methods of which all is decided but how strongly they mask.

| name                         | method                                                      | parameter    |
|------------------------------|-------------------------------------------------------------|--------------|
| `mdav`, `mdav+`              | microaggregation of all attributes together                 | k            |
| `individual`                 | microaggregation of each attribute by itself                | k            |
| `noise`                      | noise with the covariance of the data                       | gamma        |
| `mnoise`                     | multiplicative noise as in paper 5                          | s            |
| `swap`                       | rank swapping                                               | p            |
| `pram`                       | categories changed at random, in known proportions          | p            |
| `shuffle`, `resample`        | values drawn anew                                           | see there    |
| `hilbert`, `sorted`, `kd`, … | k-anonymity by classes of ranges                            | k            |
| `coarsen`                    | each attribute by itself into intervals                     | resolution   |
| `module:function`            | one's own: `function(frame, parameter, seed)` gives a frame | any positive |

One's own function gets a Polars frame of the attributes, the parameter and a seed, and gives a frame of the same
columns with as many records, in the same order; what it leaves to chance it draws by the seed, and one that leaves
nothing to chance does without: `function(frame, parameter)`. It is asked at any positive parameter unless it says
otherwise: `function.parameter = Parameter("p", 0.01, 1.0)`. A class that is a method like ours will do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from inspect import getsourcefile, isclass, signature
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from shoal.data.frames import to_polars
from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.errors import InputError, did_you_mean
from shoal.masking.grouped import Grouped, Grouping
from shoal.masking.method import Masked, Method, Parameter
from shoal.masking.microaggregation import Microaggregated
from shoal.masking.perturbing.multiplicative import MultipliedNoise
from shoal.masking.perturbing.noise import AddedNoise
from shoal.masking.perturbing.pram import Pram
from shoal.masking.perturbing.resampling import Resampling
from shoal.masking.perturbing.shuffling import Shuffling
from shoal.masking.perturbing.swapping import RankSwapping
from shoal.masking.recoding.coarsening import Coarsened
from shoal.measure import import_own
from shoal.privacy import KAnonymity, PrivacyModel

K = Parameter("k", 2, inf, whole=True)
RESOLUTION = Parameter("resolution", 1, inf, whole=True)
ANY = Parameter("parameter", 0, inf)


@dataclass(frozen=True)
class Contender:
    """A method at whatever parameter it is asked for; with a model, that is promised at the parameter too."""

    name: str
    parameter: Parameter
    method: Callable[[Any], Method]
    model: Callable[[Any], PrivacyModel] | None = None
    random: bool = True  # differs from seed to seed, so that several runs are averaged

    @classmethod
    def of(cls, name: str, kind: Any, *, random: bool = True, **choices: Any) -> Contender:
        """A method of ours by its class, with all but its parameter chosen."""
        parameter: Parameter = kind.parameter
        return cls(name, parameter, lambda value: kind(**{parameter.name: value}, **choices), random=random)

    def models(self, value: float) -> tuple[PrivacyModel, ...]:
        """The promises that the method is held to at this value of its parameter."""
        return () if self.model is None else (self.model(value),)

    def mask(self, microdata: Microdata, value: float, seed: int) -> Masked:
        """The table masked at this value of the parameter."""
        return self.method(value).mask(microdata, self.models(value), seed=seed)

    def setting(self, value: float) -> str:
        """The parameter and its value, as people read them: `k = 5`."""
        return f"{self.parameter.name} = {value:.4g}"

    def among(self, records: int) -> Contender:
        """A whole parameter counts records or intervals: there cannot be more of them than records."""
        if not self.parameter.whole:
            return self
        most = max(min(self.parameter.most, records), self.parameter.least)
        return replace(self, parameter=replace(self.parameter, most=most))


def _grouped(grouping: Grouping, k: int) -> Grouped:
    """The k is the model's."""
    return Grouped(grouping)


_GROUPINGS: tuple[Grouping, ...] = ("hilbert", "sorted", "kd", "kd-median")
METHODS: dict[str, Contender] = {
    one.name: one
    for one in (
        Contender.of("mdav", Microaggregated, random=False, by="mdav"),
        Contender.of("mdav+", Microaggregated, random=False, by="mdav+"),
        Contender.of("individual", Microaggregated, random=False, by="individual"),
        Contender.of("noise", AddedNoise),
        Contender.of("mnoise", MultipliedNoise),
        Contender.of("swap", RankSwapping),
        Contender.of("pram", Pram),
        Contender.of("shuffle", Shuffling),
        Contender.of("resample", Resampling),
        Contender("coarsen", RESOLUTION, Coarsened, random=False),
        *(Contender(name, K, partial(_grouped, name), KAnonymity, random=False) for name in _GROUPINGS),
    )
}


def contender(name: str) -> Contender:
    """By its name, or by `module:function` for one's own."""
    if name in METHODS:
        return METHODS[name]
    if ":" in name:
        return _own(name, import_own(name, "method"))
    hint = did_you_mean(name, METHODS) or f" Known are {', '.join(METHODS)}, and one's own as module:function."
    raise InputError(f"There is no method {name!r} to compare.{hint}")


def _own(path: str, given: Any) -> Contender:
    if isclass(given) and hasattr(given, "mask") and isinstance(getattr(given, "parameter", None), Parameter):
        return Contender.of(path, given)
    if isclass(given) or not callable(given):
        raise InputError(
            f"{path!r} is no method: give a function of a frame, a parameter and a seed, or a class with a mask and "
            "its parameter."
        )
    takes = len(signature(given).parameters)
    if takes not in (2, 3):
        raise InputError(f"The method {path!r} takes {takes} arguments: it must take a frame, a parameter and a seed.")
    parameter = getattr(given, "parameter", ANY)
    return Contender(path, parameter, lambda value: Own(given, value, path, source_of(given)), random=takes == 3)


def source_of(given: Any) -> str:
    """A digest of the file that a function or class was written in: when it changes, so may what it gives."""
    try:
        return sha256(Path(getsourcefile(given) or "").read_bytes()).hexdigest()
    except (OSError, TypeError):  # typed in at a prompt
        return repr(given)


@dataclass(frozen=True)
class Own:
    """A user's own function at a parameter, as a method."""

    function: Callable[..., Any]
    value: float
    path: str
    source: str

    name: ClassVar[str] = "own"

    def __repr__(self) -> str:
        return f"{self.path}({self.value!r}) of {self.source}"

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
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
        except Exception as error:  # whatever a stranger's code raises, the user must know whose it is
            raise InputError(
                f"The method {self.path!r} fails at parameter {self.value:g}: {type(error).__name__}: {error}."
            ) from error
