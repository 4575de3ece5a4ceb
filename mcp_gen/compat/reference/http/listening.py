"""Serving of an ASGI app on a free loopback port, in the event loop of the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

__all__ = ["HOST", "listening"]

HOST = "127.0.0.1"
GRACE_S = 1.0
"""Seconds in which responses may end by themselves."""


@asynccontextmanager
async def listening(app: Any, host: str = HOST, port: int = 0) -> AsyncGenerator[str, None]:
    """Serve an app, and yield the origin of its URLs, without a slash at its end.

    Args:
        app: The ASGI app; it gets no lifespan.
        host: The address to listen on.
        port: The port; 0 for a free one.

    Raises:
        OSError: the port is in use.
    """
    # Loaded when there is something to serve.
    import uvicorn

    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", lifespan="off", ws="none"
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    # Not `serve`: it takes the signals of the process, and looks around ten times a second.
    await server.startup()
    bound = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://{HOST}:{bound}"
    finally:
        for one in server.servers:
            one.close()
        for connection in list(server.server_state.connections):
            connection.shutdown()
        tasks = list(server.server_state.tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        # Transports are closed in the next turn of the loop.
        await asyncio.sleep(0)
