"""A test's client, connected to a server in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, Server
from tests.support.frames import ALL

__all__ = ["IN_RESULTS", "LIVE", "in_results", "live", "using"]

LIVE = [one for one in ALL if mcp_wire.profile(one).asks_client == "server_request"]
IN_RESULTS = [one for one in ALL if mcp_wire.profile(one).asks_client == "input_required"]

live = pytest.mark.parametrize("revision", LIVE)
in_results = pytest.mark.parametrize("revision", IN_RESULTS)


@asynccontextmanager
async def using(
    client: Client, server: Any, revision: str | None, **options: Any
) -> AsyncIterator[ClientSession]:
    """Connect the client; the client ends with the session. `server` is any `connect` target."""
    async with client:
        yield await client.connect(server, revision=revision, **options)


def declaring(**options: Any) -> Server:
    """Return a server with every capability, and a resource for every URI of one letter."""
    server = Server("declaring", declare=["tools", "prompts", "resources", "logging"], **options)

    def read(path: str) -> str:
        return path

    for letter in "abc":
        server.resource(f"{letter}://{{+path}}", name=letter)(read)
    return server
