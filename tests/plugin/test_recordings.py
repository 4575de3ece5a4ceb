"""Recordings as tests: `@mcp_recording` and the fixture `mcp_replay`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_gen import Server
from mcp_gen.compat.plugin.listening import listening
from mcp_gen.compat.plugin.replaying import replay_in_test
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.core.errors import UsageError
from mcp_wire import LATEST
from tests.compat.recordings.talking import record_http
from tests.plugin.running import SERVER, run

TESTS = """
    import pytest
    from pytest_mcp_gen import mcp_recording

    @mcp_recording("talk.jsonl")
    def test_equal():
        pass

    @mcp_recording("talk.jsonl", revision="2024-11-05")
    async def test_restated():
        pass

    @pytest.fixture
    def changed():
        from mcp_gen import Server

        server = Server("adder", "1.0.0")
        server.tool(name="add", description="Add two numbers.")(lambda: "7")
        return server

    class TestChanged:
        @pytest.fixture
        def mcp_server(self, changed):
            return changed

        @mcp_recording("talk.jsonl")
        def test_changed(self):
            pass

        @mcp_recording("talk.jsonl", ignore=["/result/tools/*/inputSchema"])
        def test_judged_by_itself(self, mcp_replay):
            assert not mcp_replay.is_equal
            assert "inputSchema" not in str(mcp_replay)

    @mcp_recording("nothing.jsonl")
    def test_missing():
        pass

    def test_unnamed(mcp_replay):
        pass
"""


def test_a_recording_is_a_test(tmp_path: Path) -> None:
    made: dict[str, object] = {}
    exec(SERVER, made)
    server = made["server"]
    assert isinstance(server, Server)

    async def talk(client: ReferenceClient) -> None:
        await client.open()
        await client.ask("list_tools")

    async def record() -> None:
        async with listening(server.asgi()) as url:
            await record_http(tmp_path / "talk.jsonl", LATEST, url, talk)

    asyncio.run(record())
    ran = run(tmp_path, TESTS, settings="mcp_server = server.py\nanyio_mode = auto")
    assert ran.counts == {"failed": 1, "passed": 3, "errors": 2}, ran.text
    assert 'tools[?@.name=="add"].inputSchema.properties: expected' in ran.text
    assert "nothing.jsonl: No such file or directory" in ran.text
    assert "mcp_replay: name a recording" in ran.text
    # Whoever has forgotten it needs no lines of the plugin.
    assert "get_closest_marker" not in ran.text


def test_a_server_that_cannot_be_reached_so_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mcp_over"):
        replay_in_test(tmp_path, "http://127.0.0.1:9/mcp", "stdio", tmp_path)
