"""Rounds of a request: questions in its result, answers and state in the request made again."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.method_names import NoSuchMethod, python_name
from mcp_gen.compat.reference.call import Failure, NeedsInput, ReferenceCall, Unanswered
from mcp_gen.compat.reference.features import text_result
from mcp_gen.compat.reference.metadata import StatingServer

if TYPE_CHECKING:
    pass

__all__ = ["ServerRounds", "asks_again", "next_round"]

STATE_TTL_S = 600.0


def asks_again(result: Json | None) -> bool:
    """Return True for a result that asks for another round."""
    return result is not None and result.get("resultType") == "input_required"


def next_round(params: Json, result: Json | None, answers: Any) -> Json | None:
    """Return the params of the next round of a request; None if its result asks for none.

    Args:
        params: The params of the first round.
        result: The result of the last one.
        answers: Answers questions, by the Python names of their methods; a question that it does
            not answer, or answers with an error, is left out.
    """
    if result is None or not asks_again(result):
        return None
    made = dict(params)
    asked = result.get("inputRequests")
    if is_object(asked):
        made["inputResponses"] = _responses(asked, answers)
    if "requestState" in result:
        made["requestState"] = result["requestState"]
    return made


def _responses(asked: Json, answers: Any) -> Json:
    made: Json = {}
    for key, question in asked.items():
        make = getattr(answers, python_name(str(member(question, "method"))) or "", None)
        params = member(question, "params")
        try:
            if make is not None:
                made[key] = make(params if is_object(params) else {})
        except (Failure, Unanswered):
            continue
    return made


class ServerRounds(StatingServer):
    """Questions of a server, and its state that clients carry, with a signature.

    Args:
        revision: The revision.
    """

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._key = secrets.token_bytes(32)

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        """Return the result that asks questions."""
        asked = {"inputRequests": needed.requests, "requestState": self.request_state(call)}
        return self.signed({"resultType": "input_required", **asked})

    def request_state(self, call: ReferenceCall) -> str:
        """Return the state that the client sends back with its answers."""
        return self.sealed({"about": call.digest, "until": time.time() + STATE_TTL_S})

    def check_state(self, call: ReferenceCall) -> None:
        """Refuse a state that was not made for this request.

        Raises:
            Failure: it was not.
        """
        if "requestState" not in call.params:
            return
        held = self.unsealed(call.params["requestState"])
        if held is None or held["about"] != call.digest or held["until"] < time.time():
            raise Failure(self.profile.errors.invalid_params, "Invalid request state")

    def sealed(self, held: Json) -> str:
        """Return a value with a signature."""
        text = base64.urlsafe_b64encode(msgspec.json.encode(held)).decode()
        return f"{text}.{self._signature(text)}"

    def unsealed(self, state: str) -> Json | None:
        """Return the value in a state; None if the server did not sign it."""
        text, _, signature = state.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(text).encode()):
            return None
        held: Json = msgspec.json.decode(base64.urlsafe_b64decode(text))
        return held

    def _signature(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    # --- tools that ask ---

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        """Ask the user for a name."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        form = {"mode": "form", "message": "Your name?", "requestedSchema": schema}
        return await self.asked(call, "elicitation", "elicit", form)

    async def run_ask_model(self, call: ReferenceCall, arguments: Json) -> Json:
        """Ask the model for a text."""
        text = {"role": "user", "content": {"type": "text", "text": "Say something."}}
        return await self.asked(
            call, "sampling", "create_message", {"messages": [text], "maxTokens": 10}
        )

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        """Ask for the roots."""
        return await self.asked(call, "roots", "list_roots", {})

    async def asked(self, call: ReferenceCall, capability: str, name: str, params: Json) -> Json:
        """Ask the client if it has declared that it can be asked; return what it said as text."""
        if capability not in self.client_capabilities:
            return self.lacking(capability)
        try:
            answer = await call.ask(name, params)
        except NoSuchMethod as error:
            # A handshake that asks for a newer revision may declare what this one lacks.
            return {**text_result(str(error)), "isError": True}
        return text_result(msgspec.json.encode(answer).decode())
