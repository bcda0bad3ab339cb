"""What exists says what it is: its word, a sentence, its parameters, what it needs and what it can do.

A method, model, measure, attack, generator or file format is one class or function in one file. Whatever lists such
things (policy, schema, command line, comparison, engines, report, docs, `import shoal`) asks the catalogue of their
sort. A new one of ours is its file and one line: the import that type checkers and editors read, under
`if TYPE_CHECKING` in its package. The catalogue reads the same line, so that nothing is imported before it is used.
Installed packages add theirs by entry points (`shoal.methods`, `shoal.models`, ...); one's own code is named as
`module:Name` by whoever trusts it, never by a file from elsewhere.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import os
import re
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Generic, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin

from shoal.errors import InputError, did_you_mean, require

Thing = TypeVar("Thing")

# ---- parameters


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
        other = "a table by column" if self.of_columns else "a list"
        return f"{_IN_WORDS.get(self.alternatives[0], other)}{self._bounds()}"

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
            for single in value.values():
                good = _is(single, self.of_columns) and self._within(single)
                require(owner, self.name, single, f"{_IN_WORDS[self.of_columns]}{self._bounds()}", holds=good)
        else:
            require(owner, self.name, value, self.expected, holds=self._allows(value))

    @property
    def of_columns(self) -> type | None:
        """The type of a value by column, where it may be a table of them."""
        tables = [kind for kind in self.alternatives if get_origin(kind) in (dict, Mapping)]
        return get_args(tables[0])[1] if tables and get_args(tables[0])[1] in _IN_WORDS else None

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
        return " or ".join(_type_in_words(one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return "choice"
    names = {NoneType: "none", int: "integer", float: "number", bool: "boolean", str: "string"}
    return names.get(kind, "table" if get_origin(kind) in (dict, Mapping) else "list")


def parameter(
    help: str,
    *,
    default: Any = dataclasses.MISSING,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> Any:
    """A field of something catalogued: what it is for, its default and its bounds; its type is the annotation."""
    bounds = {"above": above, "least": least, "most": most, "below": below}
    return dataclasses.field(default=default, metadata={"help": help, **bounds})


# ---- entries


@dataclasses.dataclass(frozen=True)
class Chunks:
    """How something works on a table that is read in chunks, by disk and Spark alike; where not, what to do instead."""

    how: str = ""
    instead: str = ""

    @property
    def can(self) -> bool:
        """Whether it works so at all."""
        return bool(self.how)


SAME = Chunks("same result")
INSIDE = Chunks("inside chunks")
INSIDE_RANDOM = Chunks("inside random chunks")


@dataclass_transform(frozen_default=True, field_specifiers=(parameter, dataclasses.field))
class Entry:
    """Something that a catalogue lists. A subclass is a frozen dataclass; its annotated fields are its parameters.

    `name` is its word, made of the class's name unless given; the first sentence of the docstring is for people. Fields
    that are not made by `parameter` are its own affair.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()  # what the table or the policy must have for it
    in_chunks: ClassVar[Chunks] = Chunks()

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:
            cls.name = word_of(cls.__name__)
        dataclasses.dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for each in self.parameters():
            each.check(self.name, getattr(self, each.name))

    @classmethod
    def sentence(cls) -> str:
        """What it does, for people."""
        return first_sentence(cls.__doc__)

    @classmethod
    def abilities(cls) -> dict[str, Any]:
        """What else its sort says of it, for a listing."""
        return {}

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """What can be chosen of it."""
        return _parameters(cls)  # type: ignore[arg-type]

    def chosen(self) -> dict[str, Any]:
        """The parameters that are not left as they are by default."""
        values = {each.name: (getattr(self, each.name), each.default) for each in self.parameters()}
        return {name: value for name, (value, default) in values.items() if value is not None and value != default}


@cache
def _parameters(cls: type[Entry]) -> tuple[Parameter, ...]:
    from typing import get_type_hints

    fields = [field for field in dataclasses.fields(cls) if "help" in field.metadata]  # type: ignore[arg-type]
    hints = get_type_hints(cls) if fields else {}
    return tuple(Parameter(field.name, hints[field.name], field.default, **field.metadata) for field in fields)


