"""Questions of a server in a transcript, with their answers: in requests, and in rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.views.conversation import conversation, id_key, is_answer, is_request
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript, WireEvent
    from mcp_wire.profile import Profile

__all__ = ["OF_ROUND", "Question", "Round", "carries_round", "questions", "rounds", "same_request"]

OF_ROUND = ("inputResponses", "requestState")
"""Members of params that belong to one round of a request."""


class Question(Struct, frozen=True, kw_only=True):
    """One question of the server.

    Args:
        name: The Python name of its method, such as `elicit`.
        params: Its params.
        declared: Capabilities that the client had declared when it was asked.
        event: The message with the question.
        answered: The message with the answer; None if there is none.
        result: The answer; None if it is an error, or if there is none.
        error: The error that is the answer; None if it is none.
        where: JSON path of the result in the message with the answer.
    """

    name: str
    params: Json
    declared: Json
    event: WireEvent
    answered: WireEvent | None = None
    result: Json | None = None
    error: Json | None = None
    where: str = "$.result"

    @property
    def events(self) -> tuple[WireEvent, ...]:
        """The question and its answer, as evidence."""
        return (self.event,) if self.answered is None else (self.event, self.answered)


class Round(Struct, frozen=True, kw_only=True):
    """One result that asks, and the request that was made again because of it.

    Args:
        request: The request that the result answers.
        event: The message with the result.
        result: The result.
        retried: The message with the next round; None if there is none.
        retry: The request of the next round; empty if there is none.
    """

    request: Json
    event: WireEvent
    result: Json
    retried: WireEvent | None = None
    retry: Json = {}

    @property
    def asked(self) -> Json:
        """The questions by their keys; empty if there are none."""
        found = self.result.get("inputRequests")
        return found if is_object(found) else {}

    @property
    def answers(self) -> Json:
        """The answers of the next round by their keys; empty if there are none."""
        found = member(self.retry, "params", "inputResponses")
        return found if is_object(found) else {}


def questions(transcript: Transcript, name: str) -> list[Question]:
    """Return the questions of the server that have a method, by its Python name."""
    profile = profile_of(transcript.revision)
    if profile.asks_client == "server_request":
        found = transcript.derived(_asked_in_requests)
    else:
        found = transcript.derived(_asked_in_results)
    return [one for one in found if one.name == name]


def _asked_in_requests(transcript: Transcript) -> list[Question]:
    profile = profile_of(transcript.revision)
    found: list[Question] = []
    waiting: dict[str, int] = {}
    declared: Json = {}
    for event, frame in conversation(transcript):
        if event.sender == "client" and is_request(frame):
            if profile.handshake and frame["method"] == profile.handshake.name:
                declared = _object(member(frame, "params", "capabilities"))
        elif event.sender == "server" and is_request(frame):
            waiting[id_key(frame["id"])] = len(found)
            name = python_name(str(frame["method"])) or ""
            params = _object(frame.get("params"))
            found.append(Question(name=name, params=params, declared=declared, event=event))
        elif event.sender == "client" and is_answer(frame):
            number = waiting.pop(id_key(frame.get("id")), None)
            if number is not None:
                result, error = frame.get("result"), frame.get("error")
                found[number] = msgspec.structs.replace(
                    found[number],
                    answered=event,
                    result=result if is_object(result) else None,
                    error=error if is_object(error) else None,
                )
    return found


def _asked_in_results(transcript: Transcript) -> list[Question]:
    profile = profile_of(transcript.revision)
    found: list[Question] = []
    for one in rounds(transcript):
        for key, asked in one.asked.items():
            answer = one.answers.get(key)
            question = Question(
                name=python_name(str(member(asked, "method"))) or "",
                params=_object(member(asked, "params")),
                declared=_declared_in(profile, one.request),
                event=one.event,
                answered=one.retried if is_object(answer) else None,
                result=answer if is_object(answer) else None,
                where=f"$.params.inputResponses.{key}",
            )
            found.append(question)
    return found


def _declared_in(profile: Profile, request: Json) -> Json:
    key = profile.client_capabilities_key or ""
    return _object(member(request, "params", "_meta", key))


def rounds(transcript: Transcript) -> list[Round]:
    """Return the results that ask, each with the request that was made again because of it."""
    return transcript.derived(_rounds)


def _rounds(transcript: Transcript) -> list[Round]:
    found: list[Round] = []
    waiting: dict[str, Json] = {}
    for event, frame in conversation(transcript):
        if event.sender == "client" and is_request(frame):
            waiting[id_key(frame["id"])] = frame
            number = _round_of(frame, found) if carries_round(frame) else None
            if number is not None:
                found[number] = msgspec.structs.replace(found[number], retried=event, retry=frame)
        elif event.sender == "server" and is_answer(frame):
            request = waiting.pop(id_key(frame.get("id")), None)
            result = frame.get("result")
            if request and is_object(result) and result.get("resultType") == "input_required":
                found.append(Round(request=request, event=event, result=result))
    return found


def _round_of(frame: Json, found: list[Round]) -> int | None:
    """Return the number of the round that a request goes on with; None if there is none."""
    state = member(frame, "params", "requestState")
    opened = [
        number
        for number, one in enumerate(found)
        if one.retried is None and same_request(one.request, frame)
    ]
    exact = [number for number in opened if found[number].result.get("requestState") == state]
    return next(iter(exact or opened), None)


def carries_round(frame: Json) -> bool:
    """Return True for a request with answers or state of rounds; updates of tasks have others."""
    params = frame.get("params")
    if python_name(str(frame.get("method"))) == "update_task":
        return False
    return is_object(params) and any(name in params for name in OF_ROUND)


def same_request(one: Json, other: Json) -> bool:
    """Return True if two requests are rounds of one."""
    return one.get("method") == other.get("method") and _kept(one) == _kept(other)


def _kept(frame: Json) -> Json:
    params = _object(frame.get("params"))
    return {key: value for key, value in params.items() if key not in (*OF_ROUND, "_meta")}


def _object(value: Any) -> Json:
    return value if is_object(value) else {}
