"""Checks of clients over stdio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import judged, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.frames import NOTHING
from mcp_gen.compat.views.lines import broken_lines, split_messages

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript


@rule("stdio:client:lines", unseen=NOTHING)
def a_message_is_one_line(transcript: Transcript, found: Found) -> None:
    for _ in transcript.messages("client"):
        found.saw()
        break
    for lines in split_messages(transcript):
        found.broken("a message is one line", f"it has {len(lines)} lines", *lines[:10])


@rule("stdio:client:stdin-clean", unseen=NOTHING)
def nothing_but_messages_is_written(transcript: Transcript, found: Found) -> None:
    for _ in transcript.messages("client"):
        found.saw()
        break
    explained = {event.number for lines in split_messages(transcript) for event in lines}
    for event in broken_lines(transcript):
        if event.number not in explained:
            found.broken("every line on stdin is a message", "a line that is no JSON", event)


def the_client_speaks_to_a_command(run: ClientRun, found: Found) -> None:
    if not run.transcripts:
        raise NotTested("the client did not start the command")
    found.saw()
    if not any(True for one in run.transcripts for _ in one.messages("client")):
        found.broken("a client speaks to the command that it starts", f"nothing came; {run.ended}")


judged("stdio:client:supported", the_client_speaks_to_a_command, at_opening=True)