def word_of(name: str) -> str:
    """`KdMedian` is kd-median, `MdavPlus` mdav+."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower().replace("-plus", "+")


def first_sentence(doc: str | None) -> str:
    """Of a docstring."""
    paragraph = " ".join((doc or "").strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`'])", paragraph)[0]


# ---- catalogues


class Catalogue(Generic[Thing]):
    """All of one sort, by their words: ours, those of installed packages, and one's own as `module:Name`.

    `file` is that of the package which imports ours for type checkers; `base` is what every one of them must be;
    `former` maps spellings of earlier versions to the words of today.
    """

    def __init__(
        self,
        sort: str,
        file: str,
        *,
        base: str = "",
        former: Mapping[str, str] | None = None,
        word: Callable[[str], str] = word_of,
    ) -> None:
        self.sort = sort
        self.base = base
        self.former = dict(former or {})
        self.homes = imported_for_types(file)  # name in Python -> its module
        self._ours = {word(name): f"{home}:{name}" for name, home in self.homes.items()}
        self._added: dict[str, Thing] = {}

    @cached_property
    def _installed(self) -> dict[str, Any]:
        from importlib.metadata import entry_points

        return {point.name: point for point in entry_points(group=f"shoal.{self.sort}s")}

    @property
    def words(self) -> list[str]:
        """All that are known without importing anything of one's own."""
        return list(dict.fromkeys([*self._ours, *self._installed, *self._added]))

    def __iter__(self) -> Iterator[Thing]:
        return (self.find(word) for word in self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ours or word in self._added or word in self._installed

    def add(self, thing: Thing) -> Thing:
        """Adds one of the running program, as a decorator or by a call; gives it back."""
        self._added[thing.name] = thing  # type: ignore[attr-defined]
        return thing

    def remove(self, word: str) -> None:
        """Takes out one that was added."""
        self._added.pop(word, None)

    def find(self, word: str) -> Thing:
        """By its word, or as `module:Name` where it is one's own code; refused with a hint where there is none."""
        if word in self._added:
            return self._added[word]
        if word in self._ours:
            module, _, name = self._ours[word].partition(":")
            return getattr(import_module(module), name)  # type: ignore[no-any-return]
        if word in self._installed:
            return self._of_kind(self._load(self._installed[word]), f"{self._installed[word].value} ({word!r})")
        if ":" in word:
            return self._of_kind(import_own(word, self.sort), repr(word))
        raise InputError(f"There is no {self.sort} {word!r}.{self.hint(word)}")

    def hint(self, word: str) -> str:
        """What to write instead of a word that is none."""
        if word in self.former:
            return f" Did you mean {self.former[word]!r}?"
        return did_you_mean(word, self.words) or f" Known are {', '.join(self.words)}."

    def _load(self, point: Any) -> Any:
        try:
            return point.load()
        except Exception as error:  # whatever a stranger's package raises
            raise InputError(
                f"The {self.sort} {point.name!r} of an installed package cannot be loaded ({point.value}): "
                f"{type(error).__name__}: {error}."
            ) from None

    def _of_kind(self, thing: Any, what: str) -> Thing:
        if self.base:
            module, _, name = self.base.partition(":")
            base = getattr(import_module(module), name)
            if not (isinstance(thing, type) and issubclass(thing, base)):
                raise InputError(f"{what} is no {self.sort}: give a class that is a {self.base.replace(':', '.')}.")
        return thing  # type: ignore[no-any-return]

    def name_of(self, thing: Any) -> str:
        """The word by which it is found again: of one's own code `module:Name`."""
        word = str(thing.name)
        if word in self and self.find(word) is thing:
            return word
        return f"{thing.__module__}:{thing.__qualname__}"

    def attribute(self, name: str) -> Any:
        """For a package's `__getattr__`: one of ours by its name in Python, imported when it is asked for."""
        if name in self.homes:
            return getattr(import_module(self.homes[name]), name)
        raise AttributeError(f"There is no {self.sort} class {name!r}.")


# ---- things as tables and from tables


def build(choice: Any, catalogue: Catalogue[Any], verb: str) -> Any:
    """A model or method from a table of its name and parameters; objects, which have the `verb`, pass as they are."""
    what, known = catalogue.sort, catalogue.words
    if not isinstance(choice, dict):
        if isinstance(choice, type) or not hasattr(choice, verb):
            raise InputError(
                f"The policy's {what} {reprlib.repr(choice)} is none: give one of {', '.join(known)} by its 'name'."
            )
        return choice
    parameters = dict(choice)
    name = parameters.pop("name", None)
    if not isinstance(name, str) or (name not in catalogue and ":" not in name):
        raise InputError(f"The policy asks for an unknown {what} {name!r}.{catalogue.hint(str(name))}")
    return made(catalogue.find(name), parameters, what)


def made(kind: type[Entry], parameters: Mapping[str, Any], what: str) -> Any:
    """One with these parameters; refused by name where it has none of that name, or needs one more."""
    known = {each.name: each for each in kind.parameters()}
    for name in parameters:
        if name not in known:
            hint = did_you_mean(name, known) or (f" It takes {', '.join(known)}." if known else " It takes none.")
            raise InputError(f"The {what} {kind.name!r} has no parameter {name!r}.{hint}")
    for name, each in known.items():
        if each.required and name not in parameters:
            raise InputError(f"The {what} {kind.name!r} needs its parameter {name!r}: give it.")
    try:
        return kind(**parameters)
    except TypeError as error:
        shown = reprlib.repr(dict(parameters))
        raise InputError(f"The {what} {kind.name!r} cannot be made of {shown}: {error}.") from None


def as_table(thing: Entry, catalogue: Catalogue[Any]) -> dict[str, Any]:
    """A table of its name and of the parameters that are not left as they are by default."""
    return {"name": catalogue.name_of(type(thing)), **thing.chosen()}


# ---- where things are


@cache
def imported_for_types(file: str) -> dict[str, str]:
    """Name -> module, of what a file offers (`import X as X`) under `if TYPE_CHECKING`: known, and not yet imported."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    guarded = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = (line for node in guarded for line in node.body if isinstance(line, ast.ImportFrom) and line.module)
    return {alias.name: str(line.module) for line in imports for alias in line.names if alias.asname == alias.name}


def import_own(path: str, what: str) -> Any:
    """A user's own function or class, as `module:name`; modules are also looked for in the current folder."""
    module, _, attribute = path.partition(":")
    if not module or not attribute:
        raise InputError(f"The {what} {path!r} is not MODULE:FUNCTION.")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return getattr(import_module(module), attribute)
    except AttributeError:
        raise InputError(f"The {what} {path!r} cannot be found: module {module!r} has no {attribute!r}.") from None
    except Exception as error:  # whatever the user's own module raises
        raise InputError(f"The {what} {path!r} cannot be imported: {type(error).__name__}: {error}.") from None
