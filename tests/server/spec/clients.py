"""Clients with names, and helpers that the spec tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp_gen import Context
from tests.support.peers.asked import WAIT_S, Refused
from tests.support.peers.conversation import Conversation

__all__ = ["admitted", "is_admin", "opened_as"]


def is_admin(ctx: Context) -> bool:
    """Return True if the client of a request is named `admin`."""
    return ctx.client_info is not None and ctx.client_info.name == "admin"


async def opened_as(client: Conversation, name: str) -> None:
    """Open a conversation as the client of that name."""
    client.client_info = {"name": name, "version": "1"}
    await client.open()


async def admitted(client: Conversation, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a request that is retried until cancelled handlers have ended."""
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                return await client.request(method, params)
            except Refused:
                # The cancelled request ends in a later turn of the server's loop.
                await asyncio.sleep(0)
