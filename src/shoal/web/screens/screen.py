"""What a screen is: its address, its name, what it shows, and what can be done on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.web.visit import Go, Visit

Form = Mapping[str, Any]
Show = Callable[[Visit], Awaitable[dict[str, Any]]]
Action = Callable[[Visit, Form], Awaitable[Go | None]]


@dataclass(frozen=True)
class Screen:
    """A screen. `show` gives what its template, of the same word, is filled with; that is its JSON twin, too.

    `state` says how far its step is: done, open, or wrong. What an action is asked by is JSON; the key `since` is the
    digest of the policy that was looked at.
    """

    word: str
    title: str
    show: Show
    state: Callable[[Visit], str]
    actions: Mapping[str, Action] = field(default_factory=dict)
    step: bool = True  # of the way from a table to a release


def since(form: Form) -> str:
    """Which policy the form was made for."""
    return str(form.get("since", ""))
