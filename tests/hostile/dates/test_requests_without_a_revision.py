"""Requests without `_meta` on a connection whose first request has named its revision."""

from __future__ import annotations

import pytest

from mcp_gen import InvalidParams, InvalidRequest, Server
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, encoded, with_handshake
from tests.support.peers.raw import talking


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "ping", "acme/unknown"])
@pytest.mark.parametrize("params", [{}, {"params": {}}, {"params": {"_meta": {}}}])
async def test_a_request_that_names_no_revision_after_one_that_did_has_invalid_params(
    method: str, params: dict[str, object]
) -> None:
    async with talking(Server("modern", declare=["tools"]), PER_REQUEST) as client:
        await client.ask(client.speaker.request(1, "server/discover"))
        answer = await client.ask(encoded({"jsonrpc": "2.0", "id": 2, "method": method, **params}))
    assert answer["error"]["code"] == InvalidParams.code


async def test_a_request_that_was_refused_has_still_named_the_revision() -> None:
    async with talking(Server("modern", declare=["tools"]), PER_REQUEST) as client:
        await client.ask(client.speaker.request(1, "acme/unknown"))
        answer = await client.ask(encoded({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
    assert answer["error"]["code"] == InvalidParams.code


@pytest.mark.parametrize("method", ["tools/list", "acme/unknown"])
async def test_a_first_request_that_names_no_revision_has_come_before_the_handshake(
    method: str,
) -> None:
    async with talking(Server("any", declare=["tools"]), HANDSHAKE, opened=False) as client:
        answer = await client.ask(encoded({"jsonrpc": "2.0", "id": 2, "method": method}))
    assert answer["error"]["code"] == InvalidRequest.code


@with_handshake
async def test_a_client_may_shake_hands_after_it_has_asked_for_the_revisions(revision: str) -> None:
    modern = Speaker(PER_REQUEST)
    async with talking(Server("both", declare=["tools"]), revision, opened=False) as client:
        client.send(modern.request(1, "server/discover"))
        await client.answer(1)
        client.transport.frames.clear()  # they are of another revision than those that follow
        client.send(*client.speaker.opening)
        agreed = await client.answer(0)
        listed = await client.ask(client.speaker.request(2, "tools/list"))
    assert agreed["result"]["protocolVersion"] == revision
    assert listed["result"] == {"tools": []}
