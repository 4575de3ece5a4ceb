"""HTTP+SSE in a cluster: a message may be posted to any node, its stream is at one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.core.transport.authorizing import Admission
from mcp_gen.core.transport.headers import Headers
from mcp_gen.server.sharing.posts import decoded_post, encoded_post
from mcp_gen.transports.http_server.app import AsgiApp
from mcp_gen.transports.http_server.legacy_sse import RelayedPost
from tests.cluster.sessions.nodes import Nodes, nodes_of, plain_server, texts_of
from tests.support.frames import Speaker
from tests.support.http.asgi import Open, Reply, open_request, request

PAIRED = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).http_transport == "sse_pair"]
OLD = Speaker(PAIRED[-1])


class Paired:
    """Client whose stream is at the first node."""

    def __init__(self, nodes: Nodes) -> None:
        self.stream: Open = open_request(nodes.apps[0], method="GET", path="/sse")
        self.path = self.query = ""

    async def open(self) -> None:
        """Read where messages are to be posted."""
        event = await self.stream.event()
        self.path, _, self.query = event.data.decode().partition("?")

    async def post(self, app: AsgiApp, message: bytes) -> Reply:
        """Post a message to an app."""
        query = self.query.encode()
        return await request(app, message, path=self.path, query_string=query)

    async def ask(self, app: AsgiApp, message: bytes) -> Any:
        """Post a request to an app, and return its answer from the stream."""
        assert (await self.post(app, message)).status == 202
        return (await self.stream.event()).json

    async def aclose(self) -> None:
        """Disconnect."""
        self.stream.hang_up()
        await self.stream.ended()


async def paired(nodes: Nodes) -> Paired:
    """Return a client with a stream at the first node, after its handshake at the second."""
    client = Paired(nodes)
    await client.open()
    await client.ask(nodes.apps[1], OLD.initialize(0))
    assert (await client.post(nodes.apps[1], OLD.initialized)).status == 202
    return client


async def test_a_message_reaches_the_node_that_has_the_stream() -> None:
    async with nodes_of(plain_server, 2, legacy_sse_path="/sse") as nodes:
        client = await paired(nodes)
        for number, app in enumerate(nodes.apps):
            reply = await client.ask(app, OLD.call(number + 1, "where"))
            assert (reply["id"], texts_of(reply)) == (number + 1, ["0"])
        await client.aclose()


async def test_a_stream_that_has_ended_or_whose_node_is_gone_is_unknown() -> None:
    async with nodes_of(plain_server, 2, legacy_sse_path="/sse") as nodes:
        client = await paired(nodes)
        other = await paired(nodes)
        await other.aclose()
        assert (await other.post(nodes.apps[1], OLD.call(1, "where"))).status == 404
        await nodes.clusters[0].die()
        assert (await client.post(nodes.apps[1], OLD.call(1, "where"))).status == 404
        await client.aclose()


async def test_a_message_for_a_silent_node_may_come_again() -> None:
    async with nodes_of(plain_server, 2, legacy_sse_path="/sse") as nodes:
        client = await paired(nodes)
        nodes.clusters[0].freeze()
        refused = await client.post(nodes.apps[1], OLD.call(1, "where"))
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        nodes.clusters[0].thaw()
        await client.aclose()


@pytest.mark.parametrize("id", ["", ".", "nobody.abc", "a.b.c", "x" * 300])
async def test_a_stream_id_that_is_invented_is_unknown(id: str) -> None:
    async with nodes_of(plain_server, 2, legacy_sse_path="/sse") as nodes:
        client = await paired(nodes)
        client.query = f"session_id={id}"
        assert (await client.post(nodes.apps[1], OLD.call(1, "where"))).status == 404
        await client.aclose()


async def test_a_node_that_lost_its_lease_ends_its_streams() -> None:
    async with nodes_of(plain_server, 2, legacy_sse_path="/sse") as nodes:
        client = await paired(nodes)
        nodes.clusters[0].lapse()
        await client.stream.ended()
        for app in nodes.apps:
            assert (await client.post(app, OLD.call(1, "where"))).status == 404


def test_credentials_stay_where_they_were_verified() -> None:
    secret = "a.secret.token"
    token = AccessToken(
        secret, issuer="https://id", subject="ann", scopes=frozenset({"b", "a"}), expires_at=9.0
    )
    headers = Headers(
        [(b"authorization", f"Bearer {secret}".encode()), (b"cookie", b"c"), (b"x-a", b"\xff")]
    )
    post = RelayedPost("n.s", b"{no json", headers, "ann", Admission("ann", token))
    body = encoded_post(post)
    got = decoded_post(body)
    assert secret.encode() not in body
    assert msgspec.json.decode(body)[0] == "n.s"
    assert (got.message, dict(got.headers.raw), got.principal) == (
        b"{no json",
        {b"x-a": b"\xff"},
        "ann",
    )
    assert got.admission.token is not None
    assert got.admission.token.scopes == token.scopes
    assert got.admission.token.principal == token.principal
