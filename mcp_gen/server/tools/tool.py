"""What every tool has: a name, a description for clients, and a way to be called."""

from __future__ import annotations

import asyncio
import re
from abc import abstractmethod
from collections.abc import Awaitable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from mcp_gen.core.errors import ToolError, UsageError
from mcp_gen.server.context.options import AnyTool

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tools.output import Output
    from mcp_wire import latest
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = [
    "InvalidArguments",
    "ServerTool",
    "TaskSupport",
    "check_app_uri",
    "check_icons",
    "is_tool_name",
    "plain_arguments",
    "validate_ui",
]

T = TypeVar("T")
TaskSupport: TypeAlias = Literal["optional", "required"]

_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_SOURCES = ("https:", "data:")


class InvalidArguments(msgspec.ValidationError):
    """Arguments that a tool could look at only when called; the message ends in the path."""


def is_tool_name(name: str) -> bool:
    """Whether a tool may be called that.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names
    """
    return _NAME.fullmatch(name) is not None


class ServerTool(AnyTool):
    """One tool of a server, however it was made."""

    output: Output
    ui: McpUiToolMeta | None = None
    """The app that shows its results, and who may call it; None where apps play no part."""
    is_remote: bool = False
    """Whether calls go to another server in the end, whose rounds and results they are."""

    def __init__(
        self,
        name: str,
        *,
        timeout_s: float | None = None,
        run_in_thread: bool | None = None,
        task: TaskSupport | None = None,
        immediate_message: str | None = None,
    ) -> None:
        if not is_tool_name(name):
            raise UsageError(
                f"tool {name!r}: a name has 1 to 128 of letters, digits, `_`, `-` and `.`: "
                "give it one with name="
            )
        if timeout_s is not None and not timeout_s > 0:
            raise UsageError(f"tool {name}: timeout_s={timeout_s}: expected seconds, more than 0")
        if task not in (None, "optional", "required"):
            raise UsageError(f'tool {name}: task={task!r}: expected "optional", "required" or None')
        self.name = name
        self.task: TaskSupport | None = task
        """Whether it may run, or only runs, as a task; None: it never does."""
        if immediate_message is not None and task is None:
            raise UsageError(
                f"tool {name}: immediate_message= is for tools that run as tasks: give it task="
            )
        self.immediate_message = immediate_message
        """What there is to be said when a task begins."""
        self.timeout_s = timeout_s
        self.run_in_thread = run_in_thread

    @cached_property
    def tool(self) -> latest.Tool:
        """What clients see."""
        described = self._describe()
        if self.ui is None:
            return described
        from mcp_gen.core.extensions.ui import with_tool_ui

        return msgspec.structs.replace(described, meta=with_tool_ui(described.meta, self.ui))

    @abstractmethod
    def _describe(self) -> latest.Tool: ...

    @abstractmethod
    def decode(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """What `call` takes, from the arguments of a call.

        Raises:
            msgspec.ValidationError: not what the tool takes; the message ends in the path.
            msgspec.DecodeError: not JSON.
        """

    @abstractmethod
    def call(self, ctx: Context, arguments: Any) -> Awaitable[Any]:
        """Run the tool: what this gives is to be awaited for what the tool returns.

        Raises:
            ToolError: it took too long.
            BadArguments: not what the tool takes, as it could not say before.
            Exception: what the tool raises.
        """

    def _in_thread(self, ctx: Context) -> bool:
        """Whether what is not async runs in a thread."""
        if self.run_in_thread is None:
            return ctx.server.tools.run_in_threads
        return self.run_in_thread

    async def _within_timeout(self, running: Awaitable[T]) -> T:
        if self.timeout_s is None:
            return await running
        timeout = asyncio.timeout(self.timeout_s)
        try:
            async with timeout:
                return await running
        except TimeoutError:
            if not timeout.expired():
                raise  # one of the tool's own
            raise ToolError(f"{self.name}: not done within {self.timeout_s:g} s") from None


def plain_arguments(arguments: Raw | dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of a call as plain JSON.

    Raises:
        msgspec.ValidationError: no object.
        msgspec.DecodeError: not JSON.
    """
    if isinstance(arguments, Raw):
        return msgspec.json.decode(arguments, type=dict[str, Any])
    return arguments or {}


def check_icons(what: str, icons: Iterable[latest.Icon] | None) -> None:
    """Icons are what clients can show without running anything.

    Raises:
        UsageError: an icon from elsewhere than the web or the data itself.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic#icons
    """
    for icon in icons or ():
        if not icon.src.lower().startswith(_SOURCES):
            scheme = icon.src.partition(":")[0][:20]
            raise UsageError(
                f"{what}: an icon's src starts with `https:` or `data:`, not `{scheme}`: "
                "clients show no others"
            )


def validate_ui(name: str, ui: McpUiToolMeta | str) -> McpUiToolMeta:
    """What `ui=` of a tool means.

    Raises:
        UsageError: no URI of an app, or nobody who may call the tool.
    """
    # Imported here: most servers have no apps.
    from mcp_wire.extensions.ui import McpUiToolMeta

    if isinstance(ui, str):
        ui = McpUiToolMeta(resource_uri=ui)
    if ui.resource_uri is not None:
        check_app_uri(ui.resource_uri, f"tool {name}: ui")
    if ui.visibility is not None and not ui.visibility:
        raise UsageError(f"tool {name}: ui: visibility: nobody may call it; name `model` or `app`")
    return ui


def check_app_uri(uri: str, what: str) -> None:
    """Refuse what is no URI of an app.

    Raises:
        UsageError: it has another scheme, nothing behind it, or is a template.
    """
    from mcp_gen.core.extensions.ui import SCHEME  # most servers have no apps

    if not uri.startswith(SCHEME) or uri == SCHEME or "{" in uri:
        raise UsageError(f"{what}: expected a URI such as `{SCHEME}clock/face`, without variables")
