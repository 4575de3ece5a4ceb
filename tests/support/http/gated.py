"""A gate that knows its tokens, and clients of every revision that show one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec

from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.core.transport.authorizing import Admission, Refusal
from mcp_gen.core.transport.headers import Headers
from mcp_gen.transports.http_server.app import AsgiApp
from tests.support.frames import Speaker
from tests.support.http.asgi import Open, Reply, WebClient, begin, open_request, request
from tests.support.peers.raw import WAIT_S

__all__ = [
    "Answered",
    "FakeGate",
    "GatedClient",
    "access_token",
    "bearer",
    "gated_client",
]

ISSUER = "https://as.example"
DOCUMENT = "/.well-known/oauth-protected-resource/mcp"


def access_token(
    subject: str = "alice",
    *scopes: str,
    issuer: str = ISSUER,
    ends_in_s: float | None = None,
    key: str | None = None,
) -> AccessToken:
    """Return a verified token of a user, whose text nobody else has."""
    text = f"secret-{subject}-{issuer.rpartition('/')[2]}-{'-'.join(scopes)}-{key}-{ends_in_s}"
    return AccessToken(
        text,
        issuer=issuer,
        subject=subject,
        client_id="client",
        scopes=frozenset(scopes),
        expires_at=None if ends_in_s is None else time.time() + ends_in_s,
        key_thumbprint=key,
    )


def bearer(token: AccessToken) -> dict[str, str]:
    """Return the header that shows a token."""
    return {"authorization": f"Bearer {token.raw()}"}


class FakeGate:
    """Gate that admits the tokens that it was given.

    Args:
        tokens: The valid tokens.
        leeway_s: Seconds that a stream may outlive its token.
    """

    def __init__(self, *tokens: AccessToken, leeway_s: float = 0.0) -> None:
        self.leeway_s = leeway_s
        self.valid = {one.raw(): one for one in tokens}
        self.verified: set[str] = set()
        self.failure: Exception | None = None
        self.documents = {DOCUMENT: b'{"resource":"https://api.example/mcp"}'}
        self.closed = 0
        self.admits = 0
        """Number of tokens that had to be verified."""

    def known(self, scope: Any, headers: Headers) -> Admission | None:
        """Return the admission of a token that was verified before."""
        text = headers.get("authorization", "").removeprefix("Bearer ")
        return self._admission(text) if text in self.verified else None

    async def admit(self, scope: Any, headers: Headers) -> Admission | Refusal:
        """Admit a valid token."""
        self.admits += 1
        if self.failure is not None:
            raise self.failure
        text = headers.get("authorization", "").removeprefix("Bearer ")
        if text not in self.valid:
            line = b'Bearer resource_metadata="https://api.example%b"' % DOCUMENT.encode()
            return Refusal(401, "expected an access token", [(b"www-authenticate", line)])
        self.verified.add(text)
        return self._admission(text)

    def _admission(self, text: str) -> Admission:
        token = self.valid[text]
        return Admission(token.principal, token)

    def insufficient(self, scope: Any, missing: Collection[str], admission: Admission) -> Refusal:
        """Name the missing scopes."""
        names = " ".join(sorted(missing)).encode()
        line = b'Bearer error="insufficient_scope", scope="%b"' % names
        return Refusal(403, "more scopes", [(b"www-authenticate", line)])

    async def document(self, scope: Any, path: str) -> bytes | None:
        """Return the document of a path."""
        return self.documents.get(path)

    async def aclose(self) -> None:
        """Count that it is closed."""
        self.closed += 1


class Answered(NamedTuple):
    """Response to one request, over either of the HTTP transports."""

    status: int
    headers: Mapping[str, str]
    frame: Any

    @property
    def challenge(self) -> str | None:
        """The challenge of a refusal; None without one."""
        return self.headers.get("www-authenticate")

    @property
    def text(self) -> str:
        """Text of the result of a tool."""
        found: str = self.frame["result"]["content"][0]["text"]
        return found


class GatedClient:
    """Client of one revision that shows a token with each request.

    Args:
        app: The app.
        revision: Revision of the client; with HTTP+SSE alone, the app serves it at `/sse`.
        token: Its token; another one may be set at any time.
    """

    def __init__(self, app: AsgiApp, revision: str, token: AccessToken) -> None:
        self.app = app
        self.speaker = Speaker(revision)
        self.token = token
        self.session: dict[str, str] = {}
        self.stream: Open | None = None
        self.query = ""
        self._number = 0
        self._web = WebClient(app, self.speaker)

    @property
    def is_paired(self) -> bool:
        """True if requests are answered on a stream of the client."""
        return self.speaker.profile.http_transport == "sse_pair"

    async def open(self) -> None:
        """Open the session, if there is one."""
        if self.is_paired:
            accepts = {"accept": "text/event-stream", **bearer(self.token)}
            self.stream = open_request(self.app, b"", accepts, method="GET", path="/sse")
            self.query = (await self.stream.event()).data.decode().partition("?")[2]
            assert (await self.ask_raw(self.speaker.initialize(0))).status == 202
            assert (await self.post_raw(self.speaker.initialized)).status == 202
            return
        self.session = await begin(self.app, self.speaker, bearer(self.token))
        if self.session:
            assert (await self.post_raw(self.speaker.initialized)).status == 202

    def post(self, message: bytes, **headers: str) -> Open:
        """Send a message to the endpoint of Streamable HTTP."""
        self._web.session = {**self.session, **bearer(self.token)}
        if message.startswith(b"["):
            return self._web.post_array(message)
        return self._web.post(message, **headers)

    def get(self, **headers: str) -> Open:
        """Open a stream of the session, or resume one."""
        self._web.session = {**self.session, **bearer(self.token)}
        return self._web.get(**headers)

    async def post_raw(self, message: bytes) -> Reply:
        """Send a message and return the whole response."""
        if self.is_paired:
            given = {"query_string": self.query.encode(), "path": "/sse/messages"}
            return await request(self.app, message, bearer(self.token), **given)
        return await self.post(message).whole()

    async def ask_raw(self, message: bytes) -> Answered:
        """Send a request and return its response."""
        reply = await self.post_raw(message)
        if self.stream is not None and reply.status == 202:
            return Answered(reply.status, reply.headers, await self.stream.frame())
        if reply.headers.get("content-type") == "text/event-stream":
            frames = [one.json for one in reply.events if one.data]
            return Answered(reply.status, reply.headers, frames[-1])
        frame = msgspec.json.decode(reply.body) if reply.body else None
        return Answered(reply.status, reply.headers, frame)

    async def ask(self, method: str, **params: Any) -> Answered:
        """Send a request and return its response."""
        self._number += 1
        return await self.ask_raw(self.speaker.request(self._number, method, params))

    async def call(self, tool: str, **arguments: Any) -> Answered:
        """Call a tool."""
        return await self.ask("tools/call", name=tool, arguments=arguments)

    async def aclose(self) -> None:
        """Disconnect from every open request."""
        await self._web.aclose()
        if self.stream is not None:
            self.stream.hang_up()
            await self.stream.ended()
            legacy: Any = self.app._extra_apps
            if legacy._serving:
                await asyncio.wait(list(legacy._serving), timeout=WAIT_S)


@asynccontextmanager
async def gated_client(
    app: AsgiApp, revision: str, token: AccessToken
) -> AsyncIterator[GatedClient]:
    """Open a client with a token, after its handshake if there is one."""
    client = GatedClient(app, revision, token)
    await client.open()
    try:
        yield client
    finally:
        await client.aclose()
