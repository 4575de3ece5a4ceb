"""Base class of tools; checks of tool names and UI metadata."""

from __future__ import annotations

import asyncio
import logging
import re
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from functools import cached_property
from time import monotonic
from types import coroutine
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from mcp_gen.core.errors import ToolError, UsageError
from mcp_gen.core.mistakes.checks import is_above_zero
from mcp_gen.core.transport.header_params import marked_params
from mcp_gen.server.context.options import AnyTool, UnknownArguments

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tools.output import Output
    from mcp_wire import latest
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = [
    "HeaderPaths",
    "InvalidArguments",
    "ServerTool",
    "TaskSupport",
    "check_app_uri",
    "header_params_of",
    "is_tool_name",
    "plain_arguments",
    "validate_ui",
]

T = TypeVar("T")
HeaderPaths: TypeAlias = Mapping[bytes, tuple[str, ...]]
"""The path of each argument that a header repeats, by the end of the header's name in lower case.
"""
TaskSupport: TypeAlias = Literal["optional", "required"]
"""Task support of a tool: a call may run as a task, or always does."""

_log = logging.getLogger("mcp_gen.server")
_NAME = r"[A-Za-z0-9_.\-]{1,128}"


class InvalidArguments(msgspec.ValidationError):
    """Arguments that the tool rejects only during the call; the message ends in the path."""


def is_tool_name(name: str) -> bool:
    """Return True if the name is a valid tool name.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names
    """
    return re.fullmatch(_NAME, name) is not None


