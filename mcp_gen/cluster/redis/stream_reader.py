"""Reads a stream of Redis from an offset on, in a task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from mcp_gen.core.stores.failures import StoreDown

from .connection import RedisConnection

__all__ = ["BLOCK_S", "Entry", "StreamReader"]

log = logging.getLogger("mcp_gen.cluster")

Entry: TypeAlias = tuple[bytes, dict[bytes, bytes]]
"""Id and fields of an entry of a stream."""

BLOCK_S = 0.5
"""Seconds for which a read waits for entries: with the time-out, the time to notice a dead peer."""
CANCEL_S = 0.1
"""Seconds until a task that did not end is cancelled once more."""
MAX_ENTRIES = 500
"""Entries per read."""


class StreamReader:
    """Reads the entries of a stream, each once, and hands them on in order.

    Args:
        connection: The connection to Redis.
        key: Key of the stream.
        handle: Called with new entries.
    """

    def __init__(
        self,
        connection: RedisConnection,
        key: str,
        handle: Callable[[Sequence[Entry]], None],
    ) -> None:
        self._connection = connection
        self._key = key
        self._handle = handle
        self.offset = "0-0"
        """Id of the last entry that has been handed on."""
        self._task: asyncio.Task[None] | None = None

    async def fetch(self) -> list[Entry]:
        """Return all entries that are there by now. They are not handed on.

        Raises:
            StoreDown: The server cannot be used.
        """
        entries: list[Entry] = []
        offset = self.offset
        while True:
            more = await self._connection.read_stream(self._key, offset, None, MAX_ENTRIES)
            entries += more
            if len(more) < MAX_ENTRIES:
                return entries
            offset = more[-1][0].decode("ascii")

    def take(self, entries: Sequence[Entry]) -> None:
        """Hand entries on."""
        if entries:
            self.offset = entries[-1][0].decode("ascii")
            self._handle(entries)

    def start(self) -> None:
        """Read in a task, until `stop` or an error of the server."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End the task."""
        task, self._task = self._task, None
        # A client that the user has made may swallow a cancellation: see `RedisAddress.limit`.
        while task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=CANCEL_S)

    async def _run(self) -> None:
        try:
            while self._connection.is_up and self._task is asyncio.current_task():
                self.take(
                    await self._connection.read_stream(self._key, self.offset, BLOCK_S, MAX_ENTRIES)
                )
        except StoreDown as error:
            self._connection.failed(error)
        except Exception as error:
            # Whatever it is: a node that reads no more must not look as if it did.
            log.exception("cluster: reading a stream failed")
            self._connection.failed(error)
