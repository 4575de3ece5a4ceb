"""A server of ours that verifies tokens of an issuer, and requests to it with any token."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from joserfc.jwk import ECKey

from mcp_gen import Context, Server
from mcp_gen.auth import ResourceServer
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.transports.http_server.app import AsgiApp
from tests.auth.server.requests import ISSUER, RESOURCE, Clock
from tests.auth.verifiers.issuers import Documents, claims, ec_key, sign
from tests.support.frames import Speaker
from tests.support.http.asgi import Reply, begin, headers_of, request

__all__ = ["METADATA", "Protected", "bearer", "key", "scopes_of", "shown", "token"]

METADATA = "/.well-known/oauth-protected-resource/mcp"


@cache
def key() -> ECKey:
    """Return the key of the issuer."""
    return ec_key()


def token(**more: Any) -> str:
    """Return a token of the issuer for the server; None leaves out a claim."""
    return sign(key(), claims(**more))


def shown(text: str) -> AccessToken:
    """Return what a client shows that has the text of a token."""
    return AccessToken(text)


def bearer(text: str) -> dict[str, str]:
    """Return the header that shows a token."""
    return {"authorization": f"Bearer {text}"}


class Protected:
    """A protected server with a tool of its own, and what it was asked to do.

    Args:
        server: The server; None for one with the tool `who`.
        scopes: Scopes that each request needs.
        options: Options of its `ResourceServer`.
    """

    def __init__(
        self,
        server: Server[Any] | None = None,
        *,
        scopes: Collection[str] = ("mcp",),
        **options: Any,
    ) -> None:
        self.calls: list[str] = []
        """Tokens of the calls that reached the tool."""
        self.documents = Documents()
        self.documents.publish(key())
        self.server = Server("protected") if server is None else server
        self.server.tool(self.who)
        self.app: AsgiApp = self.server.asgi(
            legacy_sse_path="/sse",
            auth=ResourceServer(
                options.pop("issuer", ISSUER),
                audience=options.pop("audience", RESOURCE),
                scopes=scopes,
                fetcher=self.documents,
                clock=Clock(),
                **options,
            ),
        )

    async def who(self, ctx: Context) -> str:
        """Return the name of who calls."""
        assert ctx.token is not None
        self.calls.append(ctx.token.raw())
        return str(ctx.principal)

    async def call(self, revision: str, text: str | None, **given: Any) -> Reply:
        """Send a call of the tool as the first request of a client, with a token or without."""
        speaker = Speaker(revision)
        message = speaker.call(1, "who")
        headers = headers_of(speaker, message) | ({} if text is None else bearer(text))
        return await request(self.app, message, headers | given.pop("headers", {}), **given)

    async def call_in_session(self, revision: str, opened_with: str, text: str | None) -> Reply:
        """Open a session with a token, and call the tool with another one or with none."""
        speaker = Speaker(revision)
        session = await begin(self.app, speaker, bearer(opened_with))
        message = speaker.call(1, "who")
        headers = headers_of(speaker, message) | session | ({} if text is None else bearer(text))
        return await request(self.app, message, headers)

    async def get(self, path: str, **headers: str) -> Reply:
        """Get a document."""
        return await request(self.app, b"", headers, method="GET", path=path)


def scopes_of(challenge: str | None) -> list[str]:
    """Return the scopes that a challenge names, in its order."""
    return (challenge or "").partition('scope="')[2].partition('"')[0].split()
