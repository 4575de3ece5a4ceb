"""Capability checks: a client gets no input request that it has not declared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, MissingCapability, Server
from mcp_gen.types import Tool, ToolChoice
from tests.support.frames import ALL, every_revision
from tests.support.peers.answering import ASKS, answering, in_results

Body = Callable[[Context], Awaitable[Any]]


@dataclass
class Name:
    name: str


async def elicit(ctx: Context) -> Any:
    return await ctx.elicit("Name?", Name)


async def elicit_url(ctx: Context) -> Any:
    return await ctx.elicit_url("Go there", "https://example.org")


async def sample(ctx: Context) -> Any:
    return await ctx.sample("Hello", max_tokens=9)


async def sample_with_tools(ctx: Context) -> Any:
    tool = Tool(name="t", input_schema={"type": "object"})
    return await ctx.sample("Hello", max_tokens=9, tools=[tool])


async def sample_with_choice(ctx: Context) -> Any:
    return await ctx.sample("Hello", max_tokens=9, tool_choice=ToolChoice(mode="none"))


async def sample_with_context(ctx: Context) -> Any:
    return await ctx.sample("Hello", max_tokens=9, include_context="thisServer")


async def list_roots(ctx: Context) -> Any:
    return await ctx.list_roots()


URLS = [one for one in ALL if mcp_wire.profile(one).url_elicitation != "none"]
PARTS = [one for one in ALL if mcp_wire.profile(one).declares_sampling_parts]

FORM, URL = {"elicitation": {}}, {"elicitation": {"url": {}}}
SAMPLING = {"sampling": {}}
TOOLS, CONTEXT = {"sampling": {"tools": {}}}, {"sampling": {"context": {}}}

REFUSED: list[tuple[Body, dict[str, Any], str, list[str]]] = [
    (elicit, {}, "elicitation", [*ALL]),
    (elicit, SAMPLING, "elicitation", [*ALL]),
    (elicit, FORM, "elicitation", [one for one in ALL if one not in ASKS]),
    (elicit, URL, "elicitation.form", URLS),
    (elicit_url, {}, "elicitation.url", [*ALL]),
    (elicit_url, FORM, "elicitation.url", [*ALL]),
    (elicit_url, URL, "elicitation.url", [one for one in ALL if one not in URLS]),
    (sample, {}, "sampling", [*ALL]),
    (sample_with_tools, SAMPLING, "sampling.tools", [*ALL]),
    (sample_with_tools, CONTEXT, "sampling.tools", [*ALL]),
    (sample_with_tools, TOOLS, "sampling.tools", [one for one in ALL if one not in PARTS]),
    (sample_with_choice, SAMPLING, "sampling.tools", [*ALL]),
    (sample_with_context, SAMPLING, "sampling.context", PARTS),
    (sample_with_context, TOOLS, "sampling.context", PARTS),
    (list_roots, {}, "roots", [*ALL]),
]

ALLOWED: list[tuple[Body, dict[str, Any], list[str]]] = [
    (elicit, FORM, ASKS),
    (elicit, {"elicitation": {"form": {}}}, ASKS),
    (elicit, URL, [one for one in ASKS if one not in URLS]),
    (elicit_url, URL, URLS),
    (sample, SAMPLING, [*ALL]),
    (sample_with_tools, TOOLS, PARTS),
    (sample_with_choice, TOOLS, PARTS),
    (sample_with_context, CONTEXT, PARTS),
    (sample_with_context, SAMPLING, [one for one in ALL if one not in PARTS]),
    (list_roots, {"roots": {}}, [*ALL]),
]


def serving(body: Body) -> tuple[Server, list[Any]]:
    """Return a server with this tool, and the outcome of its input request."""
    server = Server("capable")
    came: list[Any] = []

    async def tool(ctx: Context) -> str:
        try:
            came.append(await body(ctx))
        except Exception as error:
            came.append(error)
            raise
        return "asked"

    server.add_tool(tool)
    return server, came


@pytest.mark.parametrize(
    ("body", "declared", "missing", "revision"),
    [(b, d, m, revision) for b, d, m, revisions in REFUSED for revision in revisions],
)
async def test_a_client_without_the_capability_is_not_asked(
    body: Body, declared: dict[str, Any], missing: str, revision: str
) -> None:
    server, came = serving(body)
    async with answering(server, revision, lambda asked: None, capabilities=declared) as client:
        answer = await client.call("tool")
    profile = mcp_wire.profile(revision)
    required: dict[str, Any] = {}
    for name in reversed(missing.split(".")):
        required = {name: required}
    assert answer == {
        "code": profile.errors.missing_required_client_capability or -32600,
        "message": f"this request needs a client that declares the capability `{missing}`",
        "data": {"requiredCapabilities": required},
    }
    assert isinstance(came[0], MissingCapability)
    assert came[0].capability == missing
    assert client.asked == []


@pytest.mark.parametrize(
    ("body", "declared", "revision"),
    [(b, d, revision) for b, d, revisions in ALLOWED for revision in revisions],
)
async def test_a_client_with_the_capability_is_asked(
    body: Body, declared: dict[str, Any], revision: str
) -> None:
    def give(asked: Any) -> Any:
        if asked.method == "roots/list":
            return {"roots": []}
        if asked.method == "sampling/createMessage":
            return {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
        return {"action": "decline"}

    server, _ = serving(body)
    async with answering(server, revision, give, capabilities=declared) as client:
        assert await client.text("tool") == "asked"
    assert len(client.asked) == 1


@in_results
async def test_none_of_all_questions_is_sent_where_the_client_cannot_answer_one_of_them(
    revision: str,
) -> None:
    server = Server("curious")

    @server.tool
    async def curious(ctx: Context) -> str:
        await ctx.ask_all(ctx.elicit("Name?", Name), ctx.list_roots())
        return "asked"

    async with answering(server, revision, lambda asked: None, capabilities=FORM) as client:
        answer = await client.call("curious")
    assert answer["data"] == {"requiredCapabilities": {"roots": {}}}
    assert client.asked == []


@every_revision
async def test_a_handler_can_do_without(revision: str) -> None:
    server = Server("modest")

    @server.tool
    async def modest(ctx: Context) -> str:
        try:
            await ctx.elicit("Name?", Name)
        except MissingCapability as error:
            return f"without {error.capability}"
        return "with"

    async with answering(server, revision, lambda asked: None, capabilities={}) as client:
        assert await client.text("modest") == "without elicitation"


@every_revision
@pytest.mark.parametrize("declared", [True, None, 1, "yes", []], ids=repr)
async def test_a_capability_that_is_no_object_is_none(revision: str, declared: Any) -> None:
    server, _ = serving(list_roots)
    capabilities = {"roots": declared}
    if mcp_wire.profile(revision).handshake:
        return  # the handshake refuses it
    async with answering(server, revision, lambda asked: None, capabilities=capabilities) as client:
        answer = await client.call("tool")
    assert answer["data"] == {"requiredCapabilities": {"roots": {}}}
