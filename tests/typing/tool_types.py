"""Typing of tools, for type checkers. `nox -s types` reads this; it is never run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, assert_type

from mcp_gen import Argument, Context, Depends, Server, Structured, content, transformed
from mcp_gen.apps import McpUiResourceCsp, McpUiToolMeta
from mcp_gen.types import CallToolResult, ImageContent, TextContent, Tool, ToolAnnotations

server = Server("typed")


class Db:
    def rows(self) -> int:
        return 1


@dataclass
class Report:
    rows: int


def open_db() -> Db:
    return Db()


@server.tool
async def plain(a: int, b: str = "") -> Report:
    return Report(a)


@server.tool(name="other", annotations=ToolAnnotations(read_only_hint=True), timeout_s=1.5)
def described(a: int, ctx: Context, db: Annotated[Db, Depends(open_db)]) -> int:
    assert_type(db, Db)
    assert_type(ctx.revision, str)
    return db.rows()


@server.tool("named", title="Named", tags=["beta"])
async def named(a: int) -> int:
    return a


@server.prompt("hello", title="Hello", tags={"beta"})
async def prompted(name: str) -> str:
    return name


@server.tool(run_in_thread=False, input_schema={"type": "object"})
def pictures(path: str) -> list[str | ImageContent]:
    return ["A picture:", content.image(Path(path))]


@server.tool
async def both() -> Structured[Report]:
    made = Structured(Report(1), ["one row"])
    assert_type(made, Structured[Report])
    assert_type(made.data, Report)
    return made


class Shop:
    def __init__(self) -> None:
        server.tool(self.buy)

    async def buy(self, item: str) -> None: ...


def a_decorator_keeps_the_signature() -> None:
    of_plain: Callable[[int, str], Coroutine[Any, Any, Report]] = plain
    of_described: Callable[[int, Context, Db], int] = described
    assert_type(pictures("a"), list[str | ImageContent])
    del of_plain, of_described


async def calls_of_tools_are_calls_of_functions() -> None:
    assert_type(await plain(1), Report)
    assert_type(await plain(1, b="b"), Report)
    assert_type(await both(), Structured[Report])


async def handler(ctx: Context, arguments: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=ctx.revision)])


def of_any(ctx: object, arguments: Any) -> str:
    return "any"


class Handler:
    async def __call__(self, ctx: Context, arguments: dict[str, Any]) -> str:
        return "called"


def a_description_has_a_handler(tool: Tool) -> None:
    server.add_tool(tool, handler)
    server.add_tool(tool, of_any, timeout_s=2)
    server.add_tool(tool, Handler(), run_in_thread=False)
    server.add_tool(tool, lambda ctx, arguments: arguments["a"])


def a_server_knows_its_tools() -> None:
    assert_type(server.tools.names, list[str])
    assert_type([tool.tool for tool in server.tools], list[Tool])
    assert_type(content.link("file:///a").name, str)


@server.ui_resource("ui://types/page", csp=McpUiResourceCsp(connect_domains=[]))
def page() -> str:
    return ""


@server.tool(ui=McpUiToolMeta(resource_uri="ui://types/page", visibility=["app"]))
async def shown(a: int) -> Report:
    return Report(a)


async def what_has_an_app_stays_what_it_is() -> None:
    assert_type(page(), str)
    assert_type(await shown(1), Report)


async def made(ctx: Context) -> int:
    return 1


def a_tool_can_be_offered_in_another_way(other: Server) -> None:
    arguments = {
        "a": Argument(name="b", schema={"minimum": 1}),
        "b": Argument(fixed=1),
        "c": Argument(make=made),
        "d": Argument(make=lambda ctx: ctx.revision),
    }
    server.add_tool(transformed(other.tools["plain"], name="other", arguments=arguments))
    server.add_tool(transformed(plain, description="", ui="ui://types/page"))
    server.add_tool(other.tools["plain"])
    server.transform_tool("plain", keep=True, name="again", result=str)
