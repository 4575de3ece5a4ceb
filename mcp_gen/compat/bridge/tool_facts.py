"""Facts about the tools of a server that its bridge needs: mirrored arguments, and tasks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mcp_gen.core.errors import McpGenError, UsageError
from mcp_gen.core.transport.header_params import marked_params
from mcp_gen.server.relaying.methods import row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.core.relay import Relay

__all__ = ["ToolFact", "ToolFacts"]

MAX_PAGES = 1_000
"""Pages of `tools/list` that are read."""


class _TaskSupport(Struct, rename="camel"):
    task_support: Any = None


class _Tool(Struct, rename="camel"):
    name: str
    input_schema: dict[str, Any] = {}
    execution: _TaskSupport | None = None


class _Page(Struct, rename="camel"):
    tools: list[_Tool]
    next_cursor: str | None = None


_page = msgspec.json.Decoder(_Page)


class ToolFact(Struct, frozen=True):
    """Facts about one tool.

    Args:
        mirrored: JSON path of each argument that a header repeats, by the end of its name.
        needs_task: True if it can only be called as a task.
    """

    mirrored: Mapping[bytes, tuple[str, ...]] = {}
    needs_task: bool = False


_PLAIN = ToolFact()


class ToolFacts:
    """Facts about the tools of one upstream session; listed once, and again after a change.

    Args:
        relay: Relay of the session.
    """

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._listing: asyncio.Task[dict[str, ToolFact]] | None = None

    def forget(self) -> None:
        """List the tools again when they are needed: they have changed."""
        self._listing = None

    async def of(self, name: str) -> ToolFact:
        """Return the facts about a tool; those of a plain tool if it is not known."""
        if self._listing is None:
            self._listing = asyncio.get_running_loop().create_task(self._list())
        # Shielded: other calls may wait for the same list.
        return (await asyncio.shield(self._listing)).get(name, _PLAIN)

    async def _list(self) -> dict[str, ToolFact]:
        method = row("list_tools", self._relay.profile.revision)
        found: dict[str, ToolFact] = {}
        cursor: str | None = None
        try:
            for _ in range(MAX_PAGES if method is not None else 0):
                assert method is not None
                raw = await self._relay.request(
                    method, method.params(cursor=cursor, meta={}), again=True
                )
                page = _page.decode(raw)
                found.update((tool.name, _fact(tool)) for tool in page.tools)
                cursor = page.next_cursor
                if cursor is None:
                    break
        except (McpGenError, msgspec.DecodeError):
            self.forget()  # a call is forwarded all the same, and answered by the server
        return found


def _fact(tool: _Tool) -> ToolFact:
    try:
        marked = marked_params(tool.input_schema)
    except UsageError:
        marked = {}  # clients ignore such a tool: it is called as if nothing were marked
    mirrored = {end.lower().encode(): path for end, path in marked.items()}
    support = tool.execution.task_support if tool.execution is not None else None
    return ToolFact(mirrored, support == "required")
