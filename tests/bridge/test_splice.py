"""Messages pass a bridge byte by byte where both sides speak the same revision."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen.compat.bridge.bridge import Bridge
from mcp_gen.compat.bridge.upstream_tap import copier
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.transports.memory import memory_pair
from tests.bridge.behind import shop
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.loop import until
from tests.support.peers.asked import WAIT_S

ODD = b'{"method":"x/odd", "jsonrpc" : "2.0","id":"7", "params":{"n":1.50,"\\u0061":[ ]}, "z":0}'
"""A request that nothing but a copy leaves as it is."""


class Far:
    """A server of one revision that keeps what it gets, and answers with what it is told."""

    def __init__(self, revision: str, *, answers: bool = True) -> None:
        self.revision = revision
        self.answers = answers
        self.got: list[bytes] = []
        self.opened = 0
        self.ended = asyncio.Event()
        self.hang_up = asyncio.Event()
        self._transport: Duplex | None = None

    async def serve(self, transport: Duplex) -> None:
        self.opened += 1
        self._transport = transport
        await transport.start(self)
        waits = [asyncio.ensure_future(one.wait()) for one in (self.ended, self.hang_up)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for one in waits:
            one.cancel()
        await transport.aclose()

    def say(self, message: bytes) -> None:
        assert self._transport is not None
        self._transport.send(message)

    def receive(self, message: bytes) -> None:
        self.got.append(message)
        if not self.answers:
            return
        frame = msgspec.json.decode(message)
        if frame.get("method") == "initialize":
            result: dict[str, Any] = {
                "protocolVersion": self.revision,
                "capabilities": {},
                "serverInfo": {"name": "far", "version": "1"},
            }
        elif frame.get("method") == "server/discover":
            result = {
                "resultType": "complete",
                "supportedVersions": [self.revision],
                "capabilities": {},
                "ttlMs": 0,
                "cacheScope": "private",
            }
        else:
            return
        answer = {"jsonrpc": "2.0", "id": frame["id"], "result": result}
        self.say(msgspec.json.format(msgspec.json.encode(answer), indent=-1))

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError

    def closed(self, error: BaseException | None) -> None:
        self.ended.set()


class Near:
    """A client that keeps what it gets."""

    def __init__(self, transport: Duplex) -> None:
        self.transport = transport
        self.got: list[bytes] = []
        self.ended = asyncio.Event()

    def receive(self, message: bytes) -> None:
        self.got.append(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError

    def closed(self, error: BaseException | None) -> None:
        self.ended.set()


@asynccontextmanager
async def between(far: Any) -> AsyncIterator[Near]:
    """Connect a client to a server through a bridge."""
    ours, theirs = memory_pair()
    bridge = Bridge(far)
    serving = asyncio.get_running_loop().create_task(bridge.serve(theirs))
    near = Near(ours)
    await ours.start(near)
    try:
        yield near
    finally:
        await ours.aclose()
        await asyncio.wait_for(serving, WAIT_S)
        await bridge.aclose()


def opening(revision: str) -> bytes:
    """Return the first message of a client of a revision."""
    speaker = Speaker(revision)
    if mcp_wire.profile(revision).handshake is None:
        return speaker.request(1, "server/discover")
    params = {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "near", "version": "1"},
    }
    frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return msgspec.json.encode(frame)


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
async def test_messages_of_one_revision_pass_as_they_are_in_both_directions(revision: str) -> None:
    far = Far(revision)
    async with between(far) as near:
        first = opening(revision)
        near.transport.send(first)
        near.transport.send(ODD)
        await until(lambda: far.got[-1:] == [ODD])
        assert far.got[-2:] == [first, ODD]
        told = b'{"jsonrpc":"2.0",  "method":"x/told"}'
        far.say(told)
        await until(lambda: near.got[-1:] == [told])
        assert msgspec.json.decode(near.got[0])["id"] == 1
        later = ODD.replace(b'"7"', b'"8"')
        near.transport.send(later)
        await until(lambda: far.got[-1:] == [later])
    assert far.opened == 1


async def test_a_batch_passes_as_it_is() -> None:
    revision = mcp_wire.REVISIONS[1]
    far, batch = Far(revision, answers=False), b'[{"jsonrpc":"2.0","id":2,"method":"ping"} ]'
    async with between(far) as near:
        near.transport.send(opening(revision))
        await until(lambda: far.got)
        far.say(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"%b"}}' % revision.encode())
        near.transport.send(batch)
        await until(lambda: far.got[-1:] == [batch])


async def test_a_server_of_another_revision_is_asked_once_and_answered_for() -> None:
    far = Far(HANDSHAKE)
    async with between(far) as near:
        near.transport.send(opening(mcp_wire.REVISIONS[0]))
        await until(lambda: near.got)
        answer = msgspec.json.decode(near.got[0])
        assert answer["result"]["protocolVersion"] == mcp_wire.REVISIONS[0]
        near.transport.send(ODD)
        await until(lambda: len(near.got) == 2)
        assert msgspec.json.decode(near.got[1])["error"]["code"] == -32601
        methods = [msgspec.json.decode(one).get("method") for one in far.got]
    assert far.opened == 1
    assert methods == ["initialize", "notifications/initialized"]


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_a_server_that_ends_ends_the_clients_connection(revision: str) -> None:
    far = Far(revision)
    async with between(far) as near:
        near.transport.send(opening(revision))
        await until(lambda: near.got)
        far.hang_up.set()
        await asyncio.wait_for(near.ended.wait(), WAIT_S)


async def test_a_client_that_ends_ends_the_servers_connection() -> None:
    far = Far(HANDSHAKE)
    async with between(far) as near:
        near.transport.send(opening(HANDSHAKE))
        await until(lambda: near.got)
    await asyncio.wait_for(far.ended.wait(), WAIT_S)


async def test_a_client_that_names_no_revision_is_answered_by_the_bridge() -> None:
    async with between(shop(HANDSHAKE)) as near:
        near.transport.send(b"no json")
        near.transport.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        near.transport.send(opening(HANDSHAKE))
        await until(lambda: len(near.got) == 3)
    codes = [msgspec.json.decode(one).get("error", {}).get("code") for one in near.got]
    assert codes == [-32700, None, None]


def test_nothing_is_read_from_one_side_while_the_other_reads_too_slowly() -> None:
    happened: list[Any] = []

    class Slow:
        full = True

        def send(self, message: bytes) -> None:
            happened.append(message)

        def call_when_writable(self, act: Any) -> None:
            happened.append("waits")
            self.act = act

    class Fast:
        def pause_reading(self) -> None:
            happened.append("paused")

        def resume_reading(self) -> None:
            happened.append("resumed")

    source: Any = Fast()
    target: Any = Slow()
    copier(source, target)(b"message")
    target.act()
    assert happened == [b"message", "paused", "waits", "resumed"]
