"""A message over `max_message_bytes` fails its call at once, and the session goes on."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from mcp_gen import Client, ClientSession, Server, TransportError, text_of
from mcp_gen.core.protocol_state import ProtocolState
from mcp_gen.session.duplex.oversized import fail_oversized
from tests.support.frames import HANDSHAKE, STREAMABLE
from tests.support.http.loopback import serving

WAIT_S = 10.0
LIMIT = 4096
PADS = f"""
import json, sys
result = {{"protocolVersion": {HANDSHAKE!r}, "capabilities": {{"tools": {{}}}},
          "serverInfo": {{"name": "pads", "version": "1"}}}}
for line in sys.stdin:
    frame = json.loads(line)
    if "id" not in frame:
        continue
    head = {{"jsonrpc": "2.0", "id": frame["id"]}}
    if frame["method"] == "initialize":
        print(json.dumps({{**head, "result": result}}), flush=True)
        continue
    size = frame["params"]["arguments"]["size"]
    order = frame["params"]["name"]
    def answer(text):
        body = {{"result": {{"content": [{{"type": "text", "text": text}}]}}}}
        return json.dumps({{**head, **body}} if order == "id first" else {{**body, **head}})
    print(answer("x" * (size - len(answer("")))), flush=True)
"""


def padding() -> Server:
    server = Server("pads")

    @server.tool
    async def pad(size: int) -> str:
        return "x" * size

    return server


async def call(session: ClientSession, name: str, size: int) -> str:
    """Return the text of a call that must end soon."""
    async with asyncio.timeout(WAIT_S):
        return text_of(await session.call_tool(name, {"size": size}))


@pytest.mark.parametrize("order", ["id first", "id last"])
@pytest.mark.parametrize("size", [LIMIT + 1, 100 * LIMIT])
async def test_a_larger_answer_of_a_command_fails_its_call_alone(size: int, order: str) -> None:
    async with Client("test", max_message_bytes=LIMIT) as client:
        words = [sys.executable, "-S", "-c", PADS]
        session = await client.connect(words, revision=HANDSHAKE)
        with pytest.raises(TransportError, match=f"more than {LIMIT} bytes.*max_message_bytes"):
            await call(session, order, size)
        assert set(await call(session, order, LIMIT)) == {"x"}


async def test_a_larger_answer_fails_the_one_of_several_calls_that_it_answers() -> None:
    async with Client("test", max_message_bytes=LIMIT) as client:
        session = await client.connect([sys.executable, "-S", "-c", PADS], revision=HANDSHAKE)
        sizes = (LIMIT, LIMIT + 1, LIMIT)
        calls = (call(session, "id first", size) for size in sizes)
        ended = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(one, TransportError) for one in ended] == [False, True, False]


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("revision", STREAMABLE)
async def test_a_larger_answer_over_http_fails_its_call_alone(revision: str, as_json: bool) -> None:
    async with (
        serving(padding().asgi(json_only=as_json)) as web,
        Client("test", max_message_bytes=LIMIT) as client,
    ):
        session = await client.connect(web.url, revision=revision)
        with pytest.raises(TransportError, match=f"at most {LIMIT} bytes"):
            await call(session, "pad", 100 * LIMIT)
        assert len(await call(session, "pad", LIMIT // 4)) == LIMIT // 4


async def test_a_large_request_of_a_server_fails_no_call() -> None:
    state: ProtocolState[asyncio.Future[Any]] = ProtocolState()
    waiter = asyncio.get_running_loop().create_future()
    assert state.open_request(waiter) == 1
    request = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"pad":"'
    assert fail_oversized(state, LIMIT, request, b"")
    assert not waiter.done()
