"""Stage over HTTP of clients in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from types import MappingProxyType

from mcp_gen.compat.checks.client_run import Ended
from mcp_gen.compat.scenarios.http import HttpStage

__all__ = ["LocalHttpStage"]


class LocalHttpStage(HttpStage):
    """Runs a client of this process against an endpoint on a loopback port.

    Args:
        act: Runs the client to its end, given the values of the placeholders of a command.
        limits_s: Time limits of the scenarios in which the client hangs, by id.
    """

    def __init__(
        self,
        act: Callable[[Mapping[str, str]], Awaitable[None]],
        limits_s: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        super().__init__([], at_once=4)
        self._act = act
        self._limits_s = limits_s

    async def run(self, said: Mapping[str, str], limit_s: float) -> Ended:
        """Run the client; an exception of it counts as exit code 1."""
        limit_s = self._limits_s.get(said["scenario"], limit_s)
        began_s = monotonic()
        running = asyncio.ensure_future(self._act(said))
        await asyncio.wait([running], timeout=limit_s)
        exit_code = 0 if running.done() else None
        running.cancel()
        [error] = await asyncio.gather(running, return_exceptions=True)
        if error is not None and exit_code == 0:
            exit_code = 1
        return Ended(exit_code=exit_code, took_s=monotonic() - began_s, limit_s=limit_s)
