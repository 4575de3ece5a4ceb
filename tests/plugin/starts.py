"""Projects of users for the tests of `mcp_session`, and the starts of pytest that run them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.plugin.running import ANYIO, ASYNCIO, Start

__all__ = ["ERRORS", "RUNNERS", "SCOPED", "SERVERS", "SHARING", "STARTS", "Case"]

SETTINGS = """
    mcp_server = server.py
    pythonpath = .
"""
SCOPES = ("function", "class", "module", "package", "session")

ADDS = """
    import pytest

    {mark}
    @pytest.mark.mcp_revisions("all")
    async def test_it_adds(mcp_session, mcp_revision):
        assert mcp_session.revision == mcp_revision
        assert await mcp_session.call_tool("add", {{"a": 1, "b": 2}}, returns=int) == 3
"""

FIXTURE_OF_A_USER = """
    import pytest, pytest_asyncio

    pytestmark = pytest.mark.asyncio(loop_scope="{scope}")


    @pytest_asyncio.fixture(loop_scope="{scope}")
    async def names(mcp_session):
        yield [tool.name async for tool in mcp_session.tools()]


    async def test_it_lists(names, mcp_session):
        assert names == ["add"]
        assert await mcp_session.call_tool("add", {{"a": 1, "b": 2}}, returns=int) == 3
"""

ONE_SERVER = """
    import pytest

    pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("2025-06-18", "2026-07-28")]

    async def test_it_adds(mcp_session, request):
        assert await mcp_session.call_tool("add", {"a": 1, "b": 2}, returns=int) == 3

    def test_its_frames_are_judged():
        pass
"""

NEWEST = """
    import pytest
    from mcp_gen.compat.reference.peers import reference_server


    @pytest.fixture(params=["2025-03-26", "2025-11-25", "2026-07-28"])
    def mcp_server(request):
        return reference_server(request.param)

    @pytest.mark.anyio
    async def test_the_revision(mcp_session, mcp_server):
        assert mcp_session.revision == mcp_server.revision
        await mcp_session.call_tool("echo", {"text": "hello"})
"""

OWN_CLIENT = """
    import pytest
    from mcp_gen import Client
    from mcp_gen.compat.reference.peers import reference_server


    @pytest.fixture
    def mcp_server(mcp_revision):
        return reference_server(mcp_revision)

    @pytest.fixture
    def mcp_client():
        return Client("mine", elicitation=lambda session, params: {"name": "Ada"})

    @pytest.mark.anyio
    @pytest.mark.mcp_revisions("2025-11-25", "2026-07-28")
    async def test_it_asks(mcp_session):
        result = await mcp_session.call_tool("ask_user", {})
        assert "Ada" in result.content[0].text
"""

SHARED = """
    import pytest
    from server import server


    @pytest.fixture(scope="module")
    def mcp_server():
        return server

    @pytest.mark.{mark}
    @pytest.mark.mcp_revisions("all")
    class TestAdder:
        async def test_it_adds(self, mcp_session):
            assert await mcp_session.call_tool("add", {{"a": 1, "b": 2}}, returns=int) == 3

        async def test_it_is_there(self, mcp_session, mcp_revision):
            assert mcp_session.revision == mcp_revision
"""

TWO_LOOPS = """
    import pytest

    @pytest.fixture(params=["asyncio", ("trio", {})], ids=["asyncio", "trio"])
    def anyio_backend(request):
        return request.param

    @pytest.mark.anyio
    async def test_it_answers(mcp_session):
        pass
"""

TWO_REVISIONS = """
    import pytest
    from mcp_gen import Server


    @pytest.fixture
    def mcp_server():
        return Server("two", revisions=["2025-06-18", "2025-11-25"])

    @pytest.mark.anyio
    @pytest.mark.mcp_revisions("all")
    async def test_it_answers(mcp_session):
        pass
"""

ANOTHER_REVISION = """
    import pytest
    from mcp_gen import Server


    @pytest.fixture
    def mcp_server():
        return Server("one", revisions=["2025-06-18"])

    @pytest.mark.anyio
    @pytest.mark.mcp_revisions("2024-11-05")
    async def test_it_answers(mcp_session):
        pass
"""

NAMED_SERVER = """
    import sys
    from pathlib import Path

    import pytest
    from mcp_gen.compat.reference.peers import reference_server


    @pytest.fixture
    def mcp_server():
        sys.path.insert(0, "")
        return {server}

    @pytest.mark.anyio
    async def test_it_has_tools(mcp_session):
        assert [tool.name async for tool in mcp_session.tools()]
