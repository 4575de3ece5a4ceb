"""Sending middleware and outbound hooks run around all that a server sends, mounted or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_wire import latest
from tests.support.frames import ALL, every_revision
from tests.support.peers.asked import Answer
from tests.support.peers.connect import talk


@dataclass
class Name:
    """A form."""

    name: str


async def elicits(ctx: Context) -> str:
    return type(await ctx.elicit("Who?", Name)).__name__


async def elicits_as_task(ctx: Context) -> str:
    return type(await ctx.elicit("Who?", Name, task=True)).__name__


async def elicits_a_page(ctx: Context) -> str:
    return type(await ctx.elicit_url("There", "https://example.com/")).__name__


async def samples(ctx: Context) -> str:
    return (await ctx.sample("hello", max_tokens=1)).model


async def samples_as_task(ctx: Context) -> str:
    return (await ctx.sample("hello", max_tokens=1, task=True)).model


async def lists_roots(ctx: Context) -> str:
    return (await ctx.list_roots())[0].uri


async def pings(ctx: Context) -> str:
    return type(await ctx.client.ping()).__name__


ANSWERS: dict[str, Answer] = {
    "elicitation/create": lambda asked: {"action": "accept", "content": {"name": "Ada"}},
    "sampling/createMessage": lambda asked: {
        "role": "assistant",
        "model": "m",
        "content": {"type": "text", "text": "Hello!"},
    },
    "roots/list": lambda asked: {"roots": [{"uri": "file:///home"}]},
    "ping": lambda asked: {},
}
CAPABILITIES: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
ASKS: list[tuple[Callable[[Context], Awaitable[str]], str, str]] = [
    (elicits, "elicitation/create", "Accepted"),
    (elicits_as_task, "elicitation/create", "Accepted"),
    (elicits_a_page, "elicitation/create", "Accepted"),
    (samples, "sampling/createMessage", "m"),
    (samples_as_task, "sampling/createMessage", "m"),
    (lists_roots, "roots/list", "file:///home"),
    (pings, "ping", "Result"),
]


def live(ask: Callable[..., Any], method: str) -> list[str]:
    """Return the revisions at which the server sends such a request."""
    profiles = [mcp_wire.profile(one) for one in ALL]
    return [
        profile.revision
        for profile in profiles
        if method in profile.methods
        and profile.methods[method].from_server
        and (ask is not elicits_a_page or profile.url_elicitation != "none")
    ]


asking = pytest.mark.parametrize(
    ("ask", "method", "answer", "revision"),
    [(*row, revision) for row in ASKS for revision in live(*row[:2])],
)


class Spied:
    """A server with sending middleware, and hooks before and after what it sends."""

    def __init__(self, name: str, said: list[tuple[str, str, str]]) -> None:
        self.server = Server(name)
        outbound = self.server.hooks.outbound

        @self.server.sending_middleware
        async def around(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
            said.append((ctx.server.name, "in", method))
            result = await call_next(params)
            said.append((ctx.server.name, "out", method))
            return result

        @outbound.before_any
        def before(ctx: Context, method: str, params: Any) -> None:
            said.append((ctx.server.name, "before", method))

        @outbound.on_success
        def after(ctx: Context, method: str, params: Any, result: Any) -> None:
            said.append((ctx.server.name, "after", method))


@asking
async def test_sending_middleware_and_hooks_are_around_what_a_handler_asks(
    ask: Any, method: str, answer: str, revision: str
) -> None:
    said: list[tuple[str, str, str]] = []
    spied = Spied("own", said)
    spied.server.add_tool(ask, name="ask")
    options: dict[str, Any] = {"answers": ANSWERS, "capabilities": CAPABILITIES}
    async with talk(lambda: spied.server, revision, **options) as client:
        assert await client.text("ask") == answer
    assert said == [("own", step, method) for step in ("in", "before", "after", "out")]


@asking
async def test_those_of_the_outer_servers_are_around_what_a_mounted_handler_asks(
    ask: Any, method: str, answer: str, revision: str
) -> None:
    said: list[tuple[str, str, str]] = []
    inner, between, outer = (Spied(name, said).server for name in ("inner", "between", "outer"))
    inner.add_tool(ask, name="ask")
    between.mount("b", inner)
    outer.mount("a", between)
    options: dict[str, Any] = {"answers": ANSWERS, "capabilities": CAPABILITIES}
    async with talk(lambda: outer, revision, **options) as client:
        assert await client.text("a_b_ask") == answer
    names = ("inner", "between", "outer")
    assert said == [
        *((name, step, method) for name in names for step in ("in", "before")),
        *((name, step, method) for name in reversed(names) for step in ("after", "out")),
    ]


@every_revision
async def test_those_of_the_outer_server_are_around_a_mounted_handlers_notifications(
    revision: str,
) -> None:
    said: list[tuple[str, str]] = []
    inner, outer = Server("inner", declare=["logging"]), Server("outer", declare=["logging"])

    @inner.tool
    async def run(ctx: Context) -> str:
        await ctx.log("error", {"a": 1})
        await ctx.report_progress(1)
        return "done"

    @outer.sending_middleware
    async def around(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        said.append((ctx.server.name, method))
        if hasattr(params, "data"):
            params = msgspec.structs.replace(params, data=f"{params.data} changed")
        await call_next(params)

    @outer.hooks.outbound.on_logging_message
    def hook(ctx: Any, params: Any) -> None:
        said.append((ctx.server.name, "hook"))

    outer.mount("a", inner)
    async with talk(lambda: outer, revision, log_level="debug") as client:
        params: dict[str, Any] = {"name": "a_run", "arguments": {}}
        await client.request("tools/call", params, meta={"progressToken": 1})
        heard = [one["params"].get("data") for one in client.heard]
    assert said == [
        ("outer", "notifications/message"),
        ("outer", "hook"),
        ("outer", "notifications/progress"),
    ]
    assert heard == ["{'a': 1} changed", None]


@pytest.mark.parametrize("revision", live(samples, "sampling/createMessage"))
async def test_an_outer_servers_middleware_may_answer_in_the_clients_place(revision: str) -> None:
    inner, outer = Server("inner"), Server("outer")
    inner.add_tool(samples, name="ask")
    outer.mount("a", inner)

    @outer.sending_middleware
    async def answers(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        content = latest.TextContent(text="no")
        return latest.CreateMessageResult(role="assistant", model="cached", content=content)

    async with talk(lambda: outer, revision, capabilities=CAPABILITIES) as client:
        assert await client.text("a_ask") == "cached"
        assert client.questions == []


@pytest.mark.parametrize("revision", [one for one in ALL if mcp_wire.profile(one).tasks == "core"])
async def test_they_are_around_what_a_mounted_task_asks(revision: str) -> None:
    said: list[tuple[str, str, str]] = []
    inner, outer = (Spied(name, said).server for name in ("inner", "outer"))
    inner.add_tool(elicits, name="ask", task="optional")
    outer.mount("a", inner)
    options: dict[str, Any] = {"answers": ANSWERS, "capabilities": CAPABILITIES}
    async with talk(lambda: outer, revision, **options) as client:
        call: dict[str, Any] = {"name": "a_ask", "arguments": {}, "task": {}}
        created = await client.request("tools/call", call)
        result = await client.request("tasks/result", {"taskId": created["task"]["taskId"]})
    assert result["content"][0]["text"] == "Accepted"
    asked = [(name, step) for name, step, method in said if method == "elicitation/create"]
    assert asked == [
        *((name, step) for name in ("inner", "outer") for step in ("in", "before")),
        *((name, step) for name in ("outer", "inner") for step in ("after", "out")),
    ]
