"""Messages of HTTP+SSE clients, on their way to the node that has the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mcp_gen.core.stores.failures import NodeGone, NodeSilent, StoreDown
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.core.transport.authorizing import UNVERIFIED, Admission
from mcp_gen.core.transport.headers import Headers
from mcp_gen.transports.http_server.legacy_sse import RelayedPost

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.transports.http_server.legacy_sse import LegacySseEndpoint

__all__ = ["SharedPosts", "decoded_post", "encoded_post"]

POST = "sse.post"
"""Topic of the bus: a message for a stream of the node that is asked."""
SECRET_HEADERS = (b"authorization", b"cookie", b"dpop", b"proxy-authorization")
"""Headers that no other node gets: credentials are verified where they arrive."""
MAX_STREAM_ID = 128
NOT_FOUND, UNAVAILABLE = 404, 503


class _Token(Struct, array_like=True):
    """Facts of a verified token, without the token."""

    issuer: str
    subject: str | None
    client_id: str | None
    scopes: list[str]
    expires_at: float | None
    claims: dict[str, Any]
    key_thumbprint: str | None


class _Post(Struct, array_like=True):
    """A message as nodes send it to each other."""

    stream: str
    message: bytes
    headers: list[tuple[bytes, bytes]]
    principal: str | None
    admitted: str | None
    token: _Token | None


class SharedPosts:
    """Passes messages to the nodes that have the streams, and takes those for this node.

    Args:
        cluster: The cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.endpoint: LegacySseEndpoint | None = None
        """Endpoint that has the streams of this node."""
        self._ends: list[Callable[[], None]] = []

    def start(self) -> None:
        """Take messages from other nodes; the cluster has started."""
        if self.endpoint is not None and not self._ends:
            endpoint = self.endpoint
            self._ends = [
                self._cluster.bus.answer(POST, self._take),
                self._cluster.on_lost(lambda _old: endpoint.end_streams()),
            ]

    def stop(self) -> None:
        """Take no more messages."""
        for end in self._ends:
            end()
        self._ends = []

    def stream_id(self, random: str) -> str:
        """Return the id of a new stream of this node; see `PostRelay.stream_id`."""
        return f"{self._cluster.node}.{random}"

    async def relay(self, post: RelayedPost) -> int:
        """Pass a message to the node that has its stream; see `PostRelay.relay`."""
        node, _, rest = post.stream.rpartition(".")
        if not node or not rest or len(post.stream) > MAX_STREAM_ID or node == self._cluster.node:
            return NOT_FOUND
        try:
            return int(await self._cluster.bus.ask(node, POST, encoded_post(post)))
        except NodeGone:
            return NOT_FOUND
        except (NodeSilent, StoreDown):
            return UNAVAILABLE

    async def _take(self, _asking: str, body: bytes) -> bytes:
        endpoint = self.endpoint
        return b"%d" % (NOT_FOUND if endpoint is None else endpoint.take(decoded_post(body)))


def encoded_post(post: RelayedPost) -> bytes:
    """Return a message as nodes send it to each other, without credentials."""
    token = post.admission.token
    facts = (
        None
        if token is None
        else _Token(
            token.issuer,
            token.subject,
            token.client_id,
            sorted(token.scopes),
            token.expires_at,
            dict(token.claims),
            token.key_thumbprint,
        )
    )
    headers = [line for line in post.headers.raw.items() if line[0] not in SECRET_HEADERS]
    principal, admitted = post.principal, post.admission.principal
    return msgspec.json.encode(
        _Post(post.stream, post.message, headers, principal, admitted, facts)
    )


def decoded_post(body: bytes) -> RelayedPost:
    """Return the message that another node has sent."""
    post = msgspec.json.decode(body, type=_Post)
    admission = UNVERIFIED
    if post.token is not None:
        known = post.token
        token = AccessToken(
            "",
            issuer=known.issuer,
            subject=known.subject,
            client_id=known.client_id,
            scopes=frozenset(known.scopes),
            expires_at=known.expires_at,
            claims=known.claims,
            key_thumbprint=known.key_thumbprint,
        )
        admission = Admission(post.admitted, token)
    elif post.admitted is not None:
        admission = Admission(post.admitted)
    return RelayedPost(post.stream, post.message, Headers(post.headers), post.principal, admission)
