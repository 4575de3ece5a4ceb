"""The fixture `mcp_session`: under each runner of async tests, and over each transport."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcp_wire
from tests.plugin.running import ANYIO, ASYNCIO, needs_pytest_asyncio, run

SETTINGS = "mcp_server = server.py"

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


@pytest.mark.parametrize(
    ("mark", "plugins", "settings"),
    [
        pytest.param("@pytest.mark.anyio", ANYIO, "", id="anyio"),
        pytest.param("", ANYIO, "anyio_mode = auto", id="anyio-auto"),
        pytest.param(
            "@pytest.mark.asyncio", ASYNCIO, "", id="asyncio-strict", marks=needs_pytest_asyncio
        ),
        pytest.param(
            "", ASYNCIO, "asyncio_mode = auto", id="asyncio-auto", marks=needs_pytest_asyncio
        ),
        pytest.param(
            "@pytest.mark.anyio", (*ASYNCIO, *ANYIO), "", id="both", marks=needs_pytest_asyncio
        ),
    ],
)
def test_a_test_runs_at_every_revision_under_each_runner(
    mark: str, plugins: tuple[str, ...], settings: str, tmp_path: Path
) -> None:
    # trio is not among the backends of anyio here.
    ran = run(tmp_path, ADDS.format(mark=mark), plugins=plugins, settings=f"{SETTINGS}\n{settings}")
    assert ran.counts == {"passed": 5}, ran.text


@needs_pytest_asyncio
@pytest.mark.parametrize("scope", ["function", "class", "module", "package", "session"])
def test_fixtures_of_a_user_have_the_session_in_their_event_loop(
    scope: str, tmp_path: Path
) -> None:
    ran = run(tmp_path, FIXTURE_OF_A_USER.format(scope=scope), plugins=ASYNCIO, settings=SETTINGS)
    assert ran.counts == {"passed": 1}, ran.text


@needs_pytest_asyncio
def test_the_event_loop_that_the_settings_name_is_that_of_the_session(tmp_path: Path) -> None:
    settings = f"{SETTINGS}\nasyncio_mode = auto\nasyncio_default_test_loop_scope = session"
    ran = run(tmp_path, ADDS.format(mark=""), plugins=ASYNCIO, settings=settings)
    assert ran.counts == {"passed": 5}, ran.text


@pytest.mark.parametrize("over", ["memory", "stdio", "http"])
def test_one_server_is_reached_over_each_transport(over: str, tmp_path: Path) -> None:
    tests = """
        import pytest

        pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("2025-06-18", "2026-07-28")]

        async def test_it_adds(mcp_session, request):
            assert await mcp_session.call_tool("add", {"a": 1, "b": 2}, returns=int) == 3

        def test_its_frames_are_judged():
            pass
    """
    ran = run(tmp_path, tests, f"--mcp-over={over}", settings=SETTINGS)
    assert ran.counts == {"passed": 3}, ran.text
    assert ran.matrix == [
        ["2025-06-18", "2026-07-28"],
        ["test_it.py::test_it_adds[asyncio]", *2 * ["passed"]],
    ]


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ('Path("server.py").resolve()', ()),
        ('__import__("server").server', ()),
        ('__import__("server").server', ("--mcp-over=http",)),
        ('__import__("server").server.asgi()', ()),
        ('[sys.executable, "-c", "from server import server; server.run()"]', ()),
        ('f"{sys.executable} main.py"', ("--mcp-over=stdio",)),
        ('reference_server("2025-11-25")', ()),
    ],
    ids=["path", "object", "object-http", "app", "words", "line", "reference"],
)
def test_a_fixture_names_the_server(server: str, words: tuple[str, ...], tmp_path: Path) -> None:
    tests = f"""
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
    (tmp_path / "main.py").write_text("from server import server\nserver.run()\n", "utf-8")
    ran = run(tmp_path, tests, *words)
    assert ran.counts == {"passed": 1}, ran.text


def test_without_a_marker_the_revision_is_the_newest_of_both_sides(tmp_path: Path) -> None:
    tests = """
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
    ran = run(tmp_path, tests)
    assert ran.counts == {"passed": 3}, ran.text
    # What the client has asked at another revision before is not judged.
    assert "must" not in "".join(map(str, ran.matrix))
    assert ran.matrix[0] == ["2025-03-26", "2025-11-25", "2026-07-28"]


def test_the_client_may_be_the_users_own(tmp_path: Path) -> None:
    tests = """
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
    ran = run(tmp_path, tests)
    assert ran.counts == {"passed": 2}, ran.text


