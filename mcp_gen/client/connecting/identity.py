"""Who a client is and what it offers, restated for each revision."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.client.callbacks.answers import CallbackAnswers
from mcp_gen.client.requests.settings import SessionOptions
from mcp_gen.client.session.session import ClientSession
from mcp_gen.core.projection.project import project

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import ClientCallbacks
    from mcp_gen.client.callbacks.violations import ViolationReporter
    from mcp_gen.client.requests.settings import ClientSettings
    from mcp_gen.client.session.incoming import SessionRelays
    from mcp_gen.client.session.recovery import SessionControl
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire import latest
    from mcp_wire.profile import Profile

__all__ = ["ClientProfile"]


class ClientProfile:
    """Who the client is and what it offers in one session, at any revision."""

    def __init__(
        self,
        info: latest.Implementation,
        offer: ClientCallbacks,
        settings: ClientSettings,
        reports: ViolationReporter,
        results_at: str | None = None,
    ) -> None:
        self.info = info
        self.offer = offer
        self._reports = reports
        self._results_at = results_at
        self._options = SessionOptions(
            settings=settings,
            extensions=offer.extensions,
            declares_tasks=offer.has_tasks,
            has_roots=offer.has_roots,
            answers=partial(CallbackAnswers, offer),
        )
        self._session: ClientSession | None = None
        self._control: SessionControl | None = None
        self.link: ClientConnection | None = None
        """The connection that the session has."""

    def at(self, revision: str) -> tuple[Any, Any]:
        """Implementation and ClientCapabilities of a revision."""
        profile = mcp_wire.profile(revision)
        return project(self.info, revision).value, self.offer.capabilities(profile)

    @property
    def control(self) -> SessionControl:
        """The methods by which the session is connected, once something was agreed on."""
        assert self._control is not None
        return self._control

    def answers(
        self, profile: Profile, run: Callable[[Coroutine[Any, Any, None]], None]
    ) -> CallbackAnswers:
        """Make the handlers of a server's requests at a revision; `run` is for background work."""
        if profile.related_task_key is None:
            return CallbackAnswers(self.offer, profile)
        # Loaded at revisions where clients have tasks.
        from mcp_gen.client.callbacks.task_answers import TaskAnswers

        return TaskAnswers(self.offer, profile, run)

    def session_over(
        self,
        link: ClientConnection,
        profile: Profile,
        *,
        results_at: str,
        meta: dict[str, Any] | None,
        opening: Any,
    ) -> ClientSession:
        """The session: a new one, or the one that there was, with this connection from now on.

        `results_at` is the revision of its results where the program has not asked for another.
        """
        results_at = self._results_at or results_at
        if self._session is None:
            self._session = ClientSession(
                link,
                profile,
                results_at=results_at,
                meta=meta,
                opening=opening,
                options=self._options,
                report=self._reports.report,
                make_relay=self._make_relay,
                on_created=self._take_control,
            )
        else:
            self.control.bind(link, profile, results_at=results_at, meta=meta, opening=opening)
        return self._session

    def _take_control(self, control: SessionControl) -> None:
        self._control = control

    def _make_relay(self, session: ClientSession) -> SessionRelays:
        # Most clients relay nothing, and need not load what does.
        from mcp_gen.client.connecting.relay import ClientSessionRelay

        # A session keeps to what there was when it began.
        return ClientSessionRelay(session, self._options, self.offer.forwards, lambda: self.link)
