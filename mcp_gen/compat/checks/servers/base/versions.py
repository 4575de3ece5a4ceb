"""Checks of the agreement on a revision: by handshake, and by each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

import mcp_wire
from mcp_gen.compat.checks.check import probe
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.base.supported import came_of, harmless
from mcp_gen.compat.json_values import is_array, member
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ServerReply

PAST, FUTURE = (f"{year}-01-01" for year in (1900, 2999))
"""Revisions that there are not."""
WITH_HANDSHAKE = tuple(one for one in mcp_wire.REVISIONS if profile_of(one).handshake)
"""The revisions that begin with a handshake, oldest first."""


async def known_offers(_trial: ServerTrial) -> dict[str, tuple[ServerReply, Any]]:
    """Return what `offer` has found out at one revision: nothing yet."""
    return {}


async def offer(trial: ServerTrial, asked: str) -> tuple[ServerReply, Any]:
    """Ask for a revision over a connection of its own; return the answer, and what is offered."""
    known = await trial.once(known_offers)
    if asked in known:
        return known[asked]
    client = trial.unopened(is_judged=False)
    await client.wire.open()
    assert client.profile.handshake is not None
    params = {**client.handshake_params(), "protocolVersion": asked}
    reply = await client.ask(client.profile.handshake, params)
    known[asked] = reply, member(reply.result, "protocolVersion")
    return known[asked]


@probe("lifecycle:versions:same", needs_opening=False)
async def a_revision_that_is_spoken_is_given(trial: ServerTrial) -> None:
    if (await trial.main()).agreed == trial.revision:
        return
    reply, offered = await offer(trial, trial.revision)
    if offered == trial.revision:
        return
    for asked in (PAST, FUTURE):
        other, offered_then = await offer(trial, asked)
        if offered_then == trial.revision:
            expected = f"{trial.revision}, which the server offers to others"
            came = f"{offered!r}" if offered else came_of(reply)
            trial.broken(expected, came, *other.events, *reply.events)
            return
    raise NotTested(f"the server does not speak {trial.revision}")


@probe("lifecycle:versions:other")
async def another_revision_is_offered_for_one_that_is_not_spoken(trial: ServerTrial) -> None:
    for asked in (PAST, FUTURE):
        reply, offered = await offer(trial, asked)
        if member(reply.error, "data", "supported"):
            # An example of the specification answers so.
            continue
        if offered not in WITH_HANDSHAKE:
            came = f"{offered!r}" if reply.result is not None else came_of(reply)
            expected = f"for {asked!r}, which nobody speaks, a revision that the server speaks"
            where = "$.result.protocolVersion" if reply.result is not None else ""
            trial.broken(expected, came, *reply.events, where=where)
            return


@probe("lifecycle:versions:latest")
async def the_newest_revision_is_offered(trial: ServerTrial) -> None:
    reply, offered = await offer(trial, FUTURE)
    if offered not in WITH_HANDSHAKE:
        raise NotTested("the server offers no revision for one that it does not speak")
    for newer in reversed(WITH_HANDSHAKE):
        if newer <= offered:
            return
        there, given = await offer(trial, newer)
        if given == newer:
            expected = f"{newer}, the newest that the server speaks"
            trial.broken(expected, f"{offered!r}", *there.events, *reply.events)
            return


# --- without a handshake ---


@probe("lifecycle:versions:unsupported")
async def a_revision_that_is_not_spoken_is_refused(trial: ServerTrial) -> None:
    profile = trial.profile
    wanted = profile.errors.unsupported_protocol_version
    client = await trial.fresh(is_judged=False)
    for asked in (PAST, FUTURE):
        key = str(profile.protocol_version_key)
        frame = client.request_frame(harmless(trial).name, meta={key: asked})
        headers = client.headers(frame)
        if profile.version_header:
            headers[profile.version_header] = asked
        reply = await client.ask_frame(frame, headers=headers)
        if reply.closing is not None and reply.closing.exchange:
            # Of a refusal without an error, a rule of HTTP tells.
            raise NotTested("it was refused without an error")
        supported = member(reply.error, "data", "supported")
        if reply.code != wanted:
            expected = f"a request at {asked} is refused with error {wanted}"
            trial.broken(expected, came_of(reply), *reply.events)
        elif not is_array(supported) or trial.revision not in supported:
            expected = f"the error lists {trial.revision} in `data.supported`"
            came = f"{supported!r}"
            trial.broken(expected, came, *reply.events, where="$.error.data.supported")
        else:
            continue
        return


@probe("lifecycle:versions:told-to-older")
async def the_error_for_a_handshake_names_the_revisions(trial: ServerTrial) -> None:
    client = trial.unopened(revision=WITH_HANDSHAKE[-1])
    await client.wire.open()
    assert client.profile.handshake is not None
    reply = await client.ask(client.profile.handshake, client.handshake_params())
    if reply.result is not None:
        raise NotTested("the server answers handshakes, too")
    if reply.error is None:
        raise NotTested("the server did not answer a handshake")
    if trial.revision not in msgspec.json.encode(reply.error).decode():
        expected = f"the error for a handshake names {trial.revision}"
        trial.broken(expected, f"{reply.error!r}", *reply.events, where="$.error")
