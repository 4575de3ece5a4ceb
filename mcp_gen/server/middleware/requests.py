"""Facts of a request that several middleware need: its client, its target, the visible tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.mounting.kinds import TOOLS
from mcp_gen.server.mounting.lookup import find
from mcp_gen.session.peer.session import Session
from mcp_wire import latest

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mount import Mounting

__all__ = [
    "VisibleTool",
    "calls_tool",
    "client_of",
    "find_tool",
    "is_tool_result",
    "target_of",
    "tool_names",
]


class VisibleTool(NamedTuple):
    """Tool that the client of a request may call."""

    described: latest.Tool
    key: Hashable
    """Identifies the tool: another one of the same name, as of a session, has another key."""


class _SameObject:
    """Key that is equal for one object alone, and keeps it alive."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __hash__(self) -> int:
        return id(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObject) and other._value is self._value


def client_of(ctx: Context) -> str | None:
    """Return a key for the client of a request; None for one that cannot be told from others.

    A client is its principal; without one, its session or connection. Over HTTP without sessions,
    clients without a principal cannot be told apart.
    """
    origin = origin_of(ctx)
    if origin.principal is not None:
        return f"principal {origin.principal}"
    # At revisions without sessions the channel of a request is its connection, but over HTTP.
    session = origin.session or origin.channel
    return f"session {session.id}" if isinstance(session, Session) else None


def calls_tool(ctx: Context, method: str) -> bool:
    """Return True if a method is the call of a tool."""
    row = ctx.profile.call_tool
    name: str | None = None if row is None else row.name
    return method == name


def target_of(method: str, params: Any) -> str | None:
    """Return the name of the tool or prompt, or the URI of the resource, that a request is for."""
    # The newest revision names the member of each method; the others have the same one.
    member = mcp_wire.profile(mcp_wire.LATEST).name_params.get(method)
    found = None if member is None else getattr(params, member, None)
    return found if isinstance(found, str) else None


def is_tool_result(result: Any) -> bool:
    """Return True if a result is the output of a tool, of any revision."""
    return type(result).__name__ == latest.CallToolResult.__name__


async def find_tool(ctx: Context, name: str) -> VisibleTool | None:
    """Return the tool of that name, own or mounted; None if the client may call none.

    Mounted servers far away may be asked for their lists, once.
    """
    server = cast("Mounting", ctx.server)
    own = server.tools.listing.find(ctx, name)
    if own is not None:
        return VisibleTool(own.tool, own)
    found = await find(server, ctx, TOOLS, name) if len(server.mounts) else None
    if found is None:
        return None
    mount, inner_name = found
    # As the mounted server describes it: a list at an older revision lacks the annotations.
    described = mount.peek(ctx, TOOLS, inner_name)
    if described is None:
        item = await mount.item(ctx, TOOLS, name)
        if item is None:
            return None
        described = mount.peek(ctx, TOOLS, inner_name) or item.described
    return VisibleTool(cast("latest.Tool", described), _SameObject(described))


def tool_names(what: str, tools: Collection[str] | None) -> frozenset[str] | None:
    """Return the names of tools that a middleware is for; None for all.

    Args:
        what: Name of the middleware.
        tools: The option `tools` as it was given.

    Raises:
        UsageError: It is one text instead of several.
    """
    if isinstance(tools, str):
        raise UsageError(f"{what}: tools={tools!r}: expected several texts: write [{tools!r}]")
    return None if tools is None else frozenset(tools)
