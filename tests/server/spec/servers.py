"""Servers for the spec tests, each made by a function, here or in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mcp_gen import Accepted, Context, McpError, RequestTimeout, Server, ToolError
from tests.support.peers.asked import SILENCE

__all__ = ["SILENT", "Choice", "asking", "bare", "hurried", "only", "rich", "waiting"]

SILENT = {"roots/list": lambda _: SILENCE, "sampling/createMessage": lambda _: SILENCE}
"""Callbacks of a client that never answers."""
TEXT = "Grüße, 你好, 🎉\nand a second line\u2028or a third"


def bare() -> Server:
    """Return a server without any feature."""
    return Server("bare", "1.0.0", declare=())


def only(*revisions: str) -> Server:
    """Return a server with a tool at these revisions."""
    server = Server("only", "1.0.0", revisions=revisions)

    @server.tool
    async def echo(text: str) -> str:
        """Return a text as it came."""
        return text

    return server


@dataclass
class Point:
    x: int
    y: int = 0


def rich() -> Server:
    """Return a server with some of every feature."""
    server = Server("rich", "1.2.3", instructions="Some of everything.")

    @server.tool
    async def echo(text: str) -> str:
        """Return a text as it came."""
        return text

    @server.tool
    async def mirror(point: Point) -> Point:
        """Return a point with its coordinates swapped."""
        return Point(point.y, point.x)

    @server.tool
    async def fail(reason: str) -> str:
        """Fail in a way that a model can read."""
        raise ToolError(reason)

    @server.tool
    async def refuse() -> str:
        """Answer with a protocol error."""
        raise McpError(-1, "not today")

    @server.tool
    async def crash() -> str:
        """Fail with an unexpected exception."""
        raise RuntimeError("a secret of the inside")

    @server.resource("test://text", mime_type="text/plain")
    async def text() -> str:
        """A text."""
        return TEXT

    @server.resource("test://binary", mime_type="image/png")
    async def binary() -> bytes:
        """Bytes that are not text."""
        return b"\x89PNG\x00\xff"

    @server.resource("test://broken")
    async def broken() -> str:
        """A resource whose handler fails."""
        raise RuntimeError("a secret of the inside")

    @server.resource("test://users/{id}")
    async def user(id: int) -> dict[str, Any] | None:
        """Return one of three users."""
        return {"id": id} if id in (1, 2, 3) else None

    @server.completion("test://users/{id}", "id")
    async def ids(value: str) -> list[str]:
        return [one for one in ("1", "2", "3") if one.startswith(value)]

    @server.prompt
    async def greet(name: str, style: Literal["formal", "short"] = "short") -> str:
        """Greet somebody."""
        return f"Write a {style} greeting for {name}."

    @server.prompt
    async def stumble(name: str) -> str:
        """A prompt that fails."""
        raise RuntimeError("a secret of the inside")

    @server.completion("greet", "name")
    async def names(value: str, arguments: Mapping[str, str]) -> list[str]:
        if value == "crash":
            raise RuntimeError("a secret of the inside")
        return [f"{value}{number}" for number in range(150)] if value else ["Ada", "Grace"]

    return server


@dataclass
class Choice:
    colour: Literal["red", "green", "blue"]


@dataclass
class Size:
    size: int


def asking() -> Server:
    """Return a server whose tools, prompt and resource make input requests."""
    server = Server("asking", "1.0.0")

    @server.tool
    async def choose(ctx: Context) -> str:
        """Ask the user once."""
        answer = await ctx.elicit("Which colour?", Choice)
        return answer.content.colour if isinstance(answer, Accepted) else answer.action

    @server.tool
    async def choose_twice(ctx: Context) -> str:
        """Ask the user, and then again."""
        first = await ctx.elicit("Which colour?", Choice)
        if not isinstance(first, Accepted):
            return first.action
        second = await ctx.elicit("Which size?", Size)
        if not isinstance(second, Accepted):
            return second.action
        return f"{first.content.colour} {second.content.size}"

    @server.tool
    async def choose_at_once(ctx: Context) -> str:
        """Ask the user the same question twice, at once."""
        answers = await ctx.ask_all(
            ctx.elicit("Which colour?", Choice), ctx.elicit("Which colour?", Choice)
        )
        return " ".join(answer.action for answer in answers)

    @server.tool
    async def visit(ctx: Context, url: str = "https://example.org/sign") -> str:
        """Send the user to a page."""
        return (await ctx.elicit_url("Sign here", url, key="page")).action

    @server.tool
    async def sample(ctx: Context) -> str:
        """Ask the model."""
        return (await ctx.sample("Say something.", max_tokens=10)).model

    @server.tool
    async def folders(ctx: Context) -> str:
        """Ask for the client's folders, twice."""
        await ctx.list_roots()
        return " ".join(root.uri for root in await ctx.list_roots())

    @server.tool
    async def impatient(ctx: Context) -> str:
        """Ask the user with a short timeout."""
        answer = await ctx.elicit("Which colour?", Choice, timeout_s=0.05)
        return answer.action

    @server.tool
    async def survive(ctx: Context) -> str:
        """Ask the user and catch every exception."""
        try:
            return (await ctx.elicit("Which colour?", Choice)).action
        except Exception as error:
            return type(error).__name__

    @server.prompt
    async def introduce(ctx: Context) -> str:
        """A prompt that asks the user."""
        return f"About {(await ctx.elicit('Which colour?', Choice)).action}."

    @server.resource("test://chosen")
    async def chosen(ctx: Context) -> str:
        """A resource that asks the user."""
        return (await ctx.elicit("Which colour?", Choice)).action

    return server


def waiting() -> Server:
    """Return a server whose tools wait."""
    server = Server("waiting", "1.0.0")
    holding, released, stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @server.tool
    async def hold(ctx: Context) -> str:
        """Report progress, then wait for `release`; record the cancellation."""
        await ctx.report_progress(1, 10)
        holding.set()
        try:
            await released.wait()
        except asyncio.CancelledError:
            stopped.set()
            raise
        await ctx.report_progress(2, 10)
        return "held"

    @server.tool
    async def until_holding() -> str:
        """Wait until `hold` has been called."""
        await holding.wait()
        return "held"

    @server.tool
    async def until_stopped() -> str:
        """Wait until `hold` was cancelled."""
        await stopped.wait()
        return "stopped"

    @server.tool
    async def release() -> str:
        """Release the waiting handlers."""
        released.set()
        return "released"

    @server.tool
    async def step(ctx: Context, steps: list[float], total: float | None = None) -> str:
        """Report progress, step by step."""
        for done in steps:
            await ctx.report_progress(done, total, f"at {done:g}")
        return "done"

    return server


def hurried() -> Server:
    """Return a server whose tool requests roots, and returns the outcome."""
    server = Server("hurried")

    @server.tool
    async def folders(ctx: Context, seconds: float) -> str:
        try:
            return str(len(await ctx.list_roots(timeout_s=seconds)))
        except RequestTimeout as error:
            return type(error).__name__

    return server
