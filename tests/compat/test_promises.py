"""Promises of a server: what it says at each revision that it speaks, or why it speaks none."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen.compat.promises import collect_promises
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.wire.openers import MemoryOpener
from mcp_gen.core.errors import TransportError
from mcp_gen.core.transport.protocols import Duplex
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle

SUPPORTED = "1999-01-01"


class Elsewhere(ReferenceServer):
    """Server that answers a discovery at a revision which it does not list."""

    async def discover(self, call: ReferenceCall) -> dict[str, Any]:
        return {**await super().discover(call), "supportedVersions": [SUPPORTED]}


class WithoutTemplates(ReferenceServer):
    """Server with resources that does not know of templates."""

    async def list_resource_templates(self, call: ReferenceCall) -> dict[str, Any]:
        raise Failure(self.profile.errors.method_not_found, "Method not found")


async def locked(peer: type[ReferenceServer], *revisions: str) -> Any:
    opens = MemoryOpener(lambda spoken: DuplexServing(peer(spoken)))
    try:
        return await collect_promises(opens, "memory", revisions)
    finally:
        await opens.aclose()


async def test_a_server_promises_something_at_each_revision_that_it_lists() -> None:
    lock = await locked(ReferenceServer, HANDSHAKE, PER_REQUEST)
    assert set(lock.revisions) == {HANDSHAKE, PER_REQUEST}


@each_lifecycle
async def test_the_name_of_a_server_is_read_where_the_revision_has_it(revision: str) -> None:
    assert (await locked(ReferenceServer, revision)).server["name"] == "mcp-gen reference server"


async def test_a_server_with_resources_may_have_no_templates() -> None:
    promised = (await locked(WithoutTemplates, HANDSHAKE)).revisions[HANDSHAKE]
    assert promised.resources
    assert promised.resource_templates == {}


async def test_two_revisions_are_asked_at_the_same_time() -> None:
    open_now, most = 0, 0

    class Counted(DuplexServing):
        async def serve(self, transport: Duplex) -> None:
            nonlocal open_now, most
            open_now += 1
            most = max(most, open_now)
            await super().serve(transport)
            open_now -= 1

    opens = MemoryOpener(lambda spoken: Counted(ReferenceServer(spoken)))
    lock = await collect_promises(opens, "memory")
    await opens.aclose()
    assert (set(lock.revisions), most) == ({*mcp_wire.REVISIONS}, 2)


async def test_a_revision_that_a_server_does_not_list_is_none_that_it_speaks() -> None:
    with pytest.raises(TransportError, match=f"none of the revisions: supports {SUPPORTED}$"):
        await locked(Elsewhere, PER_REQUEST)
