"""Bounds of a report: however much a peer says, a report stays small enough to be opened."""

from __future__ import annotations

import msgspec

from mcp_gen.compat.report.model import Evidence, Finding, Offer, Opening, Outcome, Report

__all__ = ["bounded", "cut"]

MAX_SENTENCE_CHARS = 1_000
"""Maximum number of characters of what was expected or came, or of an answer."""
MAX_NAME_CHARS = 200
MAX_NAMES = 200
"""Maximum number of names of one kind that a listing shows."""
MAX_KINDS = 8
MAX_FINDINGS = 2_000
"""Maximum number of findings beside the first of each outcome."""
MAX_EVENTS = 8
"""Maximum number of events of a finding: the last ones, of which the last is the faulty one."""
MAX_EVENT_CHARS = 8_192
MAX_EVIDENCE_CHARS = 2_000_000
"""Maximum number of characters of all evidence; of what comes later, only its place is shown."""


def bounded(report: Report) -> Report:
    """Return a report whose texts are cut, so that all of them have at most about 15 MB.

    Args:
        report: The report, with texts of any length.
    """
    room = _Room()
    return msgspec.structs.replace(
        report,
        name=cut(report.name, MAX_NAME_CHARS),
        openings=tuple(_opening(one) for one in report.openings),
        listings=tuple(_listing(one) for one in report.listings),
        outcomes=tuple(room.outcome(one) for one in report.outcomes),
    )


def cut(text: str, chars: int) -> str:
    """Return a text of at most so many characters, which says if something was left out."""
    if len(text) <= chars:
        return text
    return f"{text[: chars - 1]}…"


class _Room:
    """Room that is left for findings and their evidence."""

    def __init__(self) -> None:
        self._chars = MAX_EVIDENCE_CHARS
        self._findings = MAX_FINDINGS

    def outcome(self, outcome: Outcome) -> Outcome:
        kept = outcome.findings[: 1 + self._findings]
        self._findings -= max(0, len(kept) - 1)
        return msgspec.structs.replace(
            outcome,
            why=cut(outcome.why, MAX_SENTENCE_CHARS),
            findings=tuple(self._finding(one) for one in kept),
        )

    def _finding(self, finding: Finding) -> Finding:
        return Finding(
            expected=cut(finding.expected, MAX_SENTENCE_CHARS),
            came=cut(finding.came, MAX_SENTENCE_CHARS),
            where=cut(finding.where, MAX_NAME_CHARS),
            evidence=tuple(self._event(one) for one in finding.evidence[-MAX_EVENTS:]),
        )

    def _event(self, event: Evidence) -> Evidence:
        kept = event.text[: min(MAX_EVENT_CHARS, self._chars)]
        self._chars -= len(kept)
        if len(kept) == len(event.text):
            return event
        lost_bytes = len(event.text[len(kept) :].encode("utf-8", "surrogatepass"))
        return msgspec.structs.replace(
            event, text=kept, left_out_bytes=event.left_out_bytes + lost_bytes
        )


def _opening(opening: Opening) -> Opening:
    agreed = opening.agreed
    return Opening(
        asked=cut(opening.asked, MAX_NAME_CHARS),
        answer=cut(opening.answer, MAX_SENTENCE_CHARS),
        agreed=None if agreed is None else cut(agreed, MAX_NAME_CHARS),
    )


def _listing(listing: Offer) -> Offer:
    kinds = list(listing.items.items())[:MAX_KINDS]
    return Offer(
        revision=listing.revision,
        capabilities=_names(listing.capabilities),
        items={cut(kind, MAX_NAME_CHARS): _names(names) for kind, names in kinds},
    )


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    shown = tuple(cut(name, MAX_NAME_CHARS) for name in names[:MAX_NAMES])
    more = len(names) - len(shown)
    return (*shown, f"… and {more} more") if more else shown
