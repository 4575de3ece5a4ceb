"""MCP Apps on a server: tools whose results are shown by HTML that the server has too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.ui import APPS, shows, visible_to
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
    """Whether the client of a request shows apps, as it declared.

    A tool with an app returns what the model is to read in any case; this is for what only an app
    can make use of.

    Source:
    https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx#server-behavior
    """
    return shows(ctx.declares(EXTENSION))


def is_visible_to(ctx: Context, tool: latest.Tool) -> bool:
    """Whether a tool is for the client of a request: one for apps alone is for who shows them.

    A filter: `server.filter_tools(seen_by)`. Servers have it themselves as soon as they offer such
    a tool; it is for what is mounted from elsewhere.
    """
    return visible_to(tool, "model") or client_supports_apps(ctx)


class Apps:
    """What a server keeps of its apps, from the first on."""

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
        """The tool that shows its results with each app; None once they have been looked for."""
        self._filters = False
        if EXTENSION not in extensions:
            add_extension(*APPS[:1], settings=APPS[1])

    def add(self, uri: str, source: AppSource, /, **described: Unpack[AppOptions]) -> None:
        """Offer an app; see `Server.add_ui_resource`."""
        self._resources.add(AppResource(uri, source, **described))

    def add_tool(self, tool: ServerTool) -> None:
        """A tool has an app, or is called by one."""
        ui = tool.ui
        if ui is None:
            return
        if ui.resource_uri is not None and self._unchecked is not None:
            self._unchecked[ui.resource_uri] = tool.name
        if ui.visibility is not None and "model" not in ui.visibility and not self._filters:
            # Who does not know what `_meta` says of it would show it to the model.
            self._filters = True
            self._filter_tools(is_visible_to)

    def check(self) -> None:
        """Before the first client is served: every app that a tool names is there.

        Raises:
            UsageError: one is not.
        """
        there = self._resources.listing.items.entries
        for uri, name in (self._unchecked or {}).items():
            if uri not in there:
                apps = [one for one in there if isinstance(there[one].item, AppResource)]
                raise UsageError(
                    f"tool {name}: ui: there is no app {uri!r}{suggest(uri, apps)}; offer it with "
                    f'`@server.ui_resource("{uri}")`'
                )
        # What a session gets later may have its app in that session.
        self._unchecked = None
