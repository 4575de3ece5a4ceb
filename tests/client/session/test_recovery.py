"""Recovery: reconnects, and which requests are retried with the new server."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Change, Client, SessionLost
from mcp_gen.core.transport.protocols import Duplex
from tests.client.scripted import CannedServer
from tests.client.using import declaring, using
from tests.support.frames import ALL, PER_REQUEST, every_revision
from tests.support.peers.asked import WAIT_S
from tests.support.requirement import requirement

HINTING = [one for one in ALL if "annotations" in mcp_wire.types(one).Tool.__struct_fields__]
DIES = "dies"
DONE = {"content": [{"type": "text", "text": "done"}]}


def tools(idempotent: bool | None = None) -> dict[str, Any]:
    hint = {} if idempotent is None else {"annotations": {"idempotentHint": idempotent}}
    hints = {"ttlMs": 0, "cacheScope": "private"}
    return {"tools": [{"name": "t", "inputSchema": {"type": "object"}, **hint}], **hints}


class Lives:
    """Server that restarts: the responses of each process by method, or `DIES`."""

    def __init__(self, revision: str, *lives: dict[str, Any]) -> None:
        self._revision = revision
        self._lives = lives
        self.asked: list[str] = []

    @property
    def begun(self) -> int:
        return self.asked.count("born")

    async def serve(self, transport: Duplex) -> None:
        life = self._lives[min(self.begun, len(self._lives) - 1)]
        self.asked.append("born")
        server = CannedServer(self._revision)
        for method, answer in life.items():
            server.on(method, self._reply(server, method, answer))
        await server.serve(transport)

    def _reply(self, server: CannedServer, method: str, answer: Any) -> Any:
        def reply(params: Any) -> Any:
            self.asked.append(method)
            if answer == DIES:
                ending = asyncio.get_running_loop().create_task(server.hang_up())

                ENDING.add(ending)
                ending.add_done_callback(ENDING.discard)
                return None
            return None if answer is None else server.complete(answer)

        return reply


ENDING: set[asyncio.Task[None]] = set()


@every_revision
async def test_a_read_is_made_again_of_the_new_server(revision: str) -> None:
    server = Lives(revision, {"tools/list": DIES}, {"tools/list": tools()})
    async with using(Client("c"), server, revision) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["t"]
    assert server.asked == ["born", "tools/list", "born", "tools/list"]


@every_revision
async def test_a_read_is_made_again_once(revision: str) -> None:
    server = Lives(revision, {"tools/list": DIES})
    async with using(Client("c"), server, revision) as session:
        with pytest.raises(SessionLost):
            await session.list_tools()
    assert server.begun == 2


@requirement("tools:client:annotations")
@every_revision
async def test_a_call_is_not_made_again(revision: str) -> None:
    server = Lives(revision, {"tools/call": DIES}, {"tools/list": tools(True), "tools/call": DONE})
    async with using(Client("c"), server, revision) as session:
        with pytest.raises(SessionLost):
            await session.call_tool("t")
        assert server.asked == ["born", "tools/call"]
        # Later requests go to a new server.
        assert (await session.call_tool("t")).content[0].text == "done"
    assert server.begun == 2


@pytest.mark.parametrize("revision", HINTING)
async def test_a_call_is_made_again_if_the_caller_and_the_tool_allow_it(revision: str) -> None:
    server = Lives(revision, {"tools/call": DIES}, {"tools/list": tools(True), "tools/call": DONE})
    async with using(Client("c"), server, revision) as session:
        assert (await session.call_tool("t", retry=True)).content[0].text == "done"


@requirement("tools:client:annotations")
@every_revision
@pytest.mark.parametrize("idempotent", [None, False])
async def test_a_call_of_a_tool_that_does_not_allow_it_is_not_made_again(
    revision: str, idempotent: bool | None
) -> None:
    lives = {"tools/list": tools(idempotent if revision in HINTING else None), "tools/call": DONE}
    server = Lives(revision, {"tools/call": DIES}, lives)
    async with using(Client("c"), server, revision) as session:
        with pytest.raises(SessionLost):
            await session.call_tool("t", retry=True)
    assert server.asked.count("tools/call") == 1


@every_revision
async def test_all_pending_calls_end_at_once_and_one_new_server_is_started(revision: str) -> None:
    lives = {"tools/list": tools()}
    server = Lives(revision, {"tools/call": None, "resources/list": DIES}, lives)
    async with using(Client("c"), server, revision) as session:
        calls = [asyncio.create_task(session.call_tool("t")) for _ in range(3)]
        reads = [asyncio.create_task(session.list_tools()) for _ in range(3)]
        await asyncio.sleep(0)
        dying = asyncio.create_task(session.list_resources(timeout_s=0.05))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in outcomes] == [SessionLost] * 3
        assert [len((await read).tools) for read in reads] == [1] * 3
        await asyncio.wait([dying])
        assert dying.exception() is not None
    assert server.begun == 2


@every_revision
async def test_a_session_that_was_closed_stays_closed(revision: str) -> None:
    server = Lives(revision, {"tools/list": tools()})
    async with using(Client("c"), server, revision) as session:
        await session.aclose()
        with pytest.raises(SessionLost, match="closed"):
            await session.list_tools()
    assert server.begun == 1


@every_revision
async def test_a_client_may_leave_a_server_that_went_away_alone(revision: str) -> None:
    server = Lives(revision, {"tools/list": DIES}, {"tools/list": tools()})
    async with using(Client("c"), server, revision, reconnect=False) as session:
        for _ in range(2):
            with pytest.raises(SessionLost):
                await session.list_tools()
    assert server.begun == 1


@every_revision
async def test_a_server_that_cannot_be_started_anew_says_why(revision: str) -> None:
    server = Lives(revision, {"tools/list": DIES}, {_opening(revision): DIES})
    async with using(Client("c"), server, revision) as session:
        with pytest.raises(SessionLost, match="hung up; starting it anew failed: "):
            await session.list_tools()


def _opening(revision: str) -> str:
    handshake = mcp_wire.profile(revision).handshake
    return handshake.name if handshake else "server/discover"


@every_revision
async def test_a_watch_can_be_had_of_the_new_server(revision: str) -> None:
    real = declaring()
    lives = [Lives(revision, {"tools/list": DIES}), real]

    class Both:
        async def serve(self, transport: Duplex) -> None:
            await lives.pop(0).serve(transport)

    async with using(Client("c"), Both(), revision) as session:
        await session.list_tools()
        async with session.watch(tools=True) as changes:
            real.notify.tool_list_changed()
            async with asyncio.timeout(WAIT_S):
                assert await anext(changes) == Change("tools")


SERVER = """
import os, sys
from mcp_gen import Server

