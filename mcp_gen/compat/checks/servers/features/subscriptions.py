"""Checks of requests that stay open to hear of changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.views.exchanges import RequestExchange, exchanges
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript, WireEvent

NOT_LISTENED = "no listening request was acknowledged"
WANTED = {
    "tool_list_changed": "toolsListChanged",
    "prompt_list_changed": "promptsListChanged",
    "resource_list_changed": "resourcesListChanged",
    "resource_updated": "resourceSubscriptions",
}
"""Members of a listening request by the notification that they ask for."""
ACKNOWLEDGED = "subscriptions_acknowledged"


class _Told(NamedTuple):
    """A notification of a change, or the acknowledgment."""

    name: str
    event: WireEvent
    frame: Json
    id: Any
    """Id of the subscription that it names."""


@rule("subscriptions:asked-only", unseen=NOT_LISTENED)
def nothing_is_told_that_was_not_asked_for(transcript: Transcript, found: Found) -> None:
    listening = _listening(transcript)
    for told in _notifications(transcript):
        if told.name == ACKNOWLEDGED:
            found.saw()
            continue
        asked = listening.get(_key(told.id))
        # What names no request is the fault of another rule, if there is a request at all.
        if asked is None and listening:
            continue
        wanted = member(asked.params if asked else {}, "notifications", WANTED[told.name])
        if wanted in (None, False, []):
            found.broken(
                "the client hears of nothing that it did not ask for",
                f"{told.frame['method']}, which it did not ask for",
                *([asked.asked] if asked else []),
                told.event,
                where="$.method",
            )


@rule("subscriptions:acknowledged-first", unseen="the client did not listen")
def a_subscription_is_acknowledged_first(transcript: Transcript, found: Found) -> None:
    notifications = _notifications(transcript)
    for asked in _listening(transcript).values():
        if asked.error is not None and not _is_acknowledged(transcript, asked):
            continue
        first = next((one for one in notifications if _is_of(one, asked)), None)
        answered = asked.answered.number if asked.answered else len(transcript.events)
        if first is None or first.event.number > answered:
            # Nothing came yet: whether something is to come is known once the server has gone on.
            if asked.answered is None and not _went_on(transcript, asked):
                continue
            found.broken(
                "before anything else the client is told what it will hear of",
                "no acknowledgment came",
                *asked.events,
            )
        elif first.name != ACKNOWLEDGED:
            found.broken(
                "before anything else the client is told what it will hear of",
                f"{first.frame['method']} came first",
                asked.asked,
                first.event,
                where="$.method",
            )
        found.saw()


@rule("subscriptions:identified", unseen=NOT_LISTENED)
def notifications_name_their_subscription(transcript: Transcript, found: Found) -> None:
    key = profile_of(transcript.revision).subscription_id_key
    listening = _listening(transcript)
    for told in _notifications(transcript):
        if not listening:
            continue
        found.saw()
        if _key(told.id) not in listening:
            found.broken(
                "a notification has the id of its listening request in `_meta`",
                "it has none" if told.id is None else f"{told.id!r} is the id of none",
                told.event,
                where=f"$.params._meta.{key}",
            )


@rule("subscriptions:ends-gracefully", unseen="the server ended no subscription by itself")
def a_subscription_that_the_server_ends_is_answered(transcript: Transcript, found: Found) -> None:
    for asked in _listening(transcript).values():
        if not _is_acknowledged(transcript, asked) or _is_cancelled(transcript, asked):
            continue
        ended = next(
            (
                event
                for event in transcript.events
                if event.kind == "ended"
                and event.sender == "server"
                and event.exchange == asked.asked.exchange > 0
            ),
            None,
        )
        if asked.answered is not None:
            found.saw()
        if asked.error is not None or (ended is not None and asked.answered is None):
            found.broken(
                "a subscription that the server ends is answered with a result",
                "an error" if asked.error is not None else "the end of the stream",
                *asked.events,
                *([ended] if ended else []),
            )


def _listening(transcript: Transcript) -> dict[tuple[type, Any], RequestExchange]:
    """Return the listening requests by their ids."""
    listen = profile_of(transcript.revision).listen
    assert listen is not None
    found = exchanges(transcript, python_name(listen.name) or "")
    return {_key(one.request["id"]): one for one in found}


def _notifications(transcript: Transcript) -> list[_Told]:
    """Return all notifications of changes, and the acknowledgments."""
    return list(_read(transcript))


def _read(transcript: Transcript) -> Iterator[_Told]:
    key = profile_of(transcript.revision).subscription_id_key
    assert key is not None
    for event, frame in transcript.frames("server"):
        name = python_name(str(frame.get("method"))) or ""
        if name in WANTED or name == ACKNOWLEDGED:
            yield _Told(name, event, frame, member(frame, "params", "_meta", key))


def _key(id: Any) -> tuple[type, Any]:
    return (type(id), id) if isinstance(id, int | str) else (type(None), None)


def _is_of(told: _Told, asked: RequestExchange) -> bool:
    return _key(told.id) == _key(asked.request["id"])


def _is_acknowledged(transcript: Transcript, asked: RequestExchange) -> bool:
    return any(
        told.name == ACKNOWLEDGED and _is_of(told, asked) for told in _notifications(transcript)
    )


def _is_cancelled(transcript: Transcript, asked: RequestExchange) -> bool:
    cancelled = profile_of(transcript.revision).cancelled
    assert cancelled is not None
    return any(
        frame.get("method") == cancelled.name
        and member(frame, "params", "requestId") == asked.request["id"]
        for _, frame in transcript.frames("client")
    )


def _went_on(transcript: Transcript, asked: RequestExchange) -> bool:
    """Return True if a later request was answered."""
    return any(
        one.asked.number > asked.asked.number and one.answered is not None
        for one in exchanges(transcript)
    )
