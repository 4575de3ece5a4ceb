"""Tools of what is mounted as tools of the outer server, so that they can be offered otherwise."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.server.mounting.kinds import TOOLS
from mcp_gen.server.mounting.local_mount import LocalMount
from mcp_gen.server.mounting.remote_mount import RemoteMount
from mcp_gen.server.tools.output import Output, output_of_schema
from mcp_gen.server.tools.tool import ServerTool
from mcp_gen.session.kernel.results import EncodedResult, RelayedResult
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mount import Mount
    from mcp_gen.server.tools.registry import CallParams
    from mcp_gen.server.tools.tool import TaskSupport

__all__ = ["CALLED", "MountedTool", "find_mounted", "known_tool"]

CALLED: ContextVar[CallParams] = ContextVar("CALLED")
"""The params of the call that is being answered: what they have beside arguments passes too."""


class MountedTool(ServerTool):
    """A tool of what is mounted: whoever has it reads the arguments, and makes the result."""

    is_remote = True

    def __init__(
        self, mount: Mount, inside: str, described: latest.Tool, task: TaskSupport | None = None
    ) -> None:
        super().__init__(described.name, task=task)
        self._mount = mount
        self._inside = inside
        self._described = described
        self.output = _RelayedOutput(described)

    def _describe(self) -> latest.Tool:
        return self._described

    def decode(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """The arguments as they came."""
        return arguments

    async def call(self, ctx: Context, arguments: Any) -> Any:
        """What whoever has the tool answers, as it comes."""
        params: Any = replace(CALLED.get(), name=self._inside)
        if arguments is not None:
            params = replace(params, arguments=arguments)
        return await self._mount.call(ctx, "call_tool", params)


class _RelayedOutput(Output):
    """Results that were made elsewhere; of others what the schema says is held to it."""

    def __init__(self, described: latest.Tool) -> None:
        schema = described.output_schema
        self._made = Output() if schema is None else output_of_schema(described.name, schema)

    def schema(self) -> dict[str, Any] | None:
        """The schema as it was listed."""
        return self._made.schema()

    def result(self, value: Any, revision: str, seen: bool) -> Any:
        """A result as it came, or one of what was made of it; see `Output.result`."""
        if isinstance(value, RelayedResult | EncodedResult | Wire):
            return value
        return self._made.result(value, revision, seen)


def known_tool(mounts: Iterable[Mount], name: str) -> MountedTool | None:
    """The tool that is mounted under a name, as far as is known without asking anybody."""
    for mount in mounts:
        inside = mount.inner_name(TOOLS, name)
        found = _tool_of(mount, inside) if inside is not None else None
        if found is not None:
            return found
    return None


async def find_mounted(mounts: Iterable[Mount], name: str) -> MountedTool | None:
    """The same, when those who have not listed their tools yet have been asked for them."""
    for mount in mounts:
        if mount.inner_name(TOOLS, name) is not None:
            await _ask(mount)
    return known_tool(mounts, name)


async def _ask(mount: Mount) -> None:
    if isinstance(mount, RemoteMount):
        await mount.learn(TOOLS)
    elif isinstance(mount, LocalMount):
        for one in mount.server.mounts:
            await _ask(one)


def _tool_of(mount: Mount, inside: str) -> MountedTool | None:
    """The tool of a name inside."""
    described: Any = None
    task: TaskSupport | None = None
    if isinstance(mount, RemoteMount):
        item = mount.lists[TOOLS].items.get(inside)
        described = item.described if item is not None else None
    elif isinstance(mount, LocalMount):
        own = mount.server.tools.get(inside) or known_tool(mount.server.mounts, inside)
        if own is not None:
            described, task = mount.rename_outward(TOOLS, own.tool), own.task
    return None if described is None else MountedTool(mount, inside, described, task)
