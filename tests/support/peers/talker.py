"""Server whose tools log before they answer, send requests, and wait for a release."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen import Context, Server
from mcp_gen.server.context.context import origin_of
from tests.support.peers.raw import WAIT_S

__all__ = ["Talker", "soon"]


async def soon(event: asyncio.Event) -> None:
    """Wait for an event, with a time limit."""
    await asyncio.wait_for(event.wait(), WAIT_S)


class Talker:
    """Server with events for the progress and the release of its tools."""

    def __init__(self, **options: Any) -> None:
        self.server = Server("talker", **options)
        self.began = asyncio.Event()
        self.go_on = asyncio.Event()
        self.ended = asyncio.Event()
        self.seen: BaseException | None = None
        self.said = 0

        @self.server.tool
        async def echo(text: str) -> str:
            return text

        @self.server.tool
        async def say(words: list[str], ctx: Context) -> str:
            for word in words:
                await ctx.client.notify_logging_message("info", word)
                self.said += 1
            self.ended.set()
            return "said"

        @self.server.tool
        async def say_slowly(words: list[str], ctx: Context) -> str:
            for word in words:
                await ctx.client.notify_logging_message("info", word)
                await origin_of(ctx).channel.drain()
                self.said += 1
            return "said"

        @self.server.tool
        async def wait(ctx: Context, say: str = "", then: str = "") -> str:
            if say:
                await ctx.client.notify_logging_message("info", say)
            self.began.set()
            try:
                await self.go_on.wait()
                if then:
                    await ctx.client.notify_logging_message("info", then)
            except BaseException as error:
                self.seen = error
                raise
            finally:
                self.ended.set()
            return "waited"

        @self.server.tool
        async def stubborn() -> str:
            self.began.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.ended.set()
                return "all the same"
            return "waited"

        @self.server.tool
        async def roots(ctx: Context, timeout_s: float = WAIT_S) -> list[str]:
            result = await ctx.client.list_roots(timeout_s=timeout_s)
            return [root.uri for root in result.roots]
