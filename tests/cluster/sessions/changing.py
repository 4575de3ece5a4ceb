"""Server with lists and a resource that change, and what its clients have heard."""

from __future__ import annotations

import asyncio

from mcp_gen import Server
from mcp_gen.core.stores.bus import BusMessage
from mcp_gen.server.notifications.shared_changes import COMPLETION
from mcp_gen.session.cluster.session import ClusteredSession
from tests.cluster.sessions.nodes import Nodes, RoamingClient
from tests.support.http.asgi import Open
from tests.support.peers.raw import WAIT_S

__all__ = ["URI", "changing_server", "heard_one", "methods", "settled"]

URI = "shop://stock"


def changing_server(at: int) -> Server:
    """Return a server with lists and a resource that change."""
    server = Server("changing")

    @server.resource(URI)
    async def stock() -> str:
        return "3"

    @server.tool
    async def where() -> str:
        return str(at)

    return server


def methods(opened: Open) -> list[str]:
    """Return the methods of the notifications that a stream has carried."""
    return [one.json["method"].removeprefix("notifications/") for one in opened.messages]


async def heard_one(nodes: Nodes, client: RoamingClient) -> tuple[Open, str]:
    """Open a GET stream at the first node that hears of a change; return it and the event's id."""
    stream = await client.listening(nodes.apps[0])
    nodes.servers[0].notify.tool_list_changed()
    await settled(nodes)
    return stream, str(stream.messages[-1].id)


async def settled(nodes: Nodes) -> None:
    """Let every node hear what was published before, as its server publishes one thing more."""
    number = len(nodes.clusters)
    heard: list[bytes] = []
    everybody = asyncio.Event()

    def hear(message: BusMessage) -> None:
        heard.append(message.body)
        if len(heard) == number * number:
            everybody.set()

    # Changes that are told in one turn of the event loop are published in the next one.
    await asyncio.sleep(0)
    # What a server publishes leaves in order: no client knows of this elicitation.
    ends = [cluster.bus.on(COMPLETION, hear) for cluster in nodes.clusters]
    for server in nodes.servers:
        await server.notify.elicitation_complete("settled")
    await asyncio.wait_for(everybody.wait(), WAIT_S)
    for end in ends:
        end()
    for _ in range(20):
        await asyncio.sleep(0)
    # Events leave once the store has acknowledged them.
    for server in nodes.servers:
        for session in server.sessions():
            if isinstance(session, ClusteredSession) and session.streams.sending():
                await asyncio.wait(session.streams.sending(), timeout=WAIT_S)
    for _ in range(5):
        await asyncio.sleep(0)
