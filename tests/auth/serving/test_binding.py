"""State that a client has begun belongs to its principal: a new token of the same user goes on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Context, Server
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.middleware import RateLimit, ToolCache
from mcp_gen.types import ToolAnnotations
from mcp_wire.extensions.tasks import EXTENSION as TASKS
from tests.auth.serving.servers import guarded, open_tools
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle, with_sessions
from tests.support.http.asgi import request
from tests.support.http.gated import (
    Answered,
    FakeGate,
    GatedClient,
    access_token,
    bearer,
    gated_client,
)

ALICE = access_token("alice")
REFRESHED = access_token("alice", "more")
OTHERS = {
    "another user": access_token("bob"),
    "the same name at another issuer": access_token("alice", issuer="https://other.example"),
    "a client of the same name": AccessToken(
        "secret-machine", issuer="https://as.example", client_id="alice"
    ),
}
EVERY = (ALICE, REFRESHED, *OTHERS.values())
INVALID_PARAMS = -32602

each_other = pytest.mark.parametrize("other", OTHERS.values(), ids=list(OTHERS))


def code_of(answered: Answered) -> Any:
    return answered.frame.get("error", {}).get("code")


# --- sessions, their streams and their events ---


@each_other
@with_sessions
async def test_a_session_is_not_there_for_another_principal(
    revision: str, other: AccessToken
) -> None:
    server = open_tools(Server("sessions"))
    async with gated_client(guarded(server, *EVERY), revision, ALICE) as client:
        client.token = other
        assert (await client.call("who")).status == 404
        assert (await client.get().whole()).status == 404
        headers = {**client.session, **bearer(other)}
        assert (await request(client.app, b"", headers, method="DELETE")).status == 404
        client.token = REFRESHED
        assert (await client.call("who")).text == f"{ALICE.principal} ['more']"
        headers = {**client.session, **bearer(REFRESHED)}
        assert (await request(client.app, b"", headers, method="DELETE")).status == 204


@each_other
async def test_events_of_a_session_are_not_those_of_another(other: AccessToken) -> None:
    app = guarded(open_tools(Server("events")), *EVERY)
    async with (
        gated_client(app, HANDSHAKE, ALICE) as client,
        gated_client(app, HANDSHAKE, other) as thief,
    ):
        first = await client.get().event()
        assert (await thief.get(last_event_id=str(first.id)).whole()).status == 400
        thief.session = client.session
        assert (await thief.get(last_event_id=str(first.id)).whole()).status == 404
        client.token = REFRESHED
        again = client.get(last_event_id=str(first.id))
        assert (await again.head()).status == 200


@each_other
async def test_a_stored_session_is_resumed_by_its_principal_alone(other: AccessToken) -> None:
    store = MemorySessionStore()
    app = guarded(open_tools(Server("first")), *EVERY, session_store=store)
    async with gated_client(app, HANDSHAKE, ALICE) as client:
        await app.aclose()
        second = open_tools(Server("second"))
        client.app = guarded(second, *EVERY, session_store=store)
        resumed = GatedClient(client.app, HANDSHAKE, other)
        resumed.session = client.session
        assert (await resumed.call("who")).status == 404
        assert second.sessions() == [], "it was opened for somebody else"
        resumed.token = REFRESHED
        assert (await resumed.call("who")).status == 200
        await client.app.aclose()


@each_other
async def test_a_stream_of_http_sse_takes_no_message_of_another_principal(
    other: AccessToken,
) -> None:
    app = guarded(open_tools(Server("old")), *EVERY)
    async with gated_client(app, "2024-11-05", ALICE) as client:
        client.token = other
        assert (await client.post_raw(client.speaker.call(1, "who"))).status == 404
        client.token = REFRESHED
        assert (await client.call("who")).text == f"{ALICE.principal} ['more']"


# --- keys ---


def keyed(key: str | None, number: int = 0) -> AccessToken:
    return access_token("alice", f"number:{number}", key=key)


KEYED, RENEWED = keyed("key-1"), keyed("key-1", 1)
UNKEYED, OTHER_KEY = keyed(None), keyed("key-2")
KEYS = (KEYED, RENEWED, UNKEYED, OTHER_KEY)


@pytest.mark.parametrize("other", [UNKEYED, OTHER_KEY], ids=["a bearer token", "another key"])
@with_sessions
async def test_a_session_that_began_with_a_key_belongs_to_that_key(
    revision: str, other: AccessToken
) -> None:
    app = guarded(open_tools(Server("keys")), *KEYS)
    async with gated_client(app, revision, KEYED) as client:
        client.token = other
        assert (await client.call("who")).status == 404
        assert (await client.get().whole()).status == 404
        client.token = RENEWED
        assert (await client.call("who")).status == 200


async def test_a_session_that_began_without_a_key_goes_on_with_one() -> None:
    app = guarded(open_tools(Server("keys")), *KEYS)
    async with gated_client(app, HANDSHAKE, UNKEYED) as client:
        client.token = KEYED
        assert (await client.call("who")).status == 200


@pytest.mark.parametrize("other", [UNKEYED, OTHER_KEY], ids=["a bearer token", "another key"])
async def test_a_stored_session_belongs_to_its_key(other: AccessToken) -> None:
    store = MemorySessionStore()
    app = guarded(open_tools(Server("first")), *KEYS, session_store=store)
    async with gated_client(app, HANDSHAKE, KEYED) as client:
        await app.aclose()
        server = open_tools(Server("second"))
        second = guarded(server, *KEYS, session_store=store)
        resumed = GatedClient(second, HANDSHAKE, other)
        resumed.session = client.session
        assert (await resumed.call("who")).status == 404
        assert server.sessions() == [], "it was opened for somebody else"
        resumed.token = RENEWED
        assert (await resumed.call("who")).status == 200
        resumed.token = other
        assert (await resumed.call("who")).status == 404
        await second.aclose()


@pytest.mark.parametrize("other", [UNKEYED, OTHER_KEY], ids=["a bearer token", "another key"])
async def test_a_stream_of_http_sse_that_began_with_a_key_belongs_to_it(
    other: AccessToken,
) -> None:
    app = guarded(open_tools(Server("keys")), *KEYS)
    async with gated_client(app, "2024-11-05", KEYED) as client:
        client.token = other
        assert (await client.post_raw(client.speaker.call(1, "who"))).status == 404
        client.token = RENEWED
        assert (await client.call("who")).status == 202


# --- multi round-trip requests ---


@dataclass
class Name:
    name: str


def asking() -> Server[Any]:
    server = Server("asking")

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Your name?", Name)
        return f"{ctx.principal}: {answer}"

    return server


@each_other
async def test_the_state_of_a_request_is_of_no_use_to_another_principal(
    other: AccessToken,
) -> None:
    async with gated_client(guarded(asking(), *EVERY), PER_REQUEST, ALICE) as client:
        meta: dict[str, Any] = {
            str(client.speaker.profile.client_capabilities_key): {"elicitation": {}}
        }
        asked = (await client.ask("tools/call", name="greet", _meta=meta)).frame["result"]
        (key,) = asked["inputRequests"]
        answers = {key: {"action": "accept", "content": {"name": "A"}}}
        again = {
            "name": "greet",
            "requestState": asked["requestState"],
            "inputResponses": answers,
            "_meta": meta,
        }
        client.token = other
        assert code_of(await client.ask("tools/call", **again)) == INVALID_PARAMS
        client.token = REFRESHED
        assert (await client.ask("tools/call", **again)).text.startswith(str(ALICE.principal))


# --- tasks ---


def working() -> Server[Any]:
    server = Server("working", declare=["tasks"])

    @server.tool(task="required")
    async def work(ctx: Context) -> str:
        await asyncio.Event().wait()
        return "done"

    return server


async def begun(client: GatedClient) -> tuple[str, dict[str, Any]]:
    """Begin a task; return its id, and the `_meta` of requests about it."""
    if client.speaker.profile.tasks == "core":
        made = await client.ask("tools/call", name="work", task={})
        return made.frame["result"]["task"]["taskId"], {}
    declared: dict[str, Any] = {"extensions": {TASKS.identifier: {}}}
    meta = {str(client.speaker.profile.client_capabilities_key): declared}
    made = await client.ask("tools/call", name="work", _meta=meta)
    return made.frame["result"]["taskId"], {"_meta": meta}


@each_other
@each_lifecycle
async def test_a_task_is_not_there_for_another_principal(revision: str, other: AccessToken) -> None:
    server = working()
    app = guarded(server, *EVERY)
    async with (
        gated_client(app, revision, ALICE) as client,
        gated_client(app, revision, other) as thief,
    ):
        id, meta = await begun(client)
        methods = {"core": ("get", "cancel", "result"), "extension": ("get", "cancel", "update")}
        for method in methods[client.speaker.profile.tasks]:
            given: dict[str, Any] = {"inputResponses": {}} if method == "update" else {}
            answered = await thief.ask(f"tasks/{method}", taskId=id, **given, **meta)
            assert code_of(answered) == INVALID_PARAMS
        client.token = REFRESHED
        seen = (await client.ask("tasks/get", taskId=id, **meta)).frame["result"]
        assert seen["status"] == "working"
        assert code_of(await client.ask("tasks/cancel", taskId=id, **meta)) is None
    await server.aclose()


@each_other
async def test_a_list_of_tasks_has_those_of_its_principal(other: AccessToken) -> None:
    server = working()
    app = guarded(server, *EVERY)
    async with (
        gated_client(app, HANDSHAKE, ALICE) as client,
        gated_client(app, HANDSHAKE, other) as thief,
    ):
        id, _ = await begun(client)
        assert (await thief.ask("tasks/list")).frame["result"]["tasks"] == []
        client.token = REFRESHED
        found = (await client.ask("tasks/list")).frame["result"]["tasks"]
        assert [one["taskId"] for one in found] == [id]
    await server.aclose()


@each_other
async def test_nobody_listens_to_the_tasks_of_another_principal(other: AccessToken) -> None:
    server = working()
    async with gated_client(guarded(server, *EVERY), PER_REQUEST, ALICE) as client:
        id, meta = await begun(client)
        wanted = {"notifications": {"taskIds": [id]}, **meta}
        acknowledged = {}
        for token in (other, REFRESHED):
            client.token = token
            stream = client.post(
                client.speaker.request(token.raw(), "subscriptions/listen", wanted)
            )
            params = (await stream.frame())["params"]
            acknowledged[token.raw()] = params["notifications"].get("taskIds") or []
        assert acknowledged == {other.raw(): [], REFRESHED.raw(): [id]}
    await server.aclose()


# --- middleware ---


@each_other
@each_lifecycle
async def test_a_cached_result_is_that_of_its_principal(revision: str, other: AccessToken) -> None:
    server = Server("cached")
    server.add_middleware(ToolCache(ttl_s=60))
    calls: list[Any] = []

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def mine(ctx: Context) -> str:
        calls.append(ctx.principal)
        return str(ctx.principal)

    same = AccessToken("secret-again", issuer="https://as.example", subject="alice")
    app = guarded(server, *EVERY, same)
    async with (
        gated_client(app, revision, ALICE) as client,
        gated_client(app, revision, other) as thief,
    ):
        assert (await client.call("mine")).text == ALICE.principal
        assert (await thief.call("mine")).text == other.principal
        client.token = same
        assert (await client.call("mine")).text == ALICE.principal
    assert calls == [ALICE.principal, other.principal]


@pytest.mark.parametrize("shared", [False, True])
async def test_a_cached_result_is_not_given_to_a_token_that_lacks_scopes(shared: bool) -> None:
    server = Server("cached")
    server.add_middleware(ToolCache(ttl_s=60, shared=shared))
    hints = ToolAnnotations(read_only_hint=True)
    server.add_tool(lambda: "secret", name="it", annotations=hints, scopes=["more"])
    async with gated_client(guarded(server, *EVERY), PER_REQUEST, REFRESHED) as client:
        assert (await client.call("it")).text == "secret"
        client.token = ALICE
        assert (await client.call("it")).status == 403


@each_other
async def test_a_rate_is_that_of_a_principal_whatever_its_token(other: AccessToken) -> None:
    server = open_tools(Server("limited"))
    server.add_middleware(RateLimit(0.001, burst=1))
    async with gated_client(guarded(server, *EVERY), PER_REQUEST, ALICE) as client:
        assert code_of(await client.call("who")) is None
        client.token = REFRESHED
        assert code_of(await client.call("who")) is not None
        client.token = other
        assert code_of(await client.call("who")) is None


async def test_a_principal_of_the_gate_is_the_one_that_counts() -> None:
    gate = FakeGate(ALICE)
    async with gated_client(guarded(asking(), gate=gate), HANDSHAKE, ALICE) as client:
        (session,) = [one for one in client.app.kernel.sessions]  # noqa: C416
        assert session.principal == ALICE.principal
