"""Checks of streams that a GET opens, of ids of events, and of resumption."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import answers_in, exchange_of, exchanges, http_of
from mcp_gen.compat.checks.servers.http_streams import NO_CALLS, key
from mcp_gen.compat.json_values import member
from mcp_gen.compat.reference.client import answer_in
from mcp_gen.compat.reference.http_client.resuming import RESUME_HEADER
from mcp_gen.compat.transcript import fields_of
from mcp_gen.compat.views.dialogue import Dialogue
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.http_exchanges import PeerExchange
    from mcp_gen.compat.checks.trial import ServerTrial, ToolCall
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transcript, WireEvent

NO_GET = "no stream was opened with GET"
UNAUTHORIZED = (401, 403)
"""Statuses of refusals that are none of a GET."""


def listening(transcript: Transcript) -> list[PeerExchange]:
    """Return the exchanges of streams that a GET has opened, none of them resumed."""
    return [
        one
        for one in exchanges(transcript)
        if one.method == "GET" and one.is_stream and not one.resumes
    ]


@rule("http:get", unseen="no GET was answered")
def a_get_opens_a_stream_or_gets_status_405(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        if one.method != "GET" or one.head is None or one.status in UNAUTHORIZED or one.resumes:
            continue
        found.saw()
        if not one.is_stream and one.status != 405:
            came = one.shown if one.status != 200 else f"content type {one.content_type!r}"
            found.broken("a stream of events, or status 405", came, *one.evidence)


@rule("http:get:unrelated", unseen=NO_GET)
def messages_of_a_get_stream_belong_to_no_request(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    # Progress of a task goes on when the request that has begun it is answered.
    tokens = {
        key(one.meta.get(profile.progress_token_key)): one.asked.event
        for one in transcript.derived(Dialogue).by_client
        if not one.starts_task
    }
    for one in listening(transcript):
        found.saw()
        for event, frame in one.frames:
            token = key(member(frame, "params", "progressToken"))
            is_progress = profile.progress and frame.get("method") == profile.progress.name
            if is_progress and token in tokens:
                found.broken(
                    "messages that belong to no request",
                    f"progress of a request, with the token {token}",
                    tokens[token],
                    one.request,
                    event,
                )


@rule("http:get:no-answers", unseen=NO_GET)
def no_answer_comes_on_a_get_stream(transcript: Transcript, found: Found) -> None:
    for one in listening(transcript):
        found.saw()
        for id, event in answers_in(one).items():
            found.broken("no answer", f"the answer to request {id}", one.request, event)


@rule("http:no-broadcast", unseen="the server asked nothing")
def a_message_goes_out_on_one_stream(transcript: Transcript, found: Found) -> None:
    first: dict[str, WireEvent] = {}
    came = [
        one
        for exchange in exchanges(transcript)
        if not exchange.resumes
        for one in exchange.frames
        if "method" in one[1] and "id" in one[1]
    ]
    for event, frame in sorted(came, key=lambda one: one[0].number):
        found.saw()
        before = first.setdefault(key(frame["id"]), event)
        if before.exchange != event.exchange and before.message == event.message:
            expected = "each message on one stream alone"
            found.broken(expected, "the same request on two streams", before, event)


@rule("http:event-ids", unseen="no event had an id")
def ids_of_events_are_unique_in_a_session(transcript: Transcript, found: Found) -> None:
    first: dict[str, WireEvent] = {}
    for one in exchanges(transcript):
        for event, id in () if one.resumes else one.ids():
            found.saw()
            before = first.setdefault(id, event)
            if before is not event:
                found.broken(
                    "each event has an id of its own", f"two have {id!r}", before, event, where="id"
                )


# --- resumption ---


async def called(client: ReferenceClient, call: ToolCall) -> tuple[Json, PeerExchange]:
    """Call a tool, and return the request with its exchange."""
    name = client.wire_name("call_tool")
    frame = client.request_frame(name, {"name": call.name, "arguments": call.arguments})
    reply = await client.ask_frame(frame)
    return frame, exchange_of(client, reply.asked.exchange)


async def ask_for_the_rest(client: ReferenceClient, id: str) -> int:
    """Ask for what came after an event of a stream; return the number of the exchange."""
    headers = {**client.headers(b""), RESUME_HEADER: id}
    return await http_of(client).exchange("GET", headers=headers)


async def answered_in(client: ReferenceClient, number: int, frame: Json) -> bool:
    """Return True if the answer to a request comes in an exchange, before its end."""

    def ends(event: WireEvent) -> bool:
        if event.exchange != number:
            return False
        return event.kind == "ended" or answer_in(event, frame["id"]) is not None

    event = await client.transcript.first(ends, client.timeout_s)
    http_of(client).hang_up(number)
    return event is not None and event.kind == "message"


@probe("http:replay")
async def only_what_its_own_stream_missed_is_replayed(trial: ServerTrial) -> None:
    if not trial.calls:
        raise NotTested(NO_CALLS)
    client = await trial.fresh()
    resumable: list[PeerExchange] = []
    for call in trial.calls:
        _, one = await called(client, call)
        if one.is_stream and any(True for _ in one.ids()):
            resumable.append(one)
        if len(resumable) == 2:
            break
    else:
        raise NotTested("fewer than two streams had events with ids")
    has_replayed = False
    for one in resumable:
        _, id = next(one.ids())
        number = await ask_for_the_rest(client, id)
        await http_of(client).response(number, trial.timeout_s)
        await client.settle()
        http_of(client).hang_up(number)
        rest = exchange_of(client, number)
        has_replayed |= bool(rest.messages)
        own = {event.data for event in one.messages}
        others = {event.data for other in resumable if other is not one for event in other.messages}
        for event in rest.messages:
            if event.data in others - own:
                expected = f"what came after the event {id!r} on its own stream"
                trial.broken(expected, "a message of another stream", rest.request, event)
    if not has_replayed:
        raise NotTested("the server replays nothing, which is allowed")


@probe("http:disconnect")
async def a_client_that_hangs_up_has_not_cancelled(trial: ServerTrial) -> None:
    if not trial.calls:
        raise NotTested(NO_CALLS)
    client = await trial.fresh()
    for call in trial.calls:
        frame, one = await called(client, call)
        first = next(one.ids(), None)
        if first is None or answer_in(first[0], frame["id"]) is not None:
            continue
        # Only where the answer of a finished call can be had again, its lack says something.
        replays = await answered_in(client, await ask_for_the_rest(client, first[1]), frame)
        if replays and await hung_up(trial, client, call):
            return
    raise NotTested("no call took long enough to hang up on it and resume its stream")


async def hung_up(trial: ServerTrial, client: ReferenceClient, call: ToolCall) -> bool:
    """Hang up on a call, and ask for the rest; return False if the answer was there before."""
    name = client.wire_name("call_tool")
    frame = client.request_frame(name, {"name": call.name, "arguments": call.arguments})
    asked = await client.send(frame)

    def begins(event: WireEvent) -> bool:
        return event.exchange == asked.exchange and "id" in fields_of(event.about)

    event = await client.transcript.first(begins, client.timeout_s)
    http_of(client).hang_up(asked.exchange)
    left = await http_of(client).ended(asked.exchange, client.timeout_s)
    one = exchange_of(client, asked.exchange)
    if event is None or left is None or key(frame["id"]) in answers_in(one):
        return False
    number = 0
    # Twice: after the first wait the call is over, and its answer can be had as that of any other.
    for _ in range(2):
        number = await ask_for_the_rest(client, fields_of(event.about)["id"])
        if await answered_in(client, number, frame):
            break
    else:
        rest = exchange_of(client, number)
        trial.broken(
            "the answer on the resumed stream, as after any other call",
            "it does not come: the call was given up when the client hung up",
            asked,
            event,
            left,
            *rest.evidence,
        )
    return True
