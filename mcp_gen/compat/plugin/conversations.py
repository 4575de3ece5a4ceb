"""Conversations of a test, and what the rules find in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from mcp_gen.compat.checks.judging import applicable, judge, outcome_of

if TYPE_CHECKING:
    from mcp_gen.compat.report.model import Outcome, Side
    from mcp_gen.compat.transcript import Transcript, Transport

__all__ = ["Conversations", "SideOutcome", "judged"]


class Conversations(Struct, frozen=True):
    """Everything that was said with one peer at one revision.

    Args:
        target: The peer, as reports name it.
        revision: The revision.
        transport: What carried the messages.
        transcripts: One per connection.
        sides: The sides that are judged: the peer under test first.
    """

    target: str
    revision: str
    transport: Transport
    transcripts: Sequence[Transcript]
    sides: tuple[Side, ...]


class SideOutcome(Struct, frozen=True):
    """Outcome of one rule: the side that it binds, and what was found."""

    side: Side
    outcome: Outcome


def judged(told: Conversations) -> Iterable[SideOutcome]:
    """Yield the outcome of every rule for what was said."""
    for side in told.sides:
        checks = applicable(side, told.revision, told.transport)
        rules = [check for check in checks if check.rule is not None]
        for check, found in judge(rules, told.transcripts):
            why = "" if found.has_seen else check.unseen
            yield SideOutcome(side, outcome_of(check, found, told.revision, why))
