"""Findings of one check, and the places of faults."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from mcp_gen.compat.report.model import Finding, evidence
from mcp_gen.compat.transcript import WireEvent

__all__ = ["FaultPlace", "Found", "NotTested"]

MAX_FINDINGS = 20
"""Maximum number of different findings of one check at one revision."""
_INDEX = re.compile(r"\[\d+\]")
_PARTS = re.compile(r"\$|\.[^.\[]*|\[[^\]]*\]")
_ANY_PART = "[...]"
"""Part of a path that stands for any member of a map."""


class NotTested(Exception):
    """Nothing can be found out here. The message says why, as `the server has no tools`."""


class FaultPlace(NamedTuple):
    """FaultPlace of a fault: an event, and a JSON path in it."""

    event: WireEvent
    where: str

    def holds(self, event: WireEvent, where: str) -> bool:
        """Return True if a fault at another place is this one, a part of it, or around it."""
        return event is self.event and (_is_in(where, self.where) or _is_in(self.where, where))


def _is_in(where: str, other: str) -> bool:
    """Return True if a path is that of a part of what another names, or the same."""
    parts, others = _PARTS.findall(where), _PARTS.findall(other)
    return len(parts) >= len(others) and all(
        _ANY_PART in (one, two) or one == two for one, two in zip(parts, others, strict=False)
    )


class Found:
    """Findings of one check at one revision.

    Args:
        told: Places of faults that are not told again.
    """

    def __init__(self, told: Iterable[FaultPlace] = ()) -> None:
        self.findings: list[Finding] = []
        self.places: list[FaultPlace] = []
        """Places of the findings."""
        self.failure = ""
        """Why the check itself has failed, which is a fault of ours; empty if it has not."""
        self.has_seen = False
        """True if there was something to judge."""
        self._told = tuple(told)
        self._numbers: dict[tuple[str, str, str], int] = {}
        """Numbers of the findings by all that two equal ones have in common."""

    def saw(self) -> None:
        """Note that there was something to judge, so that no finding means passed."""
        self.has_seen = True

    def is_told(self, event: WireEvent, where: str) -> bool:
        """Return True if a fault at a place is one that another check has found."""
        return any(place.holds(event, where) for place in self._told)

    def broken(self, expected: str, came: str, *events: WireEvent, where: str = "") -> None:
        """Add a finding; one that differs in an index alone is counted with the first.

        Args:
            expected: What the rule demands here, in one sentence.
            came: What came instead.
            events: The events that show it, the faulty one last.
            where: JSON path in the last of them; empty if there is none to name.
        """
        self.has_seen = True
        if events and self.is_told(events[-1], where):
            return
        if events:
            self.places.append(FaultPlace(events[-1], where))
        kind = (expected, came, _INDEX.sub("[]", where))
        if kind in self._numbers:
            number = self._numbers[kind]
            again = self.findings[number]
            self.findings[number] = replace(again, times=again.times + 1)
        elif len(self.findings) < MAX_FINDINGS:
            self._numbers[kind] = len(self.findings)
            self.findings.append(
                Finding(expected=expected, came=came, where=where, evidence=evidence(events))
            )
