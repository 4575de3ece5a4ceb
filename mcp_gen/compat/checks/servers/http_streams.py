"""Checks of streams that answer a POST: what comes on them, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import answers_in, exchanges, http_of
from mcp_gen.compat.json_values import member
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.http_exchanges import PeerExchange
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transcript, WireEvent

NO_STREAM = "nothing was answered with a stream"
NO_CALLS = "no tool call was named"


def streams(transcript: Transcript) -> list[PeerExchange]:
    """Return the exchanges whose requests were answered with a stream."""
    return [
        one
        for one in exchanges(transcript)
        if one.method == "POST" and one.is_stream and one.requests
    ]


def key(id: object) -> str:
    """Return an id as JSON: 1 and "1" identify two requests."""
    return msgspec.json.encode(id).decode()


def unanswered(
    transcript: Transcript, one: PeerExchange
) -> Iterator[tuple[Json, WireEvent | None]]:
    """Yield the requests whose stream ended without the answer, and what had it elsewhere."""
    profile = profile_of(transcript.revision)
    if one.ended is None or not one.is_over:
        return
    here, anywhere = answers_in(one), dict[str, "WireEvent"]()
    for other in exchanges(transcript):
        anywhere |= answers_in(other)
        # The end of a session ends its streams.
        if other.method == "DELETE" and other.request.number < one.ended.number:
            return
    cancelled = {
        key(member(frame, "params", "requestId"))
        for _, frame in transcript.frames("client")
        if profile.cancelled is not None and frame.get("method") == profile.cancelled.name
    }
    for request in one.requests:
        id = key(request["id"])
        if id not in here and id not in cancelled:
            yield request, anywhere.get(id)


@rule("http:stream:answers", unseen=NO_STREAM)
def a_stream_brings_the_answer(transcript: Transcript, found: Found) -> None:
    last_ids = {
        one.request.headers["last-event-id"] for one in exchanges(transcript) if one.resumes
    }
    for one in streams(transcript):
        found.saw()
        ids = [id for _, id in one.ids()]
        if ids and ids[-1] not in last_ids:
            continue  # The rest of it was not asked for.
        for request, elsewhere in unanswered(transcript, one):
            if elsewhere is None and one.ended is not None:
                expected = f"the answer to request {request['id']!r} before the end of its stream"
                found.broken(expected, "the stream ended", *one.evidence, one.ended)


@rule("http:stream:not-before-answer", unseen=NO_STREAM)
def a_stream_is_not_closed_before_the_answer(transcript: Transcript, found: Found) -> None:
    for one in streams(transcript):
        found.saw()
        for _, elsewhere in unanswered(transcript, one):
            if elsewhere is None or one.ended is None or elsewhere.number < one.ended.number:
                continue
            found.broken(
                "a stream that is open until the answer",
                "it ended, and the answer came on another one",
                *one.evidence,
                elsewhere,
                one.ended,
            )


@rule("http:retry", unseen="no stream ended before its answer")
def the_client_is_told_when_to_come_back(transcript: Transcript, found: Found) -> None:
    for one in streams(transcript):
        for _, elsewhere in unanswered(transcript, one):
            if elsewhere is None or one.ended is None or elsewhere.number < one.ended.number:
                continue
            found.saw()
            if not any("retry: " in event.about for event in one.events):
                expected = "an event with `retry` before the server hangs up"
                found.broken(expected, "it hung up without", *one.evidence, one.ended)


@rule("http:priming", unseen="no stream had events with ids")
def a_stream_begins_with_an_event_to_come_back_to(transcript: Transcript, found: Found) -> None:
    for one in streams(transcript):
        if not any(True for _ in one.ids()):
            continue  # It cannot be come back to, which is allowed.
        found.saw()
        first = one.events[0]
        if first.kind != "sse" or first.data or "id: " not in first.about:
            expected = "an event with an id and without data, before all others"
            found.broken(expected, "another event", *one.evidence[:3], first)


@rule("http:stream:unbuffered", unseen=NO_STREAM)
def proxies_are_told_not_to_hold_a_stream_back(transcript: Transcript, found: Found) -> None:
    for one in streams(transcript):
        found.saw()
        if one.head and one.head.headers.get("x-accel-buffering", "").lower() != "no":
            expected = "a stream with the header `X-Accel-Buffering: no`"
            found.broken(expected, "another value, or none", *one.evidence[:3])


@rule("http:stream:no-requests", unseen=NO_STREAM)
def no_request_comes_on_a_stream(transcript: Transcript, found: Found) -> None:
    for one in streams(transcript):
        found.saw()
        for event, frame in one.frames:
            if "method" in frame and "id" in frame:
                expected = "notifications and the answer alone"
                found.broken(expected, f"a request {frame['method']!r}", event, where="$.id")


@probe("http:stream:closed")
async def a_stream_is_closed_after_the_answer(trial: ServerTrial) -> None:
    client = await trial.main()
    answered = [one for one in streams(client.transcript) if is_answered(one)]
    if not answered:
        raise NotTested(NO_STREAM)
    for one in answered:
        number = one.request.exchange
        if await http_of(client).ended(number, trial.timeout_s) is None:
            trial.broken("a stream that ends after the answer", "it stays open", *one.evidence)


def is_answered(one: PeerExchange) -> bool:
    """Return True if every request of an exchange was answered in it."""
    return {key(request["id"]) for request in one.requests} <= answers_in(one).keys()


async def judge_related(trial: ServerTrial) -> None:
    """Report what came before an answer, and belongs to another request."""
    client = await call_at_once(trial)
    seen = [one for one in streams(client.transcript) if len(one.messages) > 1]
    if not seen:
        raise NotTested("nothing came before an answer")
    for one in seen:
        for event, wrong in unrelated(client, one):
            trial.broken(
                "only what belongs to the request comes before its answer",
                wrong,
                *one.evidence[:3],
                event,
            )


async def call_at_once(trial: ServerTrial) -> ReferenceClient:
    """Make every named call, all at the same time, and return the client.

    Raises:
        NotTested: no call was named.
    """
    if not trial.calls:
        raise NotTested(NO_CALLS)
    client = await trial.main()
    profile = trial.profile
    await asyncio.gather(
        *(
            client.ask(
                "call_tool",
                {"name": call.name, "arguments": call.arguments},
                meta={profile.progress_token_key: f"at-once-{number}"},
            )
            for number, call in enumerate(trial.calls)
        )
    )
    return client


def unrelated(client: ReferenceClient, one: PeerExchange) -> Iterator[tuple[WireEvent, str]]:
    """Yield the notifications on a stream that name another request."""
    profile = client.profile
    tokens = [
        member(request, "params", "_meta", profile.progress_token_key) for request in one.requests
    ]
    ids = [request["id"] for request in one.requests]
    for event, frame in one.frames:
        method = frame.get("method")
        if profile.progress is not None and method == profile.progress.name:
            token = member(frame, "params", "progressToken")
            if token not in tokens:
                yield event, f"progress of another request, with the token {token!r}"
        named = member(frame, "params", "_meta", profile.subscription_id_key or "")
        if named is not None and "method" in frame and named not in ids:
            yield event, f"a notification for the subscription {named!r}"


@probe("http:stream:related")
async def messages_before_the_answer_belong_to_the_request(trial: ServerTrial) -> None:
    await judge_related(trial)


@probe("http:stream:related-only")
async def all_messages_before_the_answer_belong_to_the_request(trial: ServerTrial) -> None:
    await judge_related(trial)
