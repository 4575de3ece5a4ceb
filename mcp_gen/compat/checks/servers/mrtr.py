"""Checks of multi round-trip requests: questions in results, and states that clients carry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.rounds import asks_again
from mcp_gen.compat.reference.shaping import wire_type
from mcp_gen.compat.views.dialogue import AskedRequest, Dialogue, path_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import CalledTool, ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import Transcript, WireFrame

NO_ROUND = "no request was answered with questions"
ABANDONED = 20
"""Number of calls that are left alone after their first round."""
GARBAGE = ("", "x", "null", "{}", "\u2603\u0000", "../../state", "QUFB.QUFB.QUFB", "A" * 10_000)
"""States that no server has made."""


# --- rules ---


def rounds(dialogue: Dialogue) -> Iterator[tuple[AskedRequest, WireFrame]]:
    """Yield the requests that are answered with questions or a state, and these answers."""
    for one in dialogue.by_client:
        if one.answer is not None and asks_again(one.result):
            yield one, one.answer


@rule("mrtr:requests", unseen="nothing was answered that may not be answered with questions")
def questions_answer_few_requests(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    kind = wire_type(dialogue.profile, "InputRequiredResult")
    for one in dialogue.by_client:
        method = dialogue.profile.methods.get(one.asked.members["method"])
        if one.answer is None or method is None or kind in method.results:
            continue
        found.saw()
        if asks_again(one.result):
            found.broken(
                "the request is not answered with questions",
                f"{method.name} was answered with some",
                one.asked.event,
                one.answer.event,
                where=f"{path_of(one.answer)}.result",
            )


@rule("mrtr:keys-unique", unseen=NO_ROUND)
def questions_have_different_keys(transcript: Transcript, found: Found) -> None:
    for _, answer in rounds(transcript.derived(Dialogue)):
        if "inputRequests" not in answer.members["result"]:
            continue
        found.saw()
        read = json.loads(answer.event.data, object_pairs_hook=_Pairs)
        asked = read.get("result", {}).get("inputRequests")
        if isinstance(asked, _Pairs) and asked.twice:
            found.broken(
                "the questions of a result have different keys",
                f"two have the key {asked.twice[0]!r}",
                answer.event,
                where="$.result.inputRequests",
            )


class _Pairs(dict[str, Any]):
    """JSON object that knows which of its members came twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.twice = [name for name in self if names.count(name) > 1]


