"""Findings of the rules: they fail a test, warn, or are left alone, as the settings say."""

from __future__ import annotations

import pytest

from tests.plugin.running import Outcome, PartOutcome, Start, run_parts

pytestmark = pytest.mark.xdist_group("plugin_judging")

SERVER_OF_THE_ZOO = """
    import pytest
    from mcp_gen.compat.reference.peers import ServerPeer
    from mcp_gen.compat.zoo.zoo import zoo

    pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("2025-06-18")]


    @pytest.fixture
    def mcp_server(mcp_revision):
        return ServerPeer(zoo()["{requirement}"].breaks, mcp_revision)
"""
COUNTS = """
    async def test_it_counts(mcp_session):
        steps = []
        count = {"steps": 2}
        await mcp_session.call_tool("count", count, progress=lambda *step: steps.append(step))
        assert [tool.name async for tool in mcp_session.tools()]
"""
WITH_IDS = SERVER_OF_THE_ZOO.format(requirement="base:notifications:no-id")
MUST = WITH_IDS + COUNTS
SHOULD = SERVER_OF_THE_ZOO.format(requirement="base:frames:named") + COUNTS
BROKEN_LATER = f"""{WITH_IDS}
    @pytest.fixture
    async def counted(mcp_session):
        yield
        await mcp_session.call_tool("count", {{"steps": 2}}, progress=lambda *step: None)

    async def test_it_lists(counted, mcp_session):
        assert [tool.name async for tool in mcp_session.tools()]
"""
OTHER_SDK = """
    import pytest
    from mcp_gen import Client
    from mcp_gen.compat.checks.check import Check, checks
    from mcp_gen.compat.requirements.manifest import rows

    pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("2025-11-25")]
    ROW = next(row for row in rows() if row.applies == "client" and row.level == "must"
               and "2025-11-25" in row.revisions and row.transport == "any")


    def no_tool_is_called(transcript, found):
        for event, frame in transcript.frames("client"):
            found.saw()
            if frame.get("method") == "tools/call":
                found.broken("no call of a tool", "one", event)

    @pytest.fixture(scope="module", autouse=True)
    def no_other_rule():
        before = checks().get(ROW.id)
        checks()[ROW.id] = Check(ROW, "client", rule=no_tool_is_called)
        yield
        del checks()[ROW.id]
        if before is not None:
            checks()[ROW.id] = before


    async def called(server):
        async with Client("mine") as client:
            session = await client.connect(server, revision="2025-11-25")
            await session.call_tool("echo", {"text": "hello"})

    async def test_memory(mcp_zoo):
        await called(mcp_zoo.reference())

    async def test_stdio(mcp_zoo):
        await called(mcp_zoo.keeping("tools:names:unique").command)

    async def test_no_call(mcp_zoo):
        async with Client("mine") as client:
            await client.connect(mcp_zoo.breaking("tools:names:unique"), revision="2025-11-25")

    def test_the_row():
        print("the row", ROW.id)
"""
ZOO = """
    import pytest
    from mcp_gen import Client

    pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("all")]


    async def test_it_copes(mcp_zoo):
        assert "base:notifications:no-id" in mcp_zoo.requirements()
        server = mcp_zoo.breaking("base:notifications:no-id")
        async with Client("mine") as client:
            session = await client.connect(server, revision=mcp_zoo.revision)
            await session.call_tool("count", {"steps": 2}, progress=lambda *step: None)

    async def test_it_needs_its_revision(mcp_zoo):
        mcp_zoo.breaking("tools:names:unique")

    async def test_it_must_be_there(mcp_zoo):
        mcp_zoo.breaking("tools:colours")
"""

