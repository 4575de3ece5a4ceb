"""Checks of clients: rounds of a request, with answers and state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.clients.asking.questions import (
    OF_ROUND,
    carries_round,
    rounds,
    same_request,
)
from mcp_gen.compat.json_values import member
from mcp_gen.compat.views.conversation import conversation, id_key, is_request

if TYPE_CHECKING:
    from mcp_gen.compat.checks.clients.asking.questions import Round
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript, WireEvent

NO_ROUND = "the client made no request again that was answered with questions"


@rule("mrtr:client:answers", unseen=NO_ROUND)
def questions_are_answered_before_the_next_round(transcript: Transcript, found: Found) -> None:
    for one, retried in _retried(transcript):
        if not one.asked:
            continue
        found.saw()
        missing = sorted(one.asked.keys() - one.answers.keys())
        if missing:
            expected = "a request is made again with answers to all questions"
            came = f"there is none to {missing[0]!r}"
            found.broken(expected, came, one.event, retried, where="$.params.inputResponses")


@rule("mrtr:client:state", unseen=NO_ROUND)
def the_state_goes_back_as_it_came(transcript: Transcript, found: Found) -> None:
    for one, retried in _retried(transcript):
        if "requestState" not in one.result:
            continue
        found.saw()
        if member(one.retry, "params", "requestState") != one.result["requestState"]:
            expected = "the next round has the state that came"
            came = "it has another" if _has_state(one) else "it has none"
            found.broken(expected, came, one.event, retried, where="$.params.requestState")


@rule("mrtr:client:no-state", unseen="no questions came without a state, or they were not answered")
def no_state_is_made_up(transcript: Transcript, found: Found) -> None:
    for one, retried in _retried(transcript):
        if "requestState" in one.result:
            continue
        found.saw()
        if _has_state(one):
            expected = "where no state came, the next round has none"
            where = "$.params.requestState"
            found.broken(expected, "it has one", one.event, retried, where=where)


@rule("mrtr:client:id", unseen=NO_ROUND)
def each_round_has_an_id_of_its_own(transcript: Transcript, found: Found) -> None:
    for one, retried in _retried(transcript):
        found.saw()
        if id_key(one.request["id"]) == id_key(one.retry["id"]):
            expected = "the next round has an id of its own"
            came = f"it has {id_key(one.retry['id'])}, too"
            found.broken(expected, came, one.event, retried, where="$.id")


@rule("mrtr:client:own-request", unseen=NO_ROUND)
def answers_and_state_belong_to_one_request(transcript: Transcript, found: Found) -> None:
    asked = rounds(transcript)
    for event, frame in conversation(transcript):
        if event.sender != "client" or not is_request(frame) or not carries_round(frame):
            continue
        found.saw()
        before = [one for one in asked if one.event.number < event.number]
        if not any(same_request(one.request, frame) for one in before):
            expected = "answers and state are sent with the request that was asked about"
            came = f"{frame['method']} has {' and '.join(_of_round(frame))}"
            found.broken(expected, came, event, where="$.params")


def _of_round(frame: dict[str, object]) -> list[str]:
    return [name for name in OF_ROUND if member(frame, "params", name) is not None]


def _has_state(one: Round) -> bool:
    return "requestState" in (one.retry.get("params") or {})


def _retried(transcript: Transcript) -> list[tuple[Round, WireEvent]]:
    return [(one, one.retried) for one in rounds(transcript) if one.retried is not None]
