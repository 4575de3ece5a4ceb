"""A change of a resource whose URI is empty is news of a resource, not of a list."""

from __future__ import annotations

import pytest

from mcp_gen import Server
from tests.support.frames import HANDSHAKE, PER_REQUEST, with_handshake
from tests.support.peers.raw import talking


def make_server() -> Server:
    server = Server("notes")

    @server.resource("note://a")
    def note() -> str:
        return "a"

    @server.tool
    async def touch(uri: str) -> str:
        server.notify.resource_updated(uri)
        return "touched"

    return server


@with_handshake
async def test_a_change_of_the_empty_uri_goes_to_no_client_that_has_not_subscribed_to_it(
    revision: str,
) -> None:
    async with talking(make_server(), revision) as client:
        await client.ask(client.speaker.call(1, "touch", uri=""))
        await client.ask(client.speaker.request(2, "ping"))
        assert client.came == []


@pytest.mark.unchecked("an empty text is no URI; the server sends what it was told to")
async def test_a_subscriber_of_the_empty_uri_gets_it_with_its_params() -> None:
    async with talking(make_server(), PER_REQUEST) as client:
        wanted = {"notifications": {"resourceSubscriptions": [""]}}
        client.send(client.speaker.request(1, "subscriptions/listen", wanted))
        await client.next()
        client.send(client.speaker.call(2, "touch", uri=""))
        news = await client.take(lambda frame: frame.get("method", "").endswith("updated"))
    assert news["params"]["uri"] == ""


async def test_a_change_of_a_list_still_has_no_params() -> None:
    server = make_server()
    async with talking(server, HANDSHAKE) as client:
        await client.ask(client.speaker.call(1, "touch", uri=""))
        server.notify.tool_list_changed()
        assert await client.next() == {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
        }
