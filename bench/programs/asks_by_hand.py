"""Client program without an SDK, equivalent to `asks_ours`; arguments: `REVISION COMMAND`.

It is what a program writes that calls one tool: a future for each id, the messages of a turn in one
write, and msgspec. In memory its server is the bare one, called directly.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from bench.programs.asks import ARGUMENTS, answer_orders
from bench.programs.bare import answering
from bench.requests import HANDSHAKE, WHO_ASKS, initialize, initialized


class _Params(Struct):
    name: str
    arguments: dict[str, int]


class _ParamsWithCaller(_Params):
    meta: dict[str, Any] = field(name="_meta")


class _Request(Struct):
    id: int
    params: _Params
    method: str = "tools/call"
    jsonrpc: str = "2.0"


class _Text(Struct, tag="text"):
    text: str


class _Result(Struct):
    content: list[_Text]


class _Answer(Struct):
    id: int
    result: _Result


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Answer).decode


class Client:
    """Calls `add`.

    Args:
        revision: The revision.
        send: Takes each request.
    """

    def __init__(self, revision: str, send: Callable[[bytes], None]) -> None:
        self._handshake = revision == HANDSHAKE
        self._send = send
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[_Result]] = {}
        self._loop = asyncio.get_running_loop()

    async def call(self) -> str:
        """Make one call and return its text."""
        self._last_id = id = self._last_id + 1
        answered = self._waiting[id] = self._loop.create_future()
        params = (
            _Params("add", ARGUMENTS)
            if self._handshake
            else _ParamsWithCaller("add", ARGUMENTS, WHO_ASKS)
        )
        self._send(_encode(_Request(id, params)))
        return (await answered).content[0].text

    def receive(self, message: bytes) -> None:
        """Take the answer of a call."""
        answer = _decode(message)
        self._waiting.pop(answer.id).set_result(answer.result)


def in_memory(revision: str) -> Client:
    """Return a client whose calls are answered where they are made."""
    answer = answering(revision)
    client = Client(revision, lambda request: client.receive(answer(request)))
    return client


class Pipes(asyncio.SubprocessProtocol):
    """The pipes of a server over stdio."""

    def __init__(self, revision: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._out: list[bytes] = []
        self._rest = b""
        self._begun: asyncio.Future[None] | None = None
        self.client = Client(revision, self.send)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        started = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", started.get_pipe_transport(0))

    def send(self, message: bytes) -> None:
        """Write a message, with all others of this turn."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(message)

    def _flush(self) -> None:
        self._out.append(b"")
        self._stdin.write(b"\n".join(self._out))
        self._out.clear()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._begun is not None and lines:
            self._begun.set_result(None)
            self._begun = None
            return
        for line in lines:
            self.client.receive(line)

    async def shake_hands(self) -> None:
        """Make the handshake."""
        self._begun = self._loop.create_future()
        self.send(initialize(0))
        await self._begun
        self.send(initialized())


async def main(revision: str, *command: str) -> None:
    """Connect over every transport, then run the orders."""
    loop = asyncio.get_running_loop()
    process, pipes = await loop.subprocess_exec(
        lambda: Pipes(revision), *command, stderr=None, env=dict(os.environ)
    )
    if revision == HANDSHAKE:
        await pipes.shake_hands()
    await answer_orders({"memory": in_memory(revision).call, "stdio": pipes.client.call})
    process.terminate()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
