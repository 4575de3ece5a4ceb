"""The server of the HTTP soak, with a state endpoint: `python -m tests.soak.server PORT`."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections import Counter
from typing import Any, cast

import msgspec

from mcp_gen import Context, Server, ToolError
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.server.context.answers import Accepted
from mcp_gen.server.serving.http import run_http
from mcp_gen.server.tasks.options import Tasks
from mcp_gen.transports.http_server.app import AsgiApp, Receive, Scope, Send
from mcp_gen.transports.http_server.asgi import send_answer
from mcp_gen.transports.http_server.connection_limits import ConnectionLimits
from tests.soak.figures import give_back, resident_kb

__all__ = ["KEPT_S", "MAX_BODY_BYTES", "STATE_PATH", "State"]

STATE_PATH = "/state"
MAX_BODY_BYTES = 256 * 1024
KEPT_S = 0.3
"""Keep-alive timeout of HTTP connections, in seconds."""
PAUSE_S = 0.02
TIMEOUT_S = 20.0
"""Request timeout in seconds, so that requests of lost clients end."""

STATE_TTL_S = 15.0
"""Lifetime of request states in seconds, so that they do not accumulate."""

TASK_TTL_S, MAX_TASK_TTL_S = 3.0, 10.0
"""Default and maximum `ttl` of tasks in seconds, so that they do not accumulate."""


class State(msgspec.Struct):
    """State of the server process."""

    objects: int
    """Number of objects that the garbage collector tracks."""
    blocks: int
    """Number of memory blocks that Python has allocated."""
    resident_kb: int
    tasks: int
    files: int
    """Open sockets, and the few files of the process itself."""
    sessions: int
    waiting: int
    """Calls of `wait`, which ends by cancellation alone."""
    kinds: dict[str, int] = {}
    """Number of objects of each class, if requested."""


class Form(msgspec.Struct):
    """Elicitation form."""

    word: str


def build() -> tuple[Server, list[str]]:
    """Return the server, and the set of waiting calls."""
    server = Server(
        "soak",
        "1.0.0",
        request_timeout_s=TIMEOUT_S,
        max_concurrent_requests=50,
        request_state_ttl_s=STATE_TTL_S,
        tasks=Tasks(ttl_s=TASK_TTL_S, max_ttl_s=MAX_TASK_TTL_S, grace_s=0),
    )
    waiting: list[str] = []
    _working(server, waiting)
    _telling(server)
    _asking(server)

    @server.resource("soak://{name}")
    async def thing(name: str) -> str:
        return f"this is {name}"

    @server.prompt
    def greet(name: str) -> str:
        return f"say hello to {name}"

    return server, waiting


def _working(server: Server, waiting: list[str]) -> None:
    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def add_in_a_thread(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def slow(ms: int, text: str) -> str:
        await asyncio.sleep(ms / 1000)
        return text

    @server.tool(task="required")
    async def job(ms: int, text: str) -> str:
        await asyncio.sleep(ms / 1000)
        return text

    @server.tool
    async def work(ctx: Context, steps: int, ms: int) -> str:
        """Report each step."""
        for step in range(steps):
            await ctx.report_progress(step + 1, steps)
            await asyncio.sleep(ms / 1000)
        return f"{steps} steps"

    @server.tool
    async def wait(ctx: Context) -> str:
        """Report that the call waits, and wait for ever."""
        waiting.append("")
        try:
            await ctx.report_progress(1)
            await asyncio.Event().wait()
        finally:
            waiting.pop()
        return "never"

    @server.tool
    async def poll(ctx: Context, steps: int) -> str:
        """Report each step, and disconnect after it: the client resumes the stream."""
        for step in range(steps):
            await ctx.report_progress(step + 1, steps)
            await ctx.close_stream(retry_ms=10)
            await asyncio.sleep(PAUSE_S)
        return f"{steps} steps"

    @server.tool
    async def break_down() -> str:
        raise ToolError("on purpose")


def _telling(server: Server) -> None:
    @server.tool
    async def touch(uri: str) -> str:
        """Notify the subscribers of a resource."""
        server.notify.resource_updated(uri)
        return "touched"

    @server.tool
    async def change(name: str) -> str:
        """Add and remove a tool: the list has changed."""
        server.add_tool(add_one, name=name)
        server.remove_tool(name)
        return "changed"

    @server.tool
    async def pour(ctx: Context, messages: int, size: int) -> str:
        """Log at the pace of the client (back-pressure)."""
        for _ in range(messages):
            await ctx.log("info", "x" * size)
        return "poured"

    @server.tool
    async def shout(ctx: Context, messages: int, size: int) -> str:
        """Log without waiting for the client."""
        for _ in range(messages):
            await ctx.client.notify_logging_message("info", "x" * size)
        return "shouted"

    @server.tool
    async def tell_session(ctx: Context, messages: int, size: int, wait: bool) -> str:
        """Log outside of a request, with or without back-pressure."""
        session = ctx.session
        assert session is not None
        for _ in range(messages):
            if wait:
                await session.log("info", "x" * size)
            else:
                await session.client.notify_logging_message("info", "x" * size)
        return "told"


async def add_one(a: int) -> int:
    return a + 1


def _asking(server: Server) -> None:
    @server.tool
    async def ask_user(ctx: Context, word: str) -> str:
        answer = await ctx.elicit(word, Form)
        return answer.content.word if isinstance(answer, Accepted) else answer.action

    @server.tool
    async def ask_model(ctx: Context, word: str) -> str:
        content: Any = (await ctx.sample(word, max_tokens=10)).content
        return str(content.text)

    @server.tool
    async def ask_roots(ctx: Context) -> str:
        return " ".join(str(root.uri) for root in await ctx.list_roots())

    @server.tool
    async def ask_twice(ctx: Context, word: str) -> str:
        """Make two input requests in turn: two rounds at revisions with `input_required`."""
        first = await ctx.once("first", lambda: word)
        user = await ctx.elicit(f"{word} 1", Form, key="one")
        again = await ctx.elicit(f"{word} 2", Form, key="two")
        return f"{first} {user.action} {again.action}"


class Observed:
    """The app, and a state endpoint beside it."""

    def __init__(self, app: AsgiApp, server: Server, waiting: list[str]) -> None:
        self._app = app
        self._server = server
        self._waiting = waiting
        self.path, self.drain = app.path, app.drain
        self.start, self.aclose = app.start, app.aclose

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == STATE_PATH:
            state = self.state(scope["query_string"])
            await send_answer(send, Answer(200, msgspec.json.encode(state)))
        else:
            await self._app(scope, receive, send)

    def state(self, query: bytes) -> State:
        """Return the state of the process; with a query, after a garbage collection."""
        if query:
            gc.collect()
            give_back()
        objects = gc.get_objects() if query else []
        kinds = Counter(type(one).__qualname__ for one in objects) if query == b"kinds" else {}
        return State(
            objects=len(objects),
            blocks=sys.getallocatedblocks(),
            resident_kb=resident_kb(),
            tasks=len(asyncio.all_tasks()),
            files=len(os.listdir("/proc/self/fd")),
            sessions=len(self._server.sessions()),
            waiting=len(self._waiting),
            kinds=dict(kinds),
        )


def main() -> None:
    port, idle_s = int(sys.argv[1]), float(sys.argv[2])
    # One line each, so that a reader can tell the records apart.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    server, waiting = build()
    app = server.asgi(
        legacy_sse_path="/sse",
        session_idle_s=idle_s,
        max_body_bytes=MAX_BODY_BYTES,
        sse_after_s=0.5,
        keep_alive_s=0.5,
    )
    # The keep-alive timer of a connection holds a reference to it, even after a reset.
    limits = ConnectionLimits(idle_timeout_s=KEPT_S)
    observed = cast("AsgiApp", Observed(app, server, waiting))
    run_http(observed, "127.0.0.1", port, limits=limits)


if __name__ == "__main__":
    main()
