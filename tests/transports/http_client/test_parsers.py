"""Connections of the pool, with each HTTP parser: when they are kept, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal, TypeAlias

import pytest

from mcp_gen import SessionLost, TransportError
from mcp_gen.transports.http_client import kept
from mcp_gen.transports.http_client.endpoint import read_whole
from mcp_gen.transports.http_client.pool import Pool, PooledResponse

WAIT_S = 30.0
MANY = 1_000_000
Parser: TypeAlias = Literal["h11", "httptools"]
each_parser = pytest.mark.parametrize("parser", ["h11", "httptools"])

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Far:
    """A server that answers each request, of one read, with the same bytes.

    Attributes:
        pool: The pool that sends to it.
        connections: How many were opened.
        lost: Set when one of them ended at the other side.
    """

    def __init__(self, answer: bytes, *, closes: bool) -> None:
        self.pool = Pool(WAIT_S)
        self.answer = answer
        self.closes = closes
        self.connections = 0
        self.requests: list[bytes] = []
        self.lost = asyncio.Event()
        self.closed = asyncio.Event()
        self.serving: list[asyncio.Task[None]] = []

    def begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving.append(asyncio.ensure_future(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while request := await reader.read(1 << 16):
                self.requests.append(request)
                writer.write(self.answer)
                await writer.drain()
                if self.closes:
                    return
        except ConnectionError:
            pass
        finally:
            self.lost.set()
            writer.close()
            self.closed.set()


Get: TypeAlias = Callable[..., Awaitable[PooledResponse]]
"""Sends a request with these header lines."""


@asynccontextmanager
async def far(
    parser: Parser, answer: bytes = OK, *, closes: bool = False, method: str = "GET"
) -> AsyncGenerator[tuple[Far, Get], None]:
    made = Far(answer, closes=closes)
    server = await asyncio.start_server(made.begin, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    made.pool = pool = Pool(WAIT_S, parser)
    async with asyncio.timeout(WAIT_S):
        try:
            yield made, lambda *lines: pool.send(method, url, lines, None)
        finally:
            await pool.aclose()
            server.close()
            await asyncio.gather(*made.serving)


async def whole(get: Get) -> bytes:
    """Return the body of a new response, which is closed then."""
    response = await get()
    try:
        return await read_whole(response, MANY)
    finally:
        await response.aclose()


@each_parser
async def test_a_connection_is_used_again_when_its_answer_was_read(parser: Parser) -> None:
    async with far(parser) as (server, get):
        assert [await whole(get) for _ in range(3)] == [b"ok"] * 3
        assert server.connections == 1


@each_parser
async def test_a_connection_is_not_used_again_when_its_answer_was_left(parser: Parser) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nok"
    async with far(parser, answer) as (server, get):
        for _ in range(2):
            await (await get()).aclose()
        assert server.connections == 2


@each_parser
async def test_a_connection_that_the_server_closed_while_it_was_idle_is_not_used(
    parser: Parser,
) -> None:
    async with far(parser, closes=True) as (server, get):
        for _ in range(3):
            assert await whole(get) == b"ok"
            await server.closed.wait()
            server.closed.clear()
            await asyncio.sleep(0)
        assert server.connections == 3


@each_parser
async def test_a_connection_is_not_used_again_when_the_server_wants_to_close_it(
    parser: Parser,
) -> None:
    answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"
    async with far(parser, answer) as (server, get):
        assert [await whole(get) for _ in range(2)] == [b"ok"] * 2
        assert server.connections == 2


@pytest.mark.parametrize("extra", [OK, b"no HTTP", b"HTTP"])
async def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(extra: bytes) -> None:
    async with far("httptools", OK + extra) as (server, get):
        assert [await whole(get) for _ in range(2)] == [b"ok"] * 2
        assert server.connections == 2


@each_parser
async def test_requests_at_once_have_connections_of_their_own_and_few_are_kept(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MAX_IDLE", 2)
    async with far(parser) as (server, get):
        for _ in range(2):
            responses = await asyncio.gather(*(get() for _ in range(4)))
            for response in responses:
                assert await read_whole(response, MANY) == b"ok"
                await response.aclose()
        assert server.connections == 4 + 2


@each_parser
async def test_a_connection_whose_request_is_cancelled_is_closed(parser: Parser) -> None:
    async with far(parser, b"") as (server, get):
        asking = asyncio.ensure_future(get())
        while not server.requests:  # noqa: ASYNC110  # bounded by `far`
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        await server.lost.wait()


@each_parser
async def test_closing_the_pool_ends_a_response_that_is_read(parser: Parser) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nok"
    async with far(parser, answer) as (server, get):
        response = await get()
        reading = asyncio.ensure_future(read_whole(response, MANY))
        await asyncio.sleep(0)
        await server.pool.aclose()
        with pytest.raises(SessionLost, match="the server hung up"):
            await reading
        await response.aclose()


BODIES: dict[str, tuple[bytes, bytes]] = {
    "in chunks": (
        b"transfer-encoding: chunked\r\n\r\n1;a=b\r\no\r\n1\r\nk\r\n0\r\ntrailer: of it\r\n\r\n",
        b"ok",
    ),
    "empty": (b"content-length: 0\r\n\r\n", b""),
    "with spaces in its headers": (b"content-length:   2  \r\nx: \r\n\r\nok", b"ok"),
}


@each_parser
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("interim", [b"", b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n"])
async def test_a_body_is_read_and_its_connection_kept(
    name: str, interim: bytes, parser: Parser
) -> None:
    rest, body = BODIES[name]
    async with far(parser, interim + b"HTTP/1.1 200 OK\r\n" + rest) as (server, get):
        response = await get()
        assert await read_whole(response, MANY) == body
        await response.aclose()
        assert {"link", "trailer"}.isdisjoint(response.headers)
        assert await whole(get) == body
        assert server.connections == 1


@each_parser
async def test_a_body_without_a_length_ends_with_its_connection(parser: Parser) -> None:
    async with far(parser, b"HTTP/1.1 200 OK\r\n\r\nall of it", closes=True) as (_, get):
        assert await whole(get) == b"all of it"


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
@each_parser
async def test_a_status_without_a_body_ends_at_its_head(status: bytes, parser: Parser) -> None:
    async with far(parser, b"HTTP/1.1 %b\r\n\r\n" % status) as (_, get):
        assert await whole(get) == b""


@each_parser
async def test_the_answer_to_head_has_no_body(parser: Parser) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n"
    async with far(parser, answer, method="HEAD") as (_, get):
        response = await get()
        assert response.headers["content-length"] == "20"
        assert [chunk async for chunk in response.chunks()] == []
        await response.aclose()


SHORT = [
    b"",
    b"HTTP/1.1 200 OK\r\ncontent-le",
    b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n",
]


@each_parser
@pytest.mark.parametrize("answer", SHORT)
async def test_an_answer_that_ends_early_is_a_lost_connection(
    answer: bytes, parser: Parser
) -> None:
    async with far(parser, answer, closes=True) as (_, get):
        with pytest.raises(SessionLost, match="the server hung up"):
            await whole(get)


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
TOO_LARGE = {
    "head": b"HTTP/1.1 200 OK\r\nx: " + b"x" * MANY,
    "heads": b"HTTP/1.1 200 OK\r\n" + b"x: x\r\n" * MANY,
    "reason": b"HTTP/1.1 200 " + b"x" * MANY,
    "extension of a chunk": CHUNKED + b"1;" + b"x" * MANY,
    "trailers": CHUNKED + b"0\r\n" + b"x: x\r\n" * MANY,
}


@each_parser
@pytest.mark.parametrize("name", TOO_LARGE)
async def test_what_is_no_body_is_limited(name: str, parser: Parser) -> None:
    async with far(parser, TOO_LARGE[name]) as (_, get):
        with pytest.raises(TransportError, match="what the server sends is no HTTP"):
            await whole(get)


@each_parser
@pytest.mark.parametrize("value", [b"a\r\nb: c", b"a\n", b"a\0"])
async def test_a_header_of_more_than_a_line_is_not_sent(value: bytes, parser: Parser) -> None:
    async with far(parser) as (server, get):
        with pytest.raises(TransportError, match="the request cannot be sent"):
            await get((b"x", value))
        assert server.requests == []
