"""The server that is fuzzed: each feature once, with names that the inputs know.

`python -m tests.fuzz.target FOLDER` serves it over stdio, and writes into a file of the folder how
much memory it uses. Its handlers end soon, whatever they are given,
and never fail by themselves: an internal error is a fault of the runtime.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from mcp_gen import Context, RequestTimeout, Server, ToolError
from mcp_gen.core.transport.header_params import MARK
from mcp_gen.server.context.answers import Accepted
from mcp_gen.server.tasks.options import Tasks
from tests.soak.figures import live_kb

__all__ = ["NAMES", "make_server"]

TOLD_EVERY_S = 1.0
ASK_S = 10.0
"""Seconds that the client may take to answer a question."""
TASK_TTL_S = 5.0
"""Lifetime of tasks in seconds, so that they do not accumulate."""

NAMES: dict[str, tuple[str, ...]] = {
    "resources": ("note://a", "note://b", "user://ada/age", "user://x/y/z", "blob://a"),
    "prompts": ("greet", "größe"),
    "arguments": ("name", "style", "id", "part"),
    "templates": ("user://{id}/{part}", "path://{+rest}"),
    "methods": ("fuzz/custom",),
    "notifications": ("notifications/fuzz/custom",),
}
"""Names that the inputs are made of; the tools come with their schemas."""


@dataclass
class Point:
    """Argument of a tool."""

    x: float
    y: float = 0.0
    label: Annotated[str, Meta(max_length=5)] | None = None


@dataclass
class Form:
    """Elicitation form."""

    word: Annotated[str, Meta(max_length=10)]
    number: int = 1
    kind: Literal["a", "b"] = "a"


class Query(msgspec.Struct):
    """Params of the custom method."""

    text: str = ""
    count: int = 0


class Found(msgspec.Struct):
    """Result of the custom method."""

    text: str


def make_server() -> Server:
    """Return the server."""
    server = Server(
        "fuzz",
        "1.0.0",
        declare=["logging", "completions"],
        page_size=5,
        request_timeout_s=20.0,
        request_state_keys=["sixteen bytes or more"],
        max_rounds=4,
        tasks=Tasks(ttl_s=TASK_TTL_S, max_ttl_s=TASK_TTL_S, grace_s=0.01),
    )
    _add_tools(server)
    _add_telling_tools(server)
    _add_asking_tools(server)
    _add_others(server)
    return server


def _add_tools(server: Server) -> None:
    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool
    def add(a: int, b: float) -> float:
        # Infinity and NaN are no JSON: what the server says to them is not the point here.
        return a + b if abs(a) < 2**53 and abs(b) < 2**53 else 0.0

    @server.tool
    async def draw(points: list[Point], mode: Literal["fill", "line"] = "line") -> list[Point]:
        return points

    @server.tool
    async def anything(value: Any = None, more: dict[str, Any] | None = None) -> str:
        return type(value).__name__

    @server.tool
    async def find(
        region: Annotated[str, Meta(extra_json_schema={MARK: "Region"})] = "",
        count: Annotated[int, Meta(extra_json_schema={MARK: "Count"})] = 0,
        is_open: Annotated[bool, Meta(extra_json_schema={MARK: "Open"})] = False,
    ) -> str:
        return f"{region} {type(count).__name__} {is_open}"

    @server.tool
    async def refuse() -> str:
        raise ToolError("on purpose")

    @server.tool
    async def pause() -> str:
        await asyncio.sleep(0.002)
        return "paused"

    @server.tool(task="optional")
    async def work(steps: int = 1) -> str:
        await asyncio.sleep(0)
        return "worked"

    @server.tool(task="required")
    async def job(text: str = "") -> str:
        return text


def _add_telling_tools(server: Server) -> None:
    @server.tool
    async def tell(ctx: Context, text: str, level: Literal["debug", "info", "error"]) -> str:
        await ctx.report_progress(1, 2, text)
        await ctx.log(level, text)
        return text

    @server.tool
    async def touch(uri: str) -> str:
        # What is no URI is not the server's to judge: its author names the resource.
        if uri in NAMES["resources"]:
            server.notify.resource_updated(uri)
        return "touched"

    @server.tool
    async def change() -> str:
        server.add_tool(pass_by, name="passing")
        server.remove_tool("passing")
        return "changed"


async def pass_by(a: int) -> int:
    """Return the number."""
    return a


def _add_asking_tools(server: Server) -> None:
    @server.tool
    async def ask_user(ctx: Context, message: str = "word?") -> str:
        answer = await ctx.elicit(message, Form, timeout_s=ASK_S)
        return answer.content.word if isinstance(answer, Accepted) else answer.action

    @server.tool
    async def ask_page(ctx: Context) -> str:
        page = await ctx.elicit_url("open it", "https://example.com/", timeout_s=ASK_S)
        return page.action

    @server.tool
    async def ask_model(ctx: Context, message: str = "hello") -> str:
        said = await ctx.sample(message, max_tokens=10, timeout_s=ASK_S)
        return said.model[:20]

    @server.tool
    async def ask_roots(ctx: Context) -> str:
        return str(len(await ctx.list_roots(timeout_s=ASK_S)))

    @server.tool(task="optional")
    async def ask_twice(ctx: Context) -> str:
        first = await ctx.once("first", lambda: "once")
        one = await ctx.elicit("one", Form, key="one", timeout_s=ASK_S)
        two = await ctx.elicit("two", Form, key="two", timeout_s=ASK_S)
        return f"{first} {one.action} {two.action}"


def _add_others(server: Server) -> None:
    @server.resource("note://a")
    def note() -> str:
        return "a"

    @server.resource("note://b")
    async def asked(ctx: Context) -> str:
        try:
            return (await ctx.elicit("which?", Form, timeout_s=ASK_S)).action
        except RequestTimeout:
            # A client that accepts JSON alone, and opens no stream, cannot be asked.
            return "not asked"

    @server.resource("blob://a")
    def blob() -> bytes:
        return b"\x00\xff"

    @server.resource("user://{id}/{part}")
    def user(id: str, part: str) -> str:
        return f"{id} {part}"

    @server.resource("path://{+rest}")
    def path(rest: str) -> str:
        return rest

    @server.prompt
    def greet(name: str, style: str = "kind") -> str:
        return f"{name} {style}"

    @server.prompt(name="größe")
    def size() -> str:
        return "How tall?"

    @server.completion("greet", "name")
    def names(value: str) -> list[str]:
        return [one for one in ("Ada", "Bob") if one.startswith(value)]

    @server.completion("user://{id}/{part}", "id")
    def ids(value: str) -> list[str]:
        return ["1", "2"]

    @server.method("fuzz/custom", params=Query, result=Found)
    async def custom(ctx: Context, params: Query) -> Found:
        return Found(params.text)

    @server.notification("notifications/fuzz/custom", params=Query)
    async def heard(ctx: Context, params: Query) -> None:
        pass


def _tell_memory(folder: str) -> None:
    """Write the memory that is used into a file with the name of this process, now and then."""
    place = Path(folder, str(os.getpid()))
    while True:
        time.sleep(TOLD_EVERY_S)  # in a thread of its own, for as long as the process lives
        new = place.with_suffix(".new")
        new.write_text(str(live_kb()))
        new.replace(place)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    threading.Thread(target=_tell_memory, args=sys.argv[1:], daemon=True).start()
    make_server().run("stdio")
