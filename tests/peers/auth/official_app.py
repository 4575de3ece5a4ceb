"""Apps of the official SDK, served on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.http import loopback

__all__ = ["serving"]


@asynccontextmanager
async def serving(app: Any, *, port: int) -> AsyncGenerator[loopback.Web, None]:
    """Serve an app, and end what it leaves behind."""
    async with loopback.serving(app, port=port) as web:
        yield web
    # The SDK's library for event streams watches for the end of the process.
    watchers = [one for one in asyncio.all_tasks() if "_shutdown_watcher" in repr(one)]
    for watcher in watchers:
        watcher.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)
