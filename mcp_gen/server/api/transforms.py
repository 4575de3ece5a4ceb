"""Offering a tool of a server in another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """The part of a server that changes how its tools are offered."""

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
    ) -> None:
        """Offer a tool that is there in another way: see `transformed`.

        It may be mounted: then it stays, and the new one has its name, or is beside it.

        It is no longer offered as it was, unless `keep`: then the new one needs another name. In
        one session alone, what stands before a tool of the server has its name.

        Raises:
            UsageError: there is none of that name, or what `transformed` and `add_tool` raise.
        """
        from mcp_gen.server.transforms.transformed_tool import transformed

        made = transformed(
            self._to_transform(tool),
            name=name,
            title=title,
            description=description,
            annotations=annotations,
            icons=icons,
            meta=meta,
            # There is no other subclass of AnyArgument.
            arguments=cast("Mapping[str, Argument] | None", arguments),
            result=result,
            ui=ui,
        )
        if not keep and made.name != tool and self._is_mounted(tool):
            raise UsageError(
                f"tool {tool} is mounted, and stays there: keep its name, or offer the new one "
                "beside it with keep=True"
            )
        if keep or tool not in self.tools:
            self.tools.add(made)
        else:
            self.tools.replace(tool, made)

    def _to_transform(self, name: str) -> ServerTool:
        return self.tools.get(name) or self._mounted_tool(name) or self.tools[name]

    def _is_mounted(self, name: str) -> bool:
        return name not in self.tools and self._mounted_tool(name) is not None

    def _mounted_tool(self, name: str) -> ServerTool | None:
        """Return the tool that is mounted under a name, as far as is known."""
        return None

    async def _find_mounted(self, name: str) -> ServerTool | None:
        """Return the tool that is mounted under a name; servers far away are asked."""
        return None

    async def find_tool(self, name: str) -> ServerTool:
        """Return the tool that clients know by a name, as `transformed` takes it.

        Raises:
            UsageError: there is none.
        """
        return self.tools.get(name) or await self._find_mounted(name) or self.tools[name]
