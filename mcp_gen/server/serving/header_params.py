"""HTTP headers that mirror tool arguments (`x-mcp-header`), looked up per tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from mcp_gen.core.errors import UsageError
from mcp_gen.server.tools.tool import header_params_of
from mcp_wire import common

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.serving.servable import Servable
    from mcp_gen.server.tools.tool import HeaderPaths

__all__ = ["HeaderParamLookup"]

_CALLS = frozenset(
    (*get_args(common.CallToolRequestParams), *get_args(common.RawCallToolRequestParams))
)


class HeaderParamLookup:
    """Looks up the mirrored arguments of a tool; computed at its first call.

    Args:
        server: Server that has the tools.
    """

    def __init__(self, server: Servable) -> None:
        self._server = server
        self._listing = server.tools.listing
        self.tools = server.tools.listing.items.entries
        """The server's own tools by name."""
        self._known: dict[str, tuple[Any, HeaderPaths]] = {}

    def __call__(self, ctx: Context, params: Any) -> HeaderPaths | None:
        """Return the mirrored arguments of the tool that a request calls.

        Returns:
            None for other methods, and for tools that the client may not use.
        """
        if type(params) not in _CALLS:
            return None
        name = params.name
        entry = self.tools.get(name)
        if entry is None:
            return self._of_mounted(ctx, name)
        marked = entry.item.header_params
        # A client that may not use a tool must not learn from header errors that it exists.
        return marked if marked and self._listing.find(ctx, name) else None

    def _of_mounted(self, ctx: Context, name: str) -> HeaderPaths | None:
        if not self._server.mounts:
            return None
        # Loaded with the first mount: most servers have none.
        from mcp_gen.server.mounting.kinds import TOOLS
        from mcp_gen.server.mounting.lookup import peek

        tool: Any = peek(self._server.mounts, ctx, TOOLS, name)
        if tool is None:
            return None
        known = self._known.get(name)
        if known is None or known[0] is not tool:
            known = self._known[name] = (tool, _header_params_of_mounted(tool))
        return known[1]


def _header_params_of_mounted(tool: Any) -> HeaderPaths:
    try:
        return header_params_of(tool)
    except UsageError:
        return {}  # not listed; it is called as if nothing were marked
