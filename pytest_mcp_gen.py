"""pytest plugin of mcp_gen: tests MCP servers and clients at every revision, and judges each frame.

pytest loads it in every run, so it imports nothing of mcp_gen before a test uses it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pytest

if TYPE_CHECKING:
    from mcp_gen import Client, ClientSession
    from mcp_gen.compat.plugin.connecting import Refused
    from mcp_gen.compat.plugin.judged_test import JudgedTest
    from mcp_gen.compat.plugin.sync_session import SyncSession
    from mcp_gen.compat.plugin.zoo import McpZoo
    from mcp_gen.compat.recordings.replaying.replay import ReplayReport

F = TypeVar("F", bound=Callable[..., Any])

MARKER = (
    'mcp_revisions("all") or mcp_revisions("2025-06-18", ...): run the test once per revision of '
    "MCP: all that the server speaks, or those that are named"
)
RECORDING = (
    "mcp_recording(file, revision=None, ignore=()): play a recording against the server under "
    "test; use the decorator `mcp_recording` of this module"
)
LOOP_SCOPES = ("function", "class", "module", "package", "session")
ROW = "mcp_gen"
"""Name of the attribute of a report that carries the row of the summary from xdist's workers."""

_test: pytest.StashKey[JudgedTest] = pytest.StashKey()
_differs: pytest.StashKey[str] = pytest.StashKey()
"""Report of a replay with differences that the test itself does not look at."""


