"""Safety: where tokens go, what is shown, and arguments that do not fit."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

import pytest

from mcp_gen.auth.client.oauth import OAuth
from mcp_gen.auth.flows.authorization_code import AuthorizationRequest
from mcp_gen.auth.stores.token_store import MemoryTokenStore
from mcp_gen.core.errors import AuthError, UsageError
from tests.auth.scripts import ISSUER, URL, World, answer

# Where tokens go


@pytest.mark.parametrize("url", [URL, f"{URL}/", f"{URL}?session=1", f"{URL}/below"])
async def test_a_token_is_sent_to_what_its_resource_covers(url: str) -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    assert dict(await oauth.headers("POST", url)) == {b"authorization": b"Bearer access-3"}


@pytest.mark.parametrize(
    "url", ["https://api.example/other", "https://api.example/", "https://api.example/mcp/../x"]
)
async def test_a_token_is_not_sent_to_another_path(url: str) -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    assert await oauth.headers("POST", url) == ()


async def test_a_token_for_the_whole_origin_is_sent_to_all_of_it() -> None:
    world = World()
    world.resource = {"resource": "https://api.example", "authorization_servers": [ISSUER]}
    oauth = world.oauth()
    await world.call(oauth)
    assert await oauth.headers("POST", "https://api.example/messages") != ()


@pytest.mark.parametrize(
    "url", ["https://evil.example/mcp", "https://api.example:8443/mcp", "http://api.example/mcp"]
)
async def test_a_token_is_not_sent_to_another_origin(url: str) -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    with pytest.raises(UsageError, match="make an authorization object for each server"):
        await oauth.headers("POST", url)


async def test_no_login_begins_for_another_path() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    with pytest.raises(UsageError, match="for each server"):
        await oauth.retry("POST", "https://api.example/other", 401, {}, ())
    assert len(world.shown) == 1


@pytest.mark.parametrize("url", ["http://api.example/mcp", "https://u:p@api.example/mcp"])
async def test_an_unsafe_server_gets_no_token(url: str) -> None:
    with pytest.raises(AuthError, match="not safe"):
        await World().oauth().headers("POST", url)


# What is shown


async def test_neither_reprs_nor_logs_nor_errors_show_a_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world, store = World(), MemoryTokenStore()
    world.registered = {"client_secret": "client-secret"}
    shown: list[str] = []
    oauth = world.oauth(store=store)
    with caplog.at_level(logging.DEBUG):
        await world.call(oauth)
        shown += [repr(oauth), str(oauth), repr(await oauth.status()), repr(await store.load(URL))]
        shown += [repr(ask) for ask in world.asked] + [repr(one) for one in world.shown]
        world.tokens.clear()
        world.now += 100
        world.answers[f"{ISSUER}/token"] = answer({"error": "x", "error_description": "?"}, 400)
        with pytest.raises(AuthError) as caught:
            await world.call(oauth)
    shown += ["".join(traceback.format_exception(caught.value)), caplog.text]
    verifier = world.sent(f"{ISSUER}/token")[0]["code_verifier"]
    state = world.authorization_requests()[0]["state"]
    secrets = ["access-3", "refresh-3", "code-2", "client-secret", verifier, state]
    assert [one for one in secrets if one in "\n".join(shown)] == []


async def test_states_and_verifiers_are_used_once() -> None:
    world = World()
    oauth = world.oauth()
    for _ in range(3):
        await oauth.login(URL)
    requests = world.authorization_requests()
    used = {one[name] for one in requests for name in ("state", "code_challenge")}
    assert (len(used), min(map(len, used)) >= 43) == (6, True)


# The user


async def test_a_user_who_takes_too_long_is_told_how_to_go_on() -> None:
    async def never(request: AuthorizationRequest) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    world = World()
    with pytest.raises(AuthError, match=r"nobody has logged in at .* within 0.01 s"):
        await world.call(world.oauth(on_authorize=never, login_timeout_s=0.01))


async def test_a_user_who_declines_is_told_so() -> None:
    world = World()
    world.redirects = lambda params: {"error": "access_denied", "state": params["state"]}
    with pytest.raises(AuthError, match="access_denied") as caught:
        await world.call(world.oauth())
    assert caught.value.error == "access_denied"


async def test_all_who_wait_for_a_login_that_fails_are_told_so() -> None:
    world = World()
    world.redirects = lambda params: {"error": "access_denied", "state": params["state"]}
    oauth = world.oauth()
    calls = (world.call(oauth) for _ in range(5))
    errors = await asyncio.gather(*calls, return_exceptions=True)
    assert ([type(one) for one in errors], len(world.shown)) == ([AuthError] * 5, 1)


async def test_an_error_of_the_hook_reaches_the_caller() -> None:
    async def broken(request: AuthorizationRequest) -> str:
        raise RuntimeError("no display")

    with pytest.raises(RuntimeError, match="no display"):
        await World().call(World().oauth(on_authorize=broken))


class Waiting:
    """A hook whose user does not come, until `come` is set."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.begun = asyncio.Event()
        self.come = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, request: AuthorizationRequest) -> str:
        self.begun.set()
        try:
            await self.come.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return await self.world.user(request)


async def test_a_login_that_nobody_waits_for_is_cancelled() -> None:
    world = World()
    waiting = Waiting(world)
    oauth = world.oauth(on_authorize=waiting)
    call = asyncio.create_task(world.call(oauth))
    await waiting.begun.wait()
    call.cancel()
    await asyncio.wait([call])
    async with asyncio.timeout(5):
        await waiting.cancelled.wait()
    waiting.come.set()
    assert await world.call(oauth) == 200


