"""Tools of mounts as tools of the outer server, for tool transforms."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.server.mounting.kinds import TOOLS
from mcp_gen.server.mounting.local_mount import LocalMount
from mcp_gen.server.mounting.remote_mount import RemoteMount
from mcp_gen.server.tools.output import Encode, Output, output_for_schema
from mcp_gen.server.tools.tool import ServerTool
from mcp_gen.session.kernel.results import EncodedResult, RelayedResult
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mount import Mount
    from mcp_gen.server.tools.registry import CallParams
    from mcp_gen.server.tools.tool import TaskSupport

__all__ = ["CURRENT_CALL_PARAMS", "MountedTool", "find_mounted", "known_tool"]

CURRENT_CALL_PARAMS: ContextVar[CallParams] = ContextVar("CALLED")
"""Params of the current `tools/call`, whose other members are forwarded with the arguments."""


class MountedTool(ServerTool):
    """Tool of a mount. The mounted server decodes the arguments and makes the result.

    Args:
        mount: The mount that owns the tool.
        inner_name: Name of the tool inside.
        described: The tool as the outer server lists it.
        task: Task support of the tool; None if it never runs as a task.
    """

    is_remote = True

    def __init__(
        self, mount: Mount, inner_name: str, described: latest.Tool, task: TaskSupport | None = None
    ) -> None:
        super().__init__(described.name, task=task)
        self._mount = mount
        self._inner_name = inner_name
        self._described = described
        self.output = _RelayedOutput(described)

    def _describe(self) -> latest.Tool:
        return self._described

    def decode(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """Return the arguments undecoded."""
        return arguments

    async def call(self, ctx: Context, arguments: Any) -> Any:
        """Call the mounted server and return its result unchanged."""
        params: Any = replace(CURRENT_CALL_PARAMS.get(), name=self._inner_name)
        if arguments is not None:
            params = replace(params, arguments=arguments)
        return await self._mount.call(ctx, "call_tool", params)


class _RelayedOutput(Output):
    """Output that forwards results unchanged, and checks other values against the schema."""

    def __init__(self, described: latest.Tool) -> None:
        name, schema = described.name, described.output_schema
        # What a remote server has listed is not checked here, where nobody could mend it.
        self._output = (
            Output() if schema is None else output_for_schema(name, schema, checked=False)
        )

    def schema(self) -> dict[str, Any] | None:
        """Return the output schema as it was listed."""
        return self._output.schema()

    def encoder(self, revision: str, seen: bool) -> Encode:
        """Return the function that makes results of all values but forwarded results."""
        encode = self._output.encoder(revision, seen)
        forwarded = (RelayedResult, EncodedResult, Wire)
        return lambda value: value if isinstance(value, forwarded) else encode(value)


def known_tool(mounts: Iterable[Mount], name: str) -> MountedTool | None:
    """Return the mounted tool with an outer name, from what is listed already."""
    for mount in mounts:
        inner_name = mount.inner_name(TOOLS, name)
        found = _tool_of(mount, inner_name) if inner_name is not None else None
        if found is not None:
            return found
    return None


async def find_mounted(mounts: Iterable[Mount], name: str) -> MountedTool | None:
    """Return the mounted tool with an outer name; remote servers are asked for their list first."""
    for mount in mounts:
        if mount.inner_name(TOOLS, name) is not None:
            await _load_tools(mount)
    return known_tool(mounts, name)


async def _load_tools(mount: Mount) -> None:
    if isinstance(mount, RemoteMount):
        await mount.fetch_list(TOOLS)
    elif isinstance(mount, LocalMount):
        for one in mount.server.mounts:
            await _load_tools(one)


def _tool_of(mount: Mount, inner_name: str) -> MountedTool | None:
    """Return the tool of a mount with an inner name; None if it is not known."""
    described: Any = None
    task: TaskSupport | None = None
    scopes: frozenset[str] = frozenset()
    if not mount.shows(TOOLS, inner_name):
        return None
    if isinstance(mount, RemoteMount):
        item = mount.lists[TOOLS].items.get(inner_name)
        described = item.described if item is not None else None
    elif isinstance(mount, LocalMount):
        own = mount.server.tools.get(inner_name) or known_tool(mount.server.mounts, inner_name)
        if own is not None:
            described, task = mount.rename_outward(TOOLS, own.tool), own.task
            scopes = own.scopes
    scopes |= mount.scopes
    if described is None:
        return None
    made = MountedTool(mount, inner_name, described, task)
    made.scopes = scopes
    return made
