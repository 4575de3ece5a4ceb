"""Collects what a server promises, at every revision that it speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.compat.checks.trial import TriedServer
from mcp_gen.compat.json_values import Json, is_array, is_object, member, objects
from mcp_gen.compat.patience import Patience
from mcp_gen.contracts.lock import LISTS, RevisionPromise, ServerLock, promised_items
from mcp_gen.core.errors import McpGenError, RequestTimeout, SessionLost, TransportError

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import Opens
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transport

__all__ = ["collect_promises"]

MAX_PAGES = 1_000
"""Most pages of one list."""
NOT_ASKED = "not asked"
AT_ONCE = 2
"""Revisions that are asked at the same time: each may start a process."""


async def collect_promises(
    opens: Opens,
    transport: Transport,
    revisions: Sequence[str] = mcp_wire.REVISIONS,
    *,
    timeout_s: float = 5.0,
) -> ServerLock:
    """Ask a server what it promises, and return the lock.

    It is asked by a client that declares every capability of each revision: a server may promise
    less to others.

    Args:
        opens: Makes the wires.
        transport: What carries the messages.
        revisions: The revisions to ask at.
        timeout_s: Longest wait for an answer, in seconds.

    Raises:
        TransportError: the server cannot be reached, or speaks none of the revisions.
        RequestTimeout: a list did not come in time.
    """
    patience = Patience(timeout_s)
    turn = asyncio.Semaphore(AT_ONCE)
    failed: list[McpGenError] = []

    async def ask(revision: str) -> tuple[RevisionPromise, Json] | str:
        async with turn:
            if failed:
                return NOT_ASKED
            server = TriedServer(opens, revision, transport, patience=patience)
            try:
                return await _promise(server)
            except McpGenError as error:
                # Not raised before the others are done: asyncio can wait forever for a process
                # whose start is cancelled.
                failed.append(error)
                return NOT_ASKED
            finally:
                await server.aclose()

    asked = await asyncio.gather(*map(ask, revisions))
    if failed:
        raise failed[0]
    found = dict(zip(revisions, asked, strict=True))
    promises = {name: one for name, one in found.items() if not isinstance(one, str)}
    if not promises:
        why = "; ".join(dict.fromkeys(one for one in asked if isinstance(one, str)))
        raise TransportError(f"the server speaks none of the revisions: {why}")
    newest = next(one for one in reversed(mcp_wire.REVISIONS) if one in promises)
    named: Json = {
        name: promises[newest][1][name]
        for name in ("name", "title", "version")
        if name in promises[newest][1]
    }
    return ServerLock(
        named,
        {name: promises[name][0] for name in reversed(mcp_wire.REVISIONS) if name in promises},
    )


async def _promise(server: TriedServer) -> tuple[RevisionPromise, Json] | str:
    """Return the promise with the server's description, or why the revision is not spoken."""
    client = await server.main()
    reply = client.opening
    assert reply is not None
    if reply.error is not None:
        return f"refused: {reply.error.get('message')}"
    if reply.result is None:
        said = "did not answer" if reply.timed_out else "ended the connection"
        raise SessionLost(f"{server.profile.revision}: the server {said}")
    agreed = client.agreed
    if agreed != server.profile.revision:
        return f"offered {agreed}"
    result = reply.result
    supported = member(result, "supportedVersions")
    if is_array(supported) and server.profile.revision not in supported:
        return f"supports {', '.join(map(str, supported))}"
    key = server.profile.server_info_key
    info = member(result, "_meta", key) if key else result.get("serverInfo")
    said_instructions = result.get("instructions")
    lists = {
        one.attribute: promised_items(
            one,
            await _listed(client, one.lists)
            if one.capability in client.server_capabilities
            else (),
        )
        for one in LISTS
    }
    promise = RevisionPromise(
        capabilities=client.server_capabilities,
        instructions=said_instructions if isinstance(said_instructions, str) else None,
        **lists,
    )
    return promise, info if is_object(info) else {}


async def _listed(client: ReferenceClient, name: str) -> list[Json]:
    """Return the items of all pages of a list.

    Raises:
        TransportError: there is no whole list: half a lock would promise half.
        RequestTimeout: a page did not come in time.
    """
    items: list[Json] = []
    params: Json = {}
    for _ in range(MAX_PAGES):
        reply = await client.ask(name, params)
        if reply.code == client.profile.errors.method_not_found:
            return items  # a server with resources may lack templates
        if reply.result is None:
            what = f"{client.profile.revision}: {name.replace('_', ' ')}"
            if reply.timed_out:
                raise RequestTimeout(f"{what}: no answer in {reply.waited_s:g} s")
            said = (reply.error or {}).get("message", "the connection ended")
            raise TransportError(f"{what}: {said}")
        for found in reply.result.values():
            items += objects(found)
        cursor = reply.result.get("nextCursor")
        if not isinstance(cursor, str):
            return items
        params = {"cursor": cursor}
    raise TransportError(f"{client.profile.revision}: {name} has more than {MAX_PAGES} pages")
