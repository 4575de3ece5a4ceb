"""Routes incoming notifications of a connection to the parts of its session."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mcp_gen.core.relay import Relay, RelayListener

if TYPE_CHECKING:
    from msgspec import Raw

    from mcp_gen.client.requests.cache import ResponseCache
    from mcp_gen.client.requests.sender import ClientRequestSender
    from mcp_gen.client.subscriptions.elicitation_completions import ElicitationCompletions
    from mcp_gen.client.subscriptions.watch import Subscriptions
    from mcp_gen.client.tasks.tasks import TaskCalls
    from mcp_gen.client.tools.typed_results import TypedResults
    from mcp_gen.core.errors import SessionLost
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire.method import Method

__all__ = ["HandledRequest", "IncomingMessages", "SessionRelays", "handled_request"]


class HandledRequest(NamedTuple):
    """Server request that a handler answers."""

    session: Any
    meta: dict[str, Any] | None
    """`_meta` of its params."""


handled_request: ContextVar[HandledRequest | None] = ContextVar("handled_request", default=None)
"""Server request that the handler in this task answers; None outside of handlers."""


class SessionRelays(Relay, RelayListener, Protocol):
    """A relay that is also notified of the events of its session."""


class IncomingMessages:
    """Routes notifications, late results and disconnects to the parts of one session."""

    def __init__(
        self,
        tasks: TaskCalls,
        typed_results: TypedResults,
        completions: ElicitationCompletions,
        subscriptions: Subscriptions,
    ) -> None:
        self._tasks = tasks
        self._typed_results = typed_results
        self._completions = completions
        self._watches = subscriptions.watches
        self._connection: ClientConnection | None = None
        self._cache: ResponseCache | None = None
        self._sender: ClientRequestSender | None = None
        self.relay: SessionRelays | None = None
        """Relay of the session; None until it is needed."""

    def attach(
        self, connection: ClientConnection, cache: ResponseCache, sender: ClientRequestSender
    ) -> None:
        """Receive from this connection from now on."""
        self._connection, self._cache, self._sender = connection, cache, sender
        connection.on_notification, connection.on_disconnect = (
            self._on_notification,
            self._on_disconnect,
        )
        if sender.server_may_start_tasks:
            # Loaded only if the tasks extension is declared.
            from mcp_wire.extensions.tasks.methods import NOTIFICATIONS_TASKS

            connection.on_late_response = self._on_late_result
            connection.act_on(NOTIFICATIONS_TASKS, self._tasks.on_notification)

    def session_recreated(self) -> None:
        """Drop the cached state of the server: its new session does not know it."""
        if self._cache is not None:
            self._cache.clear()
        self._typed_results.forget()
        self._tasks.forget()
        if self.relay is not None:
            self.relay.session_recreated()

    def _on_notification(self, news: str, params: Any) -> None:
        """Pass on a notification; `news` is its attribute name of Profile."""
        if self._cache is not None:
            self._cache.on_notification(news, getattr(params, "uri", None))
        if news == "tools_changed":
            self._typed_results.forget()
            self._tasks.forget()
        elif news == "elicitation_complete":
            self._completions.complete(params.elicitation_id)
        elif news == "task_status":
            self._tasks.on_notification(params)
        for watch in list(self._watches):
            if watch.on_change(news, params) is False:
                self._report_unasked(news)
                return
        if self.relay is not None:
            self.relay.on_notification(news, params)

    def _report_unasked(self, news: str) -> None:
        connection = self._connection
        if connection is not None and connection.profile is not None:
            method: Method[Any, None] = getattr(connection.profile, news)
            connection.report_violation(method.name, "$.params", "not asked for by this client")

    def _on_late_result(self, method: Method[Any, Any], result: Raw) -> None:
        """Cancel a task whose creation was answered after the call had been abandoned."""
        assert self._sender is not None
        created = self._sender.task_in(result)
        if created is not None and self._connection is not None and not self._connection.is_lost:
            self._tasks.cancel_abandoned(created)

    def _on_disconnect(self, error: SessionLost) -> None:
        self._tasks.on_disconnect()
        for watch in list(self._watches):
            watch.on_disconnect(error)
