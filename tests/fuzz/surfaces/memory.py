"""Surface: the server in this process, over a memory pair."""

from __future__ import annotations

import asyncio
from typing import Protocol

from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.transports.memory import memory_pair
from tests.fuzz.findings import Block, Findings
from tests.fuzz.surfaces.duplex import Line
from tests.fuzz.surfaces.surface import ANSWER_S
from tests.fuzz.target import make_server
from tests.soak.figures import live_kb

__all__ = ["Memory"]


class Target(Protocol):
    """Protocol of a server that serves one client over a transport."""

    async def serve(self, transport: Duplex) -> None: ...

    async def aclose(self) -> None: ...


class Receiving:
    """Far end of the pair: hands everything to a line."""

    def __init__(self) -> None:
        self.line: Line | None = None

    def receive(self, message: bytes) -> None:
        assert self.line
        self.line.came(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError(f"the server sent more than {limit_bytes} bytes")

    def closed(self, error: BaseException | None) -> None:
        assert self.line
        self.line.hung_up()


class Memory:
    """The server in this process; each block is a session with it."""

    def __init__(self, server: Target | None = None) -> None:
        self._server: Target = server or make_server()

    async def __aenter__(self) -> Memory:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._server.aclose()

    def live_kb(self) -> int | None:
        return live_kb()

    async def run(self, block: Block, findings: Findings) -> None:
        ours, theirs = memory_pair()
        serving = asyncio.get_running_loop().create_task(self._server.serve(theirs))
        receiving = Receiving()
        line = receiving.line = Line(block.revision, ours.send)
        await ours.start(receiving)
        try:
            await line.talk(block, findings, lambda: asyncio.sleep(0))
        finally:
            await ours.aclose()
            done, _ = await asyncio.wait([serving], timeout=ANSWER_S)
        if not done:
            serving.cancel()
            findings.add("stalled", "the session does not end after its client hung up")
        elif serving.exception():
            findings.add("ended", f"the session failed: {serving.exception()!r}")