"""

SERVERS = {
    "path": 'Path("server.py").resolve()',
    "object": '__import__("server").server',
    "app": '__import__("server").server.asgi()',
    "words": '[sys.executable, "-c", "from server import server; server.run()"]',
    "reference": 'reference_server("2025-11-25")',
}

MARKED = "import pytest\npytestmark = pytest.mark.anyio\n"
ERRORS = {
    "no_mark": (
        "async def test(mcp_session): ...",
        "mark it with `@pytest.mark.anyio`",
    ),
    "sync": (
        "def test(mcp_session): ...",
        "mcp_session is for `async def` tests",
    ),
    "no_revision": (
        f"{MARKED}@pytest.mark.mcp_revisions('2025-06-19')\nasync def test(mcp_session): ...",
        "expected \"all\" or some of '2024-11-05'",
    ),
}
"""Tests that are wrong in themselves, and what is said of them."""
COMMAND = (
    f"{MARKED}@pytest.fixture\ndef mcp_server(): return ['server']\n"
    "async def test(mcp_session): ..."
)
ANSWERS = f"{MARKED}async def test(mcp_session): ..."

ADDS_OF_ANYIO = ADDS.format(mark="@pytest.mark.anyio")
ADDS_OF_ASYNCIO = ADDS.format(mark="@pytest.mark.asyncio")
ADDS_UNMARKED = ADDS.format(mark="")
SHARED_OF_ANYIO = SHARED.format(mark="anyio")
SHARED_OF_ASYNCIO = SHARED.format(mark="asyncio")
FIXTURES_OF_USERS = {scope: FIXTURE_OF_A_USER.format(scope=scope) for scope in SCOPES}
OVER_HTTP = ("--mcp-over=http",)

STARTS: Mapping[str, Start] = {
    "anyio": Start(
        {
            "adds": ADDS_OF_ANYIO,
            "one": ONE_SERVER,
            "newest": NEWEST,
            "own_client": OWN_CLIENT,
            "shared": SHARED_OF_ANYIO,
            "two_loops": TWO_LOOPS,
            "two_revisions": TWO_REVISIONS,
            "another_revision": ANOTHER_REVISION,
            **{name: tests for name, (tests, _) in ERRORS.items()},
            **{name: NAMED_SERVER.format(server=server) for name, server in SERVERS.items()},
        },
        settings=SETTINGS,
    ),
    "anyio-http": Start(
        {
            "one": ONE_SERVER,
            "shared": SHARED_OF_ANYIO,
            "object": NAMED_SERVER.format(server=SERVERS["object"]),
            "command": COMMAND,
        },
        OVER_HTTP,
        settings=SETTINGS,
    ),
    "anyio-stdio": Start(
        {"one": ONE_SERVER, "line": NAMED_SERVER.format(server='f"{sys.executable} main.py"')},
        ("--mcp-over=stdio",),
        settings=SETTINGS,
    ),
    "anyio-auto": Start({"adds": ADDS_UNMARKED}, settings=f"{SETTINGS}    anyio_mode = auto"),
    "asyncio": Start(
        {"adds": ADDS_OF_ASYNCIO, "shared": SHARED_OF_ASYNCIO, **FIXTURES_OF_USERS},
        plugins=ASYNCIO,
        settings=SETTINGS,
    ),
    "asyncio-http": Start(
        {"shared": SHARED_OF_ASYNCIO}, OVER_HTTP, plugins=ASYNCIO, settings=SETTINGS
    ),
    "asyncio-auto": Start(
        {"adds": ADDS_UNMARKED}, plugins=ASYNCIO, settings=f"{SETTINGS}    asyncio_mode = auto"
    ),
    "asyncio-session": Start(
        {"adds": ADDS_UNMARKED},
        plugins=ASYNCIO,
        settings=f"{SETTINGS}    asyncio_mode = auto\n"
        "    asyncio_default_test_loop_scope = session",
    ),
    "both": Start(
        {
            "adds": ADDS_OF_ANYIO,
            "adds_of_asyncio": ADDS_OF_ASYNCIO,
            "shared": SHARED_OF_ASYNCIO,
            **FIXTURES_OF_USERS,
        },
        plugins=(*ASYNCIO, *ANYIO),
        settings=SETTINGS,
    ),
    "no-server": Start({"none": ANSWERS, "over": COMMAND}, settings="mcp_over = pigeon"),
    "no-runner": Start({"test": "async def test(mcp_session): ..."}, plugins=(), settings=SETTINGS),
    "fail-on": Start({"test": ANSWERS}, ("-o", "mcp_fail_on=maybe"), settings=SETTINGS),
}
"""Starts of pytest, by what they are for; those of asyncio need its plugin."""


class Case(NamedTuple):
    """One file of a start.

    Attributes:
        start: Name of the start.
        part: Name of the file.
        is_usual: False for what runs with `--full` alone, because others cover it.
    """

    start: str
    part: str
    is_usual: bool = True

    @property
    def needs_asyncio(self) -> bool:
        """True if it needs pytest-asyncio."""
        return "asyncio" in STARTS[self.start].plugins


RUNNERS = (
    Case("anyio", "adds"),
    Case("anyio-auto", "adds"),
    Case("asyncio", "adds", is_usual=False),
    Case("asyncio-auto", "adds", is_usual=False),
    # The event loop that the settings name is that of the session.
    Case("asyncio-session", "adds"),
    Case("both", "adds"),
    Case("both", "adds_of_asyncio"),
)
SCOPED = (
    *(Case("both", scope) for scope in SCOPES),
    *(Case("asyncio", scope, is_usual=False) for scope in SCOPES),
)
SHARING = (
    Case("anyio", "shared"),
    Case("anyio-http", "shared"),
    Case("both", "shared"),
    Case("asyncio", "shared", is_usual=False),
    Case("asyncio-http", "shared", is_usual=False),
)
