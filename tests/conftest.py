"""After a run of all tests, messages for users that no test provoked are listed (`tests/messages.py`).

They do not fail the run: random tests provoke some of them, and not every time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from shoal.catalogue import Catalogue, Registry
from shoal.data.files import FORMATS
from shoal.data.generators import GENERATORS
from shoal.masking import METHODS
from shoal.measure import MEASURES
from shoal.privacy import MODELS
from shoal.risk.attack import ATTACKS
from tests import messages

CATALOGUES: tuple[Catalogue[Any], ...] = (METHODS, MODELS, GENERATORS)
REGISTRIES: tuple[Registry[Any], ...] = (MEASURES, ATTACKS, FORMATS)

_open: list[str] = []  # what is wrong with the messages, found at the end


# No test measures time. What `make test` says does not depend on chance; `make test-all` looks further each time.
settings.register_profile("shoal", deadline=None, max_examples=10, derandomize=True)
settings.register_profile("all", deadline=None, max_examples=200)
settings.load_profile("shoal")


@pytest.fixture(autouse=True)
def catalogue_as_it_was() -> Iterator[None]:
    """What a test, or a guide's code, adds to the catalogues is taken out again, and its modules are forgotten."""
    added = [dict(catalogue._added) for catalogue in CATALOGUES]
    registered = [dict(registry.loaded()) for registry in REGISTRIES]
    folders = list(sys.path)
    yield
    for catalogue, before in zip(CATALOGUES, added, strict=True):
        catalogue._added = before
    for registry, before in zip(REGISTRIES, registered, strict=True):
        registry.clear()
        registry.update(before)
    own = {Path(folder) for folder in sys.path if folder not in folders}
    sys.path[:] = folders
    for name, module in list(sys.modules.items()) if own else ():
        if Path(getattr(module, "__file__", None) or "/").parent in own:
            del sys.modules[name]


def pytest_configure(config: pytest.Config) -> None:
    messages.listen()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share what is made once a module run in one process, or it would be made twice."""
    for item in items:
        shared = (fixture for same_name in item._fixtureinfo.name2fixturedefs.values() for fixture in same_name)  # type: ignore[attr-defined]
        if any(fixture.scope == "module" for fixture in shared) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_collection_finish(session: pytest.Session) -> None:
    """A group that is not kept together would be made once in each process, in silence."""
    if hasattr(session.config, "workerinput"):
        grouped = [item for item in session.items if item.get_closest_marker("xdist_group")]
        assert all("@" in item.nodeid for item in grouped), "This pytest-xdist does not keep groups of tests together."


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Whichever test on Spark comes first: it finds the session that all of them share."""
    group = item.get_closest_marker("xdist_group")
    if group is not None and group.args == ("spark",):
        from tests.engines.sessions import needs_spark, the_spark

        needs_spark()
        the_spark()


def pytest_testnodedown(node: Any, error: object) -> None:
    """What a worker heard; it ends before all does."""
    messages.heard.update(getattr(node, "workeroutput", {}).get("messages", {}))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["messages"] = messages.heard
    elif exitstatus == 0 and _all_tests(config):
        _open.extend(f"no test provokes {site}" for site in messages.missing(messages.heard))
        _open.extend(f"no help: {message}" for message in messages.unhelpful(messages.heard))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _open:
        terminalreporter.section("messages", red=True)
        terminalreporter.write_line("\n".join(_open))


def _all_tests(config: pytest.Config) -> bool:
    options = ("keyword", "markexpr", "deselect", "lf", "failedfirst", "collectonly")
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not any(map(config.getoption, options))
