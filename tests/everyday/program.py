"""One program as people write it: twenty handlers, and a client that uses each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from mcp_gen import (
    Accepted,
    Client,
    ClientSession,
    Context,
    Depends,
    McpError,
    ResourceNotFound,
    Server,
    ToolError,
    UsageError,
    assistant,
    content,
    images_of,
    text_of,
    user,
)
from mcp_gen.types import (
    CompletionArgument,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ImageContent,
    PromptReference,
    TextContent,
    Tool,
)


@dataclass
class Item:
    name: str
    price: float


class Size(Enum):
    small = "small"
    large = "large"


class Parcel(TypedDict):
    size: Size
    day: date


@dataclass
class Address:
    city: Annotated[str, Meta(min_length=2)]
    express: bool = False


@asynccontextmanager
async def stock(server: Server) -> AsyncGenerator[dict[str, Item]]:
    yield {"bolt": Item("bolt", 0.5), "nut": Item("nut", 0.25)}


def one_item(ctx: Context) -> Item:
    found: Item = ctx.lifespan["bolt"]
    return found


def shop() -> Server:
    """Return a server with twenty handlers."""
    server = Server("shop", "1.0.0", lifespan=stock, declare=["logging"])

    # --- ten tools ---

    @server.tool
    async def names(ctx: Context) -> list[str]:
        return sorted(ctx.lifespan)

    @server.tool
    async def price(item: str, count: int = 1) -> float:
        if item != "bolt":
            raise ToolError(f"no {item} here")
        return 0.5 * count

    @server.tool
    def cheapest(item: Annotated[Item, Depends(one_item)]) -> Item:
        return item

    @server.tool
    async def pack(size: Size, day: date) -> Parcel:
        return Parcel(size=size, day=day)

    @server.tool
    async def found(name: str) -> str | None:
        return name if name == "bolt" else None

    @server.tool
    async def forget() -> None:
        return None

    @server.tool
    async def label() -> ImageContent:
        return content.image(b"GIF89a", mime_type="image/gif")

    @server.tool
    async def slow(ctx: Context) -> str:
        await ctx.report_progress(1, 2, "half")
        await ctx.log("info", "halfway")
        await ctx.report_progress(2, 2, "whole")
        return "done"

    @server.tool
    async def order(ctx: Context) -> str:
        answer = await ctx.elicit("Where to?", Address)
        if not isinstance(answer, Accepted):
            return answer.action
        return f"{answer.content.city}, {answer.content.express}"

    @server.tool
    async def describe(ctx: Context) -> str:
        said = await ctx.sample("Describe a bolt.", max_tokens=10)
        folders = [root.uri for root in await ctx.list_roots()]
        return f"{text_of(said)} {folders}"

    # --- a tool with a schema of its own, and one that appears ---

    async def roll(ctx: Context, arguments: dict[str, Any]) -> str:
        return f"{arguments['sides']}"

    schema = {"type": "object", "properties": {"sides": {"enum": [4, 6]}}, "required": ["sides"]}
    server.add_tool(Tool(name="roll", input_schema=schema), roll)

    @server.tool
    async def more() -> str:
        server.add_tool(lambda: "new", name="extra")
        return "more"

    # --- four resources ---

    @server.resource("shop://motto", mime_type="text/plain")
    def motto() -> str:
        return "Measure twice"

    @server.resource("shop://items/{name}")
    async def item(name: str, ctx: Context) -> Item:
        if name not in ctx.lifespan:
            raise ResourceNotFound
        value: Item = ctx.lifespan[name]
        return value

    @server.resource("shop://logo", mime_type="image/gif")
    def logo() -> bytes:
        return b"GIF89a"

    @server.completion("shop://items/{name}", "name")
    async def item_names(value: str) -> list[str]:
        return [one for one in ("bolt", "nut") if one.startswith(value)]

    # --- two prompts, a completion and a hook ---

    @server.prompt
    def praise(name: str, tone: Literal["plain", "loud"] = "plain") -> str:
        return f"Praise {name}, {tone}"

    @server.prompt
    def talk(city: str) -> list[Any]:
        return [user(f"I am in {city}."), assistant("And?"), user("Sell me a bolt.")]

    @server.completion("talk", "city")
    async def cities(value: str, arguments: Mapping[str, str]) -> list[str]:
        return [one for one in ("Oslo", "Lima") if one.startswith(value)]

    @server.hooks.before_call_tool
    async def refuse(ctx: Context, params: Any) -> None:
        if params.name == "refused":
            raise McpError(-31000, "refused")

    return server


def guest(heard: list[str]) -> Client:
    """Return a client that answers what a server asks, and keeps what it hears."""
    client = Client("guest", "1.0.0", roots=[Path("/srv/shop")], log_level="info")

    @client.elicitation
    async def fill_in(session: ClientSession, params: ElicitRequestFormParams) -> dict[str, Any]:
        return {"city": "Oslo", "express": True}

    @client.sampling
    async def ask(
        session: ClientSession, params: CreateMessageRequestParams
    ) -> CreateMessageResult:
        return CreateMessageResult(
            role="assistant", content=TextContent(text="Round."), model="small"
        )

    @client.hooks.on_logging_message
    def logged(session: ClientSession, params: Any) -> None:
        heard.append(f"log {params.data}")

    return client


async def answered(call: Any) -> Any:
    """Return what a call gave, or the name of its error: a revision may lack what it needs."""
    try:
        return await call
    except (McpError, ToolError, UsageError) as error:
        return type(error).__name__


async def use(session: ClientSession, heard: list[str]) -> dict[str, Any]:
    """Use every handler once, and return what came of it."""
    call = session.call_tool
    got: dict[str, Any] = {"tools": [tool.name async for tool in session.tools()]}
    got["names"] = await call("names", returns=list[str])
    got["price"] = await call("price", {"item": "bolt", "count": 3}, returns=float)
    got["no price"] = await answered(call("price", {"item": "screw"}, returns=float))
    got["cheapest"] = await call("cheapest", returns=Item)
    got["pack"] = await call("pack", {"size": "large", "day": "2026-03-01"}, returns=Parcel)
    got["label"] = [len(one.data) for one in images_of(await call("label"))]
    got["slow"] = await call(
        "slow", returns=str, progress=lambda done, *_: heard.append(f"progress {done:.0f}")
    )
    got["order"] = await answered(call("order", returns=str))
    got["describe"] = await answered(call("describe", returns=str))
    got["roll"] = await call("roll", {"sides": 6}, returns=str)
    got["found"] = [await call("found", {"name": n}, returns=str | None) for n in ("bolt", "x")]
    got["forget"] = await call("forget", returns=None)
    async with session.watch(tools=True) as changes:
        got["more"] = await call("more", returns=str)
        got["change"] = (await asyncio.wait_for(anext(changes), 10)).kind
    got["extra"] = await call("extra", returns=str)
    got["resources"] = [one.uri async for one in session.resources()]
    got["motto"] = text_of(await session.read_resource("shop://motto"))
    got["item"] = text_of(await session.read_resource("shop://items/nut"))
    got["no item"] = await answered(session.read_resource("shop://items/screw"))
    got["logo"] = type((await session.read_resource("shop://logo")).contents[0]).__name__
    got["praise"] = text_of(await session.get_prompt("praise", {"name": "bolt"}))
    got["talk"] = [
        one.role for one in (await session.get_prompt("talk", {"city": "Oslo"})).messages
    ]
    completed = await session.complete(
        PromptReference(name="talk"), CompletionArgument(name="city", value="L")
    )
    got["cities"] = completed.completion.values
    got["refused"] = await answered(call("refused"))
    got["heard"] = heard
    return got
