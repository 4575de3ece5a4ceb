"""One node of the storm: `python -m tests.storm.node PORT EFFECTS [--redis URL]`.

The environment variable STORM_SABOTAGE builds it with a fault that the storm must find.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import warnings
from dataclasses import dataclass
from typing import Any

from mcp_gen import Accepted, Context, Server, Tasks
from mcp_gen.server.serving.http import run_http
from mcp_gen.types import ToolAnnotations

__all__ = ["SABOTAGE", "build", "main"]

SABOTAGE = "STORM_SABOTAGE"
HEARTBEAT_S = 1.0
SSE_AFTER_S = 0.5


@dataclass
class Form:
    """Form of a question."""

    word: str


def build(effects: str) -> Server:
    """Return the server of a node.

    Args:
        effects: File that all nodes append to: one line for each effect of a call.
    """
    server = Server(
        "storm", "1.0.0", tasks=Tasks(ttl_s=120, poll_interval_s=0.3), max_progress_per_s=None
    )
    counter = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def have(effect: str) -> None:
        # One write of a line is whole, whoever writes beside it, and outlives this process.
        os.write(counter, f"{effect}\n".encode())

    _plain(server, have)
    _asking(server, have)

    @server.resource("storm://{name}/{part}")
    async def thing(name: str, part: int) -> str:
        return f"this is {name}, {part}"

    return server


def _plain(server: Server, have: Any) -> None:
    @server.tool
    async def echo(word: str) -> str:
        return word

    @server.tool
    async def count(effect: str) -> str:
        have(effect)
        await asyncio.sleep(0.02)
        return effect

    @server.tool(annotations=ToolAnnotations(idempotent_hint=True))
    async def put(effect: str) -> str:
        await asyncio.sleep(0.1)
        have(effect)
        return effect

    @server.tool
    async def steps(ctx: Context, effect: str, steps: int, pause_s: float) -> str:
        have(effect)
        for step in range(steps):
            await ctx.report_progress(step + 1, steps, effect)
            await asyncio.sleep(pause_s)
        return effect

    @server.tool(task="optional")
    async def job(effect: str, seconds: float) -> str:
        have(effect)
        await asyncio.sleep(seconds)
        return effect

    @server.tool
    async def bump(uri: str) -> str:
        server.notify.resource_updated(uri)
        return f"{uri} by {os.getpid()}"


def _asking(server: Server, have: Any) -> None:
    @server.tool
    async def ask(ctx: Context, effect: str, word: str) -> str:
        async def effective() -> str:
            have(effect)
            return effect

        done = await ctx.once("effect", effective)
        answer = await ctx.elicit(word, Form)
        return f"{done} {answer.content.word if isinstance(answer, Accepted) else answer.action}"

    @server.tool
    async def ask_model(ctx: Context, effect: str, word: str) -> str:
        have(effect)
        content: Any = (await ctx.sample(word, max_tokens=10)).content
        return f"{effect} {content.text}"


def main() -> None:
    """Serve until the process is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("effects")
    parser.add_argument("--redis")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    options: dict[str, Any] = {}
    if asked.redis:
        # The harness also runs without a cluster.
        from mcp_gen.cluster import Redis
        from tests.storm.sabotage import sabotage

        sabotage(os.environ.get(SABOTAGE, ""))
        options["cluster"] = Redis(asked.redis)
    app = build(asked.effects).asgi(
        legacy_sse_path="/sse", keep_alive_s=HEARTBEAT_S, sse_after_s=SSE_AFTER_S, **options
    )
    run_http(app, "127.0.0.1", asked.port)


if __name__ == "__main__":
    main()
