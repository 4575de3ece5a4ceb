"""Metadata of the authorization server, served from the origin of the resource."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from mcp_gen.auth.flows.exchange import FlowRunner
from mcp_gen.auth.verifiers.issuer_documents import read_metadata
from mcp_gen.core.errors import AuthError, TransportError

__all__ = ["SERVER_METADATA", "LegacyMetadata"]

SERVER_METADATA = "/.well-known/oauth-authorization-server"
AGE_S = 600.0
RETRY_S = 10.0


class LegacyMetadata:
    """Copy of an issuer's metadata, for clients that look at the server's own origin alone.

    Args:
        issuer: The issuer.
        fetcher: Fetches its metadata.
        clock: Returns the time in seconds.
        failed: Takes the reason of a failure.
    """

    def __init__(
        self,
        issuer: str,
        fetcher: Callable[[], FlowRunner],
        clock: Callable[[], float],
        failed: Callable[[str], None],
    ) -> None:
        self._issuer = issuer
        self._fetcher = fetcher
        self._clock = clock
        self._failed = failed
        self._document: bytes | None = None
        self._until = float("-inf")
        self._fetching: asyncio.Task[None] | None = None

    async def document(self) -> bytes | None:
        """Return the metadata; the old one if there is no newer, None if there is none at all."""
        if self._clock() >= self._until:
            if self._fetching is None:
                loop = asyncio.get_running_loop()
                self._fetching = loop.create_task(self._fetch())
            await asyncio.wait([self._fetching])
        return self._document

    async def _fetch(self) -> None:
        try:
            found = await self._fetcher().run(read_metadata(self._issuer), configured=self._issuer)
            self._document = msgspec.json.encode(found.document)
            self._until = self._clock() + AGE_S
        except (AuthError, TransportError) as error:
            self._until = self._clock() + RETRY_S
            self._failed(str(error))
        finally:
            self._fetching = None

    async def aclose(self) -> None:
        """End a fetch that runs."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
