"""Nobody but the page with the token gets anything, from anywhere; and no name leads out of the folder."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.conftest import CSV

if TYPE_CHECKING:
    from tests.web.client import Client

WRITES = [("POST", "/do/open/choose"), ("POST", "/all/undo"), ("PUT", "/upload/x.csv")]
HTMX = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"
EVIL = [
    '<img src=x onerror="alert(1)">', '"><script>alert(1)</script>', "{{7*7}}", "{% raw %}", "javascript:alert(1)",
    "\u202egnp.exe", "x" * 10_000, "a\tb", "'; DROP TABLE", "&lt;b&gt;",
]  # fmt: skip
ESCAPES = [
    "../secret.csv", "/etc/passwd", "sub/../../secret.csv", "link.csv", "file:///etc/passwd", "sqlite:///x.db#t",
    "d.csv\0.txt", "~/d.csv", "C:\\d.csv", "\\\\host\\d.csv", "/dev/stdin", "shoal.toml", "work/.gitignore",
    "history/0001.toml", "", ".", "linked/d.csv", "pipe.csv", "d.csv\n",
]  # fmt: skip


class Markup(HTMLParser):
    """Elements and attributes that no screen of ours has."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        foreign = tag in ("img", "script", "iframe", "style", "object", "embed", "base", "link", "meta")
        for name, value in attrs:
            foreign |= name.startswith("on") or name in ("style", "src", "srcdoc", "formaction", "hx-on")
            foreign |= name in ("href", "action") and not (value or "").startswith("/")
            foreign |= name in ("id", "class") and any(mark in (value or "") for mark in "<>'\"(")
        self.foreign += [self.get_starttag_text() or tag] if foreign else []


def markup(page: str) -> list[str]:
    parser = Markup()
    parser.feed(page)
    return parser.foreign


def ways(client: Client) -> list[tuple[str, str]]:
    """Every route with each of its methods, its parameters filled in."""
    from shoal.web.server import routes

    filled = {"{word}": "open", "{action}": "choose", "{name:path}": "app.css"}
    found = []
    for route in routes(client.desk):
        path = route.path
        for name, value in filled.items():
            path = path.replace(name, value)
        found += [(method, path) for method in sorted(route.methods or ())]
    return found


def asked(client: Client, method: str, path: str, body: Any = None, **changed: str | None) -> Any:
    from tests.web.client import run

    return run(lambda: client.ask(method, path, {} if body is None and method == "POST" else body, **changed))


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1", "127.0.0.1:81", "", None])
def test_another_host_is_not_this_server(client: Client, host: str | None) -> None:
    for method, path in ways(client):
        assert asked(client, method, path, host=host).status == 421, path


@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer wrong", "Basic eDp5", "bearer {0}", "Bearer {0}x"])
def test_no_route_but_pages_and_assets_answers_without_the_token(client: Client, token: str | None) -> None:
    given = None if token is None else token.format(client.desk.gate.token)
    statuses = {(m, p): asked(client, m, p, authorization=given).status for m, p in ways(client)}
    public = {path for (_, path), status in statuses.items() if status == 200}
    assert public == {"/", *(f"/{word}" for word in ("open", "understand", "roles", "promise", "method", "result",
                                                      "release", "check")), "/static/app.css"}  # fmt: skip
    assert {status for (_, path), status in statuses.items() if path not in public} == {401}


def test_an_old_token_opens_nothing_any_more(client: Client) -> None:
    old = client.desk.gate.token
    assert asked(client, "GET", "/s/open").status == 200
    client.desk.gate.renew()
    assert asked(client, "GET", "/s/open", authorization=f"Bearer {old}").status == 401


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:81", "https://127.0.0.1:8000", None]
)
def test_what_another_page_asks_for_is_refused(client: Client, method: str, path: str, origin: str | None) -> None:
    assert asked(client, method, path, origin=origin).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_nor_does_another_page_or_port_read_a_screen(client: Client, site: str) -> None:
    assert asked(client, "GET", "/s/open", sec_fetch_site=site).status == 403
    assert asked(client, "GET", "/s/open", origin="http://127.0.0.1:81").status == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_what_a_form_of_another_page_can_send_is_refused(client: Client, kind: str | None) -> None:
    assert asked(client, "POST", "/do/open/choose", content_type=kind).status == 415


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"[" * 100_000, b'"x"', b"\xff"])
def test_what_is_no_form_is_refused(client: Client, body: bytes) -> None:
    assert asked(client, "POST", "/do/open/choose", body).status == 400


def test_a_form_has_a_largest_size(client: Client) -> None:
    assert asked(client, "POST", "/do/open/choose", b'"' + b"x" * (1 << 20) + b'"').status == 413


