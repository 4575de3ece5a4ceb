"""Connections that are used again: those of introspection alone, and only where the host is."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from mcp_gen.auth.fetching.direct import MAX_IDLE
from mcp_gen.auth.fetching.fetcher import Fetcher
from mcp_gen.auth.flows.exchange import Purpose
from mcp_gen.core.errors import AuthError
from tests.auth.fetching.network import PRIVATE, PUBLIC, Internet, post, server_tls
from tests.support.http.loopback import Web

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


@asynccontextmanager
async def keeping(answers: int, tls: bool = False) -> AsyncGenerator[Web]:
    """Serve this many requests per connection, and then end it without a word."""
    web = Web(0, "https" if tls else "http")
    ended: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        ended.append(task)
        web.connections += 1
        try:
            for _ in range(answers):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(ANSWER)
            await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    context = server_tls() if tls else None
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        web.port = server.sockets[0].getsockname()[1]
        yield web
    await asyncio.wait_for(asyncio.gather(*ended), 5)


@pytest.mark.parametrize(
    ("purpose", "connections"), [(Purpose.INTROSPECTION, 1), (Purpose.TOKEN, 3)]
)
async def test_introspection_keeps_its_connection(purpose: Purpose, connections: int) -> None:
    async with keeping(9) as web:
        fetcher = Fetcher()
        for _ in range(3):
            await fetcher.run(post(web.url, purpose, b""), configured=web.url)
        await fetcher.aclose()
        assert web.connections == connections


async def test_a_kept_connection_that_ends_with_the_next_request_is_replaced() -> None:
    async with keeping(1) as web:
        fetcher = Fetcher()
        for _ in range(3):
            answered = await fetcher.run(
                post(web.url, Purpose.INTROSPECTION, b""), configured=web.url
            )
            assert answered.status == 200
        await fetcher.aclose()
        assert web.connections == 3


async def test_a_kept_connection_is_not_used_where_the_host_is_no_longer() -> None:
    async with keeping(9, tls=True) as web:
        names = {"as.example": [[PUBLIC], [PUBLIC], ["1.1.1.1"], [PRIVATE]]}
        net = Internet(names, dict.fromkeys((PUBLIC, "1.1.1.1", PRIVATE), web))
        fetcher, url = net.fetcher(), "https://as.example/"
        for _ in range(3):
            await fetcher.run(post(url, Purpose.INTROSPECTION, b""))
        with pytest.raises(AuthError, match="private address"):
            await fetcher.run(post(url, Purpose.INTROSPECTION, b""))
        await fetcher.aclose()
        assert net.connected == [PUBLIC, "1.1.1.1"]


async def test_a_kept_connection_of_an_internal_server_is_not_used_for_a_public_one() -> None:
    async with keeping(9, tls=True) as web:
        names = {"as.corp.example": [[PRIVATE]], "mcp.example": [[PUBLIC]]}
        net = Internet(names, dict.fromkeys((PUBLIC, PRIVATE), web))
        fetcher, url = net.fetcher(), "https://as.corp.example/"
        await fetcher.run(post(url, Purpose.INTROSPECTION), configured=url)
        with pytest.raises(AuthError, match="private address"):
            await fetcher.run(post(url, Purpose.INTROSPECTION), configured="https://mcp.example/")
        await fetcher.aclose()


async def test_the_number_of_kept_connections_is_bounded() -> None:
    async with keeping(9, tls=True) as web:
        hosts = [f"as{at}.corp.example" for at in range(MAX_IDLE + 1)]
        net = Internet({host: [[PUBLIC]] for host in hosts}, {PUBLIC: web})
        fetcher = net.fetcher()
        # The first one is closed for the last one.
        for host in (*hosts, hosts[-1], hosts[0]):
            await fetcher.run(post(f"https://{host}/", Purpose.INTROSPECTION, b""))
        assert len(net.connected) == len(hosts) + 1
        await fetcher.aclose()


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else an idle connection would keep its thread.
    timeout = 5

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_connection_is_not_used_in_another_loop_than_its_own() -> None:
    fetcher = Fetcher()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        try:
            for _ in range(2):
                flow = post(url, Purpose.INTROSPECTION, b"")
                assert asyncio.run(fetcher.run(flow, configured=url)).body == b"{}"
        finally:
            server.shutdown()
            thread.join()
            del fetcher
            # What the first loop has left open is told of here, and not in a later test.
            gc.collect()
