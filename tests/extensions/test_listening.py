"""Extensions to the filter of `subscriptions/listen`."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import Client, McpError, Server, UsageError
from mcp_gen.server.notifications.topics import extension_topics_of
from tests.extensions.invented import parcels
from tests.extensions.shop import EXTENSION, Heard, Shop, client_of, entered, shop
from tests.support.frames import HANDSHAKE, PER_REQUEST, encoded
from tests.support.peers.raw import talking

MOVED = parcels.methods.NOTIFICATIONS_PARCELS_MOVED
WANTED = parcels.ParcelFilter(parcel_ids=["p1"])


async def test_a_client_that_has_not_declared_it_is_refused() -> None:
    async with talking(shop(), PER_REQUEST) as client:
        params = {"notifications": {"parcelIds": ["p1"]}}
        error = (await client.ask(client.speaker.request(1, "subscriptions/listen", params)))[
            "error"
        ]
    assert error["code"] == -32021


def test_texts_and_numbers_of_the_filter_are_topics_and_nothing_else() -> None:
    agreed = {"a": "x", "b": True, "c": False, "d": None, "e": ["y", 1, {"z": 1}, "y"]}
    assert [tuple(one) for one in extension_topics_of(agreed)] == [
        ("a", "x"),
        ("b", True),
        ("e", "y"),
        ("e", 1),
    ]


async def test_a_server_without_it_agrees_to_nothing_of_it() -> None:
    async with entered(Server("s")) as session, session.watch(also=[WANTED]) as changes:
        assert changes.agreed(EXTENSION) == parcels.ParcelFilter()


async def test_what_a_server_sends_is_not_taken_from_a_client() -> None:
    server = shop()
    seen: list[str] = []

    @server.middleware
    async def see(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        seen.append(method)
        return await call_next(params)

    async with talking(server, PER_REQUEST) as client:
        params = {"parcelId": "p1", "place": "Oslo"}
        client.send(encoded({"jsonrpc": "2.0", "method": MOVED.name, "params": params}))
        await client.ask(client.speaker.request(1, "tools/list"))
    assert seen == ["tools/list"]


async def test_a_handler_may_agree_to_less() -> None:
    class Few(Shop):
        async def agree(self, ctx: Any, wanted: Any) -> Any:
            return parcels.ParcelFilter(parcel_ids=wanted.parcel_ids[:1])

    server, client, heard = Server("s"), client_of(), Heard()
    server.add_extension(EXTENSION, Few())
    parcels.ToClientHooks(client.hooks).on_parcel_moved(heard)
    wanted = parcels.ParcelFilter(parcel_ids=["p1", "p2"])
    async with (
        entered(server, client=client) as session,
        session.watch(also=[wanted]) as changes,
    ):
        assert changes.agreed(EXTENSION) == WANTED
        for id in ("p2", "p1"):
            params = parcels.ParcelMovedNotificationParams(parcel_id=id, place="Oslo")
            server.notify.extension_listeners(parcel_ids=id).publish(
                parcels.methods.NOTIFICATIONS_PARCELS_MOVED, params
            )
        assert [one.parcel_id for one in await heard.count(1)] == ["p1"]


async def test_a_handler_may_refuse() -> None:
    class Never(Shop):
        async def agree(self, ctx: Any, wanted: Any) -> Any:
            raise McpError(-32050, "not yours")

    server = Server("s")
    server.add_extension(EXTENSION, Never())
    async with entered(server) as session:
        with pytest.raises(McpError, match="not yours"):
            async with session.watch(also=[WANTED]):
                pass


async def test_hooks_see_what_is_told() -> None:
    server, client, heard, sent = shop(), client_of(), Heard(), Heard()
    parcels.ToClientHooks(server.hooks.outbound).on_parcel_moved(sent)
    parcels.ToClientHooks(client.hooks).on_parcel_moved(heard)
    async with entered(server, client=client) as session, session.watch(also=[WANTED]):
        await parcels.ToClient(
            server.notify.extension_listeners(parcel_ids="p1")
        ).notify_parcel_moved("p1", "x")
        await heard.count(1)
    assert [one.place for one in sent.all] == ["x"]


async def test_it_stands_beside_what_the_protocol_has() -> None:
    server = shop()
    async with entered(server) as session, session.watch(tools=True, also=[WANTED]) as changes:
        assert changes.honoured.tools_list_changed
        server.notify.tool_list_changed()
        assert (await anext(changes)).kind == "tools"


async def test_without_the_extension_a_client_cannot_listen_to_it() -> None:
    async with entered(shop(), client=Client("plain")) as session:
        with pytest.raises(UsageError, match="ParcelFilter"):
            session.watch(also=[WANTED])


async def test_with_a_handshake_there_is_no_request_to_listen_with() -> None:
    async with entered(shop(), HANDSHAKE) as session:
        with pytest.raises(UsageError, match="listen"):
            session.watch(also=[WANTED])
