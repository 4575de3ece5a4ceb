"""Size of a server's answer while other calls are open, on the client."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from mcp_gen import Client, ClientSession, SessionLost, TransportError, text_of
from tests.client.scripted import opening
from tests.hostile.work.limits.limit import TAKEN, Limit, Reach
from tests.support.frames import ALL, HANDSHAKE
from tests.support.http.loopback import Got, Line, scripted_web

__all__ = ["LIMITS"]

AT, FAR = 4_096, 3_000_000
FAILED = "the call fails, the session goes on"
LOST = "the session is lost"
WAIT_S = 10.0
EVENTS = "text/event-stream"
NAMES = ("id first", "id last")

COMMAND = """
import json, sys
from tests.hostile.work.limits.messages import answer_of
for line in sys.stdin:
    answer = answer_of(json.loads(line))
    if answer:
        sys.stdout.buffer.write(answer + b"\\n")
        sys.stdout.flush()
"""


def answer_of(frame: Any) -> bytes:
    """Return the answer to a message, of the size that its arguments name; empty for none."""
    if "id" not in frame:
        return b""
    head = {"jsonrpc": "2.0", "id": frame["id"]}
    if frame["method"] == "initialize":
        reply = opening(frame["params"]["protocolVersion"])["initialize"]({})
        return msgspec.json.encode({**head, **(reply or {})})
    name, size = frame["params"]["name"], frame["params"]["arguments"]["size"]
    if name == "silent":
        return b""

    def answer(text: str) -> bytes:
        result = {"result": {"content": [{"type": "text", "text": text}]}}
        return msgspec.json.encode({**head, **result} if name == "id first" else {**result, **head})

    return answer("x" * (size - len(answer(""))))


async def as_json(got: Got, line: Line) -> None:
    answer = answer_of(got.json) if got.body else b""
    if answer:
        await line.answer(200, answer)
    elif got.asks == "tools/call":
        await line.silence()
    else:
        await line.answer(202 if got.body else 405)


async def as_events(got: Got, line: Line) -> None:
    answer = answer_of(got.json) if got.body else b""
    if answer:
        await line.head(200, EVENTS)
        await line.raw(b"data: %b\n\n" % answer)
    elif got.asks == "tools/call":
        await line.silence()
    else:
        await line.answer(202 if got.body else 405)


class OneStream:
    """Server of HTTP+SSE: every answer comes on the one stream."""

    def __init__(self) -> None:
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()

    async def script(self, got: Got, line: Line) -> None:
        if got.method == "GET":
            await line.head(200, EVENTS)
            await line.raw(b"event: endpoint\ndata: /post\n\n")
            while True:
                await line.raw(b"event: message\ndata: %b\n\n" % await self._answers.get())
        elif got.path != "/post":
            await line.answer(405)
        else:
            await line.answer(202)
            if answer := answer_of(got.json):
                self._answers.put_nowait(answer)


@asynccontextmanager
async def connected(over: str) -> AsyncIterator[ClientSession]:
    async with Client("test", max_message_bytes=AT) as client:
        if over == "stdio":
            words = [sys.executable, "-c", COMMAND]
            yield await client.connect(words, revision=HANDSHAKE, env="inherit")
            return
        scripts = {"JSON": as_json, "SSE of a POST": as_events, "HTTP+SSE": OneStream().script}
        revision = ALL[0] if over == "HTTP+SSE" else HANDSHAKE
        async with scripted_web(scripts[over]) as web:
            yield await client.connect(web.url, revision=revision)
            await client.aclose()


def answered(over: str, name: str) -> Reach:
    """Call a tool over one transport; its answer has the id before or after the result."""

    async def reach(size: int) -> str:
        async with asyncio.timeout(WAIT_S), connected(over) as session:
            other = asyncio.ensure_future(session.call_tool("silent", {"size": 0}))
            await asyncio.sleep(0)
            outcome = TAKEN
            try:
                await session.call_tool(name, {"size": size})
            except SessionLost:
                return LOST
            except TransportError as error:
                named = f"{AT} bytes" in str(error) and "max_message_bytes" in str(error)
                outcome = FAILED if named else str(error)
            assert len(text_of(await session.call_tool(name, {"size": 200}))) > 0
            assert not other.done()
            other.cancel()
            with suppress(asyncio.CancelledError, TransportError):
                await other
        return outcome

    return reach


LIMITS: list[Limit] = [
    Limit(f"an answer over {over}, {name}", AT, FAR, FAILED, answered(over, name))
    for over in ("stdio", "JSON", "SSE of a POST", "HTTP+SSE")
    for name in NAMES
]
