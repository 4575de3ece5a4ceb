"""Findings of the rules: they fail a test, warn, or are left alone, as the settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.running import run

BREAKS = """
    import pytest
    from mcp_gen.compat.reference.peers import ServerPeer
    from mcp_gen.compat.zoo.zoo import zoo

    pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("2025-06-18")]


    @pytest.fixture
    def mcp_server(mcp_revision):
        return ServerPeer(zoo()["{requirement}"].breaks, mcp_revision)

    async def test_it_counts(mcp_session):
        steps = []
        count = {{"steps": 2}}
        await mcp_session.call_tool("count", count, progress=lambda *step: steps.append(step))
        assert [tool.name async for tool in mcp_session.tools()]
"""
MUST = BREAKS.format(requirement="base:notifications:no-id")
SHOULD = BREAKS.format(requirement="base:frames:named")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_a_broken_must_fails_the_test_and_shows_all_that_one_needs(tmp_path: Path) -> None:
    ran = run(tmp_path, MUST)
    assert ran.counts == {"failed": 1}, ran.text
    assert "MUST base:notifications:no-id (the server)" in ran.text
    assert "https://modelcontextprotocol.io/specification/2025-06-18/basic" in ran.text
    assert '"method":"notifications/progress"' in ran.text, "the frame"
    assert "came at $.id: it has 1000" in ran.text
    assert ran.matrix[1] == ["test_it.py::test_it_counts[asyncio]", "FAILED, 1 must"]


def test_a_broken_should_is_a_warning_in_the_summary(tmp_path: Path) -> None:
    ran = run(tmp_path, SHOULD)
    assert ran.counts == {"passed": 1}, ran.text
    assert "warning: SHOULD base:frames:named (the server), 1 test" in ran.text
    assert ran.matrix[1] == ["test_it.py::test_it_counts[asyncio]", "passed, 1 should"]


@pytest.mark.parametrize(
    ("tests", "level", "counts"),
    [
        (SHOULD, "should", {"failed": 1}),
        (MUST, "should", {"failed": 1}),
        (MUST, "never", {"passed": 1}),
    ],
    ids=["should", "must", "never"],
)
def test_the_settings_say_what_fails(
    tests: str, level: str, counts: dict[str, int], tmp_path: Path
) -> None:
    ran = run(tmp_path, tests, settings=f"mcp_fail_on = {level}")
    assert ran.counts == counts, ran.text
    assert "(the server), 1 test" in ran.text, "it is told in any case"


def test_a_test_that_fails_by_itself_tells_its_findings_too(tmp_path: Path) -> None:
    ran = run(tmp_path, f"{MUST}        assert False, 'its own'\n")
    assert ran.counts == {"failed": 1}
    assert "its own" in ran.text
    assert "MUST base:notifications:no-id" in ran.text


def test_an_expected_failure_may_be_a_finding(tmp_path: Path) -> None:
    tests = MUST.replace("async def test", "@pytest.mark.xfail(strict=True)\n    async def test")
    ran = run(tmp_path, tests)
    assert ran.counts == {"xfailed": 1}, ran.text
    assert ran.matrix[1][1] == "xfailed, 1 must"


def test_what_is_broken_after_the_test_is_an_error_at_its_end(tmp_path: Path) -> None:
    tests = f"""{MUST}
    @pytest.fixture
    async def counted(mcp_session):
        yield
        await mcp_session.call_tool("count", {{"steps": 2}}, progress=lambda *step: None)

    async def test_it_lists(counted, mcp_session):
        assert [tool.name async for tool in mcp_session.tools()]
    """
    ran = run(tmp_path, tests, "-k", "lists")
    assert ran.counts == {"passed": 1, "deselected": 1, "error": 1}, ran.text
    assert ran.text.count("expected: a notification has no id") == 1, "three, told once"
    assert "the same at 2 more places" in ran.text, "one per notification"


def test_a_finding_is_told_once(tmp_path: Path) -> None:
    ran = run(tmp_path, MUST)
    assert ran.text.count("MUST base:notifications:no-id") == 2, "the failure and the summary"
    assert "error" not in ran.counts, "the end of the test tells nothing again"


def test_a_client_of_another_sdk_is_judged_by_the_rules_of_clients(tmp_path: Path) -> None:
    tests = """
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

        checks()[ROW.id] = Check(ROW, "client", rule=no_tool_is_called)


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
    ran = run(tmp_path, tests, "-rP")
    assert ran.counts == {"passed": 2, "failed": 2}, ran.text
    row = ran.text.partition("the row ")[2].split()[0]
    assert f"MUST {row} (the client)" in ran.text
    assert [line[1] for line in ran.matrix[1:]] == ["FAILED, 1 must", "FAILED, 1 must", "passed"]


def test_what_the_zoo_breaks_is_no_finding_of_the_test_of_a_client(tmp_path: Path) -> None:
    tests = """
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
    ran = run(tmp_path, tests)
    assert ran.counts["failed"] == 5, "no such requirement"
    assert "no server breaks 'tools:colours'" in ran.text
    assert ran.counts["skipped"] == 3, "names are unique from 2025-11-25 on"
    assert ran.matrix[1][1:] == 5 * ["passed"]
