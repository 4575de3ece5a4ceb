"""Calls of tools and reads of resources by handlers: `ctx.call_tool` and `ctx.read_resource`.

They take the route of a request: hooks, middleware, filters, validation, timeouts and mounts.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import InvalidParams, McpError, ProtocolError, ToolError, UsageError
from mcp_gen.server.content.results import at_newest, to_json
from mcp_gen.server.context.context import (
    Context,
    origin_of,
    outer_of,
    rounds_of,
    runtime_of,
    set_outer,
    set_rounds,
    set_tool_tasks,
)
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.own_calls.inner_rounds import InnerRounds
from mcp_gen.session.messages.current import within
from mcp_gen.values.tool_results import value_of_content, value_of_data

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mcp_wire import latest
    from mcp_wire.method import Method

__all__ = ["call_tool", "read_resource"]


async def call_tool(ctx: Context, name: str, arguments: Any, returns: Any) -> Any:
    """Call a tool of the server of this request; see `Context.call_tool`."""
    given: dict[str, Any] = {"name": name}
    if arguments is not None:
        given["arguments"] = arguments
    what = f"call_tool({name!r})"
    result: latest.CallToolResult = await _request(ctx, "TOOLS_CALL", given, what)
    data: Any = result.structured_content
    if data is not UNSET and data is not None:
        # Parts of it may be encoded already.
        result = replace(result, structured_content=msgspec.json.decode(to_json(data)))
    return result if returns is UNSET else _as_type(name, result, returns)


async def read_resource(ctx: Context, uri: str) -> latest.ReadResourceResult:
    """Read a resource of the server of this request; see `Context.read_resource`."""
    what = f"read_resource({uri!r})"
    result: latest.ReadResourceResult = await _request(ctx, "RESOURCES_READ", {"uri": uri}, what)
    return result


@cache
def _row(constant: str, revision: str) -> Method[Any, Any]:
    methods = import_module(f"{mcp_wire.profile(revision).module}.methods")
    row: Method[Any, Any] = getattr(methods, constant)
    return row


async def _request(ctx: Context, constant: str, given: dict[str, Any], what: str) -> Any:
    """Answer a request of a handler, and return its result in the newest wire types.

    Args:
        ctx: Request of the handler.
        constant: Name of the method row.
        given: Params, without `_meta`.
        what: Name of the call, for errors.
    """
    newest = _row(constant, mcp_wire.LATEST)
    routes = runtime_of(ctx).kernel.bindings[ctx.revision].routes
    route = routes.get(_row(constant, ctx.revision).name)
    if route is None:
        name = ctx.server.name
        raise UsageError(f"{what}: server {name!r} has nothing of the kind; add it first")
    # Progress of the inner call would count against that of the request.
    without = ctx.profile.progress_token_key
    meta = {key: value for key, value in (ctx.meta or {}).items() if key != without}
    encoded = _encode({**given, "_meta": meta}, what)
    try:
        params = route.decode(Raw(encoded))
    except msgspec.DecodeError as error:
        raise InvalidParams(f"{what}: {error}") from None
    inner = _inner_context(ctx, meta, encoded, what)
    result = at_newest(await within(inner, route.call, params), newest)
    if not isinstance(result, newest.results[0]):
        raise UsageError(
            f"{what}: it is answered with {type(result).__name__}, which only a client can go on "
            "with; ask with `ctx.elicit` and its like in the inner handler instead"
        )
    return result


def _encode(params: dict[str, Any], what: str) -> bytes:
    try:
        return to_json(params)
    except Exception as error:
        # Encoding calls methods of the values: they can raise anything.
        from mcp_gen.values.unserializable import not_json

        raise not_json(params, what, "$.params") or error from None


def _inner_context(ctx: Context, meta: dict[str, Any], params: bytes, what: str) -> Context:
    """Return the context of a call within a request.

    Raises:
        McpError: Calls are nested too deeply.
    """
    outer = rounds_of(ctx)
    depth = outer.depth + 1 if isinstance(outer, InnerRounds) else 1
    most = runtime_of(ctx).kernel.limits.peer.max_nested_calls
    if depth > most:
        raise McpError(
            ProtocolError.code,
            f"{what}: handlers call each other {most} deep, which is the limit "
            "(PeerLimits.max_nested_calls): does one call itself?",
        )
    inner = Context(ctx.server, ctx.request_id, origin_of(ctx), meta)
    set_outer(inner, outer_of(ctx))
    set_tool_tasks(inner, _DIRECT)
    set_rounds(inner, InnerRounds(ctx, params, depth))
    return inner


class _DirectCalls:
    """Calls tools within a request, also those that otherwise run as tasks."""

    def call(self, ctx: Context, params: Any, tools: Any, /) -> Awaitable[Any]:
        """Run the tool and return its result."""
        return run_with_rounds(ctx, params, tools.call)


_DIRECT = _DirectCalls()


def _as_type(name: str, result: latest.CallToolResult, returns: Any) -> Any:
    """Return the data of a result as a `returns`.

    Raises:
        ToolError: The tool failed.
        InvalidResult: There is no data, or it does not fit the type.
    """
    found = (getattr(block, "text", None) for block in result.content)
    texts = [one for one in found if one is not None]
    if result.is_error:
        raise ToolError("\n".join(texts) or f"{name}: the tool failed and does not say how")
    data: Any = result.structured_content
    if data is UNSET or data is None:
        return value_of_content(name, texts, returns, is_empty=not result.content)
    return value_of_data(name, data, returns)
