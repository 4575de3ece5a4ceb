"""Offering a tool of a server in another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.server.argument import Argument
    from mcp_gen.server.offered_tool import OfferedTool
    from mcp_gen.server.tools import ToolBox
    from mcp_wire import latest
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = ["TransformsTools"]


class TransformsTools:
    """The part of a server that changes how its tools are offered."""

    tools: ToolBox

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
        arguments: Mapping[str, Argument] | None = None,
        result: Callable[[Any], Any] | None = None,
        ui: McpUiToolMeta | str | None = None,
    ) -> None:
        """Offer a tool that is there in another way: see `transformed`.

        It is no longer offered as it was, unless `keep`: then the new one needs another name. In
        one session alone, what stands before a tool of the server has its name.

        Raises:
            UsageError: there is none of that name, or what `transformed` and `add_tool` raise.
        """
        from mcp_gen.server.transformed import transformed

        made = transformed(
            self._to_transform(tool),
            name=name,
            title=title,
            description=description,
            annotations=annotations,
            icons=icons,
            meta=meta,
            arguments=arguments,
            result=result,
            ui=ui,
        )
        if keep or tool not in self.tools:
            self.tools.add(made)
        else:
            self.tools.replace(tool, made)

    def _to_transform(self, name: str) -> OfferedTool:
        return self.tools[name]
