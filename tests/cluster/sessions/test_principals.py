"""Sessions, events, tasks, states and streams of a principal: others get none, at any node."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.server.input_requests.request_state import RequestState
from tests.cluster.sessions.belongings import (
    OWNER,
    THINGS,
    URI,
    Thing,
    World,
    first_event,
    frame_of,
    identified,
    next_round,
    order,
    principal_of,
    thief_of,
)
from tests.cluster.sessions.nodes import LAST, RoamingClient, nodes_of
from tests.cluster.sessions.test_questions import answer_to
from tests.cluster.sessions.test_sse_pair import OLD
from tests.support.frames import PER_REQUEST
from tests.support.http.asgi import Open, open_request, request
from tests.support.http.gated import FakeGate, access_token, bearer

OTHERS = ("bob", "annx", None)
"""Other principals: a stranger, one whose name begins alike, and no principal at all."""


pytestmark = pytest.mark.usefixtures("each_store")


@pytest.mark.parametrize("thing", THINGS.values(), ids=list(THINGS))
async def test_what_belongs_to_a_principal_is_not_there_for_others_at_any_node(
    thing: Thing,
) -> None:
    world = World()
    async with nodes_of(world.server, principal=principal_of, legacy_sse_path="/sse") as nodes:
        owner = await nodes.client(thing.revision, headers=identified(OWNER))
        use = await thing.make(world, owner)
        for who in OTHERS:
            other = await nodes.client(thing.revision, headers=identified(who))
            assert [await use(other.at(app)) for app in nodes.apps] == [thing.refused] * 2
        again = await nodes.client(thing.revision, headers=identified(OWNER))
        assert await use(again.at(nodes.apps[1])) == thing.allowed
        await world.aclose()


async def test_values_of_once_are_of_no_use_to_others_who_know_their_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other's own state is sealed with the name of the owner's values, as with stolen keys."""
    world = World()
    async with nodes_of(world.server, principal=principal_of) as nodes:
        seal = nodes.servers[0].runtime.request_states.seal
        names: list[str | None] = []

        def forge(state: RequestState, bound_to: bytes) -> str:
            names.append(state.once_store_id)
            state.once_store_id = names[0]
            return seal(state, bound_to)

        monkeypatch.setattr(nodes.servers[0].runtime.request_states, "seal", forge)
        owner = await nodes.client(PER_REQUEST, headers=identified(OWNER))
        more = await next_round(owner)
        for number, app in enumerate(nodes.apps):
            other = await nodes.client(PER_REQUEST, headers=identified("bob"))
            stolen = await next_round(other)
            reply = frame_of(await other.at(app).ask(order(other, **stolen)))
            (block,) = reply["result"]["content"]
            assert block["text"] == f"number {2 * number + 3} of Eve"
        reply = frame_of(await owner.at(nodes.apps[1]).ask(order(owner, **more)))
        assert reply["result"]["content"][0]["text"] == "number 1 of Eve"
        assert len(set(names)) == 3


async def test_an_event_id_of_another_principal_reads_nothing_in_a_session_of_ones_own() -> None:
    world = World()
    async with nodes_of(world.server, principal=principal_of) as nodes:
        owner = await nodes.client(headers=identified(OWNER))
        other = await nodes.client(headers=identified("bob"))
        _opened, event_id = await first_event(world, owner)
        for app in nodes.apps:
            refused = await other.at(app).get(**{LAST: event_id}).whole()
            assert (refused.status, b"secret" in refused.body) == (400, False)
        await world.aclose()


async def test_a_request_of_another_principal_is_not_cancelled_by_its_id() -> None:
    world = World()
    async with nodes_of(world.server, principal=principal_of) as nodes:
        owner = await nodes.client(headers=identified(OWNER))
        other = await nodes.client(headers=identified("bob"))
        opened, _ = await first_event(world, owner)
        for app in nodes.apps:
            assert (await other.at(app).ask(other.speaker.cancel(1))).status == 202
            # Answered after the cancellation was heard of.
            await other.ask(other.speaker.call(2, "who"))
        world.gate.set()
        reply = await opened.whole()
        assert reply.events[-1].json["result"]["content"][0]["text"] == "waited"
        assert world.cancelled == []


