"""Server that asks its client as soon as it can, whatever the client has declared."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mcp_gen.compat.method_names import method_of, python_name
from mcp_gen.compat.reference.call import Failure, NeedsInput
from mcp_gen.compat.scenarios.ready import ReadyServer

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall

__all__ = ["NAME_FORM", "SAY_SOMETHING", "AskingServer"]

ASKING = ("call_tool", "get_prompt", "read_resource")
"""Requests that may be answered with questions, by Python name."""
NAME_FORM: Json = {
    "mode": "form",
    "message": "Your name?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    },
}
"""Params of a question for a name."""
SAY_SOMETHING: Json = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say something."}}],
    "maxTokens": 10,
}
"""Params of a question for the model."""


class AskingServer(ReadyServer):
    """Asks its questions one by one after the handshake; else in the answer to each request."""

    def questions(self) -> list[Json]:
        """Return the questions: requests without an id."""
        raise NotImplementedError

    def question(self, name: str, params: Json | None = None) -> Json:
        """Return a question with params as they are.

        Args:
            name: The Python name of the method, such as `elicit`.
            params: The params; None for none.
        """
        frame: Json = {"method": method_of(self.profile, name).name}
        return frame if params is None else {**frame, "params": params}

    async def when_ready(self) -> None:
        """Ask the questions, where the server sends requests."""
        if self.profile.asks_client == "server_request":
            for question in self.questions():
                with contextlib.suppress(Failure):
                    await self.ask(question)

    async def answer(self, call: ReferenceCall) -> Json:
        """Ask the questions in the answer, where the server sends no requests."""
        if (
            self.profile.asks_client != "server_request"
            and python_name(call.method) in ASKING
            and "inputResponses" not in call.params
        ):
            self.check_metadata(call)
            raise NeedsInput({f"q-{n}": one for n, one in enumerate(self.questions())})
        return await super().answer(call)
