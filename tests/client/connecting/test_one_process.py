"""A server in the same process: what arrives is what would have arrived over a pipe.

Both sides get the same calls over both, at every revision, with values that a property test draws.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, Context, McpError, Server
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.transports.memory import memory_pair
from mcp_gen.transports.streams import StreamTransport
from tests.support.property_tests import example, given, settings, st

WAIT_S = 60.0
OWN_CODE = -31000
TEXT_URI, BLOB_URI = "kept://text", "kept://blob"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Given(NamedTuple):
    """Values of one example."""

    value: Any
    text: str
    data: bytes


givens = st.builds(Given, json_values, st.text(), st.binary())


class Far:
    """A server that keeps what it is asked, and answers with a value of its own."""

    def __init__(self) -> None:
        self.server = server = Server("far", "1.0.0")
        self.answer = Given(None, "", b"")
        self.arrived: list[Any] = []

        @server.tool
        async def give(value: Any) -> dict[str, Any]:
            self.arrived.append(value)
            return {"value": self.answer.value, "text": self.answer.text}

        @server.tool
        async def fail(value: Any) -> None:
            self.arrived.append(value)
            raise McpError(OWN_CODE, self.answer.text, self.answer.value)

        @server.tool
        async def tell(ctx: Context) -> None:
            await ctx.report_progress(1.5, 2, self.answer.text)

        @server.resource(TEXT_URI)
        async def text() -> str:
            return self.answer.text

        @server.resource(BLOB_URI)
        async def data() -> bytes:
            return self.answer.data

        @server.prompt
        async def say(line: str) -> str:
            self.arrived.append(line)
            return self.answer.text


def over_memory() -> tuple[Duplex, Duplex]:
    return memory_pair()


async def over_pipe() -> tuple[Duplex, Duplex]:
    ends = socket.socketpair()
    first, second = [StreamTransport(*await asyncio.open_connection(sock=end)) for end in ends]
    return first, second


@asynccontextmanager
async def session_of(
    far: Far, ends: tuple[Duplex, Duplex], revision: str
) -> AsyncIterator[ClientSession]:
    ours, theirs = ends
    serving = asyncio.create_task(far.server.serve(theirs))
    async with Client("near", "1.0.0") as client:
        yield await client.connect(ours, revision=revision)
    await serving


async def arrivals(session: ClientSession, far: Far, given: Given) -> list[Any]:
    """Return all that arrives at both sides, as plain values with the types of results."""
    far.answer = given
    found: list[Any] = []
    told: list[Any] = []

    async def heard(*what: Any) -> None:
        told.append(what)

    found.append(await session.call_tool("give", {"value": given.value}))
    with pytest.raises(McpError) as failed:
        await session.call_tool("fail", {"value": given.value})
    found.append((failed.value.code, failed.value.message, failed.value.data))
    found.append(await session.call_tool("tell", progress=heard))
    assert told
    found.append(await session.read_resource(TEXT_URI))
    found.append(await session.read_resource(BLOB_URI))
    found.append(await session.get_prompt("say", {"line": given.text}))
    arrived, far.arrived = far.arrived, []
    return [*found, *told, *arrived]


async def compared(revision: str, examples: list[Given]) -> None:
    far = Far()
    async with (
        asyncio.timeout(WAIT_S),
        session_of(far, over_memory(), revision) as near,
        session_of(far, await over_pipe(), revision) as piped,
    ):
        for given in examples:
            here = await arrivals(near, far, given)
            there = await arrivals(piped, far, given)
            assert list(map(type, here)) == list(map(type, there))
            # As text: 1, 1.0 and True are equal in Python.
            assert msgspec.json.encode(here) == msgspec.json.encode(there)


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
@settings(max_examples=10)
@given(examples=st.lists(givens, min_size=1, max_size=8))
@example(examples=[Given([1, 1.0, True, None, -0.0, 2**63 - 1], "\u2028\ud7ff\n", b"\xff")])
def test_what_arrives_is_what_arrives_over_a_pipe(revision: str, examples: list[Given]) -> None:
    asyncio.run(compared(revision, examples))


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
async def test_neither_side_can_change_what_the_other_keeps(revision: str) -> None:
    server = Server("far", "1.0.0")
    kept: list[Any] = [{"inner": [1]}]

    @server.tool
    async def give(value: dict[str, list[int]]) -> dict[str, Any]:
        value["inner"].append(2)
        return {"kept": kept}

    async with Client("near", "1.0.0") as client:
        session = await client.connect(server, revision=revision)
        mine = {"inner": [1]}
        result = await session.call_tool("give", {"value": mine}, returns=dict[str, Any])
        result["kept"][0]["inner"].append(3)
    assert mine == {"inner": [1]}
    assert kept == [{"inner": [1]}]
