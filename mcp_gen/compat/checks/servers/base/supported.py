"""Checks that ask a server for what every server has: answers to ids, unknown methods, batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import member
from mcp_gen.compat.views.reading import is_answer, placed

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import WireEvent
    from mcp_wire.method import Method

IDS = ("a string", "", 0, -1, 2**53 - 1)
BURST = 20
"""Number of requests that a server is asked at once."""
UNKNOWN_METHOD = "com.example/unheard-of"


def harmless(trial: ServerTrial) -> Method[Any, Any]:
    """Return a request that every server answers, and that changes nothing."""
    found = trial.profile.ping or trial.profile.discover
    assert found is not None
    return found


def came_of(reply: ServerReply) -> str:
    """Return what came of a request, in a few words."""
    if reply.error is not None:
        return f"error {reply.code}"
    if reply.frame:
        return "a result"
    return "no answer" if reply.timed_out else "the end of the connection"


@probe("base:supported")
async def the_base_protocol_is_spoken(trial: ServerTrial) -> None:
    client = await trial.second()
    for id in IDS:
        reply = await client.ask(harmless(trial), id=id)
        if not reply.frame:
            trial.broken(f"a request with the id {id!r} is answered", came_of(reply), *reply.events)
            return
    reply = await client.ask_frame(client.request_frame(UNKNOWN_METHOD))
    wanted = trial.profile.errors.method_not_found
    if reply.code != wanted:
        expected = f"an unknown method is answered with error {wanted}"
        trial.broken(expected, came_of(reply), *reply.events)
    errors = trial.profile.errors
    await survives(trial, client, b'{"jsonrpc": "2.0", "id": 1, "method', errors.parse_error)
    await survives(trial, client, b'{"jsonrpc": "2.0", "method": 1}', errors.invalid_request)


async def survives(trial: ServerTrial, client: ReferenceClient, wrong: bytes, code: int) -> None:
    """Send a message that is none: it is refused or ignored, and the next one is answered.

    Args:
        trial: The trial.
        client: A client with a connection of its own.
        wrong: The bytes.
        code: The code of the error, if there is one.
    """
    start = len(client.transcript.events)
    sent = await client.send(wrong)
    if client.http is not None:
        # The refusal has a response of its own, which need not come before the next answer.
        await client.http.ended(sent.exchange, client.timeout_s)
    reply = await client.ask(harmless(trial))
    for event, where, frame in placed(client.transcript, "server"):
        given = member(frame, "error", "code")
        if event.number < start or not is_answer(frame) or frame.get("id") is not None:
            continue
        if given != code:
            came = f"error {given}"
            expected = f"what is no message is refused with error {code}, if at all"
            trial.broken(expected, came, sent, event, where=where)
    if not reply.frame:
        expected = "the server goes on after bytes that are no message"
        trial.broken(expected, came_of(reply), sent, *reply.events)


@probe("base:batches:received")
async def batches_are_answered(trial: ServerTrial) -> None:
    if trial.profile.ping is None or trial.profile.cancelled is None:
        raise NotTested("the revision has nothing harmless to ask for in a batch")
    client = await trial.second()
    ids = ("first of a batch", 1001, "last of a batch")
    batch: list[Any] = [client.request_frame(trial.profile.ping.name, id=id) for id in ids]
    notification = client.notification_frame(
        trial.profile.cancelled.name, {"requestId": "none that is open"}
    )
    sent = await client.send([batch[0], notification, *batch[1:]])
    await every_answer(trial, client, sent, ids, "each request of a batch is answered")


async def every_answer(
    trial: ServerTrial,
    client: ReferenceClient,
    sent: WireEvent,
    ids: tuple[Any, ...],
    expected: str,
) -> None:
    """Report the first of several requests in a message that has no answer in time."""
    for id in ids:
        reply = await client.reply_to(sent, id=id)
        if not reply.frame:
            came = f"{came_of(reply)} to {id!r}"
            trial.broken(expected, came, *reply.events)
            return


@probe("transports:directions")
async def answers_get_to_the_client(trial: ServerTrial) -> None:
    client = await trial.second()
    sent = [await client.send(client.request_frame(harmless(trial).name)) for _ in range(BURST)]
    for event in sent:
        reply = await client.reply_to(event)
        if not reply.frame:
            expected = f"each of {BURST} requests that are open at once is answered"
            trial.broken(expected, came_of(reply), *reply.events)
            return