def test_every_answer_has_the_headers_that_keep_it_from_leaking(client: Client) -> None:
    for method, path in [*ways(client), ("GET", "/nowhere"), ("POST", "/s/open")]:
        for host in ("127.0.0.1:8000", "evil.example"):
            headers = asked(client, method, path, host=host).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] in ("no-store", "no-cache")
            assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
            assert "set-cookie" not in headers


def test_the_page_holds_nothing_of_the_project(client: Client) -> None:
    pages = {asked(client, "GET", path).text for path in ("/", "/roles", "/release")}
    [page] = pages
    assert "hospital" not in page
    assert client.desk.gate.token not in page


def test_the_token_stands_in_no_answer_and_in_no_file(client: Client, folder: Path) -> None:
    for word in ("open", "check"):
        for accept in ("text/html", "application/json"):
            answer = asked(client, "GET", f"/s/{word}", accept=accept)
            assert client.desk.gate.token not in answer.text + str(answer.headers)
    for path in folder.rglob("*"):
        assert not path.is_file() or client.desk.gate.token.encode() not in path.read_bytes()


@pytest.mark.parametrize("name", ESCAPES)
def test_no_name_leads_out_of_the_folder_whatever_field_it_stands_in(client: Client, folder: Path, name: str) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "linked").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe.csv")
    before = client.text
    for path, key in (("/do/open/choose", "name"), ("/do/check/check", "file"), ("/do/check/check", "certificate")):
        form = {"file": "d.csv", "since": client.since, key: name}
        if name or key != "certificate":  # which may be left out
            assert asked(client, "POST", path, form).status == 422, path
    assert asked(client, "POST", "/all/ticket", {"file": name}).status == 422
    if name:
        address = "/s/check?file=" + name.replace("\n", "%0a").replace("\0", "%00")
        assert asked(client, "GET", address).status == 422
    assert client.text == before


@pytest.mark.parametrize("name", [*ESCAPES, "d.csv", "new.sh", ".hidden.csv", "sub/new.csv", "new.html"])
def test_a_file_is_handed_in_beside_the_policy_or_not_at_all(client: Client, folder: Path, name: str) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "not-there.csv")
    os.mkfifo(folder / "pipe.csv")
    present = sorted(folder.parent.rglob("*"))
    assert asked(client, "PUT", f"/upload/{name}", b"x").status in (404, 422)
    assert sorted(folder.parent.rglob("*")) == present


def test_a_file_that_is_handed_in_lies_there_as_it_came(client: Client, folder: Path) -> None:
    assert asked(client, "PUT", "/upload/new.csv", CSV.encode()).status == 200
    assert (folder / "new.csv").read_text() == CSV
    assert stat.S_IMODE((folder / "new.csv").stat().st_mode) == 0o600


