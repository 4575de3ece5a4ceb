"""Table of bad servers: the error on each transport, and the timeout that applies.

The tests read it, and docs/failures.md contains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from mcp_gen import HttpError, McpError, ProtocolError, RequestTimeout, SessionLost, TransportError
from tests.client.bad_servers.ways import WAYS
from tests.support.frames import HANDSHAKE, PER_REQUEST

__all__ = ["TABLE", "Doing", "End", "Row", "rendered"]

Doing: TypeAlias = Literal["connect", "call", "list"]
"""Step at which the fault happens: connecting, calling a tool, or listing tools."""

Within: TypeAlias = Literal["at once", "`timeout_s`", "`probe_timeout_s` + `timeout_s`"]


class End(NamedTuple):
    """Outcome of a row on one transport."""

    raises: type[Exception] | None
    """Exception type; None if the server works as if it had no fault."""
    says: str = ""
    """Regular expression that the error message matches."""

    def __str__(self) -> str:
        return self.raises.__name__ if self.raises else "it works"


class Row(NamedTuple):
    """Row of the table: one bad server."""

    does: str
    doing: Doing
    ends: Mapping[str, End]
    """Outcomes by transport; a transport on which the fault is impossible is absent."""
    revisions: tuple[str, ...] = (HANDSHAKE, PER_REQUEST)

    @property
    def within(self) -> Within:
        """Return the timeout: a row whose outcome is no RequestTimeout ends at once."""
        if all(end.raises is not RequestTimeout for end in self.ends.values()):
            return "at once"
        return "`probe_timeout_s` + `timeout_s`" if self.doing == "connect" else "`timeout_s`"


WORKS = End(None)
SILENCE = End(RequestTimeout, r"no answer in 0\.\d+ s")
LOST = End(SessionLost, "hung up")
CUT = End(SessionLost, "the stream ended before the answer")
NO_ANSWER = End(ProtocolError, "does not answer the request")
REFUSED = End(McpError, r"-32602")


def everywhere(end: End, **others: End | None) -> dict[str, End]:
    """Return the same outcome for all transports but `others`; None leaves a transport out."""
    ways = dict.fromkeys(WAYS, end) | {_NAMES[name]: other for name, other in others.items()}
    return {way: found for way, found in ways.items() if found is not None}


def on_the_web(says: str) -> dict[str, End]:
    """Outcomes of a redirected POST; the older transport reports the earlier POST's status."""
    end = End(TransportError, says)
    return everywhere(end, command=None, memory=None, pair=End(HttpError, "HTTP status 405"))


_NAMES = dict(zip(("command", "memory", "json", "events", "pair"), WAYS, strict=True))

TABLE = [
    Row(
        "exits when it is asked what it speaks",
        "connect",
        everywhere(WORKS, memory=LOST),
        revisions=(HANDSHAKE,),
    ),
    Row("exits whatever it is asked", "connect", everywhere(LOST)),
    Row("exits when its tool is called", "call", everywhere(LOST)),
    Row("is silent", "connect", everywhere(SILENCE)),
    Row("is silent when its tool is called", "call", everywhere(SILENCE)),
    Row("answers everything with -32602", "connect", everywhere(REFUSED)),
    Row("answers a call with -32602", "call", everywhere(REFUSED)),
    Row("breaks off after a notification", "call", everywhere(LOST, json=None, events=CUT)),
    Row(
        "says half of the result, then nothing any more",
        "call",
        everywhere(LOST, memory=None, events=CUT),
    ),
    Row("answers twice", "call", everywhere(WORKS, json=None)),
    *(
        Row(f"answers {how}", "call", everywhere(SILENCE, json=NO_ANSWER, events=CUT))
        for how in (
            "under the same id as a string",
            "under null",
            "a request that there was not",
            "in a batch",
        )
    ),
    Row(
        "has one more page behind each",
        "list",
        everywhere(End(ProtocolError, "expected at most 5 pages")),
    ),
    Row("floods with notifications", "call", everywhere(WORKS, json=None)),
    Row(
        "floods with notifications for ever",
        "call",
        everywhere(SILENCE, memory=None, json=None),
    ),
    Row(
        "claims a revision that there is not",
        "connect",
        everywhere(End(ProtocolError, "2099-01-01.*this client knows")),
    ),
    Row(
        "refuses in a call the revision that it lists", "call", everywhere(End(McpError, "-32022"))
    ),
    Row("redirects to another origin", "connect", on_the_web("another origin")),
    Row("redirects to no web address", "connect", on_the_web("an address that is none")),
    Row("redirects to itself", "connect", on_the_web("redirects more than 5 times")),
]


def rendered() -> str:
    """Return the table as it is in the docs."""
    lines = [("a server that", *WAYS, "within"), ("---",) * (len(WAYS) + 2)]
    for row in TABLE:
        lines.append((row.does, *map(_cell, map(row.ends.get, WAYS)), row.within))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(end: End | None) -> str:
    if end is None:
        return ""
    return f"`{end}`" if end.raises else str(end)
