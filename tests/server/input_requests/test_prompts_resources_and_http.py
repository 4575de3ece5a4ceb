"""Input requests of prompts and resources, and over HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Accepted, Context, Server
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.server.dispatch.handlers import Handlers
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.session.duplex.server import ServerConnection
from mcp_gen.session.kernel.kernel import Kernel
from mcp_gen.types import (
    CompleteResult,
    Completion,
    GetPromptResult,
    PromptMessage,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
)
from tests.support.http.asgi import headers_of, request
from tests.support.peers.answering import EVERYTHING, Capable, accept, answering, asks, in_results


@dataclass
class Name:
    name: str


async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Name?", Name)
    assert isinstance(answer, Accepted)
    return answer.content.name


class AskingHandlers(Handlers):
    """Handlers with input requests in a prompt, a resource and a completion (where none may be)."""

    async def get_prompt(self, ctx: Context, params: Any) -> Any:
        async def prompt(ctx: Context, params: Any) -> GetPromptResult:
            said = TextContent(text=f"{params.name}: {await ask(ctx)}")
            return GetPromptResult(messages=[PromptMessage(role="user", content=said)])

        return await run_with_rounds(ctx, params, prompt)

    async def read_resource(self, ctx: Context, params: Any) -> Any:
        async def read(ctx: Context, params: Any) -> ReadResourceResult:
            contents = TextResourceContents(uri=params.uri, text=await ask(ctx))
            return ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")

        return await run_with_rounds(ctx, params, read)

    async def complete(self, ctx: Context, params: Any) -> Any:
        try:
            await ask(ctx)
        except Exception as error:
            return CompleteResult(completion=Completion(values=[str(error)]))
        raise AssertionError("it was asked")


class AskingServer:
    """Server with these handlers."""

    def __init__(self) -> None:
        server = Server("asking")
        self.kernel: Kernel[Context] = Kernel(
            handlers=AskingHandlers(server),
            hooks=server.hooks,
            revisions=mcp_wire.REVISIONS,
            context=partial(Context, server),
            offered=lambda: frozenset({"prompts", "resources", "completions"}),
            server_info=server.info,
        )

    async def serve(self, transport: Duplex) -> None:
        await ServerConnection(self.kernel, transport).serve()


@asks
async def test_a_prompt_asks(revision: str) -> None:
    async with answering(AskingServer(), revision, lambda asked: accept(name="Ada")) as client:
        answer = await client.request("prompts/get", {"name": "p"})
    assert answer["messages"][0]["content"]["text"] == "p: Ada"
    assert len(client.asked) == 1


@asks
async def test_a_resource_asks(revision: str) -> None:
    async with answering(AskingServer(), revision, lambda asked: accept(name="Ada")) as client:
        answer = await client.request("resources/read", {"uri": "a:b"})
    assert answer["contents"][0]["text"] == "Ada"
    assert len(client.asked) == 1


@in_results
async def test_a_state_of_one_method_is_none_of_another(revision: str) -> None:
    async with answering(AskingServer(), revision, lambda asked: accept(name="Ada")) as client:
        more = client.answered(await client.once("prompts/get", {"name": "p"}))
        refused = await client.once("resources/read", {"uri": "p", **more})
    assert refused["code"] == -32602


@asks
async def test_a_completion_cannot_ask(revision: str) -> None:
    params = {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": ""},
    }
    async with answering(AskingServer(), revision, lambda asked: None) as client:
        answer = await client.once("completion/complete", params)
    assert answer["completion"]["values"][0].startswith("the client can be asked in tools")


# --- HTTP ---


@in_results
@pytest.mark.parametrize("apart", [False, True], ids=["in its task", "in tasks of its own"])
async def test_a_tool_asks_over_http(revision: str, apart: bool) -> None:
    server = Server("http")
    speaker = Capable(revision, EVERYTHING)

    @server.tool
    async def tool(ctx: Context) -> str:
        if apart:
            return "".join(await asyncio.gather(ask(ctx), ask(ctx)))
        return await ask(ctx)

    app = server.asgi()
    params: dict[str, Any] = {"name": "tool"}
    first = speaker.request(1, "tools/call", params)
    asked = (await request(app, first, headers_of(speaker, first))).json["result"]
    assert asked["resultType"] == "input_required"
    params["inputResponses"] = {key: accept(name="A") for key in asked["inputRequests"]}
    params["requestState"] = asked["requestState"]
    second = speaker.request(2, "tools/call", params)
    reply = await request(app, second, headers_of(speaker, second))
    assert reply.json["result"]["content"][0]["text"] == "A" * len(asked["inputRequests"])
    assert len(asked["inputRequests"]) == 1 + apart