async def test_a_question_to_one_principal_is_not_answered_by_another() -> None:
    world = World()
    async with nodes_of(world.server, principal=principal_of) as nodes:
        owner = await nodes.client(headers=identified(OWNER))
        other = await nodes.client(headers=identified("bob"))
        opened = owner.post(owner.speaker.call(1, "ping"))
        question = await opened.frame()
        for app in nodes.apps:
            assert (await other.at(app).ask(answer_to(question))).status == 400
            stolen = thief_of(owner, other.at(app))
            assert (await stolen.ask(answer_to(question))).status == 404
        assert (await owner.at(nodes.apps[1]).ask(answer_to(question))).status == 202
        reply = await opened.whole()
        assert reply.events[-1].json["result"]["content"][0]["text"] == "pong"


async def test_a_listen_id_of_one_principal_ends_and_reads_nothing_of_another() -> None:
    """Both have a subscription of the same id; only the owner's has the resource."""
    world = World()

    def listen(client: RoamingClient, **wanted: Any) -> Open:
        params = {"notifications": wanted}
        return client.post(client.speaker.request(7, "subscriptions/listen", params))

    async with nodes_of(world.server, principal=principal_of) as nodes:
        owner = await nodes.client(PER_REQUEST, headers=identified(OWNER))
        mine = listen(owner, resourceSubscriptions=[URI])
        await mine.frame()
        for app in nodes.apps:
            other = await nodes.client(PER_REQUEST, headers=identified("bob"))
            theirs = listen(other.at(app), toolsListChanged=True)
            await theirs.frame()
            assert (await other.ask(other.speaker.cancel(7))).status == 202
            nodes.servers[0].notify.resource_updated(URI)
            updated = await mine.frame()
            assert updated["params"]["uri"] == URI
            nodes.servers[1].notify.tool_list_changed()
            # The update came before it, and not to this one.
            assert (await theirs.frame())["method"] == "notifications/tools/list_changed"
            theirs.hang_up()
            await theirs.ended()
        assert not mine.task.done()


async def test_somebody_who_tries_a_session_id_does_not_keep_its_owner_out() -> None:
    """The owner's request comes to a node while it looks the session up for another principal."""
    world = World()
    async with nodes_of(world.server, principal=principal_of) as nodes:
        owner = await nodes.client(headers=identified(OWNER))
        other = await nodes.client(headers=identified("bob"))
        thief = thief_of(owner, other.at(nodes.apps[1]))
        stolen = thief.post(thief.speaker.call(1, "who"))
        mine = owner.at(nodes.apps[1]).post(owner.speaker.call(1, "who"))
        assert [(await stolen.whole()).status, (await mine.whole()).status] == [404, 200]


# --- keys of tokens ---


async def test_a_session_that_began_with_a_key_needs_the_key_at_every_node() -> None:
    """The nodes share a gate; each verifies the proofs of the key itself."""
    owner, other = access_token("ann", key="first"), access_token("ann", key="second")
    plain = access_token("ann")
    async with nodes_of(World().server, auth=FakeGate(owner, other, plain)) as nodes:
        client = await nodes.client(headers=bearer(owner))
        session = client.session
        for app in nodes.apps:
            statuses: list[int] = []
            for token in (other, plain, owner):
                client.session = {**session, **bearer(token)}
                statuses.append((await client.at(app).ask(client.speaker.call(1, "who"))).status)
            assert statuses == [404, 404, 200]


async def test_a_session_that_began_without_a_key_is_used_with_one_at_every_node() -> None:
    plain, keyed = access_token("ann"), access_token("ann", key="first")
    async with nodes_of(World().server, auth=FakeGate(plain, keyed)) as nodes:
        client = await nodes.client(headers=bearer(plain))
        client.session = {**client.session, **bearer(keyed)}
        for app in nodes.apps:
            assert (await client.at(app).ask(client.speaker.call(1, "who"))).status == 200


async def test_a_stream_of_http_sse_that_began_with_a_key_needs_it_at_every_node() -> None:
    owner, other = access_token("ann", key="first"), access_token("ann", key="second")
    gate, world = FakeGate(owner, other), World()
    async with nodes_of(world.server, auth=gate, legacy_sse_path="/sse") as nodes:
        accepts = {"accept": "text/event-stream", **bearer(owner)}
        stream = open_request(nodes.apps[0], b"", accepts, method="GET", path="/sse")
        path, _, query = (await world.open(stream).event()).data.decode().partition("?")
        for number, app in enumerate(nodes.apps):
            statuses: list[int] = []
            for token in (other, owner):
                message = OLD.initialize(0) if not number else OLD.request(number, "ping")
                given = {"path": path, "query_string": query.encode()}
                statuses.append((await request(app, message, bearer(token), **given)).status)
            assert statuses == [404, 202]
        await world.aclose()
