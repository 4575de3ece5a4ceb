"""Checks of progress notifications and of their tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import member
from mcp_gen.compat.views.dialogue import AskedRequest, Dialogue, path_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial, ToolCall
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transcript, WireFrame

NO_PROGRESS = "no progress notification came"
NO_TOKEN = "the server asked for no progress of its questions"

Token: TypeAlias = tuple[str, Any]
"""A token with the name of its type: 1 and "1" are two."""


def reports(dialogue: Dialogue) -> Iterator[tuple[WireFrame, Token]]:
    """Yield the progress notifications of the server, with their tokens."""
    method = dialogue.profile.progress
    for frame in dialogue.transcript.frames("server"):
        if method is not None and frame.members.get("method") == method.name:
            token = member(frame.members, "params", "progressToken")
            if isinstance(token, (str, int)):
                yield frame, (type(token).__name__, token)


def token_of(dialogue: Dialogue, exchange: AskedRequest) -> Token | None:
    """Return the token that a request gives; None if it gives none."""
    token = exchange.meta.get(dialogue.profile.progress_token_key)
    return (type(token).__name__, token) if isinstance(token, (str, int)) else None


def by_token(dialogue: Dialogue) -> dict[Token, list[AskedRequest]]:
    """Return the requests of the client by the tokens that they give."""
    made: dict[Token, list[AskedRequest]] = {}
    for one in dialogue.by_client:
        token = token_of(dialogue, one)
        if token is not None:
            made.setdefault(token, []).append(one)
    return made


@rule("progress:token:kind", unseen=NO_TOKEN)
def a_token_is_a_string_or_an_integer(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    key = dialogue.profile.progress_token_key
    for one in dialogue.by_server:
        if key not in one.meta:
            continue
        found.saw()
        token = one.meta[key]
        if isinstance(token, bool) or not isinstance(token, (str, int)):
            found.broken(
                "a progress token is a string or an integer",
                f"it is {token!r}",
                one.asked.event,
                where=f"{path_of(one.asked)}.params._meta.{key}",
            )


@rule("progress:token:unique", unseen=NO_TOKEN)
def open_questions_have_different_tokens(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    last: dict[Token, AskedRequest] = {}
    for one in dialogue.by_server:
        token = token_of(dialogue, one)
        if token is None:
            continue
        found.saw()
        before = last.get(token)
        if before is not None and before.is_open_at(one.asked.event) and not before.cancelled:
            found.broken(
                "no other open request of the server has the same progress token",
                f"two have {token[1]!r}",
                before.asked.event,
                one.asked.event,
                where=f"{path_of(one.asked)}.params._meta",
            )
        last[token] = one


@rule("progress:increases", unseen=NO_PROGRESS)
def progress_increases(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    given = by_token(dialogue)
    last: dict[Token, tuple[WireFrame, float, int]] = {}
    for frame, token in reports(dialogue):
        value = member(frame.members, "params", "progress")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        found.saw()
        # A token may be given again once its request is answered: a new count begins.
        count = sum(one.asked.event.number < frame.event.number for one in given.get(token, ()))
        before = last.get(token)
        if before is not None and before[2] == count and value <= before[1]:
            found.broken(
                "each progress notification of a request has a greater value than the one before",
                f"{value} after {before[1]}",
                before[0].event,
                frame.event,
                where=f"{path_of(frame)}.params.progress",
            )
        last[token] = (frame, value, count)


@rule("progress:active-only", unseen=NO_PROGRESS)
def progress_has_a_token_of_the_client(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    given = by_token(dialogue)
    for frame, token in reports(dialogue):
        found.saw()
        asked = given.get(token, ())
        if not any(one.asked.event.number < frame.event.number for one in asked):
            found.broken(
                "progress is told for a token that a request has given",
                f"no request has given {token[1]!r}",
                frame.event,
                where=f"{path_of(frame)}.params.progressToken",
            )


@rule("progress:stops", unseen=NO_PROGRESS)
def no_progress_comes_after_the_answer(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    given = by_token(dialogue)
    for frame, token in reports(dialogue):
        found.saw()
        asked = [one for one in given.get(token, ()) if one.asked.event.number < frame.event.number]
        if not asked:
            continue
        last = asked[-1]
        answer = last.answer
        if (
            answer is not None
            and answer.event.number < frame.event.number
            # Two HTTP streams have no common order.
            and answer.event.exchange == frame.event.exchange
            and not last.starts_task
        ):
            found.broken(
                "no progress is told of a request that is answered",
                f"it came {frame.event.at_s - answer.event.at_s:.3f} s after the answer",
                last.asked.event,
                answer.event,
                frame.event,
                where=path_of(frame),
            )


@probe("progress:tracked")
async def tokens_of_two_calls_are_kept_apart(trial: ServerTrial) -> None:
    client = await trial.second()
    start = len(client.transcript.events)
    for number, one in enumerate(trial.called):
        if one.reply.timed_out or one.questions:
            continue
        alone = [await counted(client, one.call, [f"alone-{number}-{time}"]) for time in (1, 2)]
        if alone[0] != alone[1] or not alone[0][0]:
            continue
        together = await counted(client, one.call, [f"first-{number}", f"second-{number}"])
        if min(together) < alone[0][0] < max(together):
            trial.broken(
                "the progress of two calls that are open at once has the token of each",
                f"a call reports {alone[0][0]} times; of two at once, {together[0]} reports have "
                f"the token of the first, and {together[1]} that of the second",
                *(one for one in client.transcript.messages("server") if one.number >= start),
            )
        return
    raise NotTested("no call that was named reports progress each time")


async def counted(client: ReferenceClient, call: ToolCall, tokens: list[str]) -> list[int]:
    """Call a tool once with each token, all at once; return how often each was reported."""
    key = client.profile.progress_token_key
    await asyncio.gather(
        *(client.ask("call_tool", call.params, meta={key: token}) for token in tokens)
    )
    told = [token[1] for _, token in reports(client.transcript.derived(Dialogue))]
    return [told.count(token) for token in tokens]
