"""Protocols of the services of a Context: input requests, progress, logs, rounds and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp_gen.core.stores.once import OnceStore
    from mcp_gen.server.context.answers import Answer, Messages
    from mcp_gen.server.context.state import State
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire import latest

__all__ = [
    "RequestServices",
    "RequestStates",
    "RoundsView",
    "ServerRuntime",
    "TaskHandle",
    "ToolTasks",
]

C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)
T = TypeVar("T")


class RoundsView(Protocol):
    """State of a multi round-trip request, as Context shows it."""

    number: int
    """Number of the current run of the handler; the first is 1."""
    spans_mounts: bool
    """True if the handlers of mounted servers ask in these rounds, too."""

    @property
    def closed(self) -> bool:
        """True once the handler has ended for good, or must end for the next round."""
        ...

    responses: Mapping[str, Any] | None
    user_state: str | None

    @property
    def values(self) -> dict[str, Any]:
        """Results of `once`, by key."""
        ...

    async def once(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the value of a key, made on first use; see `Context.once`."""
        ...


class RequestServices(Protocol):
    """Services of one request; `Context` documents each method."""

    async def elicit(
        self, message: str, form: type[T], *, key: str | None, timeout_s: float | None, task: bool
    ) -> Answer[T]:
        """See `Context.elicit`."""
        ...

    async def elicit_url(
        self,
        message: str,
        url: str,
        elicitation_id: str | None,
        *,
        key: str | None,
        timeout_s: float | None,
    ) -> Answer[None]:
        """See `Context.elicit_url`."""
        ...

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """See `Context.elicitation_complete`."""
        ...

    async def sample(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        key: str | None,
        timeout_s: float | None,
        task: bool,
        system_prompt: str | None,
        model_preferences: latest.ModelPreferences | None,
        temperature: float | None,
        stop_sequences: list[str] | None,
        metadata: dict[str, Any] | None,
        tools: list[latest.Tool] | None,
        tool_choice: latest.ToolChoice | None,
        include_context: Literal["none", "thisServer", "allServers"] | None,
    ) -> latest.CreateMessageResult:
        """See `Context.sample`."""
        ...

    async def list_roots(
        self, *, key: str | None, timeout_s: float | None
    ) -> Sequence[latest.Root]:
        """See `Context.list_roots`."""
        ...

    async def report_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        """See `Context.report_progress`."""
        ...

    async def log(self, level: latest.LoggingLevel | int, data: Any, logger: str | None) -> None:
        """See `Context.log`."""
        ...

    async def call_tool(self, name: str, arguments: Any, returns: Any) -> Any:
        """See `Context.call_tool`."""
        ...

    async def read_resource(self, uri: str) -> latest.ReadResourceResult:
        """See `Context.read_resource`."""
        ...

    def rounds(self) -> RoundsView:
        """Return the state of the multi round-trip request; start it if there is none yet.

        Raises:
            UsageError: the handler is not that of a tool, prompt or resource, or it has returned.
        """
        ...

    def previous_rounds(self) -> RoundsView | None:
        """Return the state of the multi round-trip request; None before its first input request."""
        ...


class TaskHandle(Protocol):
    """Task that a tool runs as: `ctx.task`."""

    @property
    def id(self) -> str:
        """Task id. Only the client that made the task can use it."""
        ...

    @property
    def status_message(self) -> str | None:
        """Status message that was reported last."""
        ...

    is_answer: bool
    """True if the request that made the task is answered with it."""
    tells_progress: bool
    """True if progress reports change the status of the task."""

    async def report(self, message: str, *, quietly: bool = False) -> None:
        """Set the status message of the task: a few words on its progress.

        Args:
            message: The status message.
            quietly: True to send no status notification.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task
        """
        ...


class ToolTasks(Protocol[C_contra]):
    """Answers calls of tools that may run as tasks."""

    def call(self, ctx: C_contra, params: Any, tools: Any, /) -> Awaitable[Any]:
        """Answer tools/call for a tool of the registry `tools`, which belongs to a higher room."""
        ...


class RequestStates(Protocol):
    """Seals and opens the `requestState` of multi round-trip requests."""

    ttl_s: float

    def expiry(self) -> int:
        """Return the time at which a state sealed now expires, in seconds since 1970."""
        ...

    def seal(self, state: Any, bound_to: bytes) -> str:
        """Return the state as text that opens only together with `bound_to`."""
        ...

    def open(self, text: str, bound_to: bytes) -> Any:
        """Return the state that was sealed.

        Raises:
            InvalidParams: not sealed here, not for this request, or expired.
        """
        ...


class ServerRuntime(Protocol[C]):
    """Internal parts of a server that its rooms use while they answer a request."""

    kernel: Kernel[C]
    request_states: RequestStates
    once_store: OnceStore
    max_rounds: int
    lifespan_value: Any
    hide_unauthorized: bool
    """True if lists leave out items whose scopes the token of the request lacks."""

    def services(self, ctx: C) -> RequestServices:
        """Return the services of a request."""
        ...

    def state_of(self, ctx: C) -> State:
        """Return the state of the client of a request; see `Context.state`."""
        ...
