"""Three kinds of tests: unit, database and process; each test has one, and is held to it."""

import sys
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

KINDS = ("unit", "database", "process")
# Whatever asks for one of these, itself or through other fixtures.
STARTS_PROCESSES = {"ground", "library", "seeded"}
SERVERS = {"broker_url", "database_url"}
USES_SERVERS = SERVERS | {"db", "live_server", "transactional_db"}


# Where most tests start programs, in two rows; of other folders' few, each may run beside these.
ROWS = {
    "tests/agent/": "nodes",
    "tests/scheduler_service/embedded/": "nodes",
    "tests/client/live/": "service",
    "tests/console/browser/": "nodes",
    "tests/live/": "service",
}


class ProcessesInRows(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Tests that wait on clocks run one after another, each row on a worker, beside all others.

    Marks of xdist_group do not reach the controller: xdist 3.8 writes them where pytest 9.2 no
    longer looks.
    """

    def _split_scope(self, nodeid: str) -> str:
        return next((row for folder, row in ROWS.items() if nodeid.startswith(folder)), nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ProcessesInRows:
    return ProcessesInRows(config, log)


def kind_of(fixtures: Collection[str], marks: Collection[str]) -> str:
    """A mark says what no fixture shows: that the test itself starts processes."""
    if "process" in marks or not STARTS_PROCESSES.isdisjoint(fixtures):
        return "process"
    if "django_db" in marks or not USES_SERVERS.isdisjoint(fixtures):
        return "database"
    return "unit"


class ProcessStarted(Exception):
    """A test that is not of the kind `process` started one."""


class _Guard:
    """What the running test may do; audit hooks stay until the interpreter ends."""

    def __init__(self) -> None:
        self.closed = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.closed and event in {"subprocess.Popen", "os.fork", "os.posix_spawn"}:
            raise ProcessStarted(f"{event} {args[:1]}: mark this test with pytest.mark.process")


_guard = _Guard()


def _commits(item: pytest.Item) -> bool:
    """Whether every table is emptied after it, because no transaction is rolled back."""
    marked = item.get_closest_marker("django_db")
    fixtures = getattr(item, "fixturenames", ())
    return bool(marked and marked.kwargs.get("transaction")) or "transactional_db" in fixtures


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        kind = kind_of(fixtures, {mark.name for mark in item.iter_markers()})
        item.add_marker(kind)
        if _commits(item):
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _guard.closed = item.get_closest_marker("process") is None
    try:
        return (yield)
    finally:
        _guard.closed = False


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    """The servers that tests of the kind `database` share start with whichever comes first."""
    before = _guard.closed
    _guard.closed = before and fixturedef.argname not in SERVERS
    try:
        return (yield)
    finally:
        _guard.closed = before
