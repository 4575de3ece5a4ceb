"""`ctx.state`: values of a client between requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_gen import Client, Context, Server, SessionState, UsageError
from mcp_gen.core.stores.state import MemoryStateStore
from tests.support.frames import (
    HANDSHAKE,
    PER_REQUEST,
    every_revision,
    with_handshake,
    with_sessions,
)
from tests.support.peers.connect import talk


@dataclass
class Item:
    name: str
    price: float


class Basket(BaseModel):
    items: list[str]


def one_for_all(ctx: Context) -> str | None:
    return "everyone"


def nobody(ctx: Context) -> str | None:
    return ctx.principal


def shop(state: SessionState | None = None, name: str = "shop") -> Server:
    """Return a server that keeps a cart per client."""
    server = Server(name, session_state=state)

    @server.tool
    async def add(ctx: Context, name: str) -> int:
        cart = await ctx.state.get("cart", list[Item], [])
        await ctx.state.set("cart", [*cart, Item(name, 1.5)])
        return len(cart) + 1

    @server.tool
    def add_in_a_thread(ctx: Context, name: str) -> int:
        state = ctx.blocking.state
        cart = state.get("cart", list[Item], [])
        state.set("cart", [*cart, Item(name, 1.5)])
        return len(cart) + 1

    @server.tool
    async def empty(ctx: Context) -> bool:
        await ctx.state.delete("cart")
        await ctx.state.delete("cart")
        return await ctx.state.get("cart") is None

    @server.tool
    async def clear(ctx: Context) -> None:
        await ctx.state.clear()

    @server.tool
    async def put(ctx: Context, size: int) -> None:
        await ctx.state.set("text", "x" * size)

    @server.tool
    async def as_number(ctx: Context) -> int:
        return await ctx.state.get("cart", int, 0)

    @server.tool
    async def refuses(ctx: Context) -> None:
        await ctx.state.set("cart", object())

    @server.tool
    async def model(ctx: Context) -> str:
        await ctx.state.set("basket", Basket(items=["a"]))
        found = await ctx.state.get("basket", Basket)
        assert found is not None
        return found.items[0] + str(await ctx.state.get("basket"))

    return server


@with_handshake
@pytest.mark.parametrize("tool", ["add", "add_in_a_thread"])
async def test_a_session_keeps_its_values(revision: str, tool: str) -> None:
    async with talk(shop, revision) as client:
        assert [await client.text(tool, name=name) for name in ("a", "b")] == ["1", "2"]
        assert await client.text("empty") == "true"
        assert await client.text(tool, name="c") == "1"
        await client.call("clear")
        assert await client.text(tool, name="d") == "1"


@with_sessions
async def test_two_sessions_do_not_share_values(revision: str) -> None:
    server = shop()
    async with Client("one") as one, Client("two") as two:
        first = await one.connect(server, revision=revision)
        second = await two.connect(server, revision=revision)
        assert await first.call_tool("add", {"name": "a"}, returns=int) == 1
        assert await second.call_tool("add", {"name": "a"}, returns=int) == 1
        assert await first.call_tool("add", {"name": "b"}, returns=int) == 2


@every_revision
async def test_a_key_of_the_application_works_at_every_revision(revision: str) -> None:
    server = shop(SessionState(key=one_for_all))
    for number in ("1", "2"):
        async with talk(lambda: server, revision) as client:
            assert await client.text("add", name="a") == number


async def failure(server: Server, tool: str, revision: str = HANDSHAKE, **arguments: Any) -> str:
    """Return the text with which a call fails."""
    async with talk(lambda: server, revision) as client:
        try:
            result = await client.call(tool, **arguments)
        except Exception as error:
            return str(error)
    assert result["isError"]
    return str(result["content"][0]["text"])


async def test_without_a_session_and_a_key_the_error_says_what_to_write() -> None:
    assert await failure(shop(), "add", PER_REQUEST, name="a") == (
        f"ctx.state: this request belongs to no session (revision {PER_REQUEST}): say whose state "
        "it is, such as `Server(session_state=SessionState(key=lambda ctx: ctx.principal))`"
    )


async def test_a_key_that_returns_none_is_named() -> None:
    assert await failure(shop(SessionState(key=nobody)), "add", name="a") == (
        "ctx.state: nobody(ctx) returned None, expected the key of a client: refuse the request, "
        "or return a key for it"
    )


async def test_values_expire_after_the_last_set() -> None:
    now = [1000.0]
    server = shop(SessionState(ttl_s=60, clock=lambda: now[0]))
    async with talk(lambda: server, HANDSHAKE) as client:
        assert await client.text("add", name="a") == "1"
        now[0] += 59
        assert await client.text("add", name="b") == "2"
        now[0] += 59
        assert await client.text("add", name="c") == "3"
        now[0] += 60
        assert await client.text("add", name="d") == "1"


async def test_the_bytes_of_one_client_are_limited() -> None:
    # The name has 4 bytes, and JSON adds two quotes.
    state = SessionState(max_bytes=106)
    async with talk(lambda: shop(state), HANDSHAKE) as client:
        assert not (await client.call("put", size=100)).get("isError")
    assert await failure(shop(state), "put", size=101) == (
        "state 'text': the state of one client has at most 106 bytes: delete some of it, or raise "
        "SessionState(max_bytes=)"
    )


async def test_values_of_another_type_and_values_without_json_are_refused() -> None:
    server = shop(SessionState(key=one_for_all))
    async with talk(lambda: server, HANDSHAKE) as client:
        await client.call("add", name="a")
    assert await failure(server, "as_number") == (
        "state 'cart': what is stored is no <class 'int'>: Expected `int`, got `array`; take "
        "another name for values of another type"
    )
    assert await failure(server, "refuses") == (
        "state 'cart': JSON has nothing for object - at `$`"
    )


async def test_a_value_that_holds_itself_is_refused_with_its_path() -> None:
    server = Server("shop", session_state=SessionState(key=one_for_all))

    @server.tool
    async def keep(ctx: Context) -> None:
        cart: dict[str, Any] = {"items": []}
        cart["items"].append(cart)
        await ctx.state.set("cart", cart)

    said = await failure(server, "keep")
    assert said.startswith(
        "state 'cart': it holds itself, or is nested too deeply - at `$.items[0]"
    )


async def test_a_pydantic_model_is_a_value() -> None:
    async with talk(shop, HANDSHAKE) as client:
        assert await client.text("model") == "a{'items': ['a']}"


async def test_servers_that_share_a_store_do_not_share_values() -> None:
    store = MemoryStateStore()
    for name in ("one", "two"):
        server = shop(SessionState(key=one_for_all, store=store), name)
        async with talk(lambda: server, HANDSHAKE) as client:  # noqa: B023  # called at once
            assert await client.text("add", name="a") == "1"
    assert len(store) == 2


async def later(ctx: Context) -> str:
    return ""


def without_context() -> str:
    return ""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SessionState(key="me"),  # type: ignore[arg-type]
            "SessionState: key='me': expected a function of the context, such as "
            "`lambda ctx: ctx.principal`",
        ),
        (
            lambda: SessionState(key=later),  # type: ignore[arg-type]
            "SessionState: key=later is async: expected a function that is not",
        ),
        (
            lambda: SessionState(key=without_context),  # type: ignore[arg-type]
            "SessionState: key=without_context is called as `without_context(ctx)`, and cannot "
            "be: too many positional arguments",
        ),
        (
            lambda: SessionState(ttl_s=0),
            "SessionState: ttl_s=0: expected seconds, more than 0",
        ),
        (lambda: SessionState(max_bytes=0), "SessionState: max_bytes=0: expected at least 1"),
    ],
)
def test_wrong_options_are_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert str(caught.value) == message


# --- the store in memory ---


async def test_a_full_store_drops_what_has_expired_and_then_what_was_used_longest_ago() -> None:
    store = MemoryStateStore(max_bytes=30)
    for key, expires_at in (("a", 50.0), ("b", 200.0), ("c", 200.0)):
        await store.save(key, "n", b"12345678", expires_at=expires_at, now=10, max_bytes=99)
    assert await store.load("b", "n", now=20) == b"12345678"
    await store.save("d", "n", b"12345678", expires_at=200, now=60, max_bytes=99)
    assert [await store.load(key, "n", now=60) for key in "abcd"] == [None, *[b"12345678"] * 3]
    await store.load("b", "n", now=60)
    await store.save("e", "n", b"12345678", expires_at=200, now=60, max_bytes=99)
    found = [await store.load(key, "n", now=60) is not None for key in "bcde"]
    assert found == [True, False, True, True]


async def test_a_value_larger_than_the_store_is_not_kept() -> None:
    store = MemoryStateStore(max_bytes=10)
    await store.save("a", "n", b"x" * 20, expires_at=2, now=1, max_bytes=99)
    assert len(store) == 0


async def test_a_deleted_value_makes_room_for_another() -> None:
    store = MemoryStateStore()
    for name in ("one", "two"):
        assert await store.save("a", name, b"1234", expires_at=2, now=1, max_bytes=8) == (
            name == "one"
        )
    await store.forget("a", "one")
    assert len(store) == 0
    assert await store.save("a", "two", b"1234", expires_at=2, now=1, max_bytes=8)
