"""Which headers a call of a tool must have: those that repeat what the tool's schema marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

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
    """The marked arguments of each tool that is listed, worked out when it is first called."""

    def __init__(self, server: Servable) -> None:
        self._server = server
        self._listing = server.tools.listing
        self.tools = server.tools.listing.items.entries
        """The server's own tools by name."""
        self._known: dict[str, tuple[Any, HeaderPaths]] = {}

    def __call__(self, ctx: Context, params: Any) -> HeaderPaths | None:
        """Those of the tool that a request calls; None where it calls none."""
        if type(params) not in _CALLS:
            return None
        name = params.name
        entry = self.tools.get(name)
        if entry is None:
            return self._of_mounted(ctx, name)
        marked = entry.item.header_params
        # Who may not use a tool does not learn from its headers that there is one.
        return marked if marked and self._listing.find(ctx, name) else None

    def _of_mounted(self, ctx: Context, name: str) -> HeaderPaths | None:
        if not self._server.mounts:
            return None
        from mcp_gen.server.mounting.kinds import TOOLS
        from mcp_gen.server.mounting.lookup import peek

        tool: Any = peek(self._server.mounts, ctx, TOOLS, name)
        if tool is None:
            return None
        known = self._known.get(name)
        if known is None or known[0] is not tool:
            known = self._known[name] = (tool, header_params_of(tool))
        return known[1]
