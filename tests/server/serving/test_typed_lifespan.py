"""`Server[App]` and `Context[App]` at run time: the same classes, with a name for the lifespan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Optional

import pytest

from mcp_gen import Client, Context, Depends, Server
from tests.client.using import using
from tests.support.frames import every_revision


@dataclass
class App:
    url: str


@asynccontextmanager
async def opened(server: Server) -> AsyncIterator[App]:
    yield App(f"db://{server.name}")


def url_of(ctx: Context[App]) -> str:
    return ctx.lifespan.url


def plain(ctx: Context) -> str:
    return str(ctx.lifespan.url)


def typed(ctx: Context[App]) -> str:
    return ctx.lifespan.url


def annotated(ctx: Annotated[Context[App], "of the request"]) -> str:
    return ctx.lifespan.url


def optional(ctx: Context[App] | None = None) -> str:
    return ctx.lifespan.url if ctx else "nothing"


def older(ctx: Optional[Context[App]] = None) -> str:  # noqa: UP045 - a spelling that people have
    return ctx.lifespan.url if ctx else "nothing"


def quoted(ctx: "Context[App]") -> str:  # noqa: UP037 - a spelling that people have
    return ctx.lifespan.url


def dependent(url: Annotated[str, Depends(url_of)]) -> str:
    return url


HANDLERS: list[Any] = [plain, typed, annotated, optional, older, quoted, dependent]


@every_revision
@pytest.mark.parametrize("handler", HANDLERS)
async def test_a_handler_gets_its_context_however_it_is_annotated(
    revision: str, handler: Any
) -> None:
    server = Server("s", lifespan=opened)
    server.add_tool(handler)
    async with using(Client("c"), server, revision) as session:
        assert await session.call_tool(handler.__name__, returns=str) == "db://s"
        (tool,) = [one async for one in session.tools()]
    assert not tool.input_schema.get("properties")


async def test_prompts_and_resources_take_it_too() -> None:
    server = Server("s", lifespan=opened)
    server.prompt(typed)
    server.resource("a://b")(typed)
    async with using(Client("c"), server, None) as session:
        prompt = await session.get_prompt("typed")
        (contents,) = (await session.read_resource("a://b")).contents
    assert (prompt.messages[0].content.text, contents.text) == ("db://s", "db://s")


def test_a_server_with_a_type_is_a_server() -> None:
    server = Server[App]("s", lifespan=opened)
    assert (type(server), server.name) == (Server, "s")


def test_a_class_may_derive_from_a_server_with_a_type() -> None:
    class Own(Server[App]):
        """A server of the program's own."""

    assert isinstance(Own("s", lifespan=opened), Server)