@rule("mrtr:kinds", unseen=NO_ROUND)
def questions_are_of_three_kinds(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    profile = dialogue.profile
    kinds = [
        one.name for one in (profile.elicit, profile.create_message, profile.list_roots) if one
    ]
    for _, answer in rounds(dialogue):
        asked = answer.members["result"].get("inputRequests")
        for key, question in asked.items() if is_object(asked) else ():
            found.saw()
            if member(question, "method") not in kinds:
                found.broken(
                    f"the method of a question is {', '.join(kinds)}",
                    f"it is {member(question, 'method')!r}",
                    answer.event,
                    where=f"{path_of(answer)}.result.inputRequests.{key}.method",
                )


@rule("mrtr:not-empty", unseen=NO_ROUND)
def a_round_has_questions_or_a_state(transcript: Transcript, found: Found) -> None:
    for one, answer in rounds(transcript.derived(Dialogue)):
        found.saw()
        if not one.result.keys() & {"inputRequests", "requestState"}:
            found.broken(
                "a result that asks for another round has `inputRequests` or `requestState`",
                "it has neither",
                answer.event,
                where=f"{path_of(answer)}.result",
            )


@rule("mrtr:declared-only", unseen="no call was answered")
def only_what_is_declared_is_asked(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    profile = dialogue.profile
    if any(one.answer for one in dialogue.by_client):
        found.saw()
    # Roots, and the parts of these two, have rules of their own.
    needs = {
        method.name: capability
        for method, capability in (
            (profile.elicit, "elicitation"),
            (profile.create_message, "sampling"),
        )
        if method is not None
    }
    for one in dialogue.questions():
        capability = needs.get(str(one.asked.get("method")))
        if capability is not None and capability not in one.capabilities:
            found.broken(
                "a client is asked only what it has declared",
                f"it has not declared `{capability}`",
                one.event,
                where=one.where,
            )


# --- probes ---


class FirstRound(NamedTuple):
    """The first round of a call, which was answered with questions or a state.

    Args:
        called: The call, as it went in the exercise.
        reply: The reply.
        again: Params of the next round, with answers of a user who says yes.
    """

    called: CalledTool
    reply: ServerReply
    again: Json


async def begin(client: ReferenceClient, called: CalledTool) -> FirstRound | None:
    """Call a tool, and return what came; None if it was not answered with a round."""
    params = called.call.params
    reply = await client.ask("call_tool", params)
    again = client.next_round(params, reply)
    return None if again is None else FirstRound(called, reply, again)


def in_rounds(trial: ServerTrial) -> list[CalledTool]:
    """Return the calls that took more than one round, and ended well.

    Raises:
        NotTested: there are none.
    """
    found = [one for one in trial.called if one.rounds > 1 and is_success(one.reply)]
    if not found:
        raise NotTested("no call that was named takes several rounds")
    return found


def is_success(reply: ServerReply) -> bool:
    """Return True for a complete result that is no error of the tool."""
    result = reply.result
    return result is not None and not asks_again(result) and result.get("isError") is not True


def outcome_of(reply: ServerReply) -> Json:
    """Return a result without its metadata."""
    return {key: one for key, one in (reply.result or {}).items() if key != "_meta"}


async def states(client: ReferenceClient, calls: list[CalledTool]) -> list[FirstRound]:
    """Return the first rounds of the calls that give the client a state.

    Raises:
        NotTested: there are none.
    """
    tried = [await begin(client, one) for one in calls]
    found = [one for one in tried if one and isinstance(one.again.get("requestState"), str)]
    if not found:
        raise NotTested("no call that was named gives the client a state")
    return found


@probe("mrtr:state:integrity")
async def a_changed_state_is_refused(trial: ServerTrial) -> None:
    calls = in_rounds(trial)
    client = await trial.fresh()
    refused = False
    for honest in await states(client, calls):
        called = honest.called
        one = await client.ask("call_tool", honest.again)
        if not is_success(one) or outcome_of(one) != outcome_of(called.reply):
            continue
        for part in (0.25, 0.5, 0.75, 1.0):
            first = await begin(client, called)
            if first is None:
                continue
            state = changed(first.again["requestState"], part)
            reply = await client.ask("call_tool", {**first.again, "requestState": state})
            refused = refused or not is_success(reply)
            if is_success(reply) and outcome_of(reply) != outcome_of(one):
                trial.broken(
                    "a state that was changed on its way is refused",
                    "the call ended, in another way than with the right state",
                    *first.reply.events,
                    *reply.events,
                    where="$.result",
                )
                return
    if not refused:
        raise NotTested("a changed state was taken, and had no effect that can be seen")


def changed(state: str, part: float) -> str:
    """Return a state with one letter changed, at a part of its length."""
    if not state:
        return "A"
    place = max(0, min(len(state) - 1, int(len(state) * part)))
    letter = "A" if state[place] != "A" else "B"
    return f"{state[:place]}{letter}{state[place + 1 :]}"


@probe("mrtr:state:untrusted")
async def any_state_is_answered(trial: ServerTrial) -> None:
    calls = in_rounds(trial)
    client = await trial.fresh()
    first = (await states(client, calls))[0]
    for state in GARBAGE:
        reply = await client.ask("call_tool", {**first.again, "requestState": state})
        if not reply.frame:
            trial.broken(
                "a state that the server has not made is refused",
                "the connection ended" if reply.closing else "the call was not answered",
                *reply.events,
                where="$.params.requestState",
            )
            return


@probe("mrtr:state:bound")
async def a_state_belongs_to_one_request(trial: ServerTrial) -> None:
    calls = in_rounds(trial)
    client = await trial.fresh()
    found = await states(client, calls)
    if len(found) < 2:
        raise NotTested("it needs two named calls that give the client a state")
    for first, other in zip(found, [*found[1:], found[0]], strict=True):
        params = {**other.again, "requestState": first.again["requestState"]}
        if params == first.again:
            continue
        reply = await client.ask("call_tool", params)
        if is_success(reply):
            trial.broken(
                "a state that was made for one request is refused with another one",
                "the call ended",
                *first.reply.events,
                *reply.events,
                where="$.result",
            )
            return


@probe("mrtr:abandoned")
async def calls_may_be_left_alone(trial: ServerTrial) -> None:
    called = in_rounds(trial)[0]
    client = await trial.fresh()
    for _ in range(ABANDONED):
        trial.answered(await client.ask("call_tool", called.call.params))
    reply = await client.call_through("call_tool", called.call.params)
    if not is_success(reply):
        trial.broken(
            "calls whose questions are not answered leave nothing behind",
            f"after {ABANDONED} of them a call did not end as before",
            *reply.events,
            where="$",
        )


# --- what answers are worth ---


@probe("mrtr:responses:invalid")
async def answers_of_another_kind_are_refused(trial: ServerTrial) -> None:
    calls = in_rounds(trial)
    client = await trial.fresh()
    for called in calls:
        first = await begin(client, called)
        asked = first and member(first.reply.result, "inputRequests")
        if first is None or not is_object(asked) or not asked:
            continue
        for responses in ("nonsense", *wrong_answers(trial, asked)):
            reply = await client.ask("call_tool", {**first.again, "inputResponses": responses})
            trial.answered(reply)
            if is_success(reply):
                trial.broken(
                    "answers that are not what was asked for are refused, or asked for again",
                    "the call ended",
                    *first.reply.events,
                    *reply.events,
                    where="$.result",
                )
                return


def wrong_answers(trial: ServerTrial, asked: Json) -> list[Json]:
    """Return responses that answer none of the questions."""
    roots = trial.profile.list_roots
    no: Json = {"action": "decline"}
    none: Json = {"roots": []}
    other: Json = {
        key: no if roots and member(one, "method") == roots.name else none
        for key, one in asked.items()
    }
    nonsense: Json = {key: {"nonsense": True} for key in asked}
    return [dict.fromkeys(asked, "nonsense"), nonsense, other]


@probe("mrtr:responses:extra")
async def answers_that_nobody_asked_for_are_ignored(trial: ServerTrial) -> None:
    calls = in_rounds(trial)
    client = await trial.fresh()
    for called in calls:
        first = await begin(client, called)
        if first is None or not is_object(first.again.get("inputResponses")):
            continue
        responses = {**first.again["inputResponses"], "nobody asked": {"action": "decline"}}
        reply = await client.ask("call_tool", {**first.again, "inputResponses": responses})
        if trial.answered(reply).error is not None:
            trial.broken(
                "an answer that nobody asked for is ignored",
                f"error {reply.code} came",
                *first.reply.events,
                *reply.events,
                where="$.error",
            )
            return


@probe("mrtr:responses:missing")
async def missing_answers_are_asked_for_again(trial: ServerTrial) -> None:
    calls = in_rounds(trial)
    client = await trial.fresh()
    for called in calls:
        first = await begin(client, called)
        if first is None or not first.again.get("inputResponses"):
            continue
        reply = await client.ask("call_tool", {**first.again, "inputResponses": {}})
        if trial.answered(reply).error is not None:
            trial.broken(
                "an answer that is missing is asked for again",
                f"error {reply.code} came",
                *first.reply.events,
                *reply.events,
                where="$.error",
            )
            return
