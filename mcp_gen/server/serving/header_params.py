"""HTTP headers that mirror tool arguments (`x-mcp-header`), looked up per tool."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.header_params import marked_params
from mcp_wire import common

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.serving.servable import Servable
    from mcp_wire.method import Method

__all__ = ["HeaderParamLookup"]

_CALLS = frozenset(
    (*get_args(common.CallToolRequestParams), *get_args(common.RawCallToolRequestParams))
)

Marked: TypeAlias = Mapping[bytes, tuple[str, ...]]
"""Path of each mirrored argument, by the end of the name of its header, in lower case."""

_log = logging.getLogger("mcp_gen.server")


class HeaderParamLookup:
    """Looks up the mirrored arguments of a tool; computed at its first call.

    Args:
        server: Server that has the tools.
    """

    def __init__(self, server: Servable) -> None:
        self._server = server
        self._tools = server.tools.listing
        self._known: dict[str, tuple[Any, Marked]] = {}

    def __call__(self, ctx: Context, method: Method[Any, Any], params: Any) -> Marked | None:
        """Return the mirrored arguments of the tool that a request calls.

        Returns:
            None for other methods, and for tools that the client may not use.
        """
        if type(params) not in _CALLS:
            return None
        name = params.name
        entry = self._tools.items.entries.get(name)
        if entry is None:
            return self._of_mounted(ctx, name)
        known = self._known.get(name)
        if known is None or known[0] is not entry.item:
            known = self._known[name] = (entry.item, self._marked(entry.item.tool))
        # A client that may not use a tool must not learn from header errors that it exists.
        return known[1] if known[1] and self._tools.find(ctx, name) else None

    def _of_mounted(self, ctx: Context, name: str) -> Marked | None:
        if not self._server.mounts:
            return None
        from mcp_gen.server.mounting.kinds import TOOLS
        from mcp_gen.server.mounting.lookup import peek

        tool = peek(self._server.mounts, ctx, TOOLS, name)
        if tool is None:
            return None
        known = self._known.get(name)
        if known is None or known[0] is not tool:
            known = self._known[name] = (tool, self._marked(tool))
        return known[1]

    def _marked(self, tool: Any) -> Marked:
        try:
            found = marked_params(tool.input_schema)
        except UsageError as error:
            _log.warning("tool %s: %s; its headers are not looked at", tool.name, error)
            return {}
        return {name.lower().encode(): path for name, path in found.items()}
