"""The fetcher sends the requests of flows and gives them their responses."""

from __future__ import annotations

import asyncio

from mcp_gen.auth.fetching.fetcher import Fetcher
from mcp_gen.auth.flows.exchange import Flow, HttpAsk, Purpose


def fetch(url: str) -> Flow[bytes]:
    answer = yield HttpAsk("GET", url, Purpose.SERVER_METADATA)
    return answer.body


async def test_a_flow_receives_the_response_to_its_request_and_returns_its_result() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        assert await Fetcher().run(fetch(url), configured=url) == b"{}"
