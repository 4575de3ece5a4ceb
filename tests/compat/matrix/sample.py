"""Report of a matrix with every verdict, and with hostile texts of peers."""

from __future__ import annotations

from mcp_gen.compat.matrix.model import (
    BrokenRule,
    Cell,
    ConversationResult,
    MatrixReport,
    PeerFacts,
)
from mcp_gen.compat.report.model import Finding, Outcome, Verdict

HOSTILE = "<script>alert(1)</script> | `x` @all \x1b[31m"
OLD, NEW = "2025-11-25", "2026-07-28"


def _cell(client: str, revision: str, verdict: Verdict, why: str = "") -> Cell:
    failed = (ConversationResult(name="call", verdict="failed", why=HOSTILE),)
    return Cell(
        server="s",
        client=client,
        transport="stdio",
        revision=revision,
        verdict=verdict,
        why=why,
        conversations=failed if verdict == "failed" else (),
    )


def sample_matrix() -> MatrixReport:
    outcome = Outcome(
        requirement="base:frames:valid",
        level="must",
        says="Frames are valid.",
        revision=NEW,
        link="https://example.org/specification",
        verdict="failed",
        findings=(Finding(expected="a valid message", came=HOSTILE),),
    )
    broken = BrokenRule(side="server", outcome=outcome)
    cells = (
        _cell("a", OLD, "passed"),
        _cell("a", NEW, "failed"),
        _cell("b", OLD, "not tested", "it offers nothing"),
        Cell(
            server="s",
            client="b",
            transport="stdio",
            revision=NEW,
            verdict="failed",
            broken=(broken,),
        ),
    )
    return MatrixReport(
        source="matrix.toml",
        version="1",
        took_s=2.0,
        servers=(PeerFacts(key="s", title=f"S {HOSTILE}"),),
        clients=(PeerFacts(key="a", title="A"), PeerFacts(key="b", title="B", missing="no node")),
        revisions=(OLD, NEW),
        transports=("stdio",),
        cells=cells,
    )