async def test_a_login_goes_on_for_those_who_still_wait() -> None:
    world = World()
    waiting = Waiting(world)
    oauth = world.oauth(on_authorize=waiting)
    first, second = (asyncio.create_task(world.call(oauth)) for _ in range(2))
    await waiting.begun.wait()
    first.cancel()
    await asyncio.wait([first])
    waiting.come.set()
    assert (await second, waiting.cancelled.is_set()) == (200, False)


async def test_a_valid_token_is_used_while_another_call_waits_for_the_user() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store))
    waiting = Waiting(world)
    oauth = world.oauth(store=store, on_authorize=waiting)
    stepping_up = asyncio.create_task(world.call(oauth, needs="write"))
    await waiting.begun.wait()
    world.now += 3590
    async with asyncio.timeout(5):
        assert dict(await oauth.headers("POST", URL)) == {b"authorization": b"Bearer access-3"}
    waiting.come.set()
    assert await stepping_up == 200


async def test_closing_ends_a_login_with_an_error_for_those_who_wait() -> None:
    world = World()
    waiting = Waiting(world)
    async with world.oauth(on_authorize=waiting) as oauth:
        call = asyncio.create_task(world.call(oauth))
        await waiting.begun.wait()
    with pytest.raises(AuthError, match="the login was closed"):
        await call


async def test_a_refresh_goes_on_though_its_caller_was_cancelled() -> None:
    world, store = World(), MemoryTokenStore()
    oauth = world.oauth(store=store)
    await world.call(oauth)
    world.now += 3590
    begun, go = asyncio.Event(), asyncio.Event()
    run = world.run

    async def slowly(flow: Any, *, configured: str | None = None) -> Any:
        begun.set()
        await go.wait()
        return await run(flow, configured=configured)

    world.run = slowly  # type: ignore[method-assign]
    call = asyncio.create_task(oauth.headers("POST", URL))
    await begun.wait()
    call.cancel()
    await asyncio.wait([call])
    go.set()
    await oauth.aclose()
    stored = await store.load(URL)
    assert stored is not None
    assert stored.access_token == "access-4"


async def test_a_login_of_the_user_waits_for_a_refresh_and_then_begins() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 3590
    await asyncio.gather(oauth.headers("POST", URL), oauth.login())
    grants = [form["grant_type"] for form in world.sent(f"{ISSUER}/token")]
    assert (sorted(grants), len(world.shown)) == (
        ["authorization_code", "authorization_code", "refresh_token"],
        2,
    )


class Receiver:
    """A receiver with a redirect URI of its own, as `BrowserLogin` is."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.told: list[Any] = []

    async def open(self, registered: Any = ()) -> str:
        self.told.append(tuple(registered))
        return "http://127.0.0.1:4567/callback"

    async def authorize(self, request: AuthorizationRequest) -> str:
        return await self.world.user(request)

    async def finish(self, error: Exception | None = None) -> None:
        self.told.append(error)


async def test_a_receiver_with_a_redirect_uri_is_told_the_outcome() -> None:
    world = World()
    hook = Receiver(world)
    oauth = world.oauth(on_authorize=hook, redirect_uri=None)
    await world.call(oauth)
    world.redirects = lambda params: {"error": "access_denied", "state": params["state"]}
    with pytest.raises(AuthError) as caught:
        await oauth.login()
    uri = "http://127.0.0.1:4567/callback"
    assert (hook.told, world.shown[0].redirect_uri) == ([(), None, (uri,), caught.value], uri)


# Arguments


async def hook(request: AuthorizationRequest) -> str:
    raise AssertionError


LISTENING: dict[str, Any] = {"redirect_uri": "http://localhost/x"}
WITH_HOOK: dict[str, Any] = {"on_authorize": hook, "redirect_uri": "http://localhost/x"}

MISTAKES: list[tuple[str, dict[str, Any]]] = [
    ("client_secret: give the `client_id`", {"client_secret": "s"}),
    ("client_metadata_url: expected an https URL", {"client_metadata_url": "https://app.example"}),
    ("redirect_uri: give it with `on_authorize`", {"on_authorize": hook}),
    ("redirect_port: `redirect_uri` has its own", {**LISTENING, "redirect_port": 3000}),
    ("expected an https URL, or http", {**WITH_HOOK, "redirect_uri": "http://app.example/x"}),
    ("expected an https URL, or http", {**WITH_HOOK, "redirect_uri": "com.example.app:/x"}),
    ("redirect_port: it is the port", {**WITH_HOOK, "redirect_port": 3000}),
    ("scopes: expected a list of scopes", {"scopes": "a b"}),
    ("scopes: expected a list of scopes", {"scopes": ["a b"]}),
    ("token_endpoint_auth_method: expected one of", {"token_endpoint_auth_method": "basic"}),
    ("private_key_jwt needs a `signer`", {"token_endpoint_auth_method": "private_key_jwt"}),
]


@pytest.mark.parametrize(("said", "arguments"), MISTAKES)
def test_arguments_that_do_not_fit_are_refused(said: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        OAuth(**arguments)
    assert said in str(caught.value)


def test_every_argument_has_a_default() -> None:
    assert repr(OAuth()) == "OAuth(client_name='mcp_gen', server=None)"
