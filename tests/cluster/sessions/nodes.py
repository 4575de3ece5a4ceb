"""Several apps of one cluster in this process, and a client that roams among them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp_gen import Context, Server
from mcp_gen.cluster import MemoryCluster
from mcp_gen.transports.http_server.app import AsgiApp
from tests.support.frames import HANDSHAKE, Speaker
from tests.support.http.asgi import Open, WebClient, begin
from tests.support.peers.raw import WAIT_S

__all__ = ["LAST", "Nodes", "RoamingClient", "eventually", "nodes_of", "plain_server", "texts_of"]

LAST = "Last_Event_ID"


async def eventually(claim: Callable[[], bool]) -> None:
    """Wait until a claim holds, with a time limit."""
    async with asyncio.timeout(WAIT_S):
        for _ in iter(claim, True):
            await asyncio.sleep(0)


def memory_clusters(number: int, heartbeat_s: float) -> list[Any]:
    """Return nodes that share their memory."""
    first = MemoryCluster(heartbeat_s=heartbeat_s)
    return [first, *(first.another_node() for _ in range(number - 1))][:number]


MAKE_CLUSTERS: Callable[[int, float], list[Any]] = memory_clusters
"""Returns the nodes of `nodes_of`; a test that runs over Redis replaces it."""


class RoamingClient(WebClient):
    """Client of one session that chooses the app of each request."""

    def at(self, app: AsgiApp) -> RoamingClient:
        """Send the next requests to an app."""
        self.app = app
        return self

    async def resumed(self, app: AsgiApp, event_id: str | None) -> Open:
        """Continue a stream at an app, after an event."""
        opened = self.at(app).get(**{LAST: str(event_id)})
        await opened.head()
        return opened

    async def listening(self, app: AsgiApp) -> Open:
        """Open a stream for messages of no request at an app."""
        opened = self.at(app).get()
        await opened.head()
        return opened


class Nodes:
    """Apps of one cluster, each with a server of its own."""

    def __init__(self) -> None:
        self.clusters: list[Any] = []
        self.servers: list[Server] = []
        self.apps: list[AsgiApp] = []
        self._clients: list[RoamingClient] = []

    def add(self, cluster: Any, server: Server, **options: Any) -> AsgiApp:
        """Serve a server at another node."""
        app = server.asgi(cluster=cluster, **options)
        self.clusters.append(cluster)
        self.servers.append(server)
        self.apps.append(app)
        return app

    async def client(
        self, revision: str = HANDSHAKE, at: int = 0, headers: Mapping[str, str] | None = None
    ) -> RoamingClient:
        """Return a client with a session that it has begun at a node.

        Args:
            revision: Revision of the client.
            at: Number of the node.
            headers: Headers of all its requests.
        """
        client = RoamingClient(self.apps[at], Speaker(revision))
        session = await begin(client.app, client.speaker, headers)
        client.session = {**session, **(headers or {})}
        self._clients.append(client)
        if session:
            assert (await client.ask(client.speaker.initialized)).status == 202
        return client

    async def aclose(self) -> None:
        """Disconnect every client, and end every app."""
        for client in self._clients:
            await client.aclose()
        for app in self.apps:
            await app.aclose()


@asynccontextmanager
async def nodes_of(
    make: Callable[[int], Server], number: int = 2, *, heartbeat_s: float = 30.0, **options: Any
) -> AsyncGenerator[Nodes]:
    """Serve a server at several nodes; `make(n)` returns that of the n-th node."""
    nodes = Nodes()
    clusters = MAKE_CLUSTERS(number, heartbeat_s)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(nodes.aclose)
        for at, cluster in enumerate(clusters):
            nodes.add(cluster, make(at), **options)
        for app in nodes.apps:
            await app.start()
        yield nodes


def texts_of(reply: Any) -> list[str]:
    """Return the texts of the result of a tool."""
    return [block["text"] for block in reply["result"]["content"]]


def plain_server(at: int) -> Server:
    """Return a server whose tools tell which node answers."""
    server = Server("cluster")

    @server.tool
    async def where() -> str:
        return str(at)

    @server.tool
    async def remember(key: str, value: Any, ctx: Context) -> str:
        assert ctx.session is not None
        ctx.session.state[key] = value
        return "remembered"

    @server.tool
    async def recall(key: str, ctx: Context) -> str:
        assert ctx.session is not None
        return repr(ctx.session.state.get(key))

    return server
