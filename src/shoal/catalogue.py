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
import os
import re
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, dataclass_transform

from shoal.errors import InputError, did_you_mean
from shoal.parameters import Parameter

Thing = TypeVar("Thing")

# ---- parameters


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
    """How something works on a table that is read in chunks, by disk and Spark alike.

    Where it does not, `instead` says what to do, and `because` why that is so.
    """

    how: str = ""
    instead: str = ""
    because: str = ""

    def __str__(self) -> str:
        return self.how or f"no: {self.because}".removesuffix(": ")

    @property
    def can(self) -> bool:
        """Whether it works so at all."""
        return bool(self.how)


SAME = Chunks("same result")
INSIDE = Chunks("inside chunks")
INSIDE_RANDOM = Chunks("inside random chunks")
ALL_PAIRS = "every record with every other"


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

    @classmethod
    def listing(cls) -> dict[str, Any]:
        """All that it says of itself, for a listing."""
        stated = {"name": cls.name, "sentence": cls.sentence(), "needs": list(cls.needs), **cls.abilities()}
        parameters = [each.to_dict() for each in cls.parameters()]
        return stated | {"in_chunks": cls.in_chunks.how or None, "parameters": parameters}

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

    def listed(self) -> list[Thing]:
        """All of them."""
        return list(self)

    def __contains__(self, word: object) -> bool:
        return word in self._ours or word in self._added or word in self._installed

    def add(self, thing: Thing) -> Thing:
        """Adds one of the running program, as a decorator or by a call; gives it back."""
        word: str = thing.name  # type: ignore[attr-defined]
        if word in self._ours:
            raise taken(self.sort, word)
        self._added[word] = thing
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
            return self._of_kind(_load(self._installed[word], self.sort), f"{self._installed[word].value} ({word!r})")
        if ":" in word:
            return self._of_kind(import_own(word, self.sort), repr(word))
        raise InputError(f"There is no {self.sort} {word!r}.{self.hint(word)}")

    def hint(self, word: str) -> str:
        """What to write instead of a word that is none."""
        if word in self.former:
            return f" Did you mean {self.former[word]!r}?"
        return did_you_mean(word, self.words) or f" Known are {', '.join(self.words)}."

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


class Registry(dict[str, Thing]):
    """All of one sort that register themselves, by their words: measures, attacks, file formats.

    Ours stand in the modules of `homes`, which are imported when somebody looks; installed packages name theirs by
    entry points (`shoal.measures`, ...), and a running program adds its own by `add`, or by the `decorator`
    of functions.
    """

    def __init__(self, sort: str, homes: Sequence[str] = (), decorator: str = "") -> None:
        super().__init__()
        self.sort = sort
        self.homes = tuple(homes)
        self.decorator = decorator
        self._ours: set[str] = set()

    @cached_property
    def _installed(self) -> list[Any]:
        from importlib.metadata import entry_points

        return list(entry_points(group=f"shoal.{self.sort}s"))

    def add(self, thing: Thing, module: str = "") -> Thing:
        """Adds one, written in that module, by its name; gives it back. No stranger takes a name of ours."""
        word: str = thing.name  # type: ignore[attr-defined]
        if module.partition(".")[0] == __package__:
            self._ours.add(word)
        else:
            self._import_ours()
            if word in self._ours:
                raise taken(self.sort, word)
        self[word] = thing
        return thing

    def _import_ours(self) -> None:
        for home in self.homes:
            import_module(home)

    def loaded(self) -> Self:
        """With all of ours and of installed packages."""
        self._import_ours()
        for point in self._installed:
            _load(point, self.sort)
        return self

    def listed(self) -> list[Thing]:
        """All by their words, whatever was imported first."""
        return [self[word] for word in sorted(self.loaded())]

    def find(self, word: str, kind: str = "", fits: Callable[[Thing], bool] = lambda each: True) -> Thing:
        """By its word, or as `module:name` where it is one's own code; refused with a hint where there is none.

        `kind` is what those that are looked for are called, and `fits` which they are.
        """
        own = import_own(word, self.sort) if ":" in word else None
        known = {name: each for name, each in self.loaded().items() if fits(each)}
        if word in known:
            return known[word]
        if own is not None:
            registered = [each for each in known.values() if own is each or own is vars(each).get("function")]
            if not registered:
                how = f"decorate the function with @{self.decorator}" if self.decorator else "add it first"
                raise InputError(f"{word!r} is no {kind or self.sort}: {how}.")
            return registered[0]
        hint = did_you_mean(word, known) or f" Known are {', '.join(known)}."
        raise InputError(f"There is no {kind or self.sort} {word!r}.{hint}")


def taken(sort: str, word: str) -> InputError:
    """The error of one's own code that has the word of ours: a promise by that word would mean something else."""
    return InputError(f"There is a {sort} {word!r} of Shoal's own already: give yours another name.")


def _load(point: Any, sort: str) -> Any:
    try:
        return point.load()
    except Exception as error:  # whatever a stranger's package raises
        raise InputError(
            f"The {sort} {point.name!r} of an installed package cannot be loaded ({point.value}): "
            f"{type(error).__name__}: {error}."
        ) from None


# ---- things as tables and from tables


def build(choice: Any, catalogue: Catalogue[Any], kind: type[Thing]) -> Thing:
    """A model or method from a table of its name and parameters; one that is of this `kind` passes as it is."""
    what, known = catalogue.sort, catalogue.words
    if not isinstance(choice, dict):
        if isinstance(choice, kind):
            return choice
        raise InputError(
            f"The policy's {what} {reprlib.repr(choice)} is none: give one of {', '.join(known)} by its 'name', or an "
            f"object of a class of your own that derives from {kind.__name__}."
        )
    parameters = dict(choice)
    name = parameters.pop("name", None)
    if not isinstance(name, str) or (name not in catalogue and ":" not in name):
        raise InputError(f"The policy asks for an unknown {what} {name!r}.{catalogue.hint(str(name))}")
    built: Thing = made(catalogue.find(name), parameters, what)
    return built


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
