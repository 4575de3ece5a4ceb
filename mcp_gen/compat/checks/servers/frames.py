"""Checks that each frame of a server has the form of its revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.frames import NOTHING, judge_frames

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript


@rule("base:frames:valid", unseen=NOTHING, is_general=True, is_last=True)
def the_server_sends_valid_frames(transcript: Transcript, found: Found) -> None:
    judge_frames(transcript, found, "server", unnamed=False)


@rule("base:frames:named", unseen=NOTHING, is_general=True, is_last=True)
def the_server_sends_no_other_members(transcript: Transcript, found: Found) -> None:
    judge_frames(transcript, found, "server", unnamed=True)
