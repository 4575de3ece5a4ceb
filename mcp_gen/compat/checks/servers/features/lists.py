"""Checks of all lists: the same for all connections, pages, and news of changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.features.offers import is_refused, lists_alike_on_all_connections
from mcp_gen.compat.json_values import member, objects
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.views.exchanges import LISTS, ListWalk, exchanges, listings
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ServerReply
    from mcp_gen.compat.transcript import Transcript
    from mcp_wire.method import Method

UNCHANGED = "no list changed while the client would have heard of it"
NO_CURSOR = "mcp-gen-doctor-made-this-up"


@probe("tools:list:same-for-all")
async def tools_are_the_same_on_all_connections(trial: ServerTrial) -> None:
    await lists_alike_on_all_connections(trial, "tools", "list_tools")


@probe("prompts:list:same-for-all")
async def prompts_are_the_same_on_all_connections(trial: ServerTrial) -> None:
    await lists_alike_on_all_connections(trial, "prompts", "list_prompts")


@probe("resources:list:same-for-all")
async def resources_are_the_same_on_all_connections(trial: ServerTrial) -> None:
    await lists_alike_on_all_connections(trial, "resources", "list_resources")


# --- pages ---


@probe("pagination:cursors:invalid")
async def invalid_cursors_are_refused(trial: ServerTrial) -> None:
    client = await trial.main()
    names = [name for name in LISTS if listings(client.transcript, name)]
    if not names:
        raise NotTested("the server listed nothing")
    for name in names:
        reply = await client.ask(name, {"cursor": NO_CURSOR})
        what = name.removeprefix("list_").replace("_", " ")
        expected = f"a cursor for {what} that the server did not make is invalid params"
        is_refused(trial, reply, expected, trial.profile.errors.invalid_params)


@probe("pagination:cursors:stable")
async def cursors_can_be_used_again(trial: ServerTrial) -> None:
    client = await trial.main()
    tried = 0
    for name in LISTS:
        first = await client.ask(name) if trial.has_listed(name) else None
        cursor = member(first and first.result, "nextCursor")
        if first is None or not isinstance(cursor, str):
            continue
        tried += 1
        second = await client.ask(name, {"cursor": cursor})
        same = await client.ask(name, {"cursor": cursor})
        first_again = await client.ask(name)
        if second.result is None or _ids(name, first) != _ids(name, first_again):
            continue
        if same.result is None or _ids(name, second) != _ids(name, same):
            came = "an error" if same.result is None else "another page"
            trial.broken(
                "while a list does not change, a cursor leads to the same page",
                f"{came} at its second use",
                *second.events,
                *same.events,
            )
    if not tried:
        raise NotTested("no list has a second page")


def _ids(name: str, reply: ServerReply) -> list[Any]:
    key, id = LISTS[name]
    return [one.get(id) for one in objects(member(reply.result, key))]


# --- news ---


@rule("tools:list:changed", unseen=UNCHANGED)
def a_change_of_the_tools_is_told(transcript: Transcript, found: Found) -> None:
    _judge_changes(transcript, found, "list_tools")


@rule("tools:list:changed-listening", unseen=UNCHANGED)
def a_change_of_the_tools_is_told_to_listeners(transcript: Transcript, found: Found) -> None:
    _judge_changes(transcript, found, "list_tools")


@rule("prompts:list:changed", unseen=UNCHANGED)
def a_change_of_the_prompts_is_told(transcript: Transcript, found: Found) -> None:
    _judge_changes(transcript, found, "list_prompts")


@rule("prompts:list:changed-listening", unseen=UNCHANGED)
def a_change_of_the_prompts_is_told_to_listeners(transcript: Transcript, found: Found) -> None:
    _judge_changes(transcript, found, "list_prompts")


@rule("resources:list:changed", unseen=UNCHANGED)
def a_change_of_the_resources_is_told(transcript: Transcript, found: Found) -> None:
    _judge_changes(transcript, found, "list_resources")


def _judge_changes(transcript: Transcript, found: Found, name: str) -> None:
    """Report a list that has changed between two walks, of which the client was not told.

    It is judged only where something was answered after the second walk: so long the server had.
    """
    profile = profile_of(transcript.revision)
    notification, asked = {
        "list_tools": (profile.tools_changed, "toolsListChanged"),
        "list_prompts": (profile.prompts_changed, "promptsListChanged"),
        "list_resources": (profile.resources_changed, "resourcesListChanged"),
    }[name]
    capability = name.removeprefix("list_")
    if notification is None or not _declares(transcript, capability):
        return
    for earlier, later in _changed(transcript, name):
        begin, end = earlier.pages[0].asked.number, later.pages[-1].events[-1].number
        if not _hears(transcript, asked, begin, end) or not _is_answered_after(transcript, end):
            continue
        found.saw()
        if not _is_told(transcript, notification, begin):
            one = sorted(set(earlier.ids()) ^ set(later.ids()))[0]
            found.broken(
                f"the client is told that the list of {capability} has changed",
                f"no notification came of the change of {one!r}",
                *earlier.pages[-1].events,
                *later.pages[-1].events,
            )


def _changed(transcript: Transcript, name: str) -> Iterator[tuple[ListWalk, ListWalk]]:
    whole = [walk for walk in listings(transcript, name) if walk.is_whole]
    for earlier, later in pairwise(whole):
        if set(earlier.ids()) != set(later.ids()):
            yield earlier, later


def _declares(transcript: Transcript, capability: str) -> bool:
    """Return True if the server has declared on this connection that it tells of changes."""
    profile = profile_of(transcript.revision)
    opening = profile.handshake or profile.discover
    assert opening is not None
    return any(
        member(one.result, "capabilities", capability, "listChanged") is True
        for one in exchanges(transcript, python_name(opening.name) or "")
    )


def _hears(transcript: Transcript, asked: str, begin: int, end: int) -> bool:
    """Return True if the client could hear of changes from one event to another."""
    profile = profile_of(transcript.revision)
    if profile.listen is not None:
        return any(
            _acknowledges(transcript, one.request.get("id"), asked, begin)
            and (one.answered is None or one.answered.number > end)
            and not _is_cancelled(transcript, one.request.get("id"), end)
            for one in exchanges(transcript, python_name(profile.listen.name) or "")
        )
    if transcript.transport != "http":
        return True
    streams = {
        event.exchange
        for event in transcript.events[:begin]
        if event.kind == "request" and event.about.startswith("GET")
    }
    return any(
        event.kind == "response" and event.status == 200 and event.exchange in streams
        for event in transcript.events[:begin]
    )


def _acknowledges(transcript: Transcript, id: Any, asked: str, number: int) -> bool:
    """Return True if a server had acknowledged before an event that it tells of changes."""
    profile = profile_of(transcript.revision)
    told, key = profile.subscription_acknowledged, profile.subscription_id_key
    assert told is not None
    assert key is not None
    return any(
        event.number < number
        and frame.get("method") == told.name
        and member(frame, "params", "_meta", key) == id
        and member(frame, "params", "notifications", asked) is True
        for event, frame in transcript.frames("server")
    )


def _is_cancelled(transcript: Transcript, id: Any, number: int) -> bool:
    """Return True if the client had cancelled a request before an event."""
    cancelled = profile_of(transcript.revision).cancelled
    assert cancelled is not None
    return any(
        event.number < number
        and frame.get("method") == cancelled.name
        and member(frame, "params", "requestId") == id
        for event, frame in transcript.frames("client")
    )


def _is_told(transcript: Transcript, notification: Method[Any, Any], number: int) -> bool:
    """Return True if a notification came after an event."""
    return any(
        event.number > number and frame.get("method") == notification.name
        for event, frame in transcript.frames("server")
    )


def _is_answered_after(transcript: Transcript, number: int) -> bool:
    """Return True if a request was answered that was sent after an event."""
    return any(
        one.asked.number > number and one.answered is not None for one in exchanges(transcript)
    )
