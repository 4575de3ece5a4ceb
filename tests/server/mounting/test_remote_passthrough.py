"""Passthrough: values that are equal on both sides pass through a mount byte for byte."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, ProtocolError, Server
from tests.support.frames import PER_REQUEST, Speaker, every_revision
from tests.support.peers.raw import RawClient, talking
from tests.support.peers.scripted import MemoryPeer, opening

GIVEN = b'{"z":1.0,"a":[1e2,{"k":  null}],"huge":12345678901234567890123}'
CONTENT = b'[{"type":"text","text":"x\\u0041",  "annotations":{"priority":1}}]'


class Bytes(MemoryPeer):
    """Server that answers each call with the same bytes, and records the requests."""

    def __init__(self, revision: str, result: bytes) -> None:
        super().__init__(opening(revision))
        self.result = result
        self.came: list[bytes] = []

    def receive(self, message: bytes) -> None:
        self.came.append(message)
        frame = msgspec.json.decode(message)
        if frame.get("method") == "tools/call":
            id = msgspec.json.encode(frame["id"])
            self.say(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, self.result))
        else:
            super().receive(message)


async def called(server: Server, client: RawClient, revision: str) -> bytes:
    """Return the bytes of a call's response."""
    message = Speaker(revision).request("call", "tools/call", {"name": "far_x", "arguments": {}})
    client.send(message.replace(b'"arguments":{}', b'"arguments":' + GIVEN))
    await client.answer("call")
    return client.transport.frames[-1].data


def result_at(revision: str, *more: bytes) -> bytes:
    begin = b'"resultType":"complete",' if mcp_wire.profile(revision).server_info_key else b""
    return b"{" + b",".join([begin + b'"content":' + CONTENT, *more]) + b"}"


@every_revision
async def test_arguments_and_content_are_not_read(revision: str) -> None:
    far = Bytes(revision, result_at(revision))
    server = Server("outer")
    async with Client("gateway", forward_requests=True) as between:
        server.mount("far", await between.connect(await far.start(), revision=revision))
        async with talking(server, revision) as client:
            answer = await called(server, client, revision)
        server.unmount("far")
    assert GIVEN in far.came[-1]
    assert b'"name":"x"' in far.came[-1]
    assert CONTENT in answer


@every_revision
async def test_meta_of_the_result_is_kept_and_names_the_gateway(revision: str) -> None:
    key = mcp_wire.profile(revision).server_info_key
    far_info = b'"%b":{"name":"far","version":"1"},' % key.encode() if key else b""
    far = Bytes(revision, result_at(revision, b'"_meta":{' + far_info + b'"example.org/a":1.0}'))
    server = Server("outer", "3")
    async with Client("gateway", forward_requests=True) as between:
        server.mount("far", await between.connect(await far.start(), revision=revision))
        async with talking(server, revision) as client:
            answer = await called(server, client, revision)
        server.unmount("far")
    assert b'"example.org/a":1.0' in answer
    assert CONTENT in answer
    if key:
        meta: Any = msgspec.json.decode(answer)["result"]["_meta"]
        assert meta[key] == {"name": "outer", "version": "3"}


@every_revision
@pytest.mark.parametrize("result", [b"[]", b"1", b'"text"', b"null"])
async def test_a_result_that_is_no_object_is_an_error(revision: str, result: bytes) -> None:
    far = Bytes(revision, result)
    server = Server("outer")
    async with Client("gateway", forward_requests=True) as between:
        server.mount("far", await between.connect(await far.start(), revision=revision))
        async with talking(server, revision) as client:
            answer = msgspec.json.decode(await called(server, client, revision))
        server.unmount("far")
    assert answer["error"]["code"] == ProtocolError.code


async def test_what_may_not_be_is_refused_where_the_client_is_strict() -> None:
    far = Bytes(PER_REQUEST, result_at(PER_REQUEST, b'"odd":1'))
    server = Server("outer")
    async with Client("gateway", validation="strict") as between:
        server.mount("far", await between.connect(await far.start(), revision=PER_REQUEST))
        async with talking(server, PER_REQUEST) as client:
            answer = msgspec.json.decode(await called(server, client, PER_REQUEST))
        server.unmount("far")
    assert "$.result.odd" in answer["error"]["message"]


async def test_a_result_without_its_type_gets_one() -> None:
    far = Bytes(PER_REQUEST, b'{"content":' + CONTENT + b"}")
    server = Server("outer")
    async with Client("gateway", forward_requests=True) as between:
        server.mount("far", await between.connect(await far.start(), revision=PER_REQUEST))
        async with talking(server, PER_REQUEST) as client:
            answer = msgspec.json.decode(await called(server, client, PER_REQUEST))
        server.unmount("far")
    assert answer["result"]["resultType"] == "complete"
