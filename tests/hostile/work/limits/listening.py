"""Limits on what a client listens to: `subscriptions/listen` and `resources/subscribe`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from mcp_gen import PeerLimits, Server
from mcp_wire.extensions.tasks import EXTENSION
from tests.hostile.work.limits.limit import TAKEN, Limit
from tests.server.mounting.gateway import gateway
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import surfing
from tests.support.peers.raw import RawClient, talking

__all__ = ["LIMITS"]

PEER = Speaker(PER_REQUEST)
INVALID_REQUEST, INVALID_PARAMS = "-32600", "-32602"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


def holding(**limits: int) -> Server:
    """Return a server with any number of resources."""
    # Otherwise very long lists are refused before they are read.
    server = Server("held", peer_limits=PeerLimits(**{"max_values": 10**7, **limits}))

    @server.resource("note://{+name}")
    def note(name: str) -> str:
        return name

    return server


def uris(number: int, length: int = 10) -> list[str]:
    """Return this number of URIs, each of this length."""
    return [f"note://{one:0{length - 7}}" for one in range(number)]


def outcome(frame: Any) -> str:
    """Return `TAKEN` for an acknowledgement or a result, else the error code."""
    return str(frame["error"]["code"]) if "error" in frame else TAKEN


async def listen(client: RawClient, id: int, meta: Any = None, **wanted: Any) -> str:
    params: dict[str, Any] = {"notifications": wanted}
    if meta:
        params["_meta"] = meta
    client.send(PEER.request(id, "subscriptions/listen", params))

    def answers(frame: dict[str, Any]) -> bool:
        return frame.get("id") == id or frame.get("method") == ACKNOWLEDGED

    return outcome(await client.take(answers))


async def listen_over_http(
    server: Server, number: int, principal: str | None, **wanted: Any
) -> str:
    """Send this number of listens over HTTP; return the last outcome."""
    app = server.asgi(principal=lambda scope: principal)
    last = TAKEN
    async with surfing(app, PER_REQUEST) as client:
        for id in range(number):
            opened = client.post(
                PEER.request(id, "subscriptions/listen", {"notifications": wanted})
            )
            head = await opened.head()
            if head.headers["content-type"] == "text/event-stream":
                last = outcome(await opened.frame())
            else:
                last = outcome((await opened.whole()).json)
    return last


async def uris_of_one_listen(number: int) -> str:
    async with talking(holding(max_listen_uris=20), PER_REQUEST) as client:
        return await listen(client, 1, resourceSubscriptions=uris(number))


async def equal_uris_of_one_listen(number: int) -> str:
    async with talking(holding(max_listen_uris=20), PER_REQUEST) as client:
        return await listen(client, 1, resourceSubscriptions=["note://1"] * number)


async def uris_of_one_listen_over_http(number: int) -> str:
    server = holding(max_listen_uris=20)
    return await listen_over_http(server, 1, None, resourceSubscriptions=uris(number))


async def uris_of_one_listen_through_a_mount(number: int) -> str:
    outer = Server("outer", peer_limits=PeerLimits(max_listen_uris=20))
    outer.mount("in", holding())
    async with talking(outer, PER_REQUEST) as client:
        return await listen(client, 1, resourceSubscriptions=uris(number))


async def uris_of_one_listen_through_a_remote(number: int) -> str:
    limits = PeerLimits(max_listen_uris=20)
    async with (
        gateway(holding(), PER_REQUEST, peer_limits=limits) as outer,
        talking(outer, PER_REQUEST) as client,
    ):
        return await listen(client, 1, resourceSubscriptions=uris(number))


async def task_ids_of_one_listen(number: int) -> str:
    server = Server("held", declare=["tasks"], peer_limits=PeerLimits(max_listen_tasks=20))
    declared = {"extensions": {EXTENSION.identifier: dict[str, Any]()}}
    meta = {str(PEER.profile.client_capabilities_key): declared}
    async with talking(server, PER_REQUEST) as client:
        ids = [f"task-{one}" for one in range(number)]
        return await listen(client, 1, meta, taskIds=ids)


async def listens_of_one_connection(number: int) -> str:
    last = TAKEN
    async with talking(holding(max_listens=5), PER_REQUEST) as client:
        for id in range(number):
            last = await listen(client, id, resourceSubscriptions=["note://1"])
    return last


async def listens_of_one_principal(number: int) -> str:
    server = holding(max_listens=5)
    return await listen_over_http(server, number, "ada", resourceSubscriptions=["note://1"])


async def listens_of_clients_without_principal(number: int) -> str:
    server = holding(max_listens=1, anonymous_clients=5)
    return await listen_over_http(server, number, None, resourceSubscriptions=["note://1"])


async def uris_of_all_listens(number: int) -> str:
    last = TAKEN
    async with talking(holding(max_subscriptions=20), PER_REQUEST) as client:
        for id, uri in enumerate(uris(number)):
            last = await listen(client, id, resourceSubscriptions=[uri])
    return last


async def bytes_of_the_uris_of_a_listen(number: int) -> str:
    async with talking(holding(max_subscription_bytes=1000), PER_REQUEST) as client:
        return await listen(client, 1, resourceSubscriptions=["n" * number])


async def subscribe(client: RawClient, all_uris: list[str]) -> str:
    last = TAKEN
    for id, uri in enumerate(all_uris, 1):
        message = client.speaker.request(id, "resources/subscribe", {"uri": uri})
        last = outcome(await client.ask(message))
    return last


async def subscriptions_of_one_session(number: int) -> str:
    async with talking(holding(max_subscriptions=20), HANDSHAKE) as client:
        return await subscribe(client, uris(number))


async def subscriptions_of_one_session_at_once(number: int) -> str:
    """Subscribe at a remote server, with all requests before the first answer."""
    limits = PeerLimits(max_subscriptions=20)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(gateway(holding(), HANDSHAKE, peer_limits=limits))
        client = await stack.enter_async_context(talking(server, HANDSHAKE))
        asked = [
            client.speaker.request(id, "resources/subscribe", {"uri": uri})
            for id, uri in enumerate(uris(number), 1)
        ]
        client.send(*asked)
        outcomes = [outcome(await client.answer(id)) for id in range(1, number + 1)]
    return next((one for one in outcomes if one != TAKEN), TAKEN)


async def bytes_of_subscriptions_of_one_session(number: int) -> str:
    async with talking(holding(max_subscription_bytes=1000), HANDSHAKE) as client:
        return await subscribe(client, ["note://" + "n" * (number - 7)])


LIMITS = [
    Limit("URIs of one listen", 20, 100_000, INVALID_PARAMS, uris_of_one_listen),
    Limit("equal URIs of one listen", 20, 100_000, INVALID_PARAMS, equal_uris_of_one_listen),
    Limit(
        "URIs of one listen over HTTP", 20, 100_000, INVALID_PARAMS, uris_of_one_listen_over_http
    ),
    Limit(
        "URIs of one listen through a mount",
        20,
        2_000,
        INVALID_PARAMS,
        uris_of_one_listen_through_a_mount,
    ),
    Limit(
        "URIs of one listen through a remote",
        20,
        2_000,
        INVALID_PARAMS,
        uris_of_one_listen_through_a_remote,
    ),
    Limit("task ids of one listen", 20, 2_000, INVALID_PARAMS, task_ids_of_one_listen),
    Limit("listens of one connection", 5, 50, INVALID_REQUEST, listens_of_one_connection),
    Limit("listens of one principal", 5, 50, INVALID_REQUEST, listens_of_one_principal),
    Limit(
        "listens of clients without a principal",
        5,
        50,
        INVALID_REQUEST,
        listens_of_clients_without_principal,
    ),
    Limit("URIs of all listens", 20, 90, INVALID_PARAMS, uris_of_all_listens),
    Limit("bytes of URIs of a listen", 1000, 10**6, INVALID_PARAMS, bytes_of_the_uris_of_a_listen),
    Limit("subscriptions of a session", 20, 200, INVALID_REQUEST, subscriptions_of_one_session),
    Limit(
        "subscriptions of a session at once",
        20,
        200,
        INVALID_REQUEST,
        subscriptions_of_one_session_at_once,
    ),
    Limit(
        "bytes of the URIs of a session",
        1000,
        10**6,
        INVALID_REQUEST,
        bytes_of_subscriptions_of_one_session,
    ),
]
