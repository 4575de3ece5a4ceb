"""HTTP servers of a test: an ASGI app on loopback, in the event loop of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from mcp_gen.compat.recordings.taps.http import loopback_socket
from mcp_gen.core.errors import UsageError

__all__ = ["listening"]

GRACE_S = 2
"""Seconds that requests may still take when the test has ended."""


@asynccontextmanager
async def listening(app: Any, path: str = "/mcp") -> AsyncGenerator[str, None]:
    """Serve an ASGI app at a free port of loopback, and yield the URL of its endpoint.

    Args:
        app: The app. It gets the lifespan events of ASGI if it takes them.
        path: Path of its MCP endpoint.

    Raises:
        UsageError: the app does not start.
    """
    with loopback_socket() as bound:
        endpoint = _endpoint(app)
        serving = asyncio.get_running_loop().create_task(endpoint.serve([bound]))
        started = asyncio.create_task(endpoint.is_up.wait())
        try:
            await asyncio.wait({serving, started}, return_when=asyncio.FIRST_COMPLETED)
            if not endpoint.is_up.is_set():
                raise UsageError("the HTTP app did not start: its log says why")
            yield f"http://127.0.0.1:{bound.getsockname()[1]}{path}"
        finally:
            started.cancel()
            endpoint.should_exit = True
            endpoint.is_over.set()
            await serving


def _endpoint(app: Any) -> Any:
    # Loaded for HTTP alone.
    import uvicorn

    class LoopbackEndpoint(uvicorn.Server):
        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            self.is_up = asyncio.Event()
            self.is_over = asyncio.Event()

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            self.is_up.set()

        async def main_loop(self) -> None:
            await self.on_tick(0)
            await self.is_over.wait()

        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            # Ctrl-C is for the test run.
            yield

    return LoopbackEndpoint(
        uvicorn.Config(
            app, log_level="error", access_log=False, timeout_graceful_shutdown=GRACE_S, ws="none"
        )
    )
