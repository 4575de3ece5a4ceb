"""Server with the invented extension, and helpers for its client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp_gen import Client, ClientSession, Context, Server
from tests.extensions.invented import parcels
from tests.support.frames import ALL, PER_REQUEST
from tests.support.peers.reach import Reach

__all__ = [
    "CARRYING",
    "DECLARED",
    "EXTENSION",
    "WAIT_S",
    "WAYS",
    "Heard",
    "Shop",
    "client_of",
    "entered",
    "shop",
]

EXTENSION: Any = parcels.EXTENSION
CARRYING = [one for one in ALL if one in EXTENSION.revisions]
WAYS = [Reach(over, PER_REQUEST) for over in ("memory", "stdio", "http")]
WAIT_S = 30.0
DECLARED: dict[str, Any] = {
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION.identifier: {}}}
}
"""Request `_meta` of a client that declares the extension."""


# The package is made when the tests run: type checkers know nothing of it.
class Shop(parcels.Handlers):  # type: ignore[misc, name-defined]
    """The handlers of the extension, with no other code."""

    async def track_parcel(self, ctx: Context, params: Any) -> Any:
        """Answer `parcels/track`."""
        return parcels.TrackParcelResult(state="moving", stops=[parcels.Stop(place="Oslo")])


def shop(**settings: Any) -> Server:
    """Return a server with the extension, and tools that may answer with its results."""
    server = Server("shop")
    server.add_extension(EXTENSION, Shop(), settings=settings or None)

    @server.tool
    async def order(item: str) -> Any:
        return parcels.ParcelResult(parcel_id=item)

    @server.tool(output_schema={"type": "object", "required": ["price"]})
    async def price(item: str) -> Any:
        return parcels.ParcelResult(parcel_id=item) if item == "x" else {"price": 3}

    return server


def client_of(*extensions: Any) -> Client:
    return Client("buyer", extensions=list(extensions) or [EXTENSION])


@asynccontextmanager
async def entered(
    server: Any, revision: str | None = PER_REQUEST, client: Client | None = None
) -> AsyncIterator[ClientSession]:
    """Connect a client that declares the extension, unless another client is given."""
    async with client or client_of() as using:
        yield await using.connect(server, revision=revision)


class Heard:
    """Records the notifications that a hook received; tests wait for them."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self._news = asyncio.Event()

    async def __call__(self, ctx: Any, params: Any) -> None:
        self.all.append(params)
        self._news.set()

    async def count(self, number: int) -> list[Any]:
        """Wait for this number of notifications."""
        async with asyncio.timeout(WAIT_S):
            while len(self.all) < number:
                self._news.clear()
                await self._news.wait()
        return self.all
