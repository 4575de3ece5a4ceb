"""Hooks alone: a server that audits, limits, rewrites and times the calls of its tools."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mcp_gen import Context, McpError, Server
from mcp_gen.types import CallToolResult, TextContent

if TYPE_CHECKING:
    from mcp_wire.hook_types import CallToolParams, CallToolResults

CALLS_PER_SESSION = 4
TOO_MANY = -31000

server = Server("hooks", "1.0.0")
hooks = server.hooks
made: dict[Any, int] = {}
began: dict[Context, float] = {}


@server.tool
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"hello {name}"


@server.tool
async def fail() -> str:
    """Fail, whatever happens."""
    raise McpError(-31001, "as was to be expected")


@server.tool
async def wait() -> str:
    """Wait until the call is cancelled."""
    say("waiting")
    await asyncio.Event().wait()
    return "never"


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


# --- audit: who came, what was asked, how it ended ---


@hooks.session_opened
def opened(session: Any) -> None:
    say("opened")


@hooks.session_closed
def closed(session: Any) -> None:
    made.pop(session, None)
    say("closed")


@hooks.before_any
def asked(ctx: Context, method: str, params: Any) -> None:
    say("asked", method)


@hooks.on_success
def succeeded(ctx: Context, method: str, params: Any, result: Any) -> None:
    say("success", method)


@hooks.on_error
def failed(ctx: Context, method: str, params: Any, error: BaseException) -> None:
    say("error", method, type(error).__name__)


@hooks.on_cancelled
def cancelled(ctx: Context, params: Any) -> None:
    say("cancelled", params.request_id)


# --- limit: a session may call tools a few times ---


@hooks.before_call_tool
def limit(ctx: Context, params: CallToolParams) -> None:
    session = ctx.session
    made[session] = made.get(session, 0) + 1
    if made[session] > CALLS_PER_SESSION:
        raise McpError(TOO_MANY, f"{CALLS_PER_SESSION} calls are enough")


# --- rewrite: other params for the tool, another result for the client ---


@hooks.before_call_tool
def tidy(ctx: Context, params: CallToolParams) -> CallToolParams:
    arguments = params.arguments or {}
    return replace(params, arguments={k: str(v).strip() for k, v in arguments.items()})


@hooks.after_call_tool
async def sign(
    ctx: Context, params: CallToolParams, result: CallToolResults
) -> CallToolResult | None:
    if not isinstance(result, CallToolResult):
        return None
    signature = TextContent(text=f"({params.name})")
    return replace(result, content=[*result.content, signature])


# --- time: how long each call took, however it ended ---


@hooks.before_call_tool
def start(ctx: Context, params: CallToolParams) -> None:
    began[ctx] = time.monotonic()


@hooks.after_call_tool
def stop(ctx: Context, params: CallToolParams, result: CallToolResults) -> None:
    took(ctx, params)


@hooks.error_call_tool
def stop_failed(ctx: Context, params: CallToolParams, error: BaseException) -> None:
    took(ctx, params)


def took(ctx: Context, params: CallToolParams) -> None:
    start_s = began.pop(ctx, None)
    if start_s is not None:
        say("timed", params.name, f"{time.monotonic() - start_s:.3f} s")


if __name__ == "__main__":
    server.run("stdio")
