"""Methods that offer a tool under another name, description or arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, cast

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.server.context.options import AnyArgument
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_gen.server.transforms.argument import Argument
    from mcp_wire import latest
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = ["ToolTransformsApi"]


class ToolTransformsApi:
    """Methods that transform tools of a server."""

    tools: ToolRegistry

    def transform_tool(
        self,
        tool: str,
        /,
        *,
        keep: bool = False,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: latest.ToolAnnotations | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        arguments: Mapping[str, AnyArgument] | None = None,
        result: Callable[[Any], Any] | None = None,
        ui: McpUiToolMeta | str | None = None,
        scopes: Collection[str] = (),
    ) -> None:
        """Replace a tool by a transformed one; see `transformed`.

        The original is no longer listed, unless `keep`. A tool of a mount stays where it is: the
        new tool hides it under the same name, or stands beside it with `keep`. In the features of
        one session the new tool hides the tool of the server.

        Args:
            tool: Name of the tool.
            keep: Keep the original too; the new tool then needs another name.
            name: New name; the default is the name of the tool.
            title: New title.
            description: New description.
            annotations: New hints on the behaviour.
            icons: New icons.
            meta: New `_meta` of the list entry.
            arguments: Transformed arguments, by the name that the tool has for them.
            result: Function that transforms the result.
            ui: UI resource; see `tool`.
            scopes: Further scopes that the token of a call needs; see `tool`.

        Raises:
            UsageError: there is no tool of that name, or an error of `transformed` or `add_tool`.
        """
        # Loaded with the first transform: most servers have none.
        from mcp_gen.server.transforms.transformed_tool import transformed

        made = transformed(
            self._to_transform(tool),
            name=name,
            title=title,
            description=description,
            annotations=annotations,
            icons=icons,
            meta=meta,
            # Argument is the only subclass of AnyArgument.
            arguments=cast("Mapping[str, Argument] | None", arguments),
            result=result,
            ui=ui,
            scopes=scopes,
        )
        if not keep and made.name != tool and self._is_mounted(tool):
            raise UsageError(
                f"tool {tool} is mounted, and stays there: keep its name, or offer the new one "
                "beside it with keep=True"
            )
        if keep or tool not in self.tools:
            made.hides_mounted = not keep
            self.tools.add(made)
        else:
            self.tools.replace(tool, made)

    def _to_transform(self, name: str) -> ServerTool:
        return self.tools.get(name) or self._mounted_tool(name) or self.tools[name]

    def _is_mounted(self, name: str) -> bool:
        return name not in self.tools and self._mounted_tool(name) is not None

    def _mounted_tool(self, name: str) -> ServerTool | None:
        """Return the tool that is mounted under a name, if it is known without a request."""
        return None

    async def _find_mounted(self, name: str) -> ServerTool | None:
        """Return the tool that is mounted under a name; remote servers are requested."""
        return None

    async def find_tool(self, name: str) -> ServerTool:
        """Return a tool by the name that clients use; `transformed` takes it.

        Tools of mounts are found too. The lists of remote servers are requested if need be.

        Raises:
            UsageError: there is no tool of that name.
        """
        return self.tools.get(name) or await self._find_mounted(name) or self.tools[name]
