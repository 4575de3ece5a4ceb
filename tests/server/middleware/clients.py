"""Clients of one server with middleware: connections of one process, and principals over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from mcp_gen import Server
from tests.support.peers.connect import talk, talk_to

__all__ = ["Clock", "Visit", "connected", "visited"]

Visit: TypeAlias = Callable[..., Any]


class Clock:
    """Clock of some modules that stands still between steps.

    Args:
        monkeypatch: Ends it with the test.
        modules: Modules that use `time.monotonic`.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
        self.now_s = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now_s)
        for module in modules:
            monkeypatch.setattr(f"{module}.time", clock)


def connected(server: Server, revision: str) -> Any:
    """Open a conversation over a connection of its own."""
    return talk(lambda: server, revision)


@asynccontextmanager
async def visited(server: Server, revision: str) -> AsyncIterator[Visit]:
    """Serve over HTTP: `visit("ann")` is a conversation of a principal with the server."""
    app = server.asgi()

    def visit(principal: str | None = None) -> Any:
        return talk_to(app, revision, principal=principal)

    try:
        yield visit
    finally:
        await app.aclose()
