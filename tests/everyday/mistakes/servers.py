"""Mistakes with servers: options, methods of other SDKs, serving, mounting, middleware, hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from mcp_gen import Server
from tests.everyday.mistakes.mistake import Mistake, server

__all__ = ["MISTAKES"]

untyped: Any = Server
BY_ASGI = "write `server.asgi()`, an ASGI app for every revision"


async def audit(params: Any) -> None:
    """Take one argument, where hooks have two."""


async def audit_result(ctx: Any, params: Any) -> None:
    """Take two arguments, where hooks after a request have three."""


async def timed(ctx: Any, call_next: Any) -> Any:
    return await call_next(ctx)


def not_async(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
    return call_next(params)


class Timing:
    """Middleware of another SDK."""

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        return await call_next(context)


async def without_a_loop(run: Callable[[], Any]) -> None:
    """Run a server where no event loop runs, as programs do."""
    await asyncio.to_thread(run)


async def lifespan(server: Any) -> Any:
    yield 1


async def only_admins(tool: Any) -> bool:
    return True


def visible(tool: Any) -> bool:
    return True


MISTAKES = [
    Mistake(
        "an option of a server that is misspelled",
        lambda: server(instruction="Add."),
        "Server: no option `instruction`: did you mean `instructions`?",
    ),
    Mistake(
        "the port as an option of the server",
        lambda: server(port=8000),
        'Server: no option `port`: pass it to `server.run("http", host=..., port=...)`',
    ),
    Mistake(
        "stateless HTTP as an option of the server",
        lambda: server(stateless_http=True),
        "Server: no option `stateless_http`: write `server.asgi(stateless=True)`",
    ),
    Mistake(
        "a server without a name",
        lambda: untyped(""),
        'Server: a server needs a name: write `Server("demo")`',
    ),
    Mistake(
        "a version that is a number",
        lambda: untyped("demo", 3),
        'Server: version=3: write `Server("demo", "1.0.0")`',
    ),
    Mistake(
        "a feature that there is not",
        lambda: server(declare=["tool"]),
        "Server: declare: no feature 'tool': did you mean 'tools'?",
    ),
    Mistake(
        "features that are one text",
        lambda: server(declare="tools"),
        "Server: declare='tools': expected several: write ['tools']",
    ),
    Mistake(
        "limits that are a dict",
        lambda: server(peer_limits={"max_listens": 3}),
        "Server: peer_limits={'max_listens': 3}: write `peer_limits=PeerLimits(max_listens=10)`",
    ),
    Mistake(
        "tasks that are True",
        lambda: server(tasks=True),
        "Server: tasks=True: write `tasks=Tasks(ttl_s=600)`",
    ),
    Mistake(
        "a lifespan without asynccontextmanager",
        lambda: server(lifespan=lifespan),
        "Server: lifespan=lifespan is a generator: write `@contextlib.asynccontextmanager` above "
        "it",
    ),
    Mistake(
        "a lifespan that is no function",
        lambda: server(lifespan={"db": None}),
        "Server: lifespan: expected a function of (server), got {'db': None}",
    ),
    Mistake(
        "a page without items",
        lambda: server(page_size=0),
        "page_size=0: a page has at least 1 item; None sends each list as one page",
    ),
    # --- methods of other SDKs ---
    Mistake(
        "an app by another name",
        lambda: server().streamable_http_app(),
        f"'Server' object has no attribute 'streamable_http_app': {BY_ASGI}",
        AttributeError,
    ),
    Mistake(
        "a decorator for the list of tools",
        lambda: server().list_tools(),
        "'Server' object has no attribute 'list_tools': register each tool with `@server.tool`; "
        "`server.tools` has them",
        AttributeError,
    ),
    Mistake(
        "a method that is misspelled",
        lambda: server().add_tols(),
        "'Server' object has no attribute 'add_tols': did you mean `add_tool`?",
        AttributeError,
    ),
    Mistake(
        "a transport by its name in the specification",
        lambda: without_a_loop(lambda: server().run("streamable-http")),
        "transport 'streamable-http': write `server.run(\"http\")`",
    ),
    Mistake(
        "a transport that there is not",
        lambda: without_a_loop(lambda: server().run("websocket")),
        "transport 'websocket': expected 'stdio' or 'http'",
    ),
    Mistake(
        "an option of HTTP over stdio",
        lambda: without_a_loop(lambda: server().run("stdio", path="/mcp")),
        "server.run over stdio: no option `path`",
    ),
    Mistake(
        "an option of the app that other SDKs have",
        lambda: server().asgi(json_response=True),
        "server.asgi: no option `json_response`: write `json_only=True`",
    ),
    Mistake(
        "a path without a slash",
        lambda: server().asgi("mcp"),
        "path 'mcp': expected it to begin with a slash",
    ),
    # --- mounting ---
    Mistake(
        "the server before its prefix",
        lambda: server().mount(server(), "api"),
        'mount: the prefix comes first: `mount("server", server)`, or `mount(None, server)` '
        "without one",
    ),
    Mistake(
        "the URL of a server instead of its session",
        lambda: server().mount("api", "http://localhost:8000/mcp"),
        "mount 'api': expected a Server, or the session that `Client.connect` gives, got str",
    ),
    # --- middleware, hooks, filters ---
    Mistake(
        "middleware with other parameters",
        lambda: server().middleware(timed),
        "middleware timed: expected the parameters (ctx, method, params, call_next)",
    ),
    Mistake(
        "middleware that is not async",
        lambda: server().middleware(not_async),
        "middleware not_async: write `async def`, and `return await call_next(params)` in it",
    ),
    Mistake(
        "middleware of another SDK",
        lambda: server().add_middleware(Timing()),
        "middleware Timing: expected an async function (ctx, method, params, call_next), or an "
        "object with such a `__call__`",
    ),
    Mistake(
        "a hook with other parameters",
        lambda: server().hooks.before_call_tool(audit),
        "hook before tools/call: audit(params) is called with (ctx, params): write "
        "`def audit(ctx, params)`, async or not",
    ),
    Mistake(
        "a hook after a request without the result",
        lambda: server().hooks.after_call_tool(audit_result),
        "hook after tools/call: audit_result(ctx, params) is called with (ctx, params, result): "
        "write `def audit_result(ctx, params, result)`, async or not",
    ),
    Mistake(
        "a hook of errors without the error",
        lambda: server().hooks.error_call_tool(audit_result),
        "hook on errors of tools/call: audit_result(ctx, params) is called with (ctx, params, "
        "error): write `def audit_result(ctx, params, error)`, async or not",
    ),
    Mistake(
        "a hook of any request without the method",
        lambda: server().hooks.before_any(audit_result),
        "hook before any request: audit_result(ctx, params) is called with (ctx, method, params): "
        "write `def audit_result(ctx, method, params)`, async or not",
    ),
    Mistake(
        "a hook of sessions with a context",
        lambda: server().hooks.session_opened(audit_result),
        "hook session_opened: audit_result(ctx, params) is called with (session): write "
        "`def audit_result(session)`, async or not",
    ),
    Mistake(
        "a hook of what is sent with other parameters",
        lambda: server().hooks.outbound.on_logging_message(audit),
        "hook on notifications/message: audit(params) is called with (ctx, params): write "
        "`def audit(ctx, params)`, async or not",
    ),
    Mistake(
        "a hook that is no function",
        lambda: server().hooks.before_call_tool(3),
        "hook before tools/call: expected a function of (ctx, params), got 3",
    ),
    Mistake(
        "a filter without the context",
        lambda: server().filter_tools(visible),
        "filter: visible(tool) is called with (ctx, item): write `def visible(ctx, item)`, async "
        "or not",
    ),
]
"""Mistakes with servers."""
