"""Validates that tool_use and tool_result blocks are paired in sampling conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_wire.latest import ToolResultContent, ToolUseContent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_wire.latest import SamplingMessage

__all__ = ["find_unpaired_tool_use"]


def find_unpaired_tool_use(turns: Sequence[SamplingMessage]) -> str | None:
    """Return a message that says which tool use or tool result breaks the pairing rules, and where.

    Args:
        turns: The messages of a `sampling/createMessage` request, in order.

    Returns:
        The first problem found, with its path (`$.messages[0]`); None if all blocks are paired.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#tool-use-and-result-balance
    """
    open_uses: list[str] = []
    for number, turn in enumerate(turns):
        blocks = turn.content if isinstance(turn.content, list) else [turn.content]
        uses = [block.id for block in blocks if isinstance(block, ToolUseContent)]
        results = [block.tool_use_id for block in blocks if isinstance(block, ToolResultContent)]
        where = f"at `$.messages[{number}]`"
        if results and len(results) < len(blocks):
            return f"results of tools stand in a message of their own - {where}"
        if sorted(results) != sorted(open_uses):
            return (
                f"every use of a tool is followed by its result, and by nothing else; "
                f"open are {open_uses}, and there are results of {results} - {where}"
            )
        if results and turn.role != "user":
            return f"results of tools are the user's turn - {where}"
        if uses and turn.role != "assistant":
            return f"uses of tools are the assistant's turn - {where}"
        open_uses = uses
    return f"the uses {open_uses} of tools have no results; add them" if open_uses else None
