"""Offering apps: what a server takes of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing import Unpack

    from mcp_gen.server.api.resources import ResourceBox
    from mcp_gen.server.apps.apps import Apps
    from mcp_gen.server.apps.resource import AppSource, DescribedApp

__all__ = ["OffersApps"]

F = TypeVar("F", bound=Callable[..., Any])


class OffersApps:
    """The part of a server that takes apps."""

    resources: ResourceBox

    @abstractmethod
    def use_apps(self) -> Apps:
        """What the server keeps of its apps; with it, the extension is declared."""

    def ui_resource(self, uri: str, /, **described: Unpack[DescribedApp]) -> Callable[[F], F]:
        """Offer the HTML that a function returns as an app, for tools to show their results with.

            @server.ui_resource("ui://clock/face", prefers_border=True)
            def face() -> str:
                return HTML

            @server.tool(ui="ui://clock/face")
            def time() -> Time: ...

        It is a whole document, as text or as bytes. Where clients do not show apps, the tool is
        one like any other: what it returns is for the model to read.

        What the app may reach, and what it asks the browser for, stands on the list and beside what
        is read; a function that returns `Contents` with a `meta` of its own says it anew.

        Raises:
            UsageError: a URI of another scheme or one that is there already, an origin or a
                permission that is none.

        Source:
        https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx#ui-resource-format
        """

        def add(function: F) -> F:
            self.add_ui_resource(uri, function, **described)
            return function

        return add

    def add_ui_resource(
        self, uri: str, source: AppSource, /, **described: Unpack[DescribedApp]
    ) -> None:
        """Offer a function's HTML, a text, bytes or a file as an app; see `ui_resource`.

        A file, given as a `Path`, is in UTF-8, and is read anew each time.
        """
        from mcp_gen.server.apps.resource import AppResource

        app = AppResource(uri, source, **described)
        self.use_apps()
        self.resources.add(app)
