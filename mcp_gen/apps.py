"""MCP Apps: HTML that shows the results of tools inside a host.

A server offers an app with `Server.ui_resource` and names it with `Server.tool(ui=...)`; hosts read
what tools and resources say of apps with the functions here.

Source: https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
"""

from mcp_gen.core.extensions.ui import APPS, MIME_TYPE, resource_ui, tool_ui, visible_to
from mcp_gen.server.apps.apps import client_supports_apps, is_visible_to
from mcp_wire.extensions.ui import (
    EXTENSION,
    McpUiResourceCsp,
    McpUiResourceMeta,
    McpUiResourcePermissions,
    McpUiToolMeta,
)

__all__ = [
    "APPS",
    "EXTENSION",
    "MIME_TYPE",
    "McpUiResourceCsp",
    "McpUiResourceMeta",
    "McpUiResourcePermissions",
    "McpUiToolMeta",
    "client_supports_apps",
    "is_visible_to",
    "resource_ui",
    "tool_ui",
    "visible_to",
]
