"""HTTP connections: TLS, proxies, non-ASCII URLs; and nothing is left open."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpcore2
import pytest

from mcp_gen import Client, Server, TransportError
from mcp_gen.transports.http_client.endpoint import read_whole
from mcp_gen.transports.http_client.pool import Pool
from mcp_gen.transports.http_client.sockets import SocketBackend
from tests.client.scripted import opening
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle
from tests.support.http.certificates import self_signed
from tests.support.http.loopback import Got, Line, Web, scripted_web, serving
from tests.support.peers.raw import WAIT_S


def server() -> Server:
    made = Server("ways")

    @made.tool
    async def echo(text: str) -> str:
        return text

    return made


# --- encrypted ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a key and a self-signed certificate for 127.0.0.1."""
    return self_signed(tmp_path_factory.mktemp("tls"))


@asynccontextmanager
async def encrypted(certificate: Path) -> AsyncIterator[Web]:
    async with serving(server().asgi(), ssl_certfile=str(certificate)) as web:
        yield web


@each_lifecycle
async def test_a_server_is_spoken_to_over_tls(
    certificate: Path, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with encrypted(certificate) as web, Client("test") as client:
        session = await client.connect(web.url, revision=revision)
        text = "x" * 300_000
        answers = await asyncio.gather(*(session.call_tool("echo", {"text": text}) for _ in "abc"))
        assert [one.content[0].text for one in answers] == [text] * 3


async def test_a_certificate_that_nobody_has_signed_is_refused(certificate: Path) -> None:
    # In debug mode a loop reports each handshake that its server could not finish.
    asyncio.get_running_loop().set_debug(False)
    async with encrypted(certificate) as web, Client("test") as client:
        with pytest.raises(TransportError, match=r"cannot be reached: .*certificate"):
            await client.connect(web.url)
        assert web.got == []


async def test_a_server_that_is_not_encrypted_is_not_spoken_to_over_tls() -> None:
    async with serving(server().asgi()) as web, Client("test") as client:
        with pytest.raises(TransportError, match="cannot be reached"):
            await client.connect(web.url.replace("http:", "https:"))


@asynccontextmanager
async def deaf_inside_tls(certificate: Path) -> AsyncIterator[tuple[Any, ssl.SSLContext]]:
    """Connect over TLS to a peer that then reads nothing, not even a goodbye.

    The stream is returned with the TLS context of the client, to encrypt it once more, as behind a
    proxy with TLS.
    """
    inside, outside = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    inside.load_cert_chain(certificate)
    outside.load_verify_locations(certificate)
    met: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()

    def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()
        met.set_result(writer)

    async with await asyncio.start_server(meet, "127.0.0.1", ssl=inside) as server:
        port = server.sockets[0].getsockname()[1]
        stream = await SocketBackend().connect_tcp("127.0.0.1", port)
        encrypted = await stream.start_tls(outside, "127.0.0.1", WAIT_S)
        peer = await asyncio.wait_for(met, WAIT_S)
        try:
            yield encrypted, outside
        finally:
            peer.transport.abort()
            await asyncio.sleep(0)


async def test_a_connection_that_cannot_be_encrypted_is_dropped_at_once(certificate: Path) -> None:
    async with deaf_inside_tls(certificate) as (stream, context):
        socket = stream.get_extra_info("socket")
        with pytest.raises(httpcore2.ConnectTimeout):
            await stream.start_tls(context, "127.0.0.1", 0.05)
        # Without waiting for the peer's goodbye, which takes asyncio half a minute.
        async with asyncio.timeout(10):
            # Nothing is told of the end of a connection that did not become one.
            while socket.fileno() != -1:  # noqa: ASYNC110
                await asyncio.sleep(0)
            await stream.aclose()


async def test_a_server_that_hangs_up_in_the_moment_of_encryption_cannot_be_reached(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start_tls(*given: Any, **options: Any) -> None:
        """Return what asyncio does if the connection ends in the turn of the handshake."""

    async with deaf_inside_tls(certificate) as (stream, context):
        monkeypatch.setattr(asyncio.get_running_loop(), "start_tls", start_tls)
        with pytest.raises(httpcore2.ConnectError, match="hung up"):
            await stream.start_tls(context, "127.0.0.1", WAIT_S)
        await stream.aclose()


# --- through a proxy ---


async def answers(got: Got, line: Line) -> None:
    reply = opening(PER_REQUEST)["server/discover"]({})
    assert reply is not None
    await line.result(got, reply["result"])


async def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_web(answers) as proxy, Client("test") as client:
        monkeypatch.setenv("http_proxy", proxy.origin.replace("//", "//me:secret@"))
        monkeypatch.setenv("no_proxy", "other.example")
        await client.connect("http://server.example/mcp")
        (got,) = proxy.got
        assert (got.path, got.headers["host"]) == ("http://server.example/mcp", "server.example")
        assert got.headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"


async def test_no_proxy_is_used_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_web(answers) as web, scripted_web(answers) as proxy:
        monkeypatch.setenv("http_proxy", proxy.origin)
        monkeypatch.setenv("no_proxy", "")
        async with Client("test") as client:
            await client.connect(web.url)
        assert (len(web.got), len(proxy.got)) == (1, 0)


async def test_a_proxy_that_is_none_of_http_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    async with Client("test") as client:
        with pytest.raises(TransportError, match="a proxy that is none of HTTP"):
            await client.connect("http://server.example/mcp")


# --- accepted URLs ---


async def test_a_path_and_a_query_of_any_signs_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_web(answers) as proxy, Client("test") as client:
        monkeypatch.setenv("http_proxy", proxy.origin)
        monkeypatch.setenv("no_proxy", "")
        await client.connect("http://bücher.example/ü b/%41?q=ä&r=1#part")
        (got,) = proxy.got
        assert got.path == "http://xn--bcher-kva.example/%C3%BC%20b/%41?q=%C3%A4&r=1"
        assert got.headers["host"] == "xn--bcher-kva.example"


# --- connections ---


async def test_all_urls_of_an_origin_share_their_connections() -> None:
    app, peers, pool = server().asgi(), set[Any](), Pool(WAIT_S)

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            peers.add(scope["client"])
        await app(scope, receive, send)

    async with serving(watched) as web:
        for path in ("/one", "/other"):
            response = await pool.send("GET", f"{web.origin}{path}", [], None)
            await read_whole(response, 1000)
            await response.aclose()
        await pool.aclose()
    assert len(peers) == 1


# --- nothing is left ---


@pytest.mark.skipif(sys.platform != "linux", reason="it counts in /proc")
@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_no_connection_is_left_open(revision: str) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    async with serving(server().asgi()) as web:
        before = open_files()
        for _ in range(3):
            async with Client("test") as client:
                session = await client.connect(web.url, revision=revision)
                calls = (session.call_tool("echo", {"text": "a"}) for _ in range(5))
                await asyncio.gather(*calls)
        async with asyncio.timeout(WAIT_S):
            while open_files() > before:  # noqa: ASYNC110  # the server notices in its own time
                await asyncio.sleep(0.01)
