"""Bad servers on a pipe: one row each with the outcome of a call and its time limit.

Faults over HTTP are in `tests/transports/http_client/test_failures.py`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest

import mcp_wire
from mcp_gen import (
    Client,
    ClientSession,
    InvalidResult,
    McpError,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    text_of,
)
from tests.client.using import using
from tests.support.frames import PER_REQUEST, every_revision
from tests.support.peers.scripted import MemoryPeer, opening

BOUND_S = 30.0
"""Time limit of every row, in seconds, whatever the server does."""
TIMEOUT_S = 0.05
"""Timeout of a call that is never answered, in seconds."""


class Row(NamedTuple):
    """Row of the table: the server's reaction to a tool call, and the outcome."""

    does: Callable[[MemoryPeer, int, bytes], None]
    """Function of the server, the id of the call, and its valid response."""
    ends: type[BaseException] | None = None
    """Exception of the call; None if it is answered."""
    says: str = ""


def says(*messages: bytes) -> Callable[[MemoryPeer, int, bytes], None]:
    """Return a reaction that sends these messages; `ID` is the call's id, `OK` its response."""

    def does(server: MemoryPeer, id: int, right: bytes) -> None:
        for message in messages:
            server.say(message.replace(b"OK", right).replace(b"ID", str(id).encode()))

    return does


def floods(message: bytes, count: int) -> Callable[[MemoryPeer, int, bytes], None]:
    return says(*[message] * count, b"OK")


def hangs_up(server: MemoryPeer, id: int, right: bytes) -> None:
    server.say(right[: len(right) // 2])
    ENDING.append(asyncio.get_running_loop().create_task(server.hang_up()))


ENDING: list[asyncio.Task[None]] = []

ROWS = {
    "answers twice": Row(says(b"OK", b"OK")),
    "answers another request too": Row(says(b'{"jsonrpc":"2.0","id":99,"result":{}}', b"OK")),
    "answers under an id of another type": Row(
        says(b'{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}'), RequestTimeout
    ),
    "answers under null": Row(
        says(b'{"jsonrpc":"2.0","id":null,"result":{"content":[]}}'), RequestTimeout
    ),
    "says nothing": Row(says(), RequestTimeout, r"tools/call: no answer in 0\.05 s"),
    "answers with a result of another shape": Row(
        says(b'{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":7}}'),
        InvalidResult,
        r"at `\$\.content`",
    ),
    "answers with a result that is no object": Row(
        says(b'{"jsonrpc":"2.0","id":ID,"result":[1]}'),
        InvalidResult,
        "Expected `object`, got `array`",
    ),
    "answers with neither result nor error": Row(
        says(b'{"jsonrpc":"2.0","id":ID}'), ProtocolError, "expected `method`, `result` or `error`"
    ),
    "answers with an error that is none": Row(
        says(b'{"jsonrpc":"2.0","id":ID,"error":"no"}'), McpError, "without a code"
    ),
    "answers with another version of JSON-RPC": Row(
        says(b'{"jsonrpc":"1.0","id":ID,"result":{}}'), ProtocolError, "no JSON-RPC message"
    ),
    "says what is no JSON": Row(says(b"nonsense", b"\xff\xfe", b"{", b"OK")),
    "nests too deeply": Row(says(b"[" * 100_000, b'{"a":' * 100_000, b"OK")),
    "floods with notifications": Row(
        floods(
            b'{"jsonrpc":"2.0","method":"notifications/message",'
            b'"params":{"level":"info","data":"x"}}',
            5000,
        )
    ),
    "floods with notifications that nobody knows": Row(
        floods(b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":[1]}}', 5000)
    ),
    "floods with progress of nothing": Row(
        floods(
            b'{"jsonrpc":"2.0","method":"notifications/progress",'
            b'"params":{"progressToken":"x","progress":1}}',
            5000,
        )
    ),
    "tells the wrong shape": Row(
        says(
            b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":7}}',
            b'{"jsonrpc":"2.0","method":"notifications/progress"}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ID"}}',
            b"OK",
        )
    ),
    "asks for what there is not": Row(
        says(
            b'{"jsonrpc":"2.0","id":"q","method":"no/such"}',
            b'{"jsonrpc":"2.0","id":"r","method":"tools/list"}',
            b"OK",
        )
    ),
    "hangs up in the middle of the answer": Row(hangs_up, SessionLost, "hung up"),
}
BATCH = Row(says(b"[OK]"))


def right_answer(revision: str, id: int) -> bytes:
    typed = {} if mcp_wire.profile(revision).handshake else {"resultType": "complete"}
    result = {"content": [{"type": "text", "text": "right"}], **typed}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result})


async def call(session: ClientSession, timeout_s: float) -> str:
    async with asyncio.timeout(BOUND_S):
        return text_of(await session.call_tool("t", timeout_s=timeout_s))


async def holds(row: Row, revision: str) -> None:
    answers = opening(revision)
    server = MemoryPeer(answers)
    first = True

    def reply(params: Any) -> Any:
        nonlocal first
        id = server.asked[-1]["id"]
        right = right_answer(revision, id)
        if first:
            first = False
            row.does(server, id, right)
        else:
            server.say(right)
        return None

    answers["tools/call"] = reply
    async with using(Client("c"), await server.start(), revision) as session:
        if row.ends is None:
            # A flood takes long on a slow machine, but the response follows it.
            async with asyncio.timeout(BOUND_S):
                assert text_of(await session.call_tool("t")) == "right"
        else:
            timeout_s = TIMEOUT_S if row.ends is RequestTimeout else BOUND_S
            with pytest.raises(row.ends, match=row.says or None) as caught:
                await call(session, timeout_s)
            assert type(caught.value) is row.ends or row.ends is ProtocolError
        if row.ends is not SessionLost:
            # The session stays usable after every fault.
            async with asyncio.timeout(BOUND_S):
                assert text_of(await session.call_tool("t")) == "right"
    for task in ENDING:
        await task
    ENDING.clear()


@every_revision
@pytest.mark.parametrize("name", ROWS)
async def test_a_server_that(name: str, revision: str) -> None:
    await holds(ROWS[name], revision)


@every_revision
async def test_a_server_that_answers_in_a_batch(revision: str) -> None:
    allowed = mcp_wire.profile(revision).allows_batches
    await holds(BATCH if allowed else BATCH._replace(ends=RequestTimeout), revision)


# --- commands ---

BEGINS = """
import json, sys
asked = json.loads(sys.stdin.readline())
found = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
         "ttlMs": 0, "cacheScope": "private"}
print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("sys.exit(4)", "exit status 4"),
        ("raise SystemExit('out of order')", "exit status 1; .*: out of order"),
        ("print('{\"jsonrpc\"', end='', flush=True)", "hung up"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit status -9"),
    ],
    ids=["exits", "says why", "half a line", "is killed"],
)
async def test_a_command_that(script: str, says: str) -> None:
    command = [sys.executable, "-S", "-c", BEGINS + script]
    async with using(Client("c"), command, PER_REQUEST, reconnect=False) as session:
        calls = [asyncio.create_task(session.call_tool("t")) for _ in range(3)]
        async with asyncio.timeout(BOUND_S):
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in outcomes] == [SessionLost] * 3
        with pytest.raises(SessionLost, match=says):
            await session.call_tool("t")
