"""Data of one user is shown to no other, and data of one server is given to no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import httpx2
import pytest

from mcp_gen import CacheHints, Client, Context, Server
from mcp_gen.auth import ClientCredentials, ResourceServer
from mcp_gen.compat.bridge.bridge import Bridge
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.transports.http_server.app import AsgiApp
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.test_tokens import claims, sign, signed
from tests.hostile.auth.world import EVIL, HONEST, URL, World, opened_world
from tests.support.frames import PER_REQUEST
from tests.support.http.gated import gated_client

PUBLIC = CacheHints(ttl_ms=60_000, cache_scope="public")
BEHIND = "https://behind.example/mcp"


# --- lists that are cached ---


def listing(**options: Any) -> Server[Any]:
    server = Server("listing", cache_hints=PUBLIC, **options)
    server.add_tool(lambda: "ok", name="free")
    server.add_tool(lambda: "ok", name="kept", scopes=["files:write"])
    return server


@attacks(
    "a list of one token in the cache of all",
    Attack("a list that differs by scope", True, False, "private"),
)
async def test_a_list_that_differs_by_token_is_not_cached_for_all(case: Case[bool]) -> None:
    async with opened_world() as world:
        server = listing(hide_unauthorized=case.given)
        app = server.asgi(auth=world.gate)
        token = AccessToken(signed(world))
        async with gated_client(app, PER_REQUEST, token) as client:
            result = (await client.ask("tools/list")).frame["result"]
        scope = result["cacheScope"]
        case.judge(PASSED if scope == "public" else scope, [scope] * (scope == "public"))
        await app.aclose()
        await server.aclose()


@attacks(
    "a list in the cache of a client",
    Attack("after another user has logged in", "mallory", None, "asked again"),
)
async def test_a_client_shows_no_user_what_it_has_cached_for_another(
    case: Case[str | None],
) -> None:
    """One session whose authorizer changes its user; the token of the twin is renewed."""
    async with opened_world(access_token_lifetime_s=60) as world:
        server = listing(hide_unauthorized=True)
        app = server.asgi(auth=world.gate, allowed_hosts=["api.example"])
        world.net.serve(URL, app)
        auth = world.oauth(scopes=["mcp"])
        async with Client("tenants") as client:
            session = await client.connect(
                URL, auth=auth, http_client=world.http, revision=PER_REQUEST
            )
            await session.list_tools()
            before = len(world.sent(URL, "/mcp"))
            world.clock.now += 40
            if case.given is not None:
                world.server.user = case.given
                await auth.login(URL)
            else:
                await auth.headers("POST", URL)
            probes = len(world.sent(URL, "/mcp"))
            await session.list_tools()
            asked = len(world.sent(URL, "/mcp")) - probes
        assert (len(world.shown), before <= probes) == (2 if case.given else 1, True)
        case.judge("asked again" if asked else PASSED, ["the cached list"] * (not asked))
        await auth.aclose()
        await app.aclose()
        await server.aclose()


@attacks(
    "accounts of one store",
    Attack("another account", "work", "home", "nobody is there to log in"),
)
async def test_one_account_does_not_act_as_another(case: Case[str]) -> None:
    async with opened_world() as world:
        home = world.oauth(account="home")
        assert await world.call(auth=home) == PASSED
        del world.called[:]
        other = world.oauth(account=case.given, interactive=False)
        case.judge(await world.call(auth=other), world.called)
        await home.aclose()
        await other.aclose()


# --- principals ---


@attacks(
    "users that are taken for one another",
    Attack("equal names at two issuers", EVIL, HONEST, "another"),
    Attack("a client named like a user", "client", HONEST, "another"),
    Attack("a name with the issuer in it", "spliced", HONEST, "another"),
)
async def test_two_principals_have_two_names(case: Case[str]) -> None:
    async with opened_world() as world:
        world.protect(issuer=[HONEST, EVIL])
        assert await world.post(signed(world)) == PASSED
        (key, *_) = world.evil.keys._keys
        token = {
            EVIL: sign(key, claims(world, iss=EVIL), kid=key.kid),
            HONEST: signed(world, claims(world, jti="new")),
            "client": signed(world, claims(world, sub="demo", client_id="demo")),
            "spliced": sign(key, claims(world, iss=EVIL, sub=f"{HONEST} demo"), kid=key.kid),
        }[case.given]
        assert await world.post(token) == PASSED
        first, second = world.called
        case.judge(PASSED if first == second else "another", [first] * (first == second))


# --- servers behind servers ---


@asynccontextmanager
async def mount(world: World, auth: ClientCredentials) -> AsyncGenerator[AsgiApp]:
    async with Client("gateway", forward_requests=True) as client:
        session = await client.connect(
            BEHIND, auth=auth, http_client=world.http, revision=PER_REQUEST
        )
        server = Server("gateway")
        server.mount(None, session)
        app = server.asgi(auth=world.gate)
        yield app
        await app.aclose()
        await server.aclose()


@asynccontextmanager
async def bridge(world: World, auth: ClientCredentials) -> AsyncGenerator[AsgiApp]:
    made = Bridge(BEHIND, auth=auth, http_client=world.http)
    app = made.asgi(auth=world.gate)
    try:
        yield app
    finally:
        await made.aclose()
        await app.aclose()


Gateway: TypeAlias = Callable[[World, ClientCredentials], AbstractAsyncContextManager[AsgiApp]]


@pytest.mark.parametrize("gateway", [mount, bridge], ids=["a mount", "the bridge"])
@attacks(
    "a server behind a gateway",
    Attack("with the token of the caller", "directly", "through the gateway", "401"),
)
async def test_the_token_of_a_caller_does_not_reach_the_server_behind(
    case: Case[str], gateway: Gateway
) -> None:
    async with opened_world() as world:
        behind, called = Server("behind"), list[str]()

        @behind.tool
        async def who(ctx: Context) -> str:
            called.append(str(ctx.principal))
            return str(ctx.principal)

        gate = ResourceServer(
            HONEST, audience=BEHIND, scopes=["mcp"], fetcher=world.fetcher(), clock=world.clock
        )
        app = behind.asgi(auth=gate, allowed_hosts=["behind.example"])
        world.net.serve(BEHIND, app)
        world.add_machine("gateway", "its-secret")
        auth = ClientCredentials(
            "gateway", "its-secret", issuer=HONEST, fetcher=world.fetcher(), clock=world.clock
        )
        token = AccessToken(await world.token())
        if case.is_hostile:
            shown = {"authorization": f"Bearer {token.raw()}", "content-type": "application/json"}
            response = await world.http.post(BEHIND, headers=shown, content=b"{}")
            case.judge(str(response.status_code), called)
        else:
            async with (
                gateway(world, auth) as front,
                gated_client(front, PER_REQUEST, token) as one,
            ):
                answered = await one.call("who")
            case.judge(PASSED if answered.status == 200 else str(answered.frame), called)
            assert all("gateway" in name and "demo" not in name for name in called)
            seen = [sent.text for sent in world.sent(BEHIND)]
            assert seen
            assert [text for text in seen if token.raw() in text] == []
        await auth.aclose()
        await app.aclose()
        await behind.aclose()


# --- floods ---


@attacks(
    "a flood of keys that nobody knows",
    Attack("200 tokens with a kid each", 200, 0, "401"),
)
async def test_unknown_keys_are_asked_for_once_in_a_while(case: Case[int]) -> None:
    async with opened_world() as world:
        good = signed(world)
        assert await world.post(good) == PASSED
        before = len(world.sent(HONEST))
        del world.called[:]
        forged = [signed(world, kid=f"unknown-{number}") for number in range(case.given)]
        outcomes = [await world.post(token) for token in forged or [good]]
        asked = len(world.sent(HONEST)) - before
        assert asked <= 1
        case.judge(min(outcomes), world.called)
        # Known keys are used meanwhile, and a new one is found when it may be asked for again.
        world.server.rotate_keys()
        assert await world.post(good) == PASSED
        world.clock.now += 20
        assert await world.post(signed(world)) == PASSED


@attacks(
    "a flood of tokens that are not active",
    Attack("the same one 200 times", "made-up-token", None, "401"),
)
async def test_a_token_that_is_not_active_is_introspected_once_in_a_while(
    case: Case[str | None],
) -> None:
    async with opened_world(access_token_format="opaque") as world:
        world.introspect()
        token = case.given or await world.token()
        outcomes = [await world.post(token) for _ in range(200 if case.is_hostile else 2)]
        assert len(world.sent(HONEST, "/introspect")) == 1
        case.judge(outcomes[-1], world.called)


@attacks(
    "an authorization server that hangs",
    Attack("more tokens at once than are introspected", 60, 1, "503"),
)
async def test_introspections_at_the_same_time_are_bounded(case: Case[int]) -> None:
    async with opened_world(access_token_format="opaque") as world:
        world.introspect(max_running=50)
        answering = asyncio.Event()

        async def hang(request: httpx2.Request) -> httpx2.Response:
            await answering.wait()
            return await world.net.hosts["as.example"].handle_async_request(request)

        world.net.answers[f"{HONEST}/introspect"] = hang
        tokens = [f"t{n}" for n in range(60)] if case.is_hostile else [await world.token()]
        tasks = [asyncio.create_task(world.post(token)) for token in tokens]
        if case.is_hostile:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        answering.set()
        outcomes = await asyncio.gather(*tasks)
        assert len(world.sent(HONEST, "/introspect")) == min(len(tokens), 50)
        case.judge(max(outcomes), world.called)


@attacks(
    "a flood of tokens that are remembered",
    Attack("more than are kept", 300, 1, "bounded"),
)
async def test_the_memory_of_verified_tokens_is_bounded(case: Case[int]) -> None:
    """All are admitted; of the attack the oldest are forgotten."""
    async with opened_world() as world:
        world.protect(max_cached=100)
        tokens = [signed(world, claims(world, jti=str(n))) for n in range(case.given)]
        assert {await world.post(token) for token in tokens} == {PASSED}
        kept = len(world.gate._verified)
        assert kept <= 100
        case.judge(PASSED if kept == len(tokens) else "bounded", [1] * (kept == len(tokens)))
