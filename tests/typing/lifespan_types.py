"""Typing of lifespans, for type checkers. `nox -s types` reads this; it is never run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, assert_type

from mcp_gen import Context, Depends, Server
from mcp_gen.types import CallToolResult, Tool


@dataclass
class App:
    url: str


@asynccontextmanager
async def opened(server: Server) -> AsyncGenerator[App]:
    yield App(server.name)


@asynccontextmanager
async def opened_exactly(server: Server[App]) -> AsyncGenerator[App]:
    yield App(server.name)


@asynccontextmanager
async def nothing(server: Server) -> AsyncGenerator[None]:
    yield


class Opened(AbstractAsyncContextManager[App]):
    def __init__(self, server: Server) -> None:
        self.server = server

    async def __aexit__(self, *error: object) -> None: ...


server = Server("typed", lifespan=opened)
plain = Server("plain")


def the_type_comes_from_the_lifespan() -> None:
    assert_type(server, Server[App])
    assert_type(Server("exact", lifespan=opened_exactly), Server[App])
    assert_type(Server("of a class", lifespan=Opened), Server[App])
    assert_type(Server("nothing", lifespan=nothing), Server[None])
    assert_type(Server[App]("named", lifespan=opened), Server[App])
    assert_type(plain, Server[Any])


@server.tool
async def url(ctx: Context[App], name: str) -> str:
    assert_type(ctx.lifespan, App)
    return ctx.lifespan.url + name


@server.tool
async def untyped(ctx: Context) -> str:
    assert_type(ctx.lifespan, Any)
    return str(ctx.lifespan)


def connection(ctx: Context[App]) -> str:
    return ctx.lifespan.url


@server.tool
async def depends(connection: Annotated[str, Depends(connection)]) -> str:
    return connection


@server.resource("users://{id}")
async def user(id: str, ctx: Context[App]) -> str:
    return ctx.lifespan.url + id


@server.hooks.before_call_tool
async def before(ctx: Context[App], params: Any) -> None:
    assert_type(ctx.lifespan, App)


@server.filter_tools
def visible(ctx: Context[App], tool: Tool) -> bool:
    return tool.name != ctx.lifespan.url


async def handler(ctx: Context[App], arguments: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[])


def helper(ctx: Context[object]) -> str:
    return str(ctx.lifespan)


def any_server(server: Server) -> None:
    server.mount("inner", plain)


async def servers_and_contexts_are_passed_on(ctx: Context[App]) -> None:
    server.add_tool(Tool(name="t", input_schema={}), handler)
    any_server(server)
    plain.mount("typed", server)
    helper(ctx)
    assert_type(await url(ctx, "name"), str)


class Named(Server[App]):
    """A server of the program's own."""


class Bare(Server):
    """Another one."""