def test_a_file_for_which_there_is_no_room_is_stopped(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.web.server.SPARE", 1 << 62)
    assert "no room" in asked(client, "PUT", "/upload/new.csv", b"x" * 99).text
    assert sorted(path.name for path in folder.iterdir()) == ["d.csv", "work"]


def test_a_ticket_holds_once_for_a_minute_and_for_files_of_a_release(client: Client, folder: Path) -> None:
    place = folder / "releases" / "2026-11-16"
    place.mkdir(parents=True)
    (place / "report.html").write_text("<script>alert(1)</script>")
    (place / "release.csv").write_text("a\n1\n")
    word = asked(client, "POST", "/all/ticket", {"file": "releases/2026-11-16/report.html"}).json["ticket"]
    opened = asked(client, "GET", f"/ticket/{word}", authorization=None)
    assert (opened.status, opened.text) == (200, "<script>alert(1)</script>")
    assert opened.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert asked(client, "GET", f"/ticket/{word}", authorization=None).status == 401
    assert asked(client, "POST", "/all/ticket", {"file": "d.csv"}).status == 422
    word = asked(client, "POST", "/all/ticket", {"file": "releases/2026-11-16/release.csv"}).json["ticket"]
    client.desk.gate.clock = lambda: 1e12
    assert asked(client, "GET", f"/ticket/{word}", authorization=None).status == 401


def test_a_file_is_kept_not_shown(client: Client, folder: Path) -> None:
    (folder / "releases" / "x").mkdir(parents=True)
    (folder / "releases" / "x" / "r.csv").write_text("a\n1\n")
    word = asked(client, "POST", "/all/ticket", {"file": "releases/x/r.csv"}).json["ticket"]
    answer = asked(client, "GET", f"/ticket/{word}", authorization=None)
    assert answer.headers["content-disposition"].startswith("attachment")


def test_work_is_for_the_owner_alone_and_gone_at_the_end(client: Client, folder: Path) -> None:
    work = folder / "work"
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    assert (work / ".gitignore").read_text() == "*\n"
    client.desk.project.close()
    assert not work.exists()


def test_a_link_in_the_place_of_work_is_refused(folder: Path, tmp_path: Path) -> None:
    from shoal.errors import InputError
    from shoal.web.project import Project

    (folder / "work").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is a link"):
        Project(folder).open()


def test_whatever_stands_in_the_table_is_shown_as_text(folder: Path) -> None:
    """Names of columns and files, and values: in no screen do they become markup, or leave the page's text."""
    from tests.web.client import Client, run

    (folder / "d.csv").unlink()
    names = [name[:300].replace(",", " ").replace('"', '""') for name in EVIL]
    header = ",".join(f'"{name}"' for name in names)
    rows = "".join(",".join([f'"{name[:60]}"' for name in names]) + "\n" for _ in range(30))
    source = "<img src=x onerror=alert(1)>.csv"
    (folder / source).write_text(f"{header}\n{rows}")
    client = Client(folder)

    async def story() -> None:
        assert (await client.do("/do/open/choose", {"name": source})).status == 200
        for name in EVIL[:2]:
            assert (await client.do("/do/roles/role", {"column": name, "role": "quasi_identifiers"})).status == 200
        questions = ("recipient", "other_releases", "known", "decided_by", "title", "period", "purpose")
        assert (
            await client.do(
                "/do/release/answers", dict(zip(questions, (name for name in EVIL if len(name) < 500), strict=False))
            )
        ).status == 200
        for word in ("open", "understand", "roles", "promise", "method", "result", "release", "check"):
            page = await client.get(f"/s/{word}", accept="text/html")
            assert page.status == 200, page.text
            assert markup(page.text) == []
        assert "{{7*7}}" in (await client.get("/s/release", accept="text/html")).text

    run(story)


def test_a_project_from_elsewhere_is_data(client: Client, folder: Path) -> None:
    """Its policy can name no file outside and no code, whoever wrote it into the folder."""
    (folder / "evil.py").write_text("raise SystemExit('imported')\n")
    base = 'quasi_identifiers = ["age"]\n[project]\nsource = "d.csv"\n'
    for lines in (
        '[[models]]\nname = "evil:Model"\n',
        '[method]\nname = "evil:Method"\n',
        '[[models]]\nname = "measured-risk"\nlevel = 0.1\nmeasure = "evil:found"\n',
        '[text]\nmask = ["name"]\nmasker = "evil:mask"\n',
        '[attributes.age]\nhierarchy = "../secret.csv"\n',
        '[[models]]\nname = "k-map"\nk = 5\npopulation = "../secret.csv"\n',
        '[[models]]\nname = "k-map"\nk = 5\npopulation = "/etc/passwd"\n',
    ):
        (folder / "shoal.toml").write_text(base + lines)
        answer = asked(client, "GET", "/s/result").json
        assert answer["result"] is None, lines
        assert answer["refused"]["kind"] == "input"
        assert "'imported'" not in json.dumps(answer)
    (folder / "shoal.toml").write_text(base.replace("d.csv", "../secret.csv"))
    assert asked(client, "GET", "/s/result").status == 422
    for source in ("sqlite:///x.db#t", "/etc/passwd"):
        (folder / "shoal.toml").write_text(base.replace("d.csv", source))
        assert asked(client, "GET", "/s/understand").status == 422


def test_a_condition_cannot_call_anything(client: Client) -> None:
    for view in ("order; drop", "__import__('os')", "smallest'", "x" * 9999):
        answer = asked(client, "GET", f"/s/result?view={view}&start=-1e9")
        assert answer.status == 422  # no table is chosen, and nothing was evaluated


def test_htmx_is_the_one_that_was_looked_at_and_comes_with_its_licence() -> None:
    vendor = files("shoal.web") / "static" / "vendor"
    names = sorted(entry.name for entry in vendor.iterdir())
    assert names == ["htmx-4.0.1.LICENSE", "htmx-4.0.1.min.js"]
    assert hashlib.sha256((vendor / "htmx-4.0.1.min.js").read_bytes()).hexdigest() == HTMX
    assert (vendor / "htmx-4.0.1.LICENSE").read_text().startswith("Zero-Clause BSD")


def test_own_and_foreign_assets_are_small_and_name_no_other_host() -> None:
    import gzip

    from shoal.web.server import ASSETS, _asset

    contents = {name: _asset(name) for name in ASSETS}
    assert sum(len(gzip.compress(content)) for content in contents.values()) < 40_000
    for name, content in contents.items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert name.startswith("vendor") or "//" not in text.replace("// ", "")
