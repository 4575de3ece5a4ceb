"""Finds the stream of a server of which only the URL of another endpoint is known."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.wire.http import SsePairWire
from mcp_gen.core.errors import McpGenError, TransportError

__all__ = ["SSE_PATH", "SseEndpoint"]

SSE_PATH = "/sse"
"""Path at which many servers have it: beside their other endpoint, or at the root."""


class SseEndpoint:
    """Endpoint of the stream of one server: looked for once, for all connections.

    It is where a GET is answered with a stream that begins with the event `endpoint`: at the URL
    itself, or at `sse` beside it or at the root of the server.

    Args:
        url: The URL that is known.
        headers: Headers of every request.
        revision: The revision that has such an endpoint.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None, revision: str) -> None:
        self._urls = list(dict.fromkeys([url, urljoin(url, SSE_PATH[1:]), urljoin(url, SSE_PATH)]))
        self._headers = headers
        self._revision = revision
        self._looking: asyncio.Task[str | None] | None = None

    async def find(self) -> str:
        """Return the URL of the stream, once it is known.

        If there is none, the first caller gets the given URL, to see for itself.

        Raises:
            TransportError: no stream was found.
        """
        is_first = self._looking is None
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        found = await asyncio.shield(self._looking)
        if found is None and not is_first:
            paths = " or ".join(urlsplit(url).path or "/" for url in self._urls)
            raise TransportError(f"no stream with the event `endpoint` at {paths}: use --sse-url")
        return found or self._urls[0]

    async def _look(self) -> str | None:
        looks = [asyncio.create_task(self._has_stream(url)) for url in self._urls]
        try:
            for url, look in zip(self._urls, looks, strict=True):
                if await look:
                    return url
        finally:
            for look in looks:
                look.cancel()
            await asyncio.gather(*looks, return_exceptions=True)
        return None

    async def _has_stream(self, url: str) -> bool:
        wire = SsePairWire(url, Transcript(self._revision, "http"), headers=self._headers)
        try:
            await wire.open()
        except McpGenError:
            return False
        finally:
            await wire.aclose()
        return True
