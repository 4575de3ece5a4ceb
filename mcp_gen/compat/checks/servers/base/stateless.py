"""Checks that a server takes each request by itself, whoever sends it on whichever connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_gen.compat.checks.check import probe
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.base.supported import came_of, harmless
from mcp_gen.compat.json_values import Json, is_object, member

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import WireEvent

LISTS = {
    "list_tools": "tools",
    "list_prompts": "prompts",
    "list_resources": "resources",
    "list_resource_templates": "resources",
}
"""Capability that each list needs, by the Python name of its method."""
NAMES = ("one client", "another client")


@probe("base:stateless:many-conversations")
async def conversations_are_answered_side_by_side(trial: ServerTrial) -> None:
    client = await trial.second()
    key = str(trial.profile.client_info_key)
    sent: list[WireEvent] = []
    for number in range(6):
        info = {"name": NAMES[number % 2], "version": f"{number}"}
        frame = client.request_frame(harmless(trial).name, meta={key: info})
        sent.append(await client.send(frame))
    for event in sent:
        reply = await client.reply_to(event)
        if reply.result is None:
            expected = "requests of several clients on one connection are answered side by side"
            trial.broken(expected, came_of(reply), *sent[:2], *reply.events)
            return


@probe("base:stateless:any-connection")
async def lists_go_on_over_another_connection(trial: ServerTrial) -> None:
    client = await trial.main()
    pages = 0
    for name, capability in LISTS.items():
        if capability not in client.server_capabilities:
            continue
        first = await client.ask(name)
        cursor = member(first.result, "nextCursor")
        if not isinstance(cursor, str):
            continue
        pages += 1
        other = await trial.second()
        there = await other.ask(name, {"cursor": cursor})
        # Asked for here last: a cursor that is good for one use is another fault.
        here = await client.ask(name, {"cursor": cursor})
        if here.result is not None and there.result is None:
            expected = "the next page can be asked for over another connection"
            trial.broken(expected, came_of(there), *first.events, *there.events)
    if not pages:
        raise NotTested("no list of the server has a second page")


@probe("base:identity:no-behaviour")
async def clients_of_any_name_are_answered_alike(trial: ServerTrial) -> None:
    client, key = await trial.main(), str(trial.profile.client_info_key)
    clients = {called: trial.unopened() for called in NAMES}
    for one in clients.values():
        await one.wire.open()
    if not any(one in client.server_capabilities for one in LISTS.values()):
        raise NotTested("the server has nothing to list")
    for name, capability in LISTS.items():
        if capability not in client.server_capabilities:
            continue
        replies = [
            await clients[called].ask(name, meta={key: {"name": called, "version": "1"}})
            for called in (NAMES[0], NAMES[1], NAMES[0])
        ]
        texts = [comparable(reply.frame) for reply in replies]
        if texts[0] == texts[2] and texts[0] != texts[1]:
            expected = "two clients that differ in their names alone are answered alike"
            came = "two different answers"
            trial.broken(expected, came, *replies[0].events, *replies[1].events)


def comparable(frame: Json) -> bytes:
    """Return what of an answer is to be the same."""
    result = frame.get("result")
    if is_object(result):
        result = {name: value for name, value in result.items() if name != "_meta"}
    return msgspec.json.encode([result, member(frame, "error", "code")], order="sorted")
