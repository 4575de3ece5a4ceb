"""Offering a tool of a server in another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.server.mounting.mount import Mount
    from mcp_gen.server.tools.registry import ToolBox
    from mcp_gen.server.tools.tool import OfferedTool
    from mcp_gen.server.transforms.argument import Argument
    from mcp_wire import latest
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = ["TransformsTools"]


class TransformsTools:
    """The part of a server that changes how its tools are offered."""

    tools: ToolBox
    mounts: tuple[Mount, ...] = ()

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
            arguments=arguments,
            result=result,
            ui=ui,
        )
        if tool not in self.tools and self.mounts and not keep and made.name != tool:
            raise UsageError(
                f"tool {tool} is mounted, and stays there: keep its name, or offer the new one "
                "beside it with keep=True"
            )
        if keep or tool not in self.tools:
            self.tools.add(made)
        else:
            self.tools.replace(tool, made)

    def _to_transform(self, name: str) -> OfferedTool:
        found: OfferedTool | None = self.tools.get(name)
        if found is None and self.mounts:
            from mcp_gen.server.mounting.mounted_tool import known_tool

            found = known_tool(self.mounts, name)
            if found is None and any(mount.has_unlisted for mount in self.mounts):
                raise UsageError(
                    f"there is no tool {name!r} that is known; if it is one of a server far away, "
                    f"that is asked first: `await server.find_tool({name!r})`"
                )
        return found or self.tools[name]

    async def find_tool(self, name: str) -> OfferedTool:
        """The tool that clients know by a name, mounted or not, as `transformed` takes it.

        Servers far away are asked what they have, if that is not known yet.

        Raises:
            UsageError: there is none.
        """
        found: OfferedTool | None = self.tools.get(name)
        if found is None and self.mounts:
            from mcp_gen.server.mounting.mounted_tool import find_mounted

            found = await find_mounted(self.mounts, name)
        return found or self.tools[name]