# --- options ---


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings."""
    group = parser.getgroup("mcp", "tests of MCP servers and clients (mcp_gen)")
    group.addoption(
        "--mcp-over",
        choices=("memory", "stdio", "http"),
        help="how `mcp_session` reaches the server; default: as the server needs it",
    )
    group.addoption("--mcp-html", metavar="FILE", help="write a report on all judged tests")
    parser.addini("mcp_over", "memory, stdio or http: how `mcp_session` reaches the server")
    parser.addini("mcp_server", "server under test: file.py, a command or a URL")
    parser.addini(
        "mcp_fail_on",
        "findings that fail a test: must (default), should (these as well) or never",
        default="must",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker, and the fixtures that pytest-asyncio runs if it is there."""
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", RECORDING)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Summary(config), "mcp_gen_summary")
    if _has_asyncio(config):
        config.pluginmanager.register(_asyncio_fixtures(), "mcp_gen_asyncio")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a marked test once per revision."""
    marker = metafunc.definition.get_closest_marker("mcp_revisions")
    if marker is None or "mcp_revision" not in metafunc.fixturenames:
        return
    # Loaded by tests that use it.
    from mcp_wire import REVISIONS

    wanted = REVISIONS if marker.args == ("all",) else marker.args
    unknown = [repr(name) for name in wanted if name not in REVISIONS]
    if unknown or not wanted:
        got = ", ".join(unknown) or "none"
        known = ", ".join(map(repr, REVISIONS))
        pytest.fail(f'mcp_revisions: expected "all" or some of {known}; got {got}', pytrace=False)
    metafunc.parametrize("mcp_revision", wanted, ids=wanted)


# --- fixtures ---


@pytest.fixture
def mcp_revision() -> str | None:
    """Revision of this run of the test; None for the newest that both sides speak."""
    return None


@pytest.fixture
def mcp_server(pytestconfig: pytest.Config) -> Any:
    """Server under test. Override it: return any target of `Client.connect`, or an ASGI app."""
    server = pytestconfig.getini("mcp_server")
    if not server:
        pytest.fail(
            "no server under test: write a fixture `mcp_server` that returns one, or set "
            "`mcp_server = server.py` in the settings of pytest",
            pytrace=False,
        )
    return server


@pytest.fixture
def mcp_client() -> Client:
    """Client of `mcp_session`. Override it for handlers of sampling, elicitation and roots."""
    # Loaded by tests that use it.
    from mcp_gen import Client

    return Client("pytest", "1.0.0")


@pytest.fixture
def mcp_session(
    request: pytest.FixtureRequest,
    mcp_server: Any,
    mcp_client: Client,
    mcp_revision: str | None,
) -> ClientSession:
    """Session with the server under test at the revision of this run; each frame is judged."""
    _judged(request, mcp_revision)
    return _agreed(request, request.getfixturevalue(_fixture_of_loop(request)))


@pytest.fixture
def mcp_sync_session(
    request: pytest.FixtureRequest,
    mcp_server: Any,
    mcp_client: Client,
    mcp_revision: str | None,
) -> Iterator[SyncSession]:
    """`mcp_session` for plain `def` tests: its event loop runs in a thread of its own."""
    _judged(request, mcp_revision)
    # Loaded by tests that use it.
    from mcp_gen.compat.plugin.sync_session import LoopThread, SyncSession

    thread = LoopThread()
    try:
        connected = thread.enter(_connection(request, mcp_server, mcp_client))
        yield SyncSession(_agreed(request, connected), thread)
    finally:
        thread.close()


def _agreed(request: pytest.FixtureRequest, session: ClientSession | Refused) -> ClientSession:
    """Return a session; skip or fail the test if the server has refused the revision."""
    # Loaded by tests that use it.
    from mcp_gen.compat.plugin.connecting import Refused

    if isinstance(session, Refused):
        marker = _test_of(request).get_closest_marker("mcp_revisions")
        if marker is not None and marker.args == ("all",):
            pytest.skip(session.text)
        pytest.fail(session.text, pytrace=False)
    return session


@pytest.fixture
def mcp_zoo(
    request: pytest.FixtureRequest,
    mcp_revision: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[McpZoo]:
    """Servers for a test of a client: a strict one, and those that break one rule each."""
    # Loaded by tests that use it.
    from mcp_gen.compat.plugin.zoo import McpZoo
    from mcp_wire import LATEST

    folders: list[Path] = []

    def folder() -> Path:
        if not folders:
            folders.append(tmp_path_factory.mktemp("mcp_zoo"))
        return folders[0]

    def skip(why: str) -> NoReturn:
        pytest.skip(why)

    zoo = McpZoo(_judged(request, mcp_revision or LATEST), folder, skip)
    yield zoo
    zoo.close()


@pytest.fixture
async def _mcp_session_of_anyio(
    request: pytest.FixtureRequest,
    mcp_server: Any,
    mcp_client: Client,
) -> AsyncIterator[Any]:
    async for session in _connected(request, mcp_server, mcp_client):
        yield session


def _asyncio_fixtures() -> ModuleType:
    """Return a plugin with a fixture of pytest-asyncio for each scope of its event loops."""
    pytest_asyncio: Any = sys.modules["pytest_asyncio"]
    holder = ModuleType("mcp_gen_asyncio")
    for scope in LOOP_SCOPES:

        async def connected(
            request: pytest.FixtureRequest, mcp_server: Any, mcp_client: Client
        ) -> AsyncIterator[Any]:
            async for session in _connected(request, mcp_server, mcp_client):
                yield session

        name = f"_mcp_session_of_asyncio_{scope}"
        setattr(holder, name, pytest_asyncio.fixture(connected, loop_scope=scope, name=name))
    return holder


async def _connected(
    request: pytest.FixtureRequest, mcp_server: Any, mcp_client: Client
) -> AsyncIterator[Any]:
    async with _connection(request, mcp_server, mcp_client) as session:
        yield session


def _connection(
    request: pytest.FixtureRequest, mcp_server: Any, mcp_client: Client
) -> AbstractAsyncContextManager[ClientSession | Refused]:
    # Loaded by tests that use it.
    from mcp_gen.compat.plugin.connecting import connected

    config = request.config
    over = config.getoption("--mcp-over") or config.getini("mcp_over")
    root = config.inipath.parent if config.inipath else config.rootpath
    return connected(_test_of(request).stash[_test], mcp_client, mcp_server, over, root)


def _test_of(request: pytest.FixtureRequest) -> Any:
    """Return the test that a fixture is for; not every version of pytest gives `node` a type."""
    untyped: Any = request
    return untyped.node


def _fixture_of_loop(request: pytest.FixtureRequest) -> str:
    """Return the name of the fixture that connects in the event loop of the test."""
    node = _test_of(request)
    config = request.config
    marker = node.get_closest_marker("asyncio")
    if marker is not None and _has_asyncio(config):
        scope = marker.kwargs.get("loop_scope") or marker.kwargs.get("scope")
        scope = scope or config.getini("asyncio_default_test_loop_scope") or "function"
        return f"_mcp_session_of_asyncio_{scope}"
    if "anyio_backend" in node.fixturenames and config.pluginmanager.has_plugin("anyio"):
        backend = request.getfixturevalue("anyio_backend")
        name = backend if isinstance(backend, str) else backend[0]
        if name != "asyncio":
            pytest.skip(f"mcp_session runs on asyncio, and this run of the test on {name}")
        return "_mcp_session_of_anyio"
    pytest.fail(_missing_runner(node, config), pytrace=False)


def _missing_runner(node: Any, config: pytest.Config) -> str:
    # Loaded for an error alone.
    from inspect import iscoroutinefunction

    if not iscoroutinefunction(node.obj):
        return (
            "mcp_session is for `async def` tests: write `async def` and `await`, or take "
            "`mcp_sync_session`"
        )
    if _has_asyncio(config) or config.pluginmanager.has_plugin("anyio"):
        mark = "asyncio" if _has_asyncio(config) else "anyio"
        return f"nothing runs this `async def` test: mark it with `@pytest.mark.{mark}`"
    return "nothing runs `async def` tests here: install pytest-asyncio (or anyio)"


def _has_asyncio(config: pytest.Config) -> bool:
    return config.pluginmanager.has_plugin("asyncio") and "pytest_asyncio" in sys.modules


def _judged(request: pytest.FixtureRequest, revision: str | None) -> JudgedTest:
    """Return what judges the running test."""
    # Loaded by tests that use it.
    from mcp_gen.compat.plugin.judged_test import JudgedTest, fail_on

    item = _test_of(request)
    test: JudgedTest | None = item.stash.get(_test, None)
    if test is None:
        levels = fail_on(request.config.getini("mcp_fail_on"))
        test = item.stash[_test] = JudgedTest(_id_of(item, revision), revision or "", levels)
    return test


def _id_of(item: Any, revision: str | None) -> str:
    """Return the id of a test without the revision."""
    id: str = item.nodeid
    if revision is None or not id.endswith("]"):
        return id
    name, _, given = id[:-1].partition("[")
    rest = re.sub(rf"(^|-){re.escape(revision)}(?=-|$)", "", given, count=1).strip("-")
    return f"{name}[{rest}]" if rest else name


# --- recordings ---


def mcp_recording(
    file: str | Path, *, revision: str | None = None, ignore: Sequence[str] = ()
) -> Callable[[F], F]:
    """Make a test of a recording: it fails if the server under test does anything otherwise.

    A test that takes the fixture `mcp_replay` gets the report, and judges it itself.

        @mcp_recording("checkout.jsonl")
        def test_checkout_is_as_it_was() -> None: ...

    Args:
        file: A recording of `mcp-gen record`, by its path from the folder of the test.
        revision: The revision at which the conversation is restated; None: as it was recorded.
        ignore: JSON pointers to what may differ in messages of the server, such as
            `/result/structuredContent/elapsed`.

    Returns:
        The decorator.
    """

    def decorate(test: F) -> F:
        marked = pytest.mark.mcp_recording(str(file), revision=revision, ignore=tuple(ignore))
        decorated: F = pytest.mark.usefixtures("mcp_replay")(marked(test))
        return decorated

    return decorate


@pytest.fixture
def mcp_replay(request: pytest.FixtureRequest, mcp_server: Any) -> ReplayReport:
    """Report of the replay of the recording that the decorator `mcp_recording` names."""
    marker = _test_of(request).get_closest_marker("mcp_recording")
    if marker is None:
        pytest.fail(
            'mcp_replay: name a recording, as in `@mcp_recording("talk.jsonl")`', pytrace=False
        )
    # Loaded by tests that use it.
    from inspect import signature

    # Loaded by tests that use it.
    from mcp_gen.compat.plugin.replaying import replay_in_test
    from mcp_gen.core.errors import McpGenError

    config = request.config
    over = config.getoption("--mcp-over") or config.getini("mcp_over")
    root = config.inipath.parent if config.inipath else config.rootpath
    path = request.path.parent / marker.args[0]
    try:
        report = replay_in_test(path, mcp_server, over, root, **marker.kwargs)
    except McpGenError as error:
        pytest.fail(f"mcp_recording: {error}", pytrace=False)
    if not report.is_equal and "mcp_replay" not in signature(request.function).parameters:
        _test_of(request).stash[_differs] = str(report)
    return report


# --- judging ---


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test whose recording differs, and after findings in what was said so far."""
    if _differs in item.stash:
        pytest.fail(item.stash[_differs], pytrace=False)
    return (yield from _judging(item, "call"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test after findings in what was said at the end of its connections."""
    return (yield from _judging(item, "teardown"))


def _judging(item: pytest.Item, phase: str) -> Generator[None, object, object]:
    try:
        result = yield
    except BaseException:
        test = item.stash.get(_test, None)
        # An error that comes from a finding is told with it.
        if test is not None and (text := test.judge()):
            item.add_report_section(phase, "mcp_gen", text)
        raise
    test = item.stash.get(_test, None)
    if test is not None and (text := test.judge()):
        pytest.fail(text, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the row of the summary into the last report of a test."""
    report = yield
    test = item.stash.get(_test, None)
    if test is not None:
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        test.ended(report.when, outcome, report.duration)
        if report.when == "teardown":
            report.__dict__[ROW] = test.row().decode()
            del item.stash[_test]
    return report


# --- summary ---


class _Summary:
    """Collects the rows of all tests, also from xdist's workers, and tells them at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._file: str | None = config.getoption("--mcp-html")
        self._rows: list[str] = []
        self._notes: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row: str | None = report.__dict__.get(ROW)
        if row is not None:
            self._rows.append(row)

    def pytest_sessionfinish(self) -> None:
        if self._file is None:
            return
        if not self._rows:
            self._notes.append(f"no test was judged: {self._file} was not written")
            return
        # Loaded for a report.
        from mcp_gen.compat.plugin.run_report import write_html
        from mcp_gen.compat.plugin.summary import read_rows

        try:
            written = write_html(read_rows(self._rows), Path(self._file))
        except (OSError, ImportError) as error:
            # The tests have ended: what came of them is still to be told.
            self._notes.append(f"no report: {error}")
        else:
            self._notes += [f"report: {path}" for path in written]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._rows and not self._notes:
            return
        terminalreporter.section("MCP: tests and revisions")
        if self._rows:
            # Loaded when there is something to tell.
            from mcp_gen.compat.plugin.summary import read_rows, summary_lines

            for line in summary_lines(read_rows(self._rows)):
                terminalreporter.write_line(line)
        for note in self._notes:
            terminalreporter.write_line(note)
