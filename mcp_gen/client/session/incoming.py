"""Routes what arrives on a connection to the parts of its session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.relay import Listener, Relay

if TYPE_CHECKING:
    from msgspec import Raw

    from mcp_gen.client.requests.cache import ResponseCache
    from mcp_gen.client.requests.sender import ClientAsking
    from mcp_gen.client.subscriptions.elicitation_completions import Visits
    from mcp_gen.client.subscriptions.watch import Subscriptions
    from mcp_gen.client.tasks.tasks import Tasks
    from mcp_gen.client.tools.typed_results import Returns
    from mcp_gen.core.errors import SessionLost
    from mcp_gen.session.duplex.client import ClientLink
    from mcp_wire.method import Method

__all__ = ["IncomingMessages", "SessionRelays"]


class SessionRelays(Relay, Listener, Protocol):
    """A relay that is told of the events of its session."""


class IncomingMessages:
    """Notifications, late results and the end of the connection, for the parts of one session."""

    def __init__(
        self, tasks: Tasks, returns: Returns, visits: Visits, subscriptions: Subscriptions
    ) -> None:
        self._tasks = tasks
        self._returns = returns
        self._visits = visits
        self._watches = subscriptions.watches
        self._link: ClientLink | None = None
        self._cache: ResponseCache | None = None
        self._sender: ClientAsking | None = None
        self.relay: SessionRelays | None = None
        """The session's relay, once there is one."""

    def attach(self, link: ClientLink, cache: ResponseCache, sender: ClientAsking) -> None:
        """Receive from this connection from now on."""
        self._link, self._cache, self._sender = link, cache, sender
        link.on_news, link.on_lost = self._on_notification, self._on_disconnect
        if sender.unasked:
            # Loaded only where the extension is declared.
            from mcp_wire.extensions.tasks.methods import NOTIFICATIONS_TASKS

            link.on_late = self._on_late_result
            link.act_on(NOTIFICATIONS_TASKS, self._tasks.hear)

    def session_recreated(self) -> None:
        """Forget what the server said: it has a new session and knows nothing of the old one."""
        if self._cache is not None:
            self._cache.clear()
        self._returns.forget()
        self._tasks.forget()
        if self.relay is not None:
            self.relay.begun_again()

    def _on_notification(self, news: str, params: Any) -> None:
        """Pass on a notification; `news` is its place on a Profile."""
        if self._cache is not None:
            self._cache.hear(news, getattr(params, "uri", None))
        if news == "tools_changed":
            self._returns.forget()
            self._tasks.forget()
        elif news == "elicitation_complete":
            self._visits.done(params.elicitation_id)
        elif news == "task_status":
            self._tasks.hear(params)
        for watch in list(self._watches):
            watch.hear(news, params)
        if self.relay is not None:
            self.relay.hear(news, params)

    def _on_late_result(self, method: Method[Any, Any], result: Raw) -> None:
        """Cancel a task that a call has begun when nobody waited for its result any more."""
        assert self._sender is not None
        begun = self._sender.task_in(result)
        if begun is not None and self._link is not None and not self._link.is_lost:
            self._tasks.leave(begun)

    def _on_disconnect(self, error: SessionLost) -> None:
        self._tasks.lost()
        for watch in list(self._watches):
            watch.lost(error)
