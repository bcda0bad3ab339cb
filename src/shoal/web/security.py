"""Who may ask the server for what: nobody but the page that was opened with the token, and nothing from elsewhere.

    Host             exactly this server, or 421: a name that was made to lead here is not believed
    Origin           of this server on everything but pages and assets, or 403
    Authorization    the token on everything but pages and assets, or 401
    Content-Type     JSON on what changes something, or 415: no form of another page can send that

The token is in the address's fragment, which no browser sends anywhere, then in the tab's `sessionStorage`. There is no
cookie: browsers send one to every port of a machine, and so to everybody who can listen on one. What a browser opens
by itself, a report or a download, it asks for by a ticket that holds once and for a minute.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Scope = dict[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}
# A report has its style in itself. In a sandbox it has no origin: whatever stands in it reaches nothing here.
REPORT = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
READING = ("GET", "HEAD")
TICKET_SECONDS = 60.0


@dataclass
class Gate:
    """The secrets of a server: the token of its page, and the tickets that were handed out."""

    hosts: tuple[str, ...]
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _tickets: dict[str, tuple[float, Path]] = field(default_factory=dict, repr=False)
    clock: Callable[[], float] = time.monotonic

    def renew(self) -> str:
        """A new token; the old one opens nothing any more."""
        self.token = secrets.token_urlsafe(32)
        return self.token

    def opens(self, authorization: str) -> bool:
        """Whether the header holds the token."""
        return hmac.compare_digest(authorization.encode(), f"Bearer {self.token}".encode())

    def ticket(self, file: Path) -> str:
        """A ticket for a file."""
        now = self.clock()
        self._tickets = {word: stub for word, stub in self._tickets.items() if stub[0] > now}
        word = secrets.token_urlsafe(32)
        self._tickets[word] = now + TICKET_SECONDS, file
        return word

    def redeem(self, word: str) -> Path | None:
        """The file of a ticket, once."""
        until, file = self._tickets.pop(word, (0.0, None))
        return file if until > self.clock() else None


def refusal(method: str, headers: list[tuple[bytes, bytes]], gate: Gate, *, public: bool) -> tuple[int, str] | None:
    """Why a request is refused: the status and a sentence; None where it is not."""
    hosts = _values(headers, b"host")
    if len(hosts) != 1 or hosts[0] not in gate.hosts:
        return 421, "This server goes by another name: open the link that the terminal shows."
    if public and method in READING:
        return None
    origins, sites = _values(headers, b"origin"), _values(headers, b"sec-fetch-site")
    foreign = any(origin != f"http://{hosts[0]}" for origin in origins) or len(origins) > 1
    if foreign or (method not in READING and not origins) or any(site not in ("same-origin", "none") for site in sites):
        return 403, "Another page asked for this: only the app's own page may."
    tokens = _values(headers, b"authorization")
    if len(tokens) != 1 or not gate.opens(tokens[0]):
        return (
            401,
            "This page is no longer known: open the link that the terminal shows (Enter there prints a new one).",
        )
    if method not in READING:
        wanted = "application/octet-stream" if method == "PUT" else "application/json"
        if [value.partition(";")[0].strip() for value in _values(headers, b"content-type")] != [wanted]:
            return 415, f"What is sent here is {wanted}."
    return None


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


class Guard:
    """Stands before the app: refuses, and gives every answer the headers that keep it from leaking."""

    def __init__(self, app: App, gate: Gate, is_public: Callable[[str], bool]) -> None:
        self.app, self.gate, self.is_public = app, gate, is_public

    async def __call__(
        self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        """Passes a request on, or answers it with the reason why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no sockets here
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _with(message["headers"], HEADERS)}
            await send(message)

        refused = refusal(
            scope["method"], list(scope["headers"]), self.gate, public=self.is_public(scope["path"])
        )  # fmt: skip
        if refused is None:
            await self.app(scope, receive, send_guarded)
            return
        status, sentence = refused
        head = [(b"content-type", b"text/plain; charset=utf-8")]
        await send_guarded({"type": "http.response.start", "status": status, "headers": head})
        await send_guarded({"type": "http.response.body", "body": sentence.encode()})


def _with(headers: Any, more: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """The headers and those that every answer has; what an answer says of the same itself stays."""
    own = [(key.lower(), value) for key, value in headers]
    stated = {key for key, _ in own}
    return [*own, *((key.encode(), value.encode()) for key, value in more.items() if key.encode() not in stated)]
