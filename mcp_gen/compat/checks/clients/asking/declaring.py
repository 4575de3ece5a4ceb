"""Rule that checks of questions share: who answers a question has declared that it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.clients.asking.questions import questions
from mcp_gen.compat.method_names import method_of
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript

__all__ = ["declares"]


def declares(transcript: Transcript, found: Found, name: str, capability: str) -> None:
    """Report questions that a client has answered without the capability for them.

    Args:
        transcript: The transcript.
        found: Takes the findings.
        name: The Python name of the question, such as `elicit`.
        capability: The capability, such as `elicitation`.
    """
    for one in questions(transcript, name):
        if one.answered is None:
            continue
        found.saw()
        if one.result is not None and capability not in one.declared:
            wire_name = method_of(profile_of(transcript.revision), name).name
            expected = f"a client that answers {wire_name} declares `{capability}`"
            found.broken(expected, "it has not", *one.events)
