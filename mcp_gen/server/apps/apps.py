"""MCP Apps of a server: tools linked to UI resources that show their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.ui import APPS, accepts_mime_type, visible_to
from mcp_gen.server.apps.resource import AppResource
from mcp_gen.server.functions.suggestions import suggest
from mcp_wire.extensions.ui import EXTENSION

if TYPE_CHECKING:
    from typing import Unpack

    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_gen.server.apps.resource import AppOptions, AppSource
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_wire import latest

__all__ = ["Apps", "client_supports_apps", "is_visible_to"]

F = TypeVar("F", bound=Callable[..., Any])


def client_supports_apps(ctx: Context) -> bool:
    """Return True if the client of a request declares that it shows apps.

    A tool with an app returns its text for the model in any case; use this for data that only an
    app can use.

    Source:
    https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx#server-behavior
    """
    return accepts_mime_type(ctx.declares(EXTENSION))


def is_visible_to(ctx: Context, tool: latest.Tool) -> bool:
    """Return True if a tool is visible to the client of a request.

    A tool for apps alone is visible only to clients that show apps. Use it as a filter:
    `server.filter_tools(is_visible_to)`. A server adds it by itself once it offers such a tool; add
    it for tools that are mounted from elsewhere.

    Args:
        ctx: The request.
        tool: The tool.
    """
    return visible_to(tool, "model") or client_supports_apps(ctx)


class Apps:
    """Apps of a server: declares the extension, adds UI resources, checks tools.

    Args:
        extensions: The extensions of the server.
        add_extension: Adds the MCP Apps extension, unless the server has it.
        resources: The registry that UI resources are added to.
        filter_tools: Adds a filter of `tools/list`.
    """

    def __init__(
        self,
        extensions: Extensions,
        add_extension: Callable[..., None],
        resources: ResourceRegistry,
        filter_tools: Callable[[Callable[[Context, latest.Tool], bool]], object],
    ) -> None:
        self._resources = resources
        self._filter_tools = filter_tools
        self._unchecked: dict[str, str] | None = {}
        """Tool names by the app URIs they name; None after `check`."""
        self._filters = False
        if EXTENSION not in extensions:
            add_extension(*APPS[:1], settings=APPS[1])

    def add(self, uri: str, source: AppSource, /, **described: Unpack[AppOptions]) -> None:
        """Add an app; see `Server.add_ui_resource`."""
        self._resources.add(AppResource(uri, source, **described))

    def add_tool(self, tool: ServerTool) -> None:
        """Record the app of a tool, and filter tools that are for apps alone."""
        ui = tool.ui
        if ui is None:
            return
        if ui.resource_uri is not None and self._unchecked is not None:
            self._unchecked[ui.resource_uri] = tool.name
        if ui.visibility is not None and "model" not in ui.visibility and not self._filters:
            # Clients without MCP Apps ignore `_meta`, and would show the tool to the model.
            self._filters = True
            self._filter_tools(is_visible_to)

    def check(self) -> None:
        """Check that every app that a tool names exists; called before the first client is served.

        Raises:
            UsageError: an app is missing.
        """
        there = self._resources.listing.items.entries
        for uri, name in (self._unchecked or {}).items():
            if uri not in there:
                apps = [one for one in there if isinstance(there[one].item, AppResource)]
                raise UsageError(
                    f"tool {name}: ui: there is no app {uri!r}{suggest(uri, apps)}; offer it with "
                    f'`@server.ui_resource("{uri}")`'
                )
        # Tools that a session adds later may have their app in that session.
        self._unchecked = None
