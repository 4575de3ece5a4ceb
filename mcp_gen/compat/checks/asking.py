"""Answers of clients and users that do not say yes, and what calls make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.client import Answers

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import CalledTool, ServerTrial
    from mcp_wire.method import Method

__all__ = ["Declining", "Dismissing", "calls_that_ask", "judge_ending"]


class Declining(Answers):
    """Answers of a user who says no."""

    def elicit(self, params: Json) -> Json:
        """Decline."""
        return {"action": "decline"}


class Dismissing(Answers):
    """Answers of a user who closes what is shown."""

    def elicit(self, params: Json) -> Json:
        """Cancel."""
        return {"action": "cancel"}


def calls_that_ask(trial: ServerTrial, method: Method[Any, Any]) -> list[CalledTool]:
    """Return the calls that ask the client something.

    Raises:
        NotTested: there are none.
    """
    found = [
        one for one in trial.called if method.name in one.questions and not one.reply.timed_out
    ]
    if not found:
        raise NotTested(f"no call that was named asks with {method.name}")
    return found


async def judge_ending(
    trial: ServerTrial, method: Method[Any, Any], answers: Answers, expected: str
) -> None:
    """Call what asks something, and report it if it does not end, or if the connection does.

    Raises:
        NotTested: nothing asks it.
    """
    calls = calls_that_ask(trial, method)
    client = await trial.fresh(answers=answers)
    for one in calls:
        reply = await client.call_through("call_tool", one.call.params)
        if not reply.frame:
            came = "the connection ended" if reply.closing else "it was not answered"
            trial.broken(expected, came, *reply.events, where="$")
            return
