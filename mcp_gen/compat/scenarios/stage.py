"""Protocol of a stage: runs the examined client in one scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import Ended
    from mcp_gen.compat.scenarios.scenario import Scenario
    from mcp_gen.compat.transcript import Transcript, Transport

__all__ = ["Performance", "Stage"]


class Performance(NamedTuple):
    """Outcome of one run.

    Args:
        transcripts: One transcript per connection that the client opened, in order.
        ended: How the client ended.
    """

    transcripts: list[Transcript]
    ended: Ended


class Stage(Protocol):
    """Runs the client against the server of a scenario.

    Attributes:
        transport: What carries the messages.
        starts_processes: True if each connection of the client is a process of the server.
        at_once: Maximum number of runs at the same time.
    """

    transport: Transport
    starts_processes: bool
    at_once: int

    async def perform(self, scenario: Scenario, revision: str, limit_s: float) -> Performance:
        """Run the client once, and return what came of it.

        Args:
            scenario: The scenario.
            revision: The revision of its server.
            limit_s: Time limit, in seconds, after which the client is ended.
        """
        ...
