"""MCP Apps helpers: HTML user interfaces that hosts show for tool results.

A server registers an app with `Server.ui_resource` and links a tool to it with
`Server.tool(ui=...)`. Hosts read the app metadata of tools and resources with the functions here.

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
