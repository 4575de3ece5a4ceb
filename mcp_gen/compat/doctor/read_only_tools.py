"""Tools that may be called without being named: those that say they only read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.trial import ToolCall, TriedServer
from mcp_gen.compat.json_values import Json, is_array, member
from mcp_gen.core.errors import McpGenError

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import Opens
    from mcp_gen.compat.transcript import Transport

__all__ = ["read_only_calls"]

MAX_CALLS = 50
"""Maximum number of tools that are called without being named."""


async def read_only_calls(
    opens: Opens, transport: Transport, revisions: Sequence[str], *, timeout_s: float
) -> tuple[ToolCall, ...]:
    """Return calls of the tools that have `readOnlyHint` and need no arguments.

    The hint is the server's own: one that is wrong lets a tool be called that changes something.

    Args:
        opens: Makes the wires.
        transport: What carries the messages.
        revisions: The revisions to list the tools at: the newest that the server speaks is taken.
        timeout_s: Longest wait for an answer, in seconds.
    """
    for revision in sorted(revisions, reverse=True):
        server = TriedServer(opens, revision, transport, timeout_s=timeout_s)
        try:
            client = await server.main()
            if client.agreed == revision and client.opening and client.opening.result is not None:
                tools = await client.list_all("list_tools")
                calls = [ToolCall(tool["name"], {}) for tool in tools if _is_harmless(tool)]
                return tuple(calls[:MAX_CALLS])
        except McpGenError:
            continue
        finally:
            await server.aclose()
    return ()


def _is_harmless(tool: Json) -> bool:
    required = member(tool, "inputSchema", "required")
    needs_none = required is None or (is_array(required) and not required)
    says_so = member(tool, "annotations", "readOnlyHint") is True
    return says_so and needs_none and isinstance(tool.get("name"), str)
