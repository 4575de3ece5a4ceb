"""Requests that the parts of a session send, at the negotiated revision."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mcp_gen.client.requests.sender import ClientRequestSender
from mcp_gen.core.errors import SessionLost
from mcp_gen.core.projection.project import restate
from mcp_gen.session.messages.sender import RevisionAdapter
from mcp_wire.peer_calls import ServerCaller

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from msgspec import Struct

    from mcp_gen.client.requests.cache import ResponseCache
    from mcp_gen.client.requests.session_calls import ClientSessionView
    from mcp_gen.client.requests.settings import SessionOptions
    from mcp_gen.client.session.recovery import Recovery
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire import latest
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["InternalCalls"]

R = TypeVar("R")


class _Calls(RevisionAdapter, ServerCaller):
    """Calls over all revisions, through one sender."""


class InternalCalls:
    """Implements `SessionCalls`; kept off `ClientSession` to hide it from programs."""

    _connection: ClientConnection
    _profile: Profile
    _results_at: str
    _cache: ResponseCache
    _await_task_call: Callable[[str, Any, float | None], Awaitable[Any]]
    _requests: Any
    """Generated calls of the negotiated revision."""
    _sender: ClientRequestSender
    _as_spoken: Any
    """Generated calls with results of the negotiated revision; created on first use."""

    def __init__(
        self, session: ClientSessionView, options: SessionOptions, recovery: Recovery
    ) -> None:
        self.session = session
        self._options = options
        self._recovery = recovery

    def attach(
        self,
        connection: ClientConnection,
        profile: Profile,
        results_at: str,
        cache: ResponseCache,
        await_task_call: Callable[[str, Any, float | None], Awaitable[Any]],
    ) -> tuple[ClientRequestSender, Any]:
        """Switch to a connection; return the session's sender and its generated calls."""
        self._connection, self._profile, self._results_at = connection, profile, results_at
        self._cache, self._await_task_call = cache, await_task_call
        self._requests = import_module(f"{profile.module}.requests").ToServer
        self._as_spoken = None
        self._sender = self._new_sender(results_at)
        return self._sender, self._requests(self._sender)

    def _new_sender(
        self, results_at: str, channel: Channel | None = None, *, awaits_tasks: bool = True
    ) -> ClientRequestSender:
        """Create a sender; without `awaits_tasks`, its calls return tasks as results."""
        return ClientRequestSender(
            self._connection,
            self._profile,
            results_at,
            self.session,
            self._options,
            self._cache,
            channel,
            await_task_call=self._await_task_call if awaits_tasks else None,
        )

    def _calls_through(self, sender: ClientRequestSender) -> _Calls:
        calls = _Calls(self._profile, self._requests(sender), self.session.meta)
        calls.default_timeout_s = self.session.default_timeout_s
        return calls

    # --- SessionCalls ---

    async def send_once(self, call: Callable[[Any], Awaitable[R]]) -> R:
        """Send a request that changes state; it is not retried. See `send_with_retry`."""
        await self._recovery.reconnect()
        if self._as_spoken is None:
            self._as_spoken = self._requests(self._new_sender(self._profile.revision))
        return await call(self._as_spoken)

    async def send_with_retry(self, call: Callable[[Any], Awaitable[R]]) -> R:
        """Send a read-only request; retry it after a reconnect if the connection was lost.

        `call` is called with the generated calls of the negotiated revision, with its own types.
        """
        connection = self._connection
        try:
            return await self.send_once(call)
        except SessionLost:
            if self._connection is connection:
                await self._recovery.reconnect()
        return await self.send_once(call)

    async def start_call(
        self,
        fields: dict[str, Any],
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> tuple[Any, bool]:
        """Call a tool; return the first answer, and True if it is a task."""
        await self._recovery.reconnect()
        sender = self._new_sender(self._results_at, awaits_tasks=False)
        result: Any = await self._calls_through(sender).call_tool(
            **fields, meta=meta, timeout_s=timeout_s, progress=progress
        )
        return result, type(result) is sender.on_task_created

    async def listen(
        self,
        wanted: latest.SubscriptionFilter,
        opened: Callable[[RequestId], None],
        also: Sequence[Struct],
    ) -> None:
        """Send `subscriptions/listen` and wait for its end; see `ClientSession.watch`."""
        await self._recovery.reconnect()
        sender = self._new_sender(self._results_at, self._connection.listening(opened))
        notifications: Any = wanted
        if also:
            content = [restate(wanted, self._profile.revision).value, *also]
            notifications = {k: v for one in content for k, v in msgspec.to_builtins(one).items()}
        await self._calls_through(sender).subscriptions_listen(notifications)

    async def complete_url_elicitation(self, error: Any) -> None:
        """Run the URL elicitations that an error requires; raise any other error."""
        await self._sender.complete_url_elicitation(error)

    async def answer_requests(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Return the client's answers to the input requests of a task, by key."""
        return await self._sender.answers(self._call_tool, requests)

    def tool_result(self, content: Any) -> Any:
        """Return a tool result in the types of the session, from plain JSON."""
        return self._sender.result_in(self._call_tool, content)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until the connection ends."""
        self._connection.run(work)

    @property
    def _call_tool(self) -> Method[Any, Any]:
        method = self._profile.call_tool
        assert method is not None
        return method
