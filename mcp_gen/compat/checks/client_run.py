"""One run of a client in one scenario: its transcripts, how it ended, and the runs beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import member
from mcp_gen.compat.views.conversation import is_foreign
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.transcript import Transcript, WireFrame

__all__ = ["STRICT", "ClientRun", "Ended"]

STRICT = "strict"
"""Id of the scenario of the strict reference server."""


class Ended(Struct, frozen=True, kw_only=True):
    """Ending of a run of a client.

    Args:
        exit_code: Exit code of the command; in this process 0, or 1 after an exception. None: it
            did not end within its time limit, and was ended.
        took_s: Seconds that the run took.
        limit_s: Its time limit, in seconds.
    """

    exit_code: int | None
    took_s: float = 0.0
    limit_s: float = 0.0

    @property
    def well(self) -> bool:
        """True if the client ended by itself, with exit code 0."""
        return self.exit_code == 0

    @property
    def hung(self) -> bool:
        """True if the client did not end within its time limit."""
        return self.exit_code is None

    def __str__(self) -> str:
        if self.hung:
            return f"the client did not end within {self.limit_s:g} s"
        return f"the client ended with exit code {self.exit_code}"


class ClientRun:
    """One run of a client: one scenario at one revision.

    Args:
        scenario: Id of the scenario.
        revision: The revision.
        transcripts: What the servers recorded: one transcript per connection, in order.
        ended: How the run ended.
    """

    def __init__(
        self, scenario: str, revision: str, transcripts: list[Transcript], ended: Ended
    ) -> None:
        self.scenario = scenario
        self.revision = revision
        self.profile = profile_of(revision)
        self.transcripts = transcripts
        self.ended = ended
        self.beside: Mapping[str, ClientRun] = {}
        """All runs of the client at this revision, by the id of their scenario."""
        self.spoken: frozenset[str] = frozenset()
        """Revisions that the client was seen to speak."""
        self.chosen: frozenset[str] = frozenset()
        """Revisions that it spoke after it had begun with another one: it was not told which."""

    @property
    def strict(self) -> ClientRun:
        """The run with the strict reference server."""
        return self.beside[STRICT]

    def run_of(self, scenario: str) -> ClientRun:
        """Return the run of another scenario at this revision.

        Raises:
            NotTested: it was not run.
        """
        if scenario not in self.beside:
            raise NotTested(f"the scenario {scenario} was not run")
        return self.beside[scenario]

    def frames(self) -> Iterator[WireFrame]:
        """Yield the JSON objects of both sides, connection by connection."""
        for transcript in self.transcripts:
            yield from transcript.frames()

    def requests(self, method: str | None) -> list[WireFrame]:
        """Return the requests of the client for a method, by its name on the wire."""
        return [
            one
            for one in self.frames()
            if one.event.sender == "client"
            and "id" in one.members
            and one.members.get("method") == method
        ]

    def speaks(self) -> bool:
        """Return True if the client has spoken the revision."""
        return any(
            self._is_spoken(frame.members)
            for frame in self.frames()
            if frame.event.sender == "client"
        )

    def chooses(self) -> bool:
        """Return True if the client has spoken the revision, and begun with another one."""
        sent = [one.members for one in self.frames() if one.event.sender == "client"]
        return self.speaks() and any(is_foreign(one, self.revision) for one in sent)

    def _is_spoken(self, frame: Json) -> bool:
        profile = self.profile
        if profile.handshake is None:
            key = profile.protocol_version_key
            return bool(key and member(frame, "params", "_meta", key) == self.revision)
        method = frame.get("method")
        if method == profile.handshake.name:
            return bool(member(frame, "params", "protocolVersion") == self.revision)
        return profile.initialized is not None and method == profile.initialized.name
