"""Spec tests of completion."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from mcp_gen import Context, Server
from mcp_wire import latest
from tests.server.spec.clients import admitted, is_admin, opened_as
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

MOST = 100
"""Maximum number of values in a completion."""
GREET = {"type": "ref/prompt", "name": "greet"}
USERS = {"type": "ref/resource", "uri": "test://users/{id}"}


def suggesting() -> Server:
    """Return a server that completes an argument and a template variable, some for `admin`."""
    server = Server("suggesting", max_concurrent_requests=2)

    @server.prompt
    async def greet(name: str, style: Literal["formal", "short"] = "short") -> str:
        return f"Write a {style} greeting for {name}."

    @server.completion("greet", "name")
    async def names(value: str) -> list[str]:
        if value == "crash":
            raise RuntimeError("a secret of the inside")
        if value == "wait":
            await asyncio.Event().wait()
        if value.isdigit():
            return [f"user {number}" for number in range(int(value))]
        return ["Ada", "Grace"]

    @server.resource("test://users/{id}")
    async def user(id: int) -> dict[str, int]:
        return {"id": id}

    @server.completion("test://users/{id}", "id")
    async def ids(value: str) -> list[str]:
        return [one for one in ("1", "12", "2") if one.startswith(value)]

    @server.filter_prompts
    def may_get(ctx: Context, prompt: latest.Prompt) -> bool:
        return is_admin(ctx)

    @server.filter_resources
    def may_read(ctx: Context, item: latest.Resource | latest.ResourceTemplate) -> bool:
        return is_admin(ctx)

    return server


def mute() -> Server:
    """Return a server with a prompt without completions."""
    server = Server("mute")

    @server.prompt
    async def greet(name: str) -> str:
        return f"Greet {name}."

    return server


def of(ref: dict[str, str], name: str, value: str) -> dict[str, Any]:
    return {"ref": ref, "argument": {"name": name, "value": value}}


async def complete(client: Conversation, ref: dict[str, str], name: str, value: str) -> Any:
    """Return a completion."""
    result = await client.request("completion/complete", of(ref, name, value))
    return result["completion"]


async def refused(connect: Connect, params: dict[str, Any]) -> Any:
    """Return the error for the client `admin`."""
    async with connect(suggesting, opened=False) as client:
        await opened_as(client, "admin")
        return (await client.refusal("completion/complete", params)).error


@requirement("completion:declared")
async def test_a_server_with_completions_declares_them(connect: Connect) -> None:
    async with connect(suggesting) as client:
        told = await client.server()
    assert "completions" in told["capabilities"]


# --- errors ---


@requirement("completion:errors:not-offered")
async def test_without_completions_the_method_is_not_found(connect: Connect) -> None:
    async with connect(mute) as client:
        told = await client.server()
        error = await client.refusal("completion/complete", of(GREET, "name", ""))
    assert "completions" not in told["capabilities"]
    assert error.code == -32601


@requirement("completion:errors:unknown-prompt")
async def test_completing_for_a_prompt_that_there_is_none_of_is_invalid_params(
    connect: Connect,
) -> None:
    error = await refused(connect, of({"type": "ref/prompt", "name": "nope"}, "name", ""))
    assert error["code"] == -32602


@requirement("completion:errors:missing-argument")
async def test_a_completion_that_does_not_say_of_what_is_invalid_params(connect: Connect) -> None:
    async with connect(suggesting, opened=False) as client:
        await opened_as(client, "admin")
        for argument in ({}, {"name": "name"}, {"value": ""}):
            params = {"ref": GREET, "argument": argument}
            error = await client.refusal("completion/complete", params)
            assert error.code == -32602, argument


@requirement("completion:errors:internal")
async def test_a_completion_that_fails_is_an_internal_error_that_tells_no_secret(
    connect: Connect,
) -> None:
    error = await refused(connect, of(GREET, "name", "crash"))
    assert error["code"] == -32603
    assert "secret" not in str(error)


NOT_THERE: list[dict[str, Any]] = [
    of(GREET, "nope", ""),
    of(GREET, "id", ""),
    of(USERS, "nope", ""),
    of({"type": "ref/resource", "uri": "test://nope/{id}"}, "id", ""),
    of({"type": "ref/resource", "uri": "greet"}, "name", ""),
    of({"type": "ref/prompt", "name": "test://users/{id}"}, "id", ""),
    of({"type": "ref/tool", "name": "greet"}, "name", ""),
    {"ref": GREET, "argument": {"name": "name", "value": 7}},
    {"ref": GREET},
    {"argument": {"name": "name", "value": ""}},
]


@requirement("completion:validated")
async def test_only_what_is_there_is_completed(connect: Connect) -> None:
    async with connect(suggesting, opened=False) as client:
        await opened_as(client, "admin")
        for params in NOT_THERE:
            error = await client.refusal("completion/complete", params)
            assert error.code == -32602, params
        assert (await complete(client, USERS, "id", "1"))["values"] == ["1", "12"]


# --- security ---


@requirement("completion:rate")
async def test_completions_beyond_the_limit_are_refused_until_there_is_room(
    connect: Connect,
) -> None:
    async with connect(suggesting, opened=False) as client:
        await opened_as(client, "admin")
        waiting = of(GREET, "name", "wait")
        held = [client.begin("completion/complete", waiting) for _ in range(2)]
        error = await client.refusal("completion/complete", of(GREET, "style", "f"))
        assert "2 requests are open" in str(error)
        client.cancel(held[0])
        assert await admitted(client, "completion/complete", of(GREET, "style", "f"))
        client.cancel(held[1])


NOPE = {"type": "ref/prompt", "name": "nope"}
HIDDEN = [
    (GREET, "name", NOPE),
    (GREET, "style", NOPE),
    (USERS, "id", {"type": "ref/resource", "uri": "nope"}),
]


@requirement("completion:access")
async def test_what_a_client_may_not_see_is_unknown_to_it_here_too(connect: Connect) -> None:
    async with connect(suggesting, opened=False) as client:
        await opened_as(client, "admin")
        for ref, argument, _ in HIDDEN:
            assert (await complete(client, ref, argument, ""))["values"]
    async with connect(suggesting, opened=False) as client:
        await opened_as(client, "guest")
        for ref, argument, unknown in HIDDEN:
            error = await client.refusal("completion/complete", of(ref, argument, ""))
            other = await client.refusal("completion/complete", of(unknown, argument, ""))
            name = ref.get("name") or ref["uri"]
            assert (error.code, str(error)) == (other.code, str(other).replace("nope", name))


# --- values ---


@requirement("completion:limit")
async def test_at_most_a_hundred_values_are_sent_and_the_client_is_told_of_more(
    connect: Connect,
) -> None:
    async with connect(suggesting, opened=False) as client:
        await opened_as(client, "admin")
        for there_are in (0, MOST - 1, MOST, MOST + 1, 250):
            assert await complete(client, GREET, "name", str(there_are)) == {
                "values": [f"user {number}" for number in range(min(there_are, MOST))],
                "total": there_are,
                "hasMore": there_are > MOST,
            }
