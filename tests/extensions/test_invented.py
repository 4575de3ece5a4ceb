"""An extension takes a schema file and a handler: every transport, closed frames.

The watch of tests/support/checks/watch.py checks frames with the types of the extension.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, Context, McpError, MissingCapability, Server, UsageError
from mcp_gen.core.extensions.extensions import missing
from mcp_wire.extensions import tasks
from tests.extensions.invented import parcels
from tests.extensions.shop import CARRYING, EXTENSION, WAYS, Heard, client_of, entered, shop
from tests.support.frames import ALL, HANDSHAKE, PER_REQUEST, Speaker
from tests.support.peers.raw import talking
from tests.support.peers.reach import Reach

over_each_transport = pytest.mark.parametrize("way", WAYS, ids=str)
WITHOUT = [one for one in ALL if one not in CARRYING]


@over_each_transport
async def test_a_request_of_it_is_answered_by_its_handler(way: Reach) -> None:
    async with way(shop(), client_of()) as reached:
        found = await parcels.ToServer(reached.session).track_parcel("p1")
    assert (found.state, found.stops) == ("moving", [parcels.Stop(place="Oslo")])


@over_each_transport
async def test_a_call_may_be_answered_with_what_it_adds(way: Reach) -> None:
    async with way(shop(), client_of()) as reached:
        result: Any = await reached.session.call_tool("order", {"item": "p1"})
        assert (type(result), result.parcel_id) == (parcels.ParcelResult, "p1")


@over_each_transport
async def test_who_listens_is_told_what_it_asked_for(way: Reach) -> None:
    server, client, heard = shop(), client_of(), Heard()
    parcels.ToClientHooks(client.hooks).on_parcel_moved(heard)
    wanted = parcels.ParcelFilter(parcel_ids=["p1", "p2"])
    async with way(server, client) as reached, reached.session.watch(also=[wanted]) as changes:
        assert changes.agreed(EXTENSION) == wanted
        for id in ("p3", "p2"):
            listeners = server.notify.extension_listeners(parcel_ids=id)
            await parcels.ToClient(listeners).notify_parcel_moved(id, "Oslo")
        (told,) = await heard.count(1)
    assert (told.parcel_id, told.place) == ("p2", "Oslo")


@over_each_transport
async def test_the_server_hears_what_the_client_tells(way: Reach) -> None:
    server, heard = shop(), Heard()
    parcels.ToServerHooks(server.hooks).on_parcel_seen(heard)
    async with way(server, client_of()) as reached:
        await parcels.ToServer(reached.session).notify_parcel_seen("p1")
        (told,) = await heard.count(1)
    assert told.parcel_id == "p1"


async def test_what_a_request_is_told_comes_before_its_answer() -> None:
    server, client, heard = shop(), client_of(), Heard()
    parcels.ToClientHooks(client.hooks).on_parcel_moved(heard)

    @parcels.ToServerHooks(server.hooks).before_track_parcel
    async def tell(ctx: Any, params: Any) -> None:
        await parcels.ToClient(ctx.client).notify_parcel_moved(params.parcel_id, "Rome")

    async with entered(server, client=client) as session:
        await parcels.ToServer(session).track_parcel("p1")
        assert [one.place for one in await heard.count(1)] == ["Rome"]


async def test_a_client_that_has_not_declared_it_is_told_nothing() -> None:
    server = Server("s")
    server.add_extension(EXTENSION)

    @server.tool
    async def talk(ctx: Context) -> str:
        await parcels.ToClient(ctx.client).notify_parcel_moved("p1", "Rome")
        return "said"

    async with talking(server, PER_REQUEST) as client:
        answer = await client.ask(client.speaker.call(1, "talk"))
        assert answer["result"]["content"][0]["text"] == "said"
        assert client.came == []


# --- hooks ---


async def test_hooks_run_around_its_requests_like_around_others() -> None:
    server = shop()
    ran: list[str] = []
    hooks, every = parcels.ToServerHooks(server.hooks), server.hooks
    hooks.before_track_parcel(lambda ctx, params: ran.append("before"))
    hooks.after_track_parcel(lambda ctx, params, result: ran.append("after"))
    every.before_any(lambda ctx, method, params: ran.append(f"before {method}"))
    every.on_success(lambda ctx, method, params, result: ran.append(type(result).__name__))
    async with entered(server) as session:
        ran.clear()
        await parcels.ToServer(session).track_parcel("p1")
    assert ran == ["before parcels/track", "before", "after", "TrackParcelResult"]


async def test_an_error_of_its_handler_is_told_and_answered() -> None:
    server = Server("s")
    told: list[BaseException] = []

    # The package is made when the tests run: type checkers know nothing of it.
    class Lost(parcels.Handlers):  # type: ignore[misc, name-defined]
        async def track_parcel(self, ctx: Any, params: Any) -> Any:
            raise McpError(-32050, "lost")

    server.add_extension(EXTENSION, Lost())
    parcels.ToServerHooks(server.hooks).error_track_parcel(lambda ctx, params, e: told.append(e))
    async with entered(server) as session:
        with pytest.raises(McpError, match="lost"):
            await parcels.ToServer(session).track_parcel("p1")
    assert [type(one) for one in told] == [McpError]


async def test_hooks_of_a_client_run_around_what_it_asks() -> None:
    client, ran = client_of(), list[str]()
    hooks = parcels.ToServerHooks(client.hooks.outbound)
    hooks.after_track_parcel(lambda ctx, params, result: ran.append(result.state))
    async with entered(shop(), client=client) as session:
        await parcels.ToServer(session).track_parcel("p1")
    assert ran == ["moving"]


# --- one side without the extension ---


async def test_without_the_client_its_requests_name_what_must_be_declared() -> None:
    async with talking(shop(), PER_REQUEST) as client:
        asked = client.speaker.request(1, "parcels/track", {"parcelId": "p1"})
        error = (await client.ask(asked))["error"]
    required = {"extensions": {EXTENSION.identifier: {}}}
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": required})


async def test_without_the_server_nobody_knows_its_requests() -> None:
    async with entered(Server("s")) as session:
        assert session.declares(EXTENSION) is None
        with pytest.raises(McpError) as caught:
            await parcels.ToServer(session).track_parcel("p1")
    assert caught.value.code == -32601


async def test_a_request_without_a_handler_is_not_known() -> None:
    server = Server("s", extensions=[EXTENSION])
    async with entered(server) as session:
        with pytest.raises(McpError) as caught:
            await parcels.ToServer(session).track_parcel("p1")
    assert caught.value.code == -32601


@pytest.mark.parametrize("revision", WITHOUT)
async def test_at_a_revision_without_it_it_is_invisible(revision: str) -> None:
    async with talking(shop(), revision) as client:
        answer = await client.ask(client.speaker.request(1, "parcels/track", {"parcelId": "p1"}))
        assert answer["error"]["code"] == -32601
        opened = await client.ask(client.speaker.request(2, "tools/list"))
        assert "result" in opened
        assert EXTENSION.identifier.encode() not in b"".join(
            one.data for one in client.transport.frames
        )


@pytest.mark.parametrize("revision", WITHOUT)
async def test_at_a_revision_without_it_a_client_cannot_ask(revision: str) -> None:
    async with entered(shop(), revision) as session:
        assert session.declares(EXTENSION) is None
        with pytest.raises(UsageError, match="has no parcels/track"):
            await parcels.ToServer(session).track_parcel("p1")


async def test_a_client_made_without_it_cannot_ask() -> None:
    async with entered(shop(), client=Client("plain")) as session:
        with pytest.raises(UsageError, match="of no extension here"):
            await parcels.ToServer(session).track_parcel("p1")


# --- the revision before extensions had a place ---


async def test_with_a_handshake_both_sides_find_it_among_what_is_experimental() -> None:
    server = shop(carrier="ox")
    declared: list[Any] = []
    hooks = parcels.ToServerHooks(server.hooks)
    hooks.before_track_parcel(lambda ctx, params: declared.append(ctx.declares(EXTENSION)))
    client = client_of((EXTENSION, parcels.ParcelSettings(carrier="van")))
    async with entered(server, HANDSHAKE, client) as session:
        assert session.server_capabilities.experimental == {EXTENSION.identifier: {"carrier": "ox"}}
        assert session.declares(EXTENSION) == {"carrier": "ox"}
        found = await parcels.ToServer(session).track_parcel("p1")
    assert (found.state, declared) == ("moving", [{"carrier": "van"}])


async def test_a_client_that_puts_it_where_later_revisions_do_is_understood() -> None:
    server = shop()
    async with talking(server, HANDSHAKE, opened=False) as client:
        hello = initialize(client.speaker, {"extensions": {EXTENSION.identifier: {"carrier": "x"}}})
        await client.ask(hello)
        client.send(client.speaker.initialized)
        answer = await client.ask(client.speaker.request(1, "parcels/track", {"parcelId": "p1"}))
    assert answer["result"]["state"] == "moving"


async def test_with_a_handshake_what_must_be_declared_is_named_where_that_revision_has_it() -> None:
    async with talking(shop(), HANDSHAKE) as client:
        asked = client.speaker.request(1, "parcels/track", {"parcelId": "p1"})
        error = (await client.ask(asked))["error"]
    required = {"experimental": {EXTENSION.identifier: {}}}
    assert (error["code"], error["data"]) == (-32600, {"requiredCapabilities": required})


async def test_a_session_may_be_told_something_of_it() -> None:
    server, client, heard = shop(), client_of(), Heard()
    parcels.ToClientHooks(client.hooks).on_parcel_moved(heard)
    async with entered(server, HANDSHAKE, client):
        (there,) = server.sessions()
        await parcels.ToClient(there.client).notify_parcel_moved("p1", "Oslo")
        assert [one.place for one in await heard.count(1)] == ["Oslo"]


def initialize(speaker: Speaker, capabilities: Any) -> bytes:
    frame = msgspec.json.decode(speaker.initialize(0))
    frame["params"]["capabilities"] = capabilities
    return msgspec.json.encode(frame)


# --- errors of registration ---


def test_it_is_added_once() -> None:
    server = shop()
    with pytest.raises(UsageError, match="there already"):
        server.add_extension(EXTENSION)


@pytest.mark.parametrize(
    "again",
    [EXTENSION, (EXTENSION, {"carrier": "ox"}), msgspec.structs.replace(EXTENSION, methods={})],
    ids=["the same", "with other settings", "another of its name"],
)
@pytest.mark.parametrize("kind", [Client, Server])
def test_it_is_given_once(kind: type[Client] | type[Server], again: Any) -> None:
    once = f"the extension {EXTENSION.identifier} is there already; add it once"
    with pytest.raises(UsageError, match=f"^{re.escape(once)}$"):
        kind("c", extensions=[EXTENSION, again])


def test_its_settings_are_compared_with_their_type() -> None:
    with pytest.raises(UsageError, match="settings"):
        Server("s").add_extension(EXTENSION, settings={"carrier": 3})


def test_a_method_of_the_programs_own_is_not_replaced() -> None:
    server = Server("s")

    @server.method("parcels/track", params=dict, result=dict)
    async def track(ctx: Any, params: Any) -> Any:
        return {}

    with pytest.raises(UsageError, match="parcels/track"):
        server.add_extension(EXTENSION)


def test_results_that_say_they_are_those_of_another_are_refused() -> None:
    other = msgspec.structs.replace(
        EXTENSION, identifier="org.example/letters", methods={}, names={}, name_params={}
    )
    with pytest.raises(UsageError, match=r"org.example/parcels answers .* with `parcel` already"):
        shop().add_extension(other)


def test_what_is_no_extension_is_refused() -> None:
    with pytest.raises(UsageError, match="EXTENSION"):
        Server("s", extensions=[parcels])


@pytest.mark.parametrize("revision", CARRYING)
def test_the_error_says_what_a_client_must_declare(revision: str) -> None:
    error = missing(EXTENSION, mcp_wire.profile(revision))
    assert isinstance(error, MissingCapability)
    assert EXTENSION.identifier in str(error)


@pytest.mark.parametrize("handlers", [parcels.Handlers, tasks.Handlers(), object()])
def test_what_is_none_of_its_handlers_is_refused_and_nothing_is_added(handlers: Any) -> None:
    server = Server("s")
    with pytest.raises(UsageError, match="an instance of a subclass of its package's `Handlers`"):
        server.add_extension(EXTENSION, handlers)
    assert EXTENSION not in server.runtime.kernel.extensions
