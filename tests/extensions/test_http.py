"""HTTP headers that repeat the params of an extension's requests, and statuses of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import Server
from mcp_gen.core.stores.sessions import MemorySessionStore
from tests.extensions.invented import parcels
from tests.extensions.shop import DECLARED, EXTENSION, WAYS, client_of, shop
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, decoded, encoded
from tests.support.http.asgi import Reply, WebClient, request

SPEAKER = Speaker(PER_REQUEST)
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": PER_REQUEST,
}


async def post(server: Server, named: str | None, meta: Any = DECLARED, **headers: str) -> Reply:
    body = SPEAKER.request(1, "parcels/track", {"parcelId": "p1", "name": "n", "_meta": meta})
    more = {"mcp-method": "parcels/track", **headers}
    if named is not None:
        more["mcp-name"] = named
    return await request(server.asgi(), body, {**HEADERS, **more})


async def test_a_request_whose_headers_agree_is_answered() -> None:
    reply = await post(shop(), "p1")
    assert (reply.status, reply.json["result"]["state"]) == (200, "moving")


@pytest.mark.parametrize("named", [None, "p2", "n"])
async def test_a_name_that_is_another_is_refused(named: str | None) -> None:
    reply = await post(shop(), named)
    assert (reply.status, reply.json["error"]["code"]) == (400, -32020)


async def test_a_method_that_is_another_is_refused() -> None:
    reply = await post(shop(), "p1", **{"mcp-method": "tools/call"})
    assert (reply.status, reply.json["error"]["code"]) == (400, -32020)


async def test_a_client_that_has_not_declared_it_gets_the_status_of_that_error() -> None:
    reply = await post(shop(), "p1", meta={})
    assert (reply.status, reply.json["error"]["code"]) == (400, -32021)


async def test_a_server_without_it_knows_no_such_method() -> None:
    body = SPEAKER.request(1, "parcels/track", {"parcelId": "p1", "_meta": DECLARED})
    headers = {**HEADERS, "mcp-method": "parcels/track", "mcp-name": "p1"}
    reply = await request(Server("s").asgi(), body, headers)
    assert (reply.status, reply.json["error"]["code"]) == (404, -32601)


async def test_a_client_repeats_the_parameter_that_the_extension_names() -> None:
    (way,) = [one for one in WAYS if one.over == "http"]
    async with way(shop(), client_of()) as reached:
        await parcels.ToServer(reached.session).track_parcel("pärcel")
        sent = reached.web.got[-1].headers
    assert (sent["mcp-method"], sent["mcp-name"]) == ("parcels/track", "=?base64?cMOkcmNlbA==?=")


async def test_a_session_that_another_process_goes_on_with_still_has_it() -> None:
    store = MemorySessionStore()
    capabilities = {"extensions": {EXTENSION.identifier: {}}}
    hello = decoded([Speaker(HANDSHAKE).initialize(0)])[0]
    hello["params"]["capabilities"] = capabilities
    client = WebClient(shop().asgi(session_store=store), Speaker(HANDSHAKE))
    begun = await client.ask(encoded(hello))
    client.session = {"mcp-session-id": begun.headers["mcp-session-id"]}
    client.app = shop().asgi(session_store=store)
    await client.ask(client.speaker.initialized)
    reply = await client.ask(client.speaker.request(1, "parcels/track", {"parcelId": "p1"}))
    assert reply.json["result"]["state"] == "moving"
    await client.aclose()
