"""Client profile: client info and callbacks per revision; creates the session."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.client.callbacks.answers import CallbackAnswers
from mcp_gen.client.requests.settings import SessionOptions
from mcp_gen.client.session.session import ClientSession
from mcp_gen.core.projection.project import restate

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import ClientCallbacks
    from mcp_gen.client.callbacks.violations import ViolationReporter
    from mcp_gen.client.requests.settings import ClientSettings
    from mcp_gen.client.session.incoming import SessionRelays
    from mcp_gen.client.session.recovery import SessionControl
    from mcp_gen.client.session.session import ClientView
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire import latest
    from mcp_wire.profile import Profile

__all__ = ["ClientProfile"]


class ClientProfile:
    """Client info, callbacks and settings of one session, at any revision."""

    def __init__(
        self,
        info: latest.Implementation,
        callbacks: ClientCallbacks,
        client: ClientView,
        settings: ClientSettings,
        reporter: ViolationReporter,
        results_at: str = mcp_wire.LATEST,
        server_name: str | None = None,
    ) -> None:
        self.info = info
        self.callbacks = callbacks
        self._reporter = reporter
        self._results_at = results_at
        self._options = SessionOptions(
            client=client,
            settings=settings,
            extensions=callbacks.extensions,
            declares_tasks=callbacks.has_tasks,
            has_roots=callbacks.has_roots,
            answers=partial(CallbackAnswers, callbacks),
            server_name=server_name,
        )
        self._session: ClientSession | None = None
        self._control: SessionControl | None = None
        self.connection: ClientConnection | None = None
        """The current connection of the session."""

    def at(self, revision: str) -> tuple[Any, Any]:
        """Return Implementation and ClientCapabilities of a revision."""
        profile = mcp_wire.profile(revision)
        return restate(self.info, revision).value, self.callbacks.capabilities(profile)

    @property
    def control(self) -> SessionControl:
        """Control of the session; available once the session was created."""
        assert self._control is not None
        return self._control

    def answers(
        self, profile: Profile, run: Callable[[Coroutine[Any, Any, None]], None]
    ) -> CallbackAnswers:
        """Create the handlers of server requests at a revision; `run` starts background work."""
        if profile.related_task_key is None:
            return CallbackAnswers(self.callbacks, profile)
        # Loaded only at revisions where clients have tasks.
        from mcp_gen.client.callbacks.task_answers import TaskAnswers

        return TaskAnswers(self.callbacks, profile, run)

    def session_over(
        self,
        connection: ClientConnection,
        profile: Profile,
        *,
        meta: dict[str, Any] | None,
        opening: Any,
    ) -> ClientSession:
        """Return the session, bound to this connection: a new one, or the existing one."""
        results_at = self._results_at
        if self._session is None:
            self._session = ClientSession(
                connection,
                profile,
                results_at=results_at,
                meta=meta,
                opening=opening,
                options=self._options,
                report=self._reporter.report,
                make_relay=self._make_relay,
                on_created=self._take_control,
            )
        else:
            self.control.bind(
                connection, profile, results_at=results_at, meta=meta, opening=opening
            )
        return self._session

    def _take_control(self, control: SessionControl) -> None:
        self._control = control

    def _make_relay(self, session: ClientSession) -> SessionRelays:
        # Imported here because most clients relay nothing.
        from mcp_gen.client.connecting.relay import ClientSessionRelay

        # A session keeps the callbacks with which it was opened.
        return ClientSessionRelay(
            session,
            self._options,
            self.callbacks.forwards,
            lambda: self.connection,
            passes_capabilities=self.callbacks.declared is not None,
        )
