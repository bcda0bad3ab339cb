"""The server of the app: pages without data, screens for whoever has the token, and what can be done on them.

GET  /WORD             the page of a screen: empty, the same for everybody
GET  /s/WORD           what it shows, as HTML or, asked for it, as JSON
POST /do/WORD/ACTION   does something on a screen, and gives what it shows then
POST /all/ACTION       undo, redo, cancel, ticket
PUT  /upload/NAME      hands in a file
GET  /ticket/WORD      a file for the browser itself, once
GET  /static/NAME      style, scripts, icon
"""

from __future__ import annotations

import difflib
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from shoal.errors import InputError, ShoalError
from shoal.show.markup import templates
from shoal.web.command import same_as
from shoal.web.project import Policy, StaleError
from shoal.web.screens import BY_WORD, SCREENS
from shoal.web.screens.screen import Screen
from shoal.web.security import REPORT, Guard
from shoal.web.shown import FILTERS
from shoal.web.visit import Desk, Go, Problem, Visit
from shoal.web.workers import WorkingError

BODY = 1 << 20  # bytes of what an action is asked by
SPARE = 64 << 20  # bytes that stay free on the disk
ASSETS = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "vendor/htmx-4.0.1.min.js": "text/javascript",
}
STATIC = files("shoal.web") / "static"


class TooLargeError(InputError):
    """More was sent than is taken."""


def application(desk: Desk) -> Guard:
    """The app for one project."""
    return Guard(Starlette(routes=routes(desk), lifespan=_lifespan(desk)), desk.gate, is_public)


def is_public(path: str) -> bool:
    """Whether a path holds no data: pages and assets, and what a ticket opens instead of the token."""
    return path in PAGES or path.startswith(("/static/", "/ticket/"))


PAGES = frozenset({"/", *(f"/{screen.word}" for screen in SCREENS)})


def routes(desk: Desk) -> list[Route]:
    """Every way to ask for something."""
    server = Server(desk)
    return [
        *(Route(path, server.page) for path in sorted(PAGES)),
        Route("/static/{name:path}", server.asset),
        Route("/ticket/{word}", server.ticket),
        Route("/s/{word}", server.screen),
        Route("/do/{word}/{action}", server.act, methods=["POST"]),
        Route("/all/{action}", server.act_on_all, methods=["POST"]),
        Route("/upload/{name:path}", server.upload, methods=["PUT"]),
    ]


def _lifespan(desk: Desk) -> Any:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        desk.project.open()
        desk.reader.start()
        try:
            yield
        finally:
            await desk.reader.close()
            await desk.maker.close()
            desk.project.close()

    return lifespan


