"""Starting the app: one address on this machine alone, a link with its token, and a browser that is shown it."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

from shoal.errors import InputError, extra_package
from shoal.web.project import Project

LOOPBACK = "127.0.0.1"
DEMO = "demo"


def folder_of(named: Path | None) -> Path:
    """The folder to work in: as named, or the current one; `demo` is made where there is none."""
    folder = named or Path()
    if not folder.exists() and str(folder) == DEMO:
        folder.mkdir()
    if not folder.is_dir():
        raise InputError(
            f"There is no folder {str(folder)!r}: name one that holds your table, or {DEMO!r} to try the app out."
        )
    return folder


def serve(folder: Path, port: int, *, browser: bool, say: Callable[[str], None]) -> None:
    """Serves the folder until it is interrupted."""
    uvicorn = extra_package("uvicorn", "The app", "ui")
    extra_package("starlette", "The app", "ui")
    extra_package("tomlkit", "The app", "ui")
    from shoal.web.security import Gate
    from shoal.web.server import application
    from shoal.web.visit import Desk
    from shoal.web.workers import Process

    listening = _listen(port)
    port = listening.getsockname()[1]
    gate = Gate((f"{LOOPBACK}:{port}", f"localhost:{port}"))
    project = Project(folder)
    project.open()
    desk = Desk(project, Process("reader", project.folder), Process("maker", project.folder), gate)

    def link() -> str:
        return f"http://{LOOPBACK}:{port}/#{gate.token}"

    say(f"Shoal works in {project.folder}, for this machine alone. Open:\n\n  {link()}\n\nCtrl-C ends it.")
    if sys.stdin is not None and sys.stdin.isatty():
        threading.Thread(target=_renew, args=(gate.renew, link, say), daemon=True).start()
    if browser:
        _show(project, link())
    config = uvicorn.Config(
        application(desk), log_level="warning", access_log=False, server_header=False, ws="none", timeout_keep_alive=30
    )
    uvicorn.Server(config).run(sockets=[listening])


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(64)  # before the link is shown: whoever opens it at once is waited for
    except OSError as error:
        raise InputError(f"Port {port} cannot be used: {error.strerror}. Leave out --port, or name another.") from None
    return listening


def _renew(renew: Callable[[], str], link: Callable[[], str], say: Callable[[str], None]) -> None:
    """Enter in the terminal prints a fresh link; the old one opens nothing any more."""
    for _ in sys.stdin:
        renew()
        say(f"  {link()}")


def _show(project: Project, link: str) -> None:
    """Has the browser open the link, from a file: on a command line every user of the machine could read it."""
    page = project.work / "open.html"
    page.touch(mode=0o600)
    page.write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={link}">', encoding="utf-8")
    webbrowser.open(page.as_uri())
