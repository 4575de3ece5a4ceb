"""Limits of responses: size, time and coding."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mcp_gen.auth.fetching.fetcher import Fetcher
from mcp_gen.auth.flows.exchange import HttpAnswer
from mcp_gen.core.errors import TransportError
from tests.auth.fetching.network import get
from tests.support.http.loopback import Got, Line, Script, scripted_web

HEAD = b"HTTP/1.1 200 OK\r\n"


async def fetched(script: Script, **options: Any) -> HttpAnswer:
    """Fetch from a scripted server, and return the response."""
    async with scripted_web(script) as web:
        fetcher = Fetcher(**options)
        try:
            return await fetcher.run(get(web.url), configured=web.url)
        finally:
            await fetcher.aclose()


def sending(data: bytes) -> Script:
    """Script that sends bytes."""

    async def script(got: Got, line: Line) -> None:
        await line.raw(data)

    return script


async def silent(got: Got, line: Line) -> None:
    await line.silence()


# --- size ---


async def test_a_body_of_the_maximum_size_is_read() -> None:
    answered = await fetched(sending(HEAD + b"\r\n" + b"x" * 100), max_body_bytes=100)
    assert answered.body == b"x" * 100


@pytest.mark.parametrize(
    "rest",
    [
        b"content-length: 101\r\n\r\n" + b"x" * 101,
        b"\r\n" + b"x" * 101,
        b"transfer-encoding: chunked\r\n\r\n" + b"65\r\n" + b"x" * 101 + b"\r\n0\r\n\r\n",
    ],
    ids=["by length", "by end", "in chunks"],
)
async def test_a_larger_body_is_not_read(rest: bytes) -> None:
    async def script(got: Got, line: Line) -> None:
        await line.raw(HEAD + rest)
        # Its end is not waited for either.
        await line.silence()

    with pytest.raises(TransportError, match=r"more than 100 bytes \(max_body_bytes\)"):
        await fetched(script, max_body_bytes=100)


async def test_a_body_that_is_announced_as_too_large_is_not_waited_for() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.raw(HEAD + b"content-length: 99999999999\r\n\r\n")
        await line.silence()

    with pytest.raises(TransportError, match="max_body_bytes"):
        await fetched(script)


async def test_headers_of_more_than_the_maximum_size_are_refused() -> None:
    headers = b"".join(b"x-%d: %s\r\n" % (at, b"y" * 100) for at in range(20))
    with pytest.raises(TransportError, match=r"bytes of headers \(max_header_bytes\)"):
        await fetched(sending(HEAD + headers + b"\r\n"), max_header_bytes=1000)


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"x: " + b"y" * 300_000,
        b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 10_000,
        HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"1;a=bcdefghij\r\nx\r\n" * 10_000,
        HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" + b"t: y\r\n" * 30_000,
    ],
    ids=["endless header", "interim responses", "chunk extensions", "trailers"],
)
async def test_what_frames_a_body_is_bounded_too(data: bytes) -> None:
    with pytest.raises(TransportError, match="more bytes than max_header_bytes and max_body_byte"):
        await fetched(sending(data), max_body_bytes=20_000, max_header_bytes=10_000)


# --- coding ---


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "zstd", "gzip, identity", "x"])
async def test_a_compressed_body_is_refused_and_none_is_asked_for(coding: str) -> None:
    seen: list[str] = []

    async def script(got: Got, line: Line) -> None:
        seen.append(got.headers["accept-encoding"])
        await line.answer(200, b"\x1f\x8b", content_encoding=coding)

    with pytest.raises(TransportError, match="is compressed, which was not asked for"):
        await fetched(script)
    assert seen == ["identity"]


async def test_a_body_that_is_said_to_be_as_it_is_is_read() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(200, b"{}", content_encoding="Identity")

    assert (await fetched(script)).body == b"{}"


async def test_a_response_that_is_no_http_is_named_without_much_of_it() -> None:
    with pytest.raises(TransportError) as caught:
        await fetched(sending(b"x" * 5000 + b"\r\n\r\n"))
    assert len(str(caught.value)) < 400


async def test_a_switch_of_protocols_is_refused() -> None:
    data = b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"
    with pytest.raises(TransportError, match="the request failed"):
        await fetched(sending(data))


# --- time ---


async def test_a_server_that_does_not_respond_is_given_up() -> None:
    with pytest.raises(TransportError, match=r"a whole response .*in 0\.03 s \(timeout_s\)"):
        await fetched(silent, timeout_s=0.03)


async def test_a_server_that_drips_is_given_up() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.raw(HEAD + b"\r\n")
        while True:
            await line.raw(b"x")
            await asyncio.sleep(0)

    with pytest.raises(TransportError, match=r"timeout_s|max_body_bytes"):
        await fetched(script, timeout_s=0.03)


async def test_a_resolution_that_does_not_end_is_given_up() -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(TransportError, match="timeout_s"):
        await Fetcher(timeout_s=0.03, resolver=resolver).run(get("https://as.example/"))


async def test_a_server_that_does_not_encrypt_is_given_up_and_its_connection_closed() -> None:
    ended = asyncio.Event()

    async def wait_for_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        writer.close()
        ended.set()

    async with await asyncio.start_server(wait_for_end, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        with pytest.raises(TransportError, match="timeout_s"):
            await Fetcher(timeout_s=0.05).run(get(url), configured=url)
        await asyncio.wait_for(ended.wait(), 5)


async def test_a_call_that_is_cancelled_leaves_no_connection() -> None:
    async with scripted_web(silent) as web:
        task = asyncio.ensure_future(Fetcher().run(get(web.url), configured=web.url))
        await web.came("GET")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
