"""Stage in this process: the client is a coroutine, and memory carries the messages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.client_run import Ended
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.scenarios.stage import Performance

if TYPE_CHECKING:
    from mcp_gen.client.connecting.in_process import ConnectableServer
    from mcp_gen.compat.scenarios.scenario import Scenario
    from mcp_gen.compat.transcript import Transcript, Transport
    from mcp_gen.core.transport.protocols import Duplex

__all__ = ["MemoryStage"]


class MemoryStage:
    """Runs a client of this process; see `Stage`. An exception of it counts as exit code 1.

    Args:
        run: Runs the client to its end, given a server, of which each connection reaches another
            one, and the revision of the server.
        transport: What the memory stands for.
    """

    def __init__(
        self,
        run: Callable[[ConnectableServer, str], Awaitable[None]],
        *,
        transport: Transport = "memory",
    ) -> None:
        self.transport: Transport = transport
        self.starts_processes = False
        self.at_once = 8
        self._run = run

    async def perform(self, scenario: Scenario, revision: str, limit_s: float) -> Performance:
        """Run the client once."""
        served = _ServerOfRun(scenario, revision, self.transport)
        began_s = monotonic()
        exit_code: int | None = 0
        running = asyncio.ensure_future(self._run(served, revision))
        # A limit that is a timeout of the client's task would look like one of its own.
        await asyncio.wait([running], timeout=limit_s)
        took_s = monotonic() - began_s
        if not running.done():
            exit_code = None
            running.cancel()
        [error] = await asyncio.gather(running, return_exceptions=True)
        if error is not None and exit_code == 0:
            exit_code = 1
        ended = Ended(exit_code=exit_code, took_s=took_s, limit_s=limit_s)
        return Performance(served.transcripts, ended)


class _ServerOfRun:
    """Server of one run."""

    def __init__(self, scenario: Scenario, revision: str, transport: Transport) -> None:
        self.transcripts: list[Transcript] = []
        self._scenario = scenario
        self._revision = revision
        self._transport: Transport = transport

    async def serve(self, transport: Duplex) -> None:
        server = self._scenario.server(self._revision)
        server.earlier = len(self.transcripts)
        serving = DuplexServing(server, self._transport)
        self.transcripts.append(serving.transcript)
        await serving.serve(transport)
