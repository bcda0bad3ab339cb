"""The screens in their order. A new one is its file, its template of the same name, and a line here."""

from __future__ import annotations

from shoal.web.screens import check, method, open_table, promise, release, result, roles, understand
from shoal.web.screens.screen import Screen

SCREENS: tuple[Screen, ...] = (
    open_table.SCREEN,
    understand.SCREEN,
    roles.SCREEN,
    promise.SCREEN,
    method.SCREEN,
    result.SCREEN,
    release.SCREEN,
    check.SCREEN,
)
BY_WORD = {screen.word: screen for screen in SCREENS}
