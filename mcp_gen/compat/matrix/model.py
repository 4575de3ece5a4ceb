"""The report of a matrix: one cell per server, client, transport and revision."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from msgspec import Struct

from mcp_gen.compat.report.model import Level, Outcome, Side, Verdict

__all__ = [
    "BrokenRule",
    "Cell",
    "ConversationResult",
    "MatrixReport",
    "MatrixTransport",
    "PeerFacts",
    "matrix_totals",
]

MatrixTransport: TypeAlias = Literal["stdio", "http"]


class ConversationResult(Struct, frozen=True, kw_only=True):
    """One thing that a client did with a server.

    Args:
        name: Its name.
        verdict: What came of it.
        why: Why it failed or was not tested, in one line; empty if it passed.
    """

    name: str
    verdict: Verdict
    why: str = ""


class BrokenRule(Struct, frozen=True, kw_only=True):
    """One requirement that a side broke, whatever the client thinks of it.

    Args:
        side: The side that broke it.
        outcome: The requirement, and where it was broken.
    """

    side: Side
    outcome: Outcome


class Cell(Struct, frozen=True, kw_only=True):
    """Conversations of one client with one server at one revision over one transport.

    Args:
        server: Key of the server.
        client: Key of the client.
        transport: What carried the messages.
        revision: The revision that was wanted.
        verdict: `failed` if a conversation failed or a MUST was broken; `not tested` if there was
            no session at the revision.
        why: Why it was not tested, in one line; empty otherwise.
        conversations: What the client did, in order.
        broken: The requirements that either side broke.
        took_s: Time that the client ran, in seconds.
    """

    server: str
    client: str
    transport: MatrixTransport
    revision: str
    verdict: Verdict
    why: str = ""
    conversations: tuple[ConversationResult, ...] = ()
    broken: tuple[BrokenRule, ...] = ()
    took_s: float = 0.0

    def failed(self) -> tuple[ConversationResult, ...]:
        """Return the conversations that failed."""
        return tuple(one for one in self.conversations if one.verdict == "failed")

    def breaks(self, level: Level) -> tuple[BrokenRule, ...]:
        """Return the broken requirements of a level."""
        return tuple(one for one in self.broken if one.outcome.level == level)


class PeerFacts(Struct, frozen=True, kw_only=True):
    """One server or client of the matrix.

    Args:
        key: Its name in the file.
        title: Its name for people, with versions.
        missing: Why it could not be installed, in one line; empty if it could.
    """

    key: str
    title: str
    missing: str = ""


class MatrixReport(Struct, frozen=True, kw_only=True):
    """Everything that a matrix has found out.

    Args:
        source: The file of the matrix.
        version: Version of mcp_gen.
        took_s: Time of all runs, in seconds.
        servers: The servers, in the order of the file.
        clients: The clients, in the order of the file.
        revisions: The revisions, oldest first.
        transports: The transports.
        cells: One cell per combination.
    """

    source: str
    version: str
    took_s: float
    servers: tuple[PeerFacts, ...]
    clients: tuple[PeerFacts, ...]
    revisions: tuple[str, ...]
    transports: tuple[MatrixTransport, ...]
    cells: tuple[Cell, ...]

    def counts(self) -> Counter[Verdict]:
        """Return the number of cells of each verdict."""
        return Counter(one.verdict for one in self.cells)

    def row(self, server: str, client: str, transport: MatrixTransport) -> tuple[Cell, ...]:
        """Return the cells of a pair over one transport, oldest revision first."""
        wanted = (server, client, transport)
        return tuple(one for one in self.cells if (one.server, one.client, one.transport) == wanted)

    def title_of(self, key: str) -> str:
        """Return the name for people of a server or client."""
        return next(one.title for one in (*self.servers, *self.clients) if one.key == key)


def matrix_totals(report: MatrixReport) -> str:
    """Return one line: servers, clients, cells by verdict, time."""
    counts = report.counts()
    servers, clients, cells = len(report.servers), len(report.clients), len(report.cells)
    return (
        f"{servers} server{'s' * (servers != 1)}, {clients} client{'s' * (clients != 1)}, "
        f"{cells} cell{'s' * (cells != 1)}: {counts['passed']} passed, {counts['failed']} failed, "
        f"{counts['not tested']} not tested, in {report.took_s:.0f} s"
    )
