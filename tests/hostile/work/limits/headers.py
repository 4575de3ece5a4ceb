"""Limits on the heads of HTTP requests, with both protocol classes of uvicorn."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from mcp_gen import ConnectionLimits
from tests.hostile.work.limits.limit import TAKEN, Limit
from tests.hostile.work.uvicorn_server import PROTOCOLS, Parser, Served, head, served, status_of

__all__ = ["LIMITS"]

AT = 1000
FAR = 2_000_000
LIMITED = ConnectionLimits(max_header_bytes=AT)


async def _sent(server: Served, *pieces: bytes) -> str:
    """Send pieces, each once the one before has left; return the outcome of the last request."""
    reader, writer = await server.connect()
    try:
        with suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                # As two packets: the server reads them one after the other.
                for _ in range(5):
                    await asyncio.sleep(0)
        status = await status_of(reader)
    finally:
        writer.close()
    return TAKEN if status == "200" else status


async def head_in_one_piece(kind: Parser, size_bytes: int) -> str:
    async with served(kind, LIMITED) as server:
        return await _sent(server, head(size_bytes))


async def head_in_pieces(kind: Parser, size_bytes: int) -> str:
    whole = head(size_bytes)
    step = max(90, len(whole) // 20)
    async with served(kind, LIMITED) as server:
        pieces = [whole[first : first + step] for first in range(0, len(whole), step)]
        return await _sent(server, *pieces)


async def head_that_is_split_in_its_end(kind: Parser, size_bytes: int) -> str:
    whole = head(size_bytes)
    async with served(kind, LIMITED) as server:
        return await _sent(server, whole[:-3], whole[-3:-1], whole[-1:])


async def head_before_a_body(kind: Parser, size_bytes: int) -> str:
    """Send a head with a body larger than the limit of heads."""
    whole = head(size_bytes, "/", "content-length: 5000").replace(b"GET /", b"PUT /")
    async with served(kind, LIMITED) as server:
        return await _sent(server, whole + b"b" * 5000)


async def second_head(kind: Parser, size_bytes: int) -> str:
    async with served(kind, LIMITED) as server:
        reader, writer = await server.connect()
        writer.write(head(100))
        assert await status_of(reader) == "200"
        with suppress(ConnectionError):
            writer.write(head(size_bytes))
            await writer.drain()
        status = await status_of(reader)
        writer.close()
    return TAKEN if status == "200" else status


async def head_over_a_unix_socket(kind: Parser, size_bytes: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        async with served(kind, LIMITED, Path(folder) / "s") as server:
            return await _sent(server, head(size_bytes))


def _limits() -> Iterator[Limit]:
    ways: dict[str, Callable[[Parser, int], Awaitable[str]]] = {
        "head in one piece": head_in_one_piece,
        "head in pieces": head_in_pieces,
        "head that is split in its end": head_that_is_split_in_its_end,
        "head before a body": head_before_a_body,
        "second head of a connection": second_head,
        "head over a Unix socket": head_over_a_unix_socket,
    }
    for name, reach in ways.items():
        for kind in PROTOCOLS:
            yield Limit(f"bytes of a {name}, {kind}", AT, FAR, "431", partial(reach, kind))


LIMITS = list(_limits())
