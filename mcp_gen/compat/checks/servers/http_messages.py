"""Checks of what a POST is answered with: statuses, content types, bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.http_exchanges import exchange_of, exchanges, http_of
from mcp_gen.compat.json_values import is_array, is_object
from mcp_gen.compat.views.dialogue import Dialogue

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.http_exchanges import PeerExchange
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transcript

UNKNOWN_NOTIFICATION: Json = {"jsonrpc": "2.0", "method": "notifications/com.example/nothing"}
"""Notification that no server knows, and that says nothing."""
WRONG_NOTIFICATIONS: tuple[Json, ...] = (
    {**UNKNOWN_NOTIFICATION, "jsonrpc": "1.0"},
    {**UNKNOWN_NOTIFICATION, "params": "none"},
)
"""Notifications that a server may well refuse."""


async def posted(trial: ServerTrial, client: ReferenceClient, message: Json) -> PeerExchange:
    """Send what is not answered with a result, and return the exchange."""
    sent = await client.send(message)
    await http_of(client).ended(sent.exchange, trial.timeout_s)
    return exchange_of(client, sent.exchange)


@probe("http:accepted")
async def what_is_taken_gets_status_202(trial: ServerTrial) -> None:
    client = await trial.main()
    await posted(trial, client, UNKNOWN_NOTIFICATION)
    for one in exchanges(client.transcript):
        if one.method != "POST" or not one.is_unasking or not 200 <= one.status < 300:
            continue
        if one.code is not None:
            continue  # It was not taken: that is another rule's.
        if one.status != 202:
            trial.broken("status 202", one.shown, *one.evidence)
        elif one.messages or (one.ended is not None and one.ended.data):
            ended = () if one.messages or one.ended is None else (one.ended,)
            trial.broken("no body", "a body", *one.evidence, *ended)


@probe("http:not-accepted")
async def what_is_not_taken_gets_an_error_status(trial: ServerTrial) -> None:
    client = await trial.main()
    for wrong in WRONG_NOTIFICATIONS:
        one = await posted(trial, client, wrong)
        if one.code is not None and one.status < 400:
            trial.broken("a status from 400 on, with the error", one.shown, *one.evidence)


@rule("http:answer-type", unseen="no request was answered")
def a_request_is_answered_with_json_or_events(transcript: Transcript, found: Found) -> None:
    # What is cancelled has no answer, and so its response no type.
    cancelled = {
        one.asked.event.exchange
        for one in transcript.derived(Dialogue).by_client
        if one.cancelled is not None
    }
    for one in exchanges(transcript):
        if one.request.exchange in cancelled and not one.messages:
            continue
        if one.method != "POST" or not one.requests or not 200 <= one.status < 300:
            continue
        found.saw()
        if one.content_type == "application/json":
            body = one.messages[-1].message if one.messages else None
            is_batch = is_array(one.sent.message) if one.sent else False
            if one.is_over and not is_object(body) and not (is_batch and is_array(body)):
                found.broken("one JSON object", "another body", *one.evidence)
        elif one.content_type != "text/event-stream":
            came = repr(one.content_type) if one.content_type else "no content type"
            found.broken("JSON or a stream of events", came, *one.evidence)
