"""The report: outcomes of checks by revision, findings, and their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from mcp_gen.compat.frame_check import Sender
from mcp_gen.compat.transcript import Kind

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import WireEvent

__all__ = [
    "Evidence",
    "Finding",
    "Level",
    "Offer",
    "Opening",
    "Outcome",
    "Report",
    "Side",
    "Verdict",
    "evidence",
]

Level: TypeAlias = Literal["must", "should"]
Side: TypeAlias = Literal["server", "client"]
Verdict: TypeAlias = Literal["passed", "failed", "not tested"]

MAX_EVIDENCE_BYTES = 4096
"""Maximum number of bytes of a message that evidence shows."""


class Evidence(Struct, frozen=True, kw_only=True):
    """One event that a finding rests on.

    Args:
        at_s: Seconds since the connection was opened.
        sender: The side it came from.
        kind: What it was; see `mcp_gen.compat.transcript.WireEvent`.
        text: The text of it, at most 4 KB; what is no UTF-8 stands there escaped.
        left_out_bytes: Number of bytes that the text leaves out.
    """

    at_s: float
    sender: Sender
    kind: Kind
    text: str
    left_out_bytes: int = 0


class Finding(Struct, frozen=True, kw_only=True):
    """One rule that was broken at one place.

    Args:
        expected: What the rule demands, in one sentence.
        came: What came instead.
        where: JSON path in the message, or another place; empty if there is none to name.
        evidence: The events, in order.
        times: Number of places where the same was found; the others differ in an index alone.
    """

    expected: str
    came: str
    where: str = ""
    evidence: tuple[Evidence, ...] = ()
    times: int = 1


class Outcome(Struct, frozen=True, kw_only=True):
    """Result of one check at one revision.

    Args:
        requirement: Id of the requirement.
        level: Its level.
        says: What it demands, in our words.
        revision: The revision.
        link: Its place in the text of the specification at that revision.
        verdict: `failed` if there are findings; `not tested` if nothing could be found out.
        why: Why it was not tested; empty otherwise.
        findings: What was found.
    """

    requirement: str
    level: Level
    says: str
    revision: str
    link: str
    verdict: Verdict
    why: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def area(self) -> str:
        """The first word of the id, such as `tools`."""
        return self.requirement.partition(":")[0]


class Opening(Struct, frozen=True, kw_only=True):
    """Outcome of one way to open a connection.

    Args:
        asked: The way: a revision, or a description of it.
        answer: What came of it, in one line.
        agreed: The revision that was agreed on; None for none.
    """

    asked: str
    answer: str
    agreed: str | None = None


class Offer(Struct, frozen=True, kw_only=True):
    """Names of all that a peer offers at one revision.

    Args:
        revision: The revision.
        capabilities: Names of its capabilities.
        items: Names of tools, prompts, resources and templates, by kind.
    """

    revision: str
    capabilities: tuple[str, ...] = ()
    items: dict[str, tuple[str, ...]] = {}


class Report(Struct, frozen=True, kw_only=True):
    """Everything that was found out about one peer.

    Args:
        target: What was examined, as it was given; without secrets.
        side: Whether it is a server or a client.
        transport: What carried the messages.
        name: Name and version that the peer gives itself; empty if it gave none.
        version: Version of mcp_gen.
        took_s: Time of the examination, in seconds.
        openings: The ways to open a connection that were tried.
        listings: What it offers, by revision.
        outcomes: One per check and revision.
    """

    target: str
    side: Side
    transport: str
    version: str
    took_s: float
    name: str = ""
    openings: tuple[Opening, ...] = ()
    listings: tuple[Offer, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions with outcomes, oldest first."""
        return tuple(sorted({outcome.revision for outcome in self.outcomes}))

    def failed(self, level: Level | None = None) -> tuple[Outcome, ...]:
        """Return the failed outcomes, of one level or of both."""
        return tuple(
            one
            for one in self.outcomes
            if one.verdict == "failed" and (level is None or one.level == level)
        )

    def counts(self, revision: str | None = None) -> Counter[Verdict]:
        """Return the number of outcomes of each verdict, at one revision or at all."""
        return Counter(one.verdict for one in self.outcomes if revision in (None, one.revision))


def evidence(events: Iterable[WireEvent]) -> tuple[Evidence, ...]:
    """Return events as evidence."""
    return tuple(_shown(event) for event in events)


def _shown(event: WireEvent) -> Evidence:
    data = event.data[:MAX_EVIDENCE_BYTES]
    texts = [str(event.status) if event.status else "", event.about]
    texts += [f"{name}: {value}" for name, value in event.headers.items()]
    texts.append(data.decode("utf-8", "backslashreplace"))
    return Evidence(
        at_s=round(event.at_s, 3),
        sender=event.sender,
        kind=event.kind,
        text="\n".join(text for text in texts if text),
        left_out_bytes=len(event.data) - len(data),
    )
