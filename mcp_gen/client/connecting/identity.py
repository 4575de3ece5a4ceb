"""Who a client is and what it offers, restated for each revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.client.callbacks.answers import Answers
from mcp_gen.client.session.session import ClientSession
from mcp_gen.core.projection.project import project

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import Offer
    from mcp_gen.client.callbacks.violations import Reports
    from mcp_gen.client.requests.settings import Settings
    from mcp_gen.session.duplex.client import ClientLink
    from mcp_wire import latest
    from mcp_wire.profile import Profile

__all__ = ["Identity"]


class Identity:
    """Who the client is and what it offers in one session, at any revision."""

    def __init__(
        self,
        info: latest.Implementation,
        offer: Offer,
        settings: Settings,
        reports: Reports,
        results_at: str | None = None,
    ) -> None:
        self.info = info
        self.offer = offer
        self.settings = settings
        self.reports = reports
        self._results_at = results_at
        self.session: ClientSession | None = None
        """The session, once something was agreed on."""
        self.link: ClientLink | None = None
        """The connection that the session has."""

    def at(self, revision: str) -> tuple[Any, Any]:
        """Implementation and ClientCapabilities of a revision."""
        profile = mcp_wire.profile(revision)
        return project(self.info, revision).value, self.offer.capabilities(profile)

    def answers(self, profile: Profile) -> Answers:
        """What answers the server's questions at a revision."""
        if profile.related_task_key is None:
            return Answers(self.offer, profile)
        from mcp_gen.client.callbacks.task_answers import TaskAnswers

        return TaskAnswers(self.offer, profile)

    def session_over(
        self,
        link: ClientLink,
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
        if self.session is None:
            self.session = ClientSession(
                link,
                profile,
                results_at=results_at,
                meta=meta,
                opening=opening,
                identity=self,
            )
        else:
            self.session.bind(link, profile, results_at=results_at, meta=meta, opening=opening)
        return self.session
