"""Scenarios of rounds: results that ask, with strange states and without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.scenarios.asking.asking_server import NAME_FORM, AskingServer
from mcp_gen.compat.scenarios.scenario import stimulus

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import NeedsInput, ReferenceCall

__all__ = ["AsksNames"]

BEFORE, AFTER = ' {"step": 1}\t', " %2B\u00e9= "


class AsksNames(AskingServer):
    """Asks the user for a name in the answer to each request."""

    def questions(self) -> list[Json]:
        """Return the question, if the client has declared that it can be asked."""
        return [self.question_frame("elicit", NAME_FORM)]

    async def when_ready(self) -> None:
        """Ask nothing: there are rounds alone."""

    async def answer(self, call: ReferenceCall) -> Json:
        """Ask those who can be asked."""
        self.check_metadata(call)
        if "elicitation" not in self.client_capabilities:
            return await super(AskingServer, self).answer(call)
        return await super().answer(call)


@stimulus("mrtr:client:state")
class OddStates(AsksNames):
    """Has states that look like something else, with white space at the ends."""

    def sealed(self, held: Json) -> str:
        """Return a value with a signature, and things around it."""
        return f"{BEFORE}{super().sealed(held)}{AFTER}"

    def unsealed(self, state: str) -> Json | None:
        """Return the value in a state; None if it is not as it was."""
        if not (state.startswith(BEFORE) and state.endswith(AFTER)):
            return None
        return super().unsealed(state[len(BEFORE) : -len(AFTER)])


@stimulus("mrtr:client:no-state")
class Stateless(AsksNames):
    """Asks without a state."""

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        """Return the result that asks questions, and nothing else."""
        made = super().input_required(call, needed)
        return {key: value for key, value in made.items() if key != "requestState"}