class Server:
    """What answers each request."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.pages = templates("shoal.web")
        self.pages.filters |= FILTERS

    # ---- without the token

    async def page(self, request: Request) -> Response:
        """The page that every screen is put into. It holds nothing of the project, not even its name."""
        return _html(self.pages.get_template("page.html").render(), 200)

    async def asset(self, request: Request) -> Response:
        """Style, script or icon."""
        name = request.path_params["name"]
        if name not in ASSETS:
            return Response("There is no such file.", 404, media_type="text/plain")
        return Response(_asset(name), media_type=ASSETS[name], headers={"cache-control": "no-cache"})

    async def ticket(self, request: Request) -> Response:
        """A file of a release: the report to be read, anything else to be kept."""
        file = self.desk.gate.redeem(request.path_params["word"])
        if file is None or not file.is_file():
            return Response("This link holds once, and for a minute: ask for it anew.", 401, media_type="text/plain")
        if file.suffix == ".html":
            return FileResponse(file, media_type="text/html", headers={"content-security-policy": REPORT})
        return FileResponse(file, media_type="application/octet-stream", filename=file.name)

    # ---- with it

    async def screen(self, request: Request) -> Response:
        """What a screen shows now."""
        screen = BY_WORD.get(request.path_params["word"])
        if screen is None:
            return Response("There is no such screen.", 404, media_type="text/plain")
        return await self._shown(request, screen, dict(request.query_params))

    async def act(self, request: Request) -> Response:
        """Does something on a screen. What is refused is said at its control, and nothing was changed."""
        screen = BY_WORD.get(request.path_params["word"])
        action = screen.actions.get(request.path_params["action"]) if screen else None
        if screen is None or action is None:
            return Response("There is no such action.", 404, media_type="text/plain")
        query = dict(request.query_params)
        try:
            form = await _form(request)
        except InputError as error:
            return Response(str(error), 413 if isinstance(error, TooLargeError) else 400, media_type="text/plain")
        try:
            go = await action(self._visit(query), form)
        except StaleError as error:
            return self._stale(request, screen, str(form.get("since", "")), str(error))
        except WorkingError:
            go = None
        except ShoalError as error:
            where = getattr(error, "where", "") or str(form.get("at", request.path_params["action"]))
            return await self._shown(request, screen, query, Problem(where, str(error)), 422)
        if go is None:
            return await self._shown(request, screen, query)
        word, _, rest = go.address.lstrip("/").partition("?")
        return await self._shown(request, BY_WORD[word], _query(rest), go=go)

    async def act_on_all(self, request: Request) -> Response:
        """Does what every screen offers."""
        try:
            form = await _form(request)
        except InputError as error:
            return Response(str(error), 413 if isinstance(error, TooLargeError) else 400, media_type="text/plain")
        action = request.path_params["action"]
        screen = BY_WORD.get(str(form.get("screen", "")), SCREENS[0])
        query = {key: str(value) for key, value in form.items() if key not in ("since", "screen")}
        if action == "ticket":
            return self._new_ticket(form)
        if action in ("undo", "redo"):
            self.desk.project.history.step(-1 if action == "undo" else 1)
        elif action == "cancel":
            await self.desk.maker.stop()
        else:
            return Response("There is no such action.", 404, media_type="text/plain")
        return await self._shown(request, screen, query)

    def _new_ticket(self, form: Mapping[str, Any]) -> Response:
        """A ticket for a file of a release."""
        try:
            path = self.desk.project.file(form.get("file"))
            if path.relative_to(self.desk.project.folder).parts[0] != "releases":
                raise InputError("Only the files of a release are handed out.")
        except InputError as error:
            return Response(str(error), 422, media_type="text/plain")
        return JSONResponse({"ticket": self.desk.gate.ticket(path)})

    async def upload(self, request: Request) -> Response:
        """Takes a file in, as it comes, beside the policy; whole or not at all."""
        from shoal.data.paths import atomic_write

        try:
            path = self.desk.project.new_file(request.path_params["name"])
            with atomic_write(path, private=True) as partial, partial.open("wb") as file:
                async for chunk in request.stream():
                    if shutil.disk_usage(path.parent).free < SPARE + len(chunk):
                        raise InputError("There is no room left on the disk for this file: nothing of it was kept.")
                    file.write(chunk)
        except InputError as error:
            return Response(str(error), 422, media_type="text/plain")
        except ClientDisconnect:
            return Response("The file did not come whole: nothing of it was kept.", 400, media_type="text/plain")
        return JSONResponse({"name": path.name})

    # ---- what is shown

    def _visit(self, query: Mapping[str, str], problem: Problem | None = None) -> Visit:
        return Visit(self.desk, self.desk.project.policy(), query, problem)

    async def _shown(
        self,
        request: Request,
        screen: Screen,
        query: Mapping[str, str],
        problem: Problem | None = None,
        status: int = 200,
        go: Go | None = None,
    ) -> Response:
        """A screen as it is now; while what it needs is under way, how far that is."""
        template, context = f"{screen.word}.html", dict[str, Any]()
        try:
            visit = self._visit(query, problem)
        except InputError as error:  # the policy is no TOML: all that can be done is to undo
            visit = Visit(self.desk, Policy("", "", {}), query)
            template, context, status = "wrong.html", {"sentence": str(error)}, 422
        else:
            try:
                context = await screen.show(visit)
            except WorkingError as working:
                template, context = "working.html", {"working": working.task.to_dict()}
            except ShoalError as error:
                template, context = "wrong.html", {"sentence": str(error)}
                status = 422 if _wants_json(request) else status
        return self._answer(request, screen, visit, template, context, status, go)

    def _stale(self, request: Request, screen: Screen, since: str, sentence: str) -> Response:
        """Both versions of the policy, where it was changed in another tab."""
        visit = self._visit({})
        former = self.desk.project.history.text_of(since)
        lines = difflib.unified_diff(
            (former or "").splitlines(), visit.policy.text.splitlines(), "as you saw it", "as it is", lineterm=""
        )
        context = {"sentence": sentence, "lines": [line for line in lines if not line.startswith("@@")][:200]}
        return self._answer(request, screen, visit, "stale.html", context, 409, None)

    def _answer(
        self,
        request: Request,
        screen: Screen,
        visit: Visit,
        template: str,
        context: Mapping[str, Any],
        status: int,
        go: Go | None,
    ) -> Response:
        undo, redo = self.desk.project.history.steps()
        current = self.desk.maker.current
        about: dict[str, Any] = {
            "screen": screen.word,
            "since": visit.policy.digest,
            "undo": undo,
            "redo": redo,
            "job": None if current is None else current.to_dict(),
            "problem": None if visit.problem is None else vars(visit.problem),
        }
        headers = {"x-shoal-since": visit.policy.digest} if status != 409 else {}
        headers |= {} if go is None else {"x-shoal-go": quote(go.address, safe="/?=&%+")}
        if _wants_json(request):
            return JSONResponse({**about, **context}, status, headers)
        page = self.pages.get_template(template).render(
            **about,
            **context,
            title=screen.title,
            query=visit.query,
            steps=[
                {"word": each.word, "title": each.title, "state": each.state(visit), "step": each.step}
                for each in SCREENS
            ],
            same=same_as(screen.word, visit.policy, visit.query),
            name=self.desk.project.folder.name,
        )
        return _html(page, status, headers)


async def _form(request: Request) -> dict[str, Any]:
    """What an action is asked by: an object of JSON, not too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY:
            raise TooLargeError("This is more than a form can hold.")
    try:
        form = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError("This is no JSON.") from None
    if not isinstance(form, dict):
        raise InputError("This is no form.")
    return form


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def _query(text: str) -> dict[str, str]:
    return dict(parse_qsl(text))


def _html(page: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(page, status, dict(headers or {}), media_type="text/html")


@cache
def _asset(name: str) -> bytes:
    """The bytes of an asset; the style goes on from that of the report."""
    own = Path(str(STATIC)) / name
    if name == "app.css":
        return (templates().get_template("page.css").render() + own.read_text(encoding="utf-8")).encode()
    return own.read_bytes()