class ServerTool(AnyTool):
    """Base class of all tools of a server.

    Args:
        name: 1 to 128 letters, digits, `_`, `-` and `.`.
        timeout_s: Seconds after which a call fails; None: no limit.
        run_in_thread: Run code that is not async in a thread. None: the server's default.
        task: Task support; None: the tool never runs as a task.
        immediate_message: First status message of a task; only with `task`.
        retry: True if a task whose worker was lost may be run again; only with `task`.

    Raises:
        UsageError: An argument is not valid.
    """

    output: Output
    """Converts return values to results."""
    ui: McpUiToolMeta | None = None
    """UI metadata: the app that shows the results, and who may call the tool; None without app."""
    is_remote: bool = False
    """True if calls are relayed to another server, with its input requests and results."""
    hides_mounted: bool = False
    """True if it takes the place of a mounted tool of its name, as the author asked for."""

    def __init__(
        self,
        name: str,
        *,
        timeout_s: float | None = None,
        run_in_thread: bool | None = None,
        task: TaskSupport | None = None,
        immediate_message: str | None = None,
        retry: bool = False,
    ) -> None:
        if not is_tool_name(name):
            raise UsageError(
                f"tool {name!r}: a name has 1 to 128 of letters, digits, `_`, `-` and `.`: "
                "give it one with name="
            )
        if timeout_s is not None and not is_above_zero(timeout_s):
            raise UsageError(f"tool {name}: timeout_s={timeout_s!r}: expected seconds, more than 0")
        if task not in (None, "optional", "required"):
            raise UsageError(f'tool {name}: task={task!r}: expected "optional", "required" or None')
        self.name = name
        self.task: TaskSupport | None = task
        """Task support: `optional`, `required`, or None if the tool never runs as a task."""
        if immediate_message is not None and task is None:
            raise UsageError(
                f"tool {name}: immediate_message= is for tools that run as tasks: give it task="
            )
        if retry and task is None:
            raise UsageError(f"tool {name}: retry= is for tools that run as tasks: give it task=")
        self.retry = retry
        """True if a task whose worker was lost may be run again."""
        self.immediate_message = immediate_message
        """First status message of a task; `model-immediate-response` where the revision has it."""
        self.timeout_s = timeout_s
        self.run_in_thread = run_in_thread

    @cached_property
    def tool(self) -> latest.Tool:
        """Description of the tool that clients see."""
        described = self._describe()
        if self.ui is None:
            return described
        # Loaded with the first tool that has an app.
        from mcp_gen.core.extensions.ui import with_tool_ui

        return msgspec.structs.replace(described, meta=with_tool_ui(described.meta, self.ui))

    @property
    def is_retryable(self) -> bool:
        """True if a call whose process was lost may run again: it says so, or is idempotent."""
        hints = self.tool.annotations
        return self.retry or bool(hints and (hints.idempotent_hint or hints.read_only_hint))

    @cached_property
    def header_params(self) -> HeaderPaths:
        """Arguments that HTTP headers repeat; empty for most tools."""
        try:
            return header_params_of(self.tool)
        except UsageError as error:
            # Only of types that were not yet defined when the tool was added.
            _log.warning("tool %s: %s; its headers are not looked at", self.name, error)
            return {}

    def marked_schema(self) -> Mapping[str, Any] | None:
        """Return the input schema if `x-mcp-header` may be in it; None if not."""
        return self.tool.input_schema

    def check_marks(self) -> None:
        """Check that conforming clients accept the arguments marked with `x-mcp-header`.

        Raises:
            UsageError: A mark breaks a rule of the protocol; clients would drop the tool.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
        """
        schema = self.marked_schema()
        if schema is not None:
            try:
                marked_params(schema)
            except UsageError as error:
                raise UsageError(f"tool {self.name}: {error}") from None

    def use_defaults(self, *, unknown_arguments: UnknownArguments) -> None:
        """Take the defaults of the server that the tool is added to; those of the first one count.

        Args:
            unknown_arguments: Handling of unknown arguments of a function without the option.
        """

    @abstractmethod
    def _describe(self) -> latest.Tool: ...

    @abstractmethod
    def decode(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """Decode the arguments of a call into the form that `call` takes.

        Args:
            arguments: JSON text, a decoded object, or None.

        Raises:
            msgspec.ValidationError: The arguments do not fit; the message ends in the path.
            msgspec.DecodeError: The arguments are not valid JSON.
        """

    @abstractmethod
    def call(self, ctx: Context, arguments: Any) -> Awaitable[Any]:
        """Run the tool.

        Args:
            ctx: Context of the request.
            arguments: Return value of `decode`.

        Returns:
            An awaitable of the tool's return value.

        Raises:
            ToolError: The call exceeded `timeout_s`.
            InvalidArguments: The arguments do not fit, and only the call could detect it.
            Exception: Raised by the tool.
        """

    def _in_thread(self, ctx: Context) -> bool:
        """Return True if code that is not async runs in a thread."""
        if self.run_in_thread is None:
            return ctx.server.tools.run_in_threads
        return self.run_in_thread

    async def _within_timeout(self, awaitable: Awaitable[T]) -> T:
        if self.timeout_s is None:
            return await awaitable
        running = _as_coroutine(awaitable)
        began = monotonic()
        try:
            # Most tools that have a timeout never wait: these get on without a timer.
            blocker = running.send(None)
        except StopIteration as done:
            result: T = done.value
            return result
        timeout = asyncio.timeout(self.timeout_s - (monotonic() - began))
        try:
            async with timeout:
                return await _rest(running, blocker)
        except TimeoutError:
            if not timeout.expired():
                raise  # raised by the tool itself
            raise ToolError(f"{self.name}: not done within {self.timeout_s:g} s") from None


def _as_coroutine(awaitable: Awaitable[T]) -> Coroutine[Any, Any, T]:
    given: Any = awaitable
    running: Coroutine[Any, Any, T] = given if hasattr(given, "send") else _awaited(awaitable)
    return running


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


@coroutine
def _rest(running: Coroutine[Any, Any, T], blocker: Any) -> Generator[Any, Any, T]:
    """Await the rest of a coroutine, whose first step has yielded an object.

    It has to be the same task, before anything else is awaited.
    """
    while True:
        step: Callable[[Any], Any] = running.send
        given: Any = None
        try:
            given = yield blocker
        except BaseException as error:
            step, given = running.throw, error
        try:
            blocker = step(given)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            del given  # a thrown error refers to this frame


def header_params_of(tool: latest.Tool) -> HeaderPaths:
    """Return the arguments that HTTP headers repeat.

    Raises:
        UsageError: The schema marks them wrongly.
    """
    found = marked_params(tool.input_schema)
    return {name.lower().encode(): path for name, path in found.items()}


def plain_arguments(arguments: Raw | dict[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a call as plain JSON.

    Raises:
        msgspec.ValidationError: The arguments are not an object.
        msgspec.DecodeError: The arguments are not valid JSON.
    """
    if isinstance(arguments, Raw):
        return msgspec.json.decode(arguments, type=dict[str, Any])
    return arguments or {}


def validate_ui(name: str, ui: McpUiToolMeta | str) -> McpUiToolMeta:
    """Return the UI metadata for the `ui` option of a tool.

    Args:
        name: Name of the tool, for error messages.
        ui: URI of an app, or UI metadata.

    Raises:
        UsageError: The URI is not valid, or `visibility` is empty.
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
    """Check the URI of an app.

    Args:
        uri: The URI.
        what: Beginning of the error message.

    Raises:
        UsageError: The URI does not begin with `ui://`, nothing follows it, or it has variables.
    """
    from mcp_gen.core.extensions.ui import SCHEME  # most servers have no apps

    if not uri.startswith(SCHEME) or uri == SCHEME or "{" in uri:
        raise UsageError(f"{what}: expected a URI such as `{SCHEME}clock/face`, without variables")
