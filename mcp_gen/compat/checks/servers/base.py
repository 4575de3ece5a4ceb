"""Checks of the base protocol: JSON-RPC, ids, errors, metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript


@rule("base:notifications:no-id", unseen="no notification came")
def notifications_have_no_id(transcript: Transcript, found: Found) -> None:
    for event, frame in transcript.frames("server"):
        method = frame.get("method")
        if isinstance(method, str) and method.startswith("notifications/"):
            found.saw()
            if "id" in frame:
                found.broken(
                    "a notification has no id", f"it has {frame['id']!r}", event, where="$.id"
                )
