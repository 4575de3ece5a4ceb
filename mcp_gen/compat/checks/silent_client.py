"""Calls whose questions are not answered: the server waits, and the call stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.json_values import Json, entries, member
from mcp_gen.compat.reference.call import Unanswered
from mcp_gen.compat.reference.client import Answers, answer_in

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ToolCall
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import WireEvent

__all__ = ["SilentClient", "silent"]


class SilentClient(Answers):
    """Answers no question but pings."""

    def list_roots(self, params: Json) -> Json:
        """Answer nothing."""
        raise Unanswered

    def create_message(self, params: Json) -> Json:
        """Answer nothing."""
        raise Unanswered

    def elicit(self, params: Json) -> Json:
        """Answer nothing."""
        raise Unanswered


async def silent(
    client: ReferenceClient, call: ToolCall, *, within_s: float | None = None, token: str = "silent"
) -> tuple[WireEvent, Json | None]:
    """Send a call, and wait for its answer or for the first question of the server.

    Args:
        client: The client, which answers nothing.
        call: The call.
        within_s: Longest wait, in seconds; None: the `timeout_s` of the client.
        token: Progress token of the call.

    Returns:
        The call, and the question; None for none.
    """
    meta = {client.profile.progress_token_key: token}
    frame = client.request_frame(client.wire_name("call_tool"), call.params, meta=meta)
    asked = await client.send(frame)

    def ends(event: WireEvent) -> bool:
        return event.sender == "server" and (
            event.kind == "closed"
            or answer_in(event, frame["id"]) is not None
            or question_in(event) is not None
        )

    wait_s = client.timeout_s if within_s is None else within_s
    event = await client.transcript.first(ends, wait_s, start=asked.number)
    return asked, None if event is None else question_in(event)


def question_in(event: WireEvent) -> Json | None:
    """Return the request in a message of the server; None if there is none."""
    if event.kind != "message" or event.sender != "server":
        return None
    for frame in entries(event.message):
        if "id" in frame and member(frame, "method") is not None:
            return frame
    return None
