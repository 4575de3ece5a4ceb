"""Sessions, events, tasks, subscriptions and states of others, with a valid token of one's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest

from mcp_gen import Context, Server
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.middleware import ToolCache
from mcp_gen.transports.http_server.app import AsgiApp
from mcp_gen.types import ToolAnnotations
from mcp_wire.extensions.tasks import EXTENSION as TASKS
from tests.auth.authorization_server.signing import Signer
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.test_proofs import proof_of
from tests.hostile.auth.test_tokens import claims, sign, signed
from tests.hostile.auth.world import EVIL, HONEST, URL, World, opened_world
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.http.asgi import request
from tests.support.http.gated import GatedClient, bearer, gated_client

GONE = "^404"
INVALID_PARAMS = "-32602"

# Who shows a valid token: the user again, after a refresh, or somebody else.
SELF = "the same user, with a new token"
OTHER = "another user"
NAMESAKE = "a user of that name at another issuer"
MACHINE = "a client of that name"
TENANT = "a user whose name begins alike"
THIEVES = (OTHER, NAMESAKE, MACHINE, TENANT)


async def token_of(world: World, who: str) -> AccessToken:
    """Return a token of the user `demo`, or of a thief."""
    if who == MACHINE:
        # Of the token endpoint: a client may be called whatever a user is called.
        world.add_machine("demo", "its-secret")
        form = {"grant_type": "client_credentials", "resource": URL, "scope": "mcp"}
        asked = await world.http.post(f"{HONEST}/token", data=form, auth=("demo", "its-secret"))
        return AccessToken(asked.json()["access_token"])
    if who == NAMESAKE:
        (key, *_) = world.evil.keys._keys
        return AccessToken(sign(key, claims(world, iss=EVIL, jti=who), kid=key.kid))
    user = {OTHER: "mallory", TENANT: "demo mallory"}.get(who, "demo")
    return AccessToken(signed(world, claims(world, sub=user, jti=who)))


@asynccontextmanager
async def shared(server: Server[Any], **options: Any) -> AsyncGenerator[tuple[World, AsgiApp]]:
    """Open a world whose server takes tokens of both issuers."""
    async with opened_world() as world:
        world.protect(issuer=[HONEST, EVIL])
        app = server.asgi(auth=world.gate, legacy_sse_path="/sse", **options)
        try:
            yield world, app
        finally:
            await app.aclose()
            await server.aclose()


@asynccontextmanager
async def by_victim(
    server: Server[Any], revision: str, **options: Any
) -> AsyncGenerator[tuple[World, GatedClient]]:
    """Open such a world, and a client of the user."""
    async with (
        shared(server, **options) as (world, app),
        gated_client(app, revision, await token_of(world, "victim")) as client,
    ):
        yield world, client


def by_others(group: str, refusal: str) -> pytest.MarkDecorator:
    """Attack by each thief; the twin is the user with a new token."""
    return attacks(group, *(Attack(one, one, SELF, refusal) for one in THIEVES))


def naming(called: list[str]) -> Server[Any]:
    server = Server("naming")

    @server.tool
    async def who(ctx: Context) -> str:
        called.append(str(ctx.principal))
        return "ok"

    return server


async def post(client: GatedClient, called: list[str]) -> str:
    status = (await client.call("who")).status
    return PASSED if status == 200 else str(status)


async def get(client: GatedClient, called: list[str]) -> str:
    stream = client.get()
    status = (await stream.head()).status
    called += ["a stream"] * (status == 200)
    return PASSED if status == 200 else str(status)


async def delete(client: GatedClient, called: list[str]) -> str:
    headers = {**client.session, **bearer(client.token)}
    status = (await request(client.app, b"", headers, method="DELETE")).status
    called += ["the end"] * (status == 204)
    return PASSED if status == 204 else str(status)


Use: TypeAlias = Callable[[GatedClient, list[str]], Awaitable[str]]


@pytest.mark.parametrize("use", [post, get, delete], ids=["POST", "GET", "DELETE"])
@by_others("a foreign session id", GONE)
async def test_a_session_is_not_there_for_others(case: Case[str], use: Use) -> None:
    called: list[str] = []
    async with by_victim(naming(called), HANDSHAKE) as (world, client):
        client.token = await token_of(world, case.given)
        case.judge(await use(client, called), called)


@by_others("a foreign session id of another process", GONE)
async def test_a_stored_session_is_not_resumed_by_others(case: Case[str]) -> None:
    called: list[str] = []
    store = MemorySessionStore()
    async with by_victim(naming(called), HANDSHAKE, session_store=store) as (world, client):
        await client.app.aclose()
        second = naming(called).asgi(auth=world.gate, session_store=store)
        resumed = GatedClient(second, HANDSHAKE, await token_of(world, case.given))
        resumed.session = client.session
        case.judge(await post(resumed, called), called)
        await resumed.aclose()
        await second.aclose()


@by_others("a foreign event id", GONE)
async def test_events_are_not_replayed_to_others(case: Case[str]) -> None:
    async with by_victim(naming([]), HANDSHAKE) as (world, client):
        first = await client.get().event()
        client.token = await token_of(world, case.given)
        again = client.get(last_event_id=str(first.id))
        status = (await again.head()).status
        case.judge(PASSED if status == 200 else str(status), ["events"] * (status == 200))


@by_others("a foreign stream of HTTP+SSE", GONE)
async def test_a_stream_of_http_sse_takes_no_message_of_others(case: Case[str]) -> None:
    called: list[str] = []
    async with by_victim(naming(called), "2024-11-05") as (world, client):
        client.token = await token_of(world, case.given)
        reply = await client.post_raw(client.speaker.call(1, "who"))
        if reply.status == 202 and client.stream is not None:
            await client.stream.frame()
        case.judge(PASSED if reply.status == 202 else str(reply.status), called)


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
    key = str(client.speaker.profile.client_capabilities_key)
    meta: dict[str, Any] = {"_meta": {key: {"extensions": {TASKS.identifier: {}}}}}
    return (await client.ask("tools/call", name="work", **meta)).frame["result"]["taskId"], meta


def code_of(frame: Any) -> str:
    return str(frame.get("error", {}).get("code", PASSED))


@pytest.mark.parametrize("method", ["get", "cancel"])
@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
@by_others("a foreign task id", INVALID_PARAMS)
async def test_a_task_is_not_there_for_others(case: Case[str], revision: str, method: str) -> None:
    async with shared(working()) as (world, app):
        victim, thief = await token_of(world, "victim"), await token_of(world, case.given)
        async with (
            gated_client(app, revision, victim) as client,
            gated_client(app, revision, thief) as other,
        ):
            id, meta = await begun(client)
            frame = (await other.ask(f"tasks/{method}", taskId=id, **meta)).frame
            case.judge(code_of(frame), [frame["result"]] if "result" in frame else [])


@by_others("tasks of a foreign subscription", "no task")
async def test_nobody_listens_to_tasks_of_others(case: Case[str]) -> None:
    async with by_victim(working(), PER_REQUEST) as (world, client):
        id, meta = await begun(client)
        client.token = await token_of(world, case.given)
        wanted = {"notifications": {"taskIds": [id]}, **meta}
        stream = client.post(client.speaker.request(7, "subscriptions/listen", wanted))
        told = (await stream.frame())["params"]["notifications"].get("taskIds") or []
        case.judge(PASSED if told else "no task", told)


@dataclass
class Name:
    name: str


@by_others("a foreign requestState", INVALID_PARAMS)
async def test_a_request_state_is_of_no_use_to_others(case: Case[str]) -> None:
    server, answered = Server("asking"), list[str]()

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Your name?", Name)
        answered.append(f"{answer}")
        return "greeted"

    async with by_victim(server, PER_REQUEST) as (world, client):
        key = str(client.speaker.profile.client_capabilities_key)
        meta: dict[str, Any] = {key: {"elicitation": {}}}
        asked = (await client.ask("tools/call", name="greet", _meta=meta)).frame["result"]
        (id,) = asked["inputRequests"]
        client.token = await token_of(world, case.given)
        frame = (
            await client.ask(
                "tools/call",
                name="greet",
                requestState=asked["requestState"],
                inputResponses={id: {"action": "accept", "content": {"name": "Eve"}}},
                _meta=meta,
            )
        ).frame
        case.judge(code_of(frame), answered)


@by_others("a cached result of a tool", "own")
async def test_a_result_is_not_cached_for_others(case: Case[str]) -> None:
    """The twin has the cached result; the attack has one of its own."""
    server = Server("cached")
    server.add_middleware(ToolCache(ttl_s=60))
    called: list[str] = []

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def mine(ctx: Context) -> str:
        called.append(str(ctx.principal))
        return str(ctx.principal)

    async with by_victim(server, PER_REQUEST) as (world, client):
        first = (await client.call("mine")).text
        client.token = await token_of(world, case.given)
        again = (await client.call("mine")).text
        cached = [again] if again == first else []
        case.judge(PASSED if cached and len(called) == 1 else "own", cached)


OWNER, THIEF = Signer(), Signer()


@attacks(
    "a session that began with a key",
    Attack("a bearer token of the same user", None, OWNER, GONE),
    Attack("another key of the same user", THIEF, OWNER, GONE),
)
async def test_a_session_with_a_key_belongs_to_the_key(case: Case[Signer | None]) -> None:
    called: list[str] = []
    async with shared(naming(called)) as (world, app):
        opened = Keyed(world, OWNER)
        speaker = GatedClient(app, HANDSHAKE, AccessToken("")).speaker
        reply = await request(app, speaker.initialize(0), opened.headers("first"), scheme="https")
        session = {"mcp-session-id": reply.headers["mcp-session-id"]}
        shown = {**session, **Keyed(world, case.given).headers("second")}
        shown[str(speaker.profile.version_header)] = HANDSHAKE
        answered = await request(app, speaker.call(1, "who"), shown, scheme="https")
        case.judge(PASSED if answered.status == 200 else str(answered.status), called)


class Keyed:
    """Headers of requests with a key, or with a bearer token."""

    def __init__(self, world: World, signer: Signer | None) -> None:
        self._world = world
        self._signer = signer

    def headers(self, id: str) -> dict[str, str]:
        world = self._world
        if self._signer is None:
            return {"host": "api.example", "authorization": f"Bearer {signed(world)}"}
        token = signed(world, claims(world, jti=id, cnf={"jkt": self._signer.thumbprint}))
        proof = proof_of(world, token, self._signer, jti=id)
        return {"host": "api.example", "authorization": f"DPoP {token}", "dpop": proof}


@attacks(
    "a stream that outlives its token",
    Attack("the stream of a session", 0.15, 300.0, "ended"),
)
async def test_a_stream_ends_with_its_token(case: Case[float]) -> None:
    """Of the twin as many heartbeats come as in the time of the attack, and then one more."""
    async with opened_world() as world:
        world.clock.now = time.time()
        world.protect(leeway_s=0)
        app = naming([]).asgi(auth=world.gate, keep_alive_s=0.02)
        lasting = AccessToken(signed(world, claims(world, exp=world.clock.now + 300)))
        async with gated_client(app, HANDSHAKE, lasting) as client:
            ends = claims(world, exp=time.time() + case.given, jti="brief")
            client.token = AccessToken(signed(world, ends))
            stream = client.get()
            await stream.comments(15)
            case.judge("ended" if stream.task.done() else PASSED, [1] * (not stream.task.done()))
        await app.aclose()
