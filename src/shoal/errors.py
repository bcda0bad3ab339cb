"""One small hierarchy of errors. Each message says what was wrong, where, and what to do."""

from __future__ import annotations

import importlib
import reprlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class ShoalError(Exception):
    """Anything Shoal tells its user in one sentence; the command line exits with `exit_code`."""

    exit_code = 2
    kind = "input"  # the word for machines, as `--json` gives it


class InputError(ShoalError):
    """The table, the policy or an option cannot be used as given."""


class PromiseError(ShoalError):
    """A privacy promise does not hold on the finished output, so nothing is released."""

    exit_code = 1
    kind = "promise"


class StoppedError(ShoalError):
    """The job was told to stop before it was done: no file of it is left, and the input is as it was."""

    exit_code = 130  # as after Ctrl-C
    kind = "stopped"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`" Did you mean 'age'?"` when a known word is close, otherwise nothing."""
    close = get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def require(owner: str, parameter: str, value: object, kind: str, *, holds: bool) -> None:
    """Raises unless it holds, in one form for all: The 'k' parameter of k-anonymity must be ... Got 1 instead."""
    beyond = isinstance(value, int) and abs(value) >= 2**63  # more than can be counted to
    if beyond or not holds:
        raise InputError(
            f"The {parameter!r} parameter of {owner} must be {kind}{' of at most 63 bits' if beyond else ''}. "
            f"Got {reprlib.repr(value) if beyond else repr(value)} instead."
        )


def needs_memory(what: str, engine: str, instead: str = "") -> InputError:
    """The error of what is worked out over the whole table at once, which no other engine ever has."""
    return InputError(
        f"{what} needs the whole table in memory, which the engine {engine!r} never has: leave it out, or use --engine "
        f"memory.{instead}"
    )


def extra_package(name: str, doing: str, extra: str) -> Any:
    """A module of an optional package; without it an error that says what needs it and how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{doing} needs an extra package: pip install 'shoal[{extra}]'.") from None


def unwritten(own: object, name: str) -> InputError:
    """The error of a class of one's own that lacks what every class of its sort has to have."""
    return InputError(
        f"The class {type(own).__qualname__!r} does not define {name!r}: write it, every one of its sort must."
    )