ZOO_OVER_HTTP = """
    import pytest
    from mcp_gen import Client
    from mcp_gen.core.errors import UsageError

    pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("2025-11-25")]


    async def test_the_strict_one(mcp_zoo):
        async with Client("mine") as client:
            session = await client.connect(mcp_zoo.reference().url)
            await session.call_tool("echo", {"text": "hello"})

    async def test_one_that_breaks_a_rule_of_http(mcp_zoo):
        server = mcp_zoo.breaking("http:origin")
        async with Client("mine") as client:
            session = await client.connect(server.url)
            await session.call_tool("echo", {"text": "hello"})
        assert any(one.transport == "http" for one in server.transcripts)
        with pytest.raises(UsageError, match="connect to its `url`"):
            server.command

    async def test_a_client_that_breaks_a_rule(mcp_zoo):
        from mcp_gen.compat.wire.openers import HttpOpener
        from mcp_gen.compat.zoo.zoo import zoo

        client = zoo()["http:client:session:sent"].breaks
        await client(HttpOpener(mcp_zoo.reference().url), "2025-11-25").run()
"""
PLAIN = """
    import pytest
    from mcp_gen import ToolError
    from mcp_gen.compat.reference.peers import ServerPeer
    from mcp_gen.compat.zoo.zoo import zoo

    pytestmark = [pytest.mark.mcp_revisions("2025-06-18")]


    @pytest.fixture
    def mcp_server(mcp_revision):
        return ServerPeer(zoo()["base:notifications:no-id"].breaks, mcp_revision)

    def test_it_lists(mcp_sync_session):
        assert mcp_sync_session.revision == "2025-06-18"
        assert mcp_sync_session.collect(lambda mcp: mcp.tools())

    def test_it_raises(mcp_sync_session):
        with pytest.raises(ToolError):
            mcp_sync_session.run(lambda mcp: mcp.call_tool("fail", returns=str))

    def test_it_counts(mcp_sync_session):
        async def count(mcp):
            steps = []
            await mcp.call_tool("count", {"steps": 2}, progress=lambda *step: steps.append(step))
            return steps

        mcp_sync_session.run(count)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def run_of_all(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, dict[str, PartOutcome]]:
    """Return the outcome of all projects that have the usual settings."""
    tests = {
        "must": MUST,
        "should": SHOULD,
        "own_failure": f"{MUST}        assert False, 'its own'\n",
        "expected": MUST.replace("async def", "@pytest.mark.xfail(strict=True)\n    async def"),
        "later": BROKEN_LATER,
        "other_sdk": OTHER_SDK,
        "zoo": ZOO,
        "zoo_over_http": ZOO_OVER_HTTP,
        "plain": PLAIN,
    }
    return run_parts(tmp_path_factory.mktemp("judged"), Start(tests))


@pytest.fixture(scope="module")
def judged(run_of_all: tuple[Outcome, dict[str, PartOutcome]]) -> dict[str, PartOutcome]:
    """Return the outcome of each of these projects."""
    return run_of_all[1]


def test_a_broken_must_fails_the_test_and_shows_all_that_one_needs(
    judged: dict[str, PartOutcome],
) -> None:
    part = judged["must"]
    assert part.counts == {"failed": 1}, part.text
    assert "MUST base:notifications:no-id (the server)" in part.text
    assert "https://modelcontextprotocol.io/specification/2025-06-18/basic" in part.text
    assert '"method":"notifications/progress"' in part.text, "the frame"
    assert "came at $.id: it has 1000" in part.text
    assert part.matrix[1] == ["test_must.py::test_it_counts[asyncio]", "FAILED, 1 must"]


def test_a_broken_should_is_a_warning_in_the_summary(
    run_of_all: tuple[Outcome, dict[str, PartOutcome]],
) -> None:
    ran, parts = run_of_all
    part = parts["should"]
    assert part.counts == {"passed": 1}, part.text
    assert "warning: SHOULD base:frames:named (the server), 1 test" in ran.summary
    assert part.matrix[1] == ["test_should.py::test_it_counts[asyncio]", "passed, 1 should"]


def test_a_should_fails_a_test_where_the_settings_say_so(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    start = Start({"should": SHOULD, "must": MUST}, settings="mcp_fail_on = should")
    ran, parts = run_parts(tmp_path_factory.mktemp("strict"), start)
    assert {name: part.counts for name, part in parts.items()} == {
        "should": {"failed": 1},
        "must": {"failed": 1},
    }, ran.text
    assert "SHOULD base:frames:named (the server), 1 test" in ran.summary
    assert "MUST base:notifications:no-id (the server), 1 test" in ran.summary


def test_nothing_fails_a_test_where_the_settings_say_so(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    start = Start({"must": MUST}, settings="mcp_fail_on = never")
    ran, parts = run_parts(tmp_path_factory.mktemp("lenient"), start)
    assert parts["must"].counts == {"passed": 1}, ran.text
    assert "(the server), 1 test" in ran.summary, "it is told in any case"


def test_a_test_that_fails_by_itself_tells_its_findings_too(
    judged: dict[str, PartOutcome],
) -> None:
    part = judged["own_failure"]
    assert part.counts == {"failed": 1}
    assert "its own" in part.text
    assert "MUST base:notifications:no-id" in part.text


def test_an_expected_failure_may_be_a_finding(judged: dict[str, PartOutcome]) -> None:
    part = judged["expected"]
    assert part.counts == {"xfailed": 1}, part.text
    assert part.matrix[1][1] == "xfailed, 1 must"


def test_what_is_broken_after_the_test_is_an_error_at_its_end(
    judged: dict[str, PartOutcome],
) -> None:
    part = judged["later"]
    assert part.counts == {"passed": 1, "error": 1}, part.text
    assert part.text.count("expected: a notification has no id") == 1, "three, told once"
    assert "the same at 2 more places" in part.text, "one per notification"


def test_a_finding_is_told_once(run_of_all: tuple[Outcome, dict[str, PartOutcome]]) -> None:
    ran, parts = run_of_all
    assert parts["must"].text.count("MUST base:notifications:no-id") == 1, "in the failure"
    assert ran.summary.count("MUST base:notifications:no-id") == 1, "in the summary"
    assert "error" not in parts["must"].counts, "the end of the test tells nothing again"


def test_a_client_of_another_sdk_is_judged_by_the_rules_of_clients(
    judged: dict[str, PartOutcome],
) -> None:
    part = judged["other_sdk"]
    assert part.counts == {"passed": 2, "failed": 2}, part.text
    row = part.text.partition("the row ")[2].split()[0]
    assert f"MUST {row} (the client)" in part.text
    assert [line[1] for line in part.matrix[1:]] == ["FAILED, 1 must", "FAILED, 1 must", "passed"]


def test_what_the_zoo_breaks_is_no_finding_of_the_test_of_a_client(
    judged: dict[str, PartOutcome],
) -> None:
    part = judged["zoo"]
    assert part.counts == {
        "passed": 5 + 2,
        "failed": 5,  # no such requirement
        "skipped": 3,  # names are unique from 2025-11-25 on
    }, part.text
    assert "no server breaks 'tools:colours'" in part.text
    assert part.matrix[1][1:] == 5 * ["passed"]


def test_servers_of_the_zoo_have_urls_and_clients_are_judged_over_http(
    judged: dict[str, PartOutcome],
) -> None:
    part = judged["zoo_over_http"]
    assert part.counts == {"passed": 2, "failed": 1}, part.text
    assert "MUST http:client:session:sent (the client)" in part.text


def test_plain_functions_have_a_session_too_and_are_judged(judged: dict[str, PartOutcome]) -> None:
    part = judged["plain"]
    assert part.counts == {"passed": 2, "failed": 1}, part.text
    assert "MUST base:notifications:no-id (the server)" in part.text
