"""One conversation of a test, and what the rules find in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from mcp_gen.compat.checks.judging import applicable, judge, outcome_of

if TYPE_CHECKING:
    from mcp_gen.compat.report.model import Outcome, Side
    from mcp_gen.compat.transcript import Transcript, Transport

__all__ = ["Conversation", "SideOutcome", "judged"]


class Conversation(Struct, frozen=True):
    """Everything that was said on one connection.

    Args:
        target: The peer under test, as reports name it.
        transport: What carried the messages, as reports name it.
        transcript: The transcript. Its transport says which rules of transports hold.
        sides: The sides that are judged: the peer under test first.
    """

    target: str
    transport: Transport
    transcript: Transcript
    sides: tuple[Side, ...]


class SideOutcome(Struct, frozen=True):
    """Outcome of one rule: the side that it binds, and what was found."""

    side: Side
    outcome: Outcome


def judged(told: Conversation) -> Iterable[SideOutcome]:
    """Yield the outcome of every rule for what was said."""
    transcript = told.transcript
    for side in told.sides:
        checks = applicable(side, transcript.revision, transcript.transport)
        rules = [check for check in checks if check.rule is not None]
        for check, found in judge(rules, [transcript]):
            why = "" if found.has_seen else check.unseen
            yield SideOutcome(side, outcome_of(check, found, transcript.revision, why))
