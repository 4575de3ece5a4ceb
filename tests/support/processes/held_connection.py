"""Connection that a program holds for as long as it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["HeldConnection", "held_connection"]


class HeldConnection:
    """Events of the connection.

    Args:
        port: The port of loopback that the program connects to.
    """

    def __init__(self, port: int) -> None:
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        self.holding = f"import socket\nsocket.create_connection(('127.0.0.1', {port})).recv(1)\n"
        """Python code that connects, and waits for ever."""


@asynccontextmanager
async def held_connection() -> AsyncIterator[HeldConnection]:
    """Listen for the connection of a program, and see how it ends with the program."""

    async def watch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.began.set()
        await reader.read()
        held.ended.set()
        writer.close()

    listening = await asyncio.start_server(watch, "127.0.0.1", 0)
    held = HeldConnection(listening.sockets[0].getsockname()[1])
    async with listening:
        yield held