@pytest.mark.parametrize(
    ("mark", "plugins"),
    [
        pytest.param("anyio", ANYIO, id="anyio"),
        pytest.param("asyncio", ASYNCIO, id="asyncio", marks=needs_pytest_asyncio),
    ],
)
@pytest.mark.parametrize("over", ["memory", "http"])
def test_tests_in_classes_share_one_server_object(
    over: str, mark: str, plugins: tuple[str, ...], tmp_path: Path
) -> None:
    tests = f"""
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
    ran = run(tmp_path, tests, f"--mcp-over={over}", plugins=plugins, settings="pythonpath = .")
    assert ran.counts == {"passed": 10}, ran.text


def test_another_event_loop_than_that_of_asyncio_is_left_out(tmp_path: Path) -> None:
    tests = """
        import pytest

        @pytest.fixture(params=["asyncio", ("trio", {})], ids=["asyncio", "trio"])
        def anyio_backend(request):
            return request.param

        @pytest.mark.anyio
        async def test_it_answers(mcp_session):
            pass
    """
    ran = run(tmp_path, tests, "-rs", settings=SETTINGS)
    assert ran.counts == {"passed": 1, "skipped": 1}, ran.text
    assert "mcp_session runs on asyncio" in ran.text


def test_a_revision_that_the_server_does_not_speak_is_skipped_among_all(tmp_path: Path) -> None:
    tests = """
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
    ran = run(tmp_path, tests, "-rs")
    assert ran.counts == {"passed": 2, "skipped": 3}, ran.text
    assert "the server does not speak 2024-11-05" in ran.text


def test_a_revision_that_is_named_must_be_spoken(tmp_path: Path) -> None:
    tests = """
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
    ran = run(tmp_path, tests)
    assert ran.counts == {"error": 1}, ran.text
    assert "the server does not speak 2024-11-05" in ran.text


@pytest.mark.parametrize(
    ("tests", "plugins", "words", "said"),
    [
        (
            "async def test(mcp_session): ...",
            (),
            (),
            "nothing runs `async def` tests here: install pytest-asyncio (or anyio)",
        ),
        (
            "async def test(mcp_session): ...",
            ANYIO,
            (),
            "mark it with `@pytest.mark.anyio`",
        ),
        (
            "def test(mcp_session): ...",
            ANYIO,
            (),
            "mcp_session is for `async def` tests",
        ),
        (
            "import pytest\npytestmark = pytest.mark.anyio\n"
            "@pytest.fixture\ndef mcp_server(): return ['server']\n"
            "async def test(mcp_session): ...",
            ANYIO,
            ("--mcp-over=http",),
            "a command is reached over stdio",
        ),
        (
            "import pytest\npytestmark = pytest.mark.anyio\n"
            "@pytest.mark.mcp_revisions('2025-06-19')\nasync def test(mcp_session): ...",
            ANYIO,
            (),
            "expected \"all\" or some of '2024-11-05'",
        ),
        (
            "import pytest\n@pytest.mark.anyio\nasync def test(mcp_session): ...",
            ANYIO,
            ("-o", "mcp_server="),
            "no server under test: write a fixture `mcp_server`",
        ),
        (
            "import pytest\n@pytest.mark.anyio\nasync def test(mcp_session): ...",
            ANYIO,
            ("-o", "mcp_over=pigeon"),
            "mcp_over: expected memory, stdio or http, got 'pigeon'",
        ),
        (
            "import pytest\n@pytest.mark.anyio\nasync def test(mcp_session): ...",
            ANYIO,
            ("-o", "mcp_fail_on=maybe"),
            "mcp_fail_on: expected must, should or never, got 'maybe'",
        ),
    ],
    ids=["no-plugin", "no-mark", "sync", "no-way", "no-revision", "no-server", "over", "fail-on"],
)
def test_an_error_says_in_one_line_what_to_do(
    tests: str, plugins: tuple[str, ...], words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    ran = run(tmp_path, tests, *words, plugins=plugins, settings=SETTINGS)
    assert ran.status != 0
    assert any(said in line for line in ran.text.split("\n")), ran.text


def test_there_is_a_run_per_revision() -> None:
    assert len(mcp_wire.REVISIONS) == 5, "the numbers of tests above are those of revisions"
