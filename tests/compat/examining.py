"""Examination of one peer of the zoo at one revision."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from mcp_gen.compat.checks.trial import ToolCall
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.wire.openers import MemoryOpener

__all__ = ["CALLS", "examined", "revisions_to_try"]

CALLS = (
    ToolCall("echo", {"text": "hello"}),
    ToolCall("count", {"steps": 3}),
    ToolCall("content", {}),
    ToolCall("structured", {}),
    ToolCall("fail", {}),
    ToolCall("ask_user", {}),
    ToolCall("ask_model", {}),
    ToolCall("ask_roots", {}),
)
"""Calls of the reference server's tools that end by themselves."""

TIMEOUT_S = 0.3
"""Longest wait for an answer: in one process, which is there at once, if it comes at all."""


def revisions_to_try(requirement: str) -> tuple[str, ...]:
    """Return one revision of a requirement, another for each requirement."""
    revisions = requirements()[requirement].revisions
    return (revisions[crc32(requirement.encode()) % len(revisions)],)


LONG_CALLS = {"cancellation": (ToolCall("wait", {}),)}
"""Calls that do not end by themselves, by the area of the requirements that need them."""


async def examined(peer: type[Any], revision: str, requirement: str = "") -> Report:
    """Return the report on a server of the zoo.

    Args:
        peer: Class of the server.
        revision: The revision.
        requirement: Requirement that it breaks or keeps, which may need a transport or a long call.
    """
    row = requirements().get(requirement)
    bound = row.transport if row else "any"
    opens = MemoryOpener(lambda spoken: DuplexServing(peer(revision)))
    try:
        return await examine_server(
            opens,
            target=peer.__name__,
            transport="memory" if bound == "any" else bound,
            revisions=(revision,),
            calls=(*CALLS, *LONG_CALLS.get(requirement.partition(":")[0], ())),
            timeout_s=TIMEOUT_S,
        )
    finally:
        await opens.aclose()
