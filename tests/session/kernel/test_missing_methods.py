"""Methods that a revision lacks are rejected there, whatever handlers exist."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.errors import MethodNotFound
from tests.session.kernel.test_every_hook import open_client
from tests.support.frames import every_revision
from tests.support.peers.minimal_peers import Everything, rows
from tests.support.peers.raw import talking

ALL = mcp_wire.REVISIONS
IN_RESULTS = "input_required"
FOREIGN = ["no/such/method", "", "Tools/List", "tools/list/", "__init__", "offers"]


def lacked(revision: str, *, side: str) -> list[str]:
    """Return all methods, without those that a side may receive at this revision."""
    known = {name for each in ALL for name in mcp_wire.profile(each).methods}
    mine = {row.name for row in rows(revision, kind="request", to=side)}
    return sorted(known - mine) + FOREIGN


def each_lacked(side: str) -> Any:
    # At revisions with `input_required`, clients send no responses.
    answering = [
        one for one in ALL if side == "server" or mcp_wire.profile(one).asks_client != IN_RESULTS
    ]
    found = [(revision, name) for revision in answering for name in lacked(revision, side=side)]
    return pytest.mark.parametrize(("revision", "method"), found)


@each_lacked("server")
@pytest.mark.parametrize("hooked", [False, True], ids=["bare", "hooked"])
async def test_a_server_refuses_a_method_that_the_revision_lacks(
    revision: str, method: str, hooked: bool
) -> None:
    server = Everything(revision)
    async with talking(server, revision) as client:
        server.said.clear()
        if hooked:
            server.hooks.before_any(lambda *_: server.said.append("hook"))
        answer = await client.ask(client.speaker.request(1, method))
    assert answer["error"]["code"] == MethodNotFound.code
    assert server.said == []


@each_lacked("client")
async def test_a_client_refuses_a_method_that_the_revision_lacks(
    revision: str, method: str
) -> None:
    async with open_client(revision) as client:
        client.hooks.before_any(lambda *_: client.said.append("hook"))
        answer = await client.ask(method, {})
    assert envelope.read_error(answer.error).code == MethodNotFound.code
    assert client.said == []


@every_revision
def test_a_server_has_a_route_for_what_the_revision_has_and_for_nothing_else(revision: str) -> None:
    routes = Everything(revision).kernel.binding(revision).routes
    assert set(routes) == {row.name for row in rows(revision, kind="request", to="server")}
