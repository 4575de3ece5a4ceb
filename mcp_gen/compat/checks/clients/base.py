"""Checks of the base protocol, of clients: frames, JSON-RPC, ids, answers, metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.frames import NOTHING, judge_frames

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript


@rule("base:client:frames:valid", unseen=NOTHING, is_general=True)
def the_client_sends_valid_frames(transcript: Transcript, found: Found) -> None:
    judge_frames(transcript, found, "client", unnamed=False)


@rule("base:client:frames:named", unseen=NOTHING, is_general=True)
def the_client_sends_no_other_members(transcript: Transcript, found: Found) -> None:
    judge_frames(transcript, found, "client", unnamed=True)
