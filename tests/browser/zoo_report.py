"""Report on a server that breaks a few rules, for the picture in the guide."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.checks.trial import ToolCall
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.wire.openers import MemoryOpener
from mcp_gen.compat.zoo.zoo import zoo

__all__ = ["zoo_report"]


BROKEN = ("base:notifications:no-id", "tools:names:unique")


async def zoo_report() -> Report:
    """Return the report on the server, at every revision."""
    faulty: Any = type("FaultyServer", tuple(zoo()[id].breaks for id in BROKEN), {})
    opens = MemoryOpener(lambda revision: DuplexServing(faulty(revision)))
    try:
        return await examine_server(
            opens,
            target="server.py",
            transport="memory",
            calls=(ToolCall("count", {"steps": 2}),),
            timeout_s=1.0,
        )
    finally:
        await opens.aclose()
