"""Connections that are slow, half open or too many do not shut others out."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal, cast

import msgspec
import pytest
import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

import mcp_gen.server.serving.http as serving
from mcp_gen import ConnectionLimits, Server, UsageError
from mcp_gen.transports.http_server.uvicorn_protocol import DefaultProtocol, limited_protocol
from tests.hostile.work.uvicorn_server import PROTOCOLS, Parser, Served, head, served, status_of
from tests.support.loop import until
from tests.support.peers.raw import WAIT_S

with_both = pytest.mark.parametrize("kind", PROTOCOLS)
SOON = ConnectionLimits(header_timeout_s=0.05, idle_timeout_s=0.05)
LATE = ConnectionLimits(header_timeout_s=WAIT_S)


@asynccontextmanager
async def connected(
    server: Served,
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await server.connect()
    try:
        yield reader, writer
    finally:
        writer.close()


@with_both
async def test_a_connection_that_says_nothing_is_closed(kind: Parser) -> None:
    async with served(kind, SOON) as server, connected(server) as (reader, _):
        assert await status_of(reader) == "closed"
        await asyncio.wait_for(until(lambda: server.connections == 0), WAIT_S)


@with_both
async def test_a_head_that_does_not_end_is_refused(kind: Parser) -> None:
    async with served(kind, SOON) as server, connected(server) as (reader, writer):
        writer.write(head(100)[:-2])
        assert await status_of(reader) == "408"
        assert await reader.read() == b""


@with_both
async def test_a_head_that_comes_byte_by_byte_is_refused_in_time(kind: Parser) -> None:
    async with served(kind, SOON) as server, connected(server) as (reader, writer):
        status = asyncio.create_task(status_of(reader))
        while not status.done():
            writer.write(b"GET / HTTP/1.1\r\nx:" if not writer.transport.is_closing() else b"")
            await asyncio.wait([status], timeout=0.01)
        assert status.result() in ("408", "400", "431")


@with_both
async def test_the_time_of_a_later_head_begins_with_its_first_byte(kind: Parser) -> None:
    limits = ConnectionLimits(header_timeout_s=0.05)
    async with served(kind, limits) as server, connected(server) as (reader, writer):
        writer.write(head(100))
        assert await status_of(reader) == "200"
        writer.write(head(100)[:-2])
        assert await status_of(reader) == "408"


@with_both
async def test_an_answer_may_take_longer_than_a_head(kind: Parser) -> None:
    async with served(kind, SOON) as server:
        async with connected(server) as (reader, writer):
            writer.write(head(100, "/hold"))
            async with connected(server) as (other, _):
                assert await status_of(other) == "closed"  # the time of a head is over
            assert not reader.at_eof()
            assert server.connections == 1
        await asyncio.wait_for(until(lambda: server.connections == 0), WAIT_S)


@with_both
async def test_those_that_wait_make_room_for_others(kind: Parser) -> None:
    limits = ConnectionLimits(header_timeout_s=WAIT_S, max_connections=5)
    async with served(kind, limits) as server:
        silent = [await server.connect() for _ in range(20)]
        for _ in range(3):
            async with connected(server) as (reader, writer):
                writer.write(head(100))
                assert await status_of(reader) == "200"
        assert server.connections <= 5
        for _, writer in silent:
            writer.close()


@with_both
async def test_idle_connections_make_room_for_others(kind: Parser) -> None:
    limits = ConnectionLimits(header_timeout_s=WAIT_S, max_connections=2)
    async with served(kind, limits) as server:
        writers: list[asyncio.StreamWriter] = []
        for _ in range(6):
            reader, writer = await server.connect()
            writers.append(writer)
            writer.write(head(100))
            assert await status_of(reader) == "200"
        assert server.connections <= 2
        for writer in writers:
            writer.close()


@with_both
async def test_connections_that_are_being_answered_make_no_room(kind: Parser) -> None:
    limits = ConnectionLimits(header_timeout_s=WAIT_S, max_connections=1)
    async with served(kind, limits) as server, connected(server) as (busy, writer):
        writer.write(head(100, "/hold"))
        await asyncio.wait_for(until(lambda: server.busy), WAIT_S)
        async with connected(server) as (reader, _):
            assert await status_of(reader) == "closed"
        assert not busy.at_eof()


@with_both
async def test_a_client_that_reads_nothing_is_dropped_once_its_answer_is_over(kind: Parser) -> None:
    async with served(kind, SOON) as server, connected(server) as (_, writer):
        cast("asyncio.Transport", writer.transport).pause_reading()
        writer.write(head(100, "/long"))
        await asyncio.wait_for(until(lambda: server.connections == 1), WAIT_S)
        await asyncio.wait_for(until(lambda: server.connections == 0), WAIT_S)


async def test_trailers_without_an_end_are_refused() -> None:
    limits = ConnectionLimits(max_header_bytes=1000)
    begin = head(100, "/", "transfer-encoding: chunked").replace(b"GET /", b"PUT /")
    async with served("httptools", limits) as server, connected(server) as (reader, writer):
        writer.write(begin + b"1\r\nx\r\n0\r\nt: ")
        refused = asyncio.create_task(status_of(reader))
        while not refused.done():
            writer.write(b"y" * 1000)
            await asyncio.wait([refused], timeout=0.001)
        assert refused.result() in ("closed", "431")


@pytest.mark.parametrize("field", ConnectionLimits.__struct_fields__)
@pytest.mark.parametrize("limit", [0, -1, float("inf"), float("nan")])
def test_a_limit_is_a_number_above_0(field: str, limit: float) -> None:
    with pytest.raises(UsageError, match=field):
        msgspec.structs.replace(ConnectionLimits(), **{field: limit})


# --- what is used of uvicorn, and by whom ---


@with_both
def test_uvicorn_has_what_the_protocol_classes_build_on(kind: Parser) -> None:
    base: Any = PROTOCOLS[kind]
    parameters = list(inspect.signature(base).parameters)
    assert parameters == ["config", "server_state", "app_state", "_loop"]
    source = inspect.getsource(base)
    for name in ("self.cycle", "self.transport", "self.loop", "self.server_state"):
        assert name in source
    assert "response_complete" in source
    if kind == "h11":
        assert "self.conn" in source
    else:
        for name in ("on_headers_complete", "on_body", "on_message_complete"):
            assert callable(getattr(base, name))


@pytest.mark.parametrize("kind", ["auto", *PROTOCOLS])
def test_the_parser_that_is_named_is_used(kind: Literal["auto", "h11", "httptools"]) -> None:
    base = AutoHTTPProtocol if kind == "auto" else PROTOCOLS[kind]
    assert issubclass(limited_protocol(ConnectionLimits(), kind), base)


def test_uvicorn_takes_a_protocol_class() -> None:
    config = uvicorn.Config("x:y", http=DefaultProtocol)
    assert config.http is DefaultProtocol
    assert issubclass(DefaultProtocol, AutoHTTPProtocol)


@pytest.mark.parametrize("limits", [None, ConnectionLimits(max_header_bytes=7)])
def test_a_server_runs_with_the_limits_that_it_is_given(
    limits: ConnectionLimits | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs: list[Any] = []

    def run(server: uvicorn.Server) -> None:
        configs.append(server.config)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    Server("s").run("http", connection_limits=limits)
    Server.per_connection(lambda: Server("s")).run("http", connection_limits=limits)
    serving.run_http(Server("s").asgi(), "127.0.0.1", 0)
    given = limits or ConnectionLimits()
    assert [one.http.limits for one in configs] == [given, given, ConnectionLimits()]
    assert configs[0].limit_concurrency is None
    assert configs[0].h11_max_incomplete_event_size == given.max_header_bytes