server = Server("dies")

@server.tool
def die() -> str:
    print("one", "two", "three is enough", sep="\\n", file=sys.stderr, flush=True)
    os._exit(3)

server.add_tool(os.getpid, name="who", description="")
server.run("stdio")
"""


@requirement("stdio:client:restarts")
async def test_a_command_that_exits_ends_the_call_with_its_status_and_is_started_again() -> None:
    command = [sys.executable, "-c", SERVER]
    async with using(Client("c"), command, PER_REQUEST) as session:
        with pytest.raises(SessionLost, match=r"exit status 3; .*: three is enough") as caught:
            await session.call_tool("die")
        assert (caught.value.exit_status, caught.value.stderr) == (3, "one\ntwo\nthree is enough\n")
        assert [tool.name async for tool in session.tools()] == ["die", "who"]


async def test_hooks_hear_of_the_session_that_ended_and_of_the_one_that_began() -> None:
    server = Lives(PER_REQUEST, {"tools/list": DIES}, {"tools/list": tools()})
    client = Client("c")
    told: list[tuple[str, Any]] = []
    client.hooks.session_opened(lambda session: told.append(("opened", session)))
    client.hooks.session_closed(lambda session: told.append(("closed", session)))
    async with using(client, server, PER_REQUEST) as session:
        await session.list_tools()
    assert [what for what, _ in told] == ["opened", "closed", "opened", "closed"]
    assert {id(one) for _, one in told} == {id(session)}
