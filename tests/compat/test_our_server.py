"""Our own server breaks no rule, at any revision: in this process, and over stdio."""

from __future__ import annotations

from examples.everything_server import server as everything
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.wire.openers import MemoryOpener
from tests.compat.test_our_server_over_http import CALLS
from tests.support.frames import every_revision


def told(report: Report) -> dict[str, list[str]]:
    """Return the findings of a report in short."""
    return {
        outcome.requirement: [
            f"{one.expected}: {one.came} {one.where} {one.evidence[-1:]}"
            for one in outcome.findings
        ]
        for outcome in report.failed()
    }


@every_revision
async def test_our_server_breaks_no_rule_in_this_process(revision: str) -> None:
    opens = MemoryOpener(lambda spoken: everything)
    report = await examine_server(
        opens, target="everything", transport="memory", revisions=(revision,), calls=CALLS
    )
    await opens.aclose()
    assert told(report) == {}
    assert report.openings[0].agreed == revision
