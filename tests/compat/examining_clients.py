"""Examination of one client of the zoo at one revision."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING
from unittest.mock import patch

from mcp_gen.compat.checks.client_run import Ended
from mcp_gen.compat.doctor.client_examination import examine_client
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.scenarios.http import HttpStage
from mcp_gen.compat.scenarios.memory import MemoryStage
from mcp_gen.compat.scenarios.ready import ReadyServer
from mcp_gen.compat.wire.openers import HttpOpener, MemoryOpener

if TYPE_CHECKING:
    from mcp_gen.client.connecting.in_process import ConnectableServer
    from mcp_gen.compat.transcript import Transport

__all__ = ["LIMIT_S", "LocalHttpStage", "examined_client", "transport_of"]

LIMIT_S = 4.0
"""Time limit of a run: some milliseconds, where the machine has nothing else to do."""
TIMEOUT_S = 3.0
"""Longest wait for an answer."""
TOOLS_TIMEOUT_S = 0.6
"""Longest wait for the list of tools, which one scenario never gives."""
PATIENCE_S = 0.2
"""Longest wait of a server for what a broken client does not do."""


def transport_of(requirement: str) -> Transport:
    """Return a transport of a requirement; memory stands for the one that it is about."""
    over = requirements()[requirement].transport
    return "memory" if over == "any" else over


async def examined_client(
    peer: type[ClientScript], revisions: Sequence[str], transport: Transport = "memory"
) -> Report:
    """Return the report on a client of the zoo."""
    if transport == "http":
        return await examined_over_http(peer, revisions)

    async def run(server: ConnectableServer, revision: str) -> None:
        opens = MemoryOpener(lambda spoken: server)
        client = peer(opens, revision)
        client.timeout_s = TIMEOUT_S
        client.tools_timeout_s = TOOLS_TIMEOUT_S
        try:
            await client.run()
        finally:
            await opens.aclose()

    with patch.object(ReadyServer, "patience_s", PATIENCE_S):
        return await examine_client(
            MemoryStage(run, transport=transport),
            target=peer.__name__,
            revisions=revisions,
            limit_s=LIMIT_S,
        )


class LocalHttpStage(HttpStage):
    """Stage over HTTP of a client in this process.

    Args:
        act: Runs the client to its end, given the URL and the revision of the server.
    """

    def __init__(self, act: Callable[[str, str], Awaitable[None]]) -> None:
        super().__init__([], at_once=4)
        self._act = act

    async def run(self, said: Mapping[str, str], limit_s: float) -> Ended:
        """Run the client; an exception of it counts as exit code 1."""
        began_s = monotonic()
        running = asyncio.ensure_future(self._act(said["url"], said["revision"]))
        await asyncio.wait([running], timeout=limit_s)
        exit_code = 0 if running.done() else None
        running.cancel()
        [error] = await asyncio.gather(running, return_exceptions=True)
        if error is not None and exit_code == 0:
            exit_code = 1
        return Ended(exit_code=exit_code, took_s=monotonic() - began_s, limit_s=limit_s)


async def examined_over_http(peer: type[ClientScript], revisions: Sequence[str]) -> Report:
    """Return the report on a client of the zoo over HTTP."""

    async def run(url: str, revision: str) -> None:
        client = peer(HttpOpener(url), revision)
        client.timeout_s = TIMEOUT_S
        client.tools_timeout_s = TOOLS_TIMEOUT_S
        await client.run()

    with patch.object(ReadyServer, "patience_s", PATIENCE_S):
        return await examine_client(
            LocalHttpStage(run), target=peer.__name__, revisions=revisions, limit_s=LIMIT_S
        )
