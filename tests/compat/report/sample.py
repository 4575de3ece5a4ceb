"""A small report with one check of each verdict."""

from __future__ import annotations

from mcp_gen.compat.report.model import Evidence, Finding, Offer, Opening, Outcome, Report

__all__ = ["FINDING", "REVISIONS", "sample_report"]

REVISIONS = ("2025-06-18", "2025-11-25")

FINDING = Finding(
    expected="each name is that of one tool",
    came="2 tools are called 'add'",
    where="$.result.tools[1].name",
    evidence=(
        Evidence(at_s=0.25, sender="client", kind="message", text='{"id":2}'),
        Evidence(at_s=0.5, sender="server", kind="message", text='{"id":2,"result":{"tools":[]}}'),
    ),
)


def sample_report() -> Report:
    """Return the report: unique names fail twice, icons at one revision, the rest is as named."""
    return Report(
        target="server.py",
        side="server",
        transport="stdio",
        version="1.0",
        took_s=2.0,
        name="shelf 1.0",
        openings=(Opening(asked="handshake without a version", answer="refused: -32602 no"),),
        listings=(Offer(revision=REVISIONS[1], capabilities=("tools",), items={"tools": ("a",)}),),
        outcomes=(
            *(outcome("tools:names:unique", one, findings=(FINDING,)) for one in REVISIONS),
            outcome("tools:icons", REVISIONS[1], level="should", findings=(FINDING,)),
            *(outcome("base:answers:id", one) for one in REVISIONS),
            *(outcome("base:progress", one, why="no progress came") for one in REVISIONS),
        ),
    )


def outcome(
    id: str,
    revision: str,
    *,
    level: str = "must",
    findings: tuple[Finding, ...] = (),
    why: str = "",
) -> Outcome:
    return Outcome(
        requirement=id,
        level="must" if level == "must" else "should",
        says=f"It says what {id} demands.",
        revision=revision,
        link=f"https://modelcontextprotocol.io/specification/{revision}",
        verdict="failed" if findings else "not tested" if why else "passed",
        why=why,
        findings=findings,
    )
