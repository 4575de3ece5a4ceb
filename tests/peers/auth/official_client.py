"""The official SDK's client with an OAuth provider of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

__all__ = ["REDIRECT", "WAIT_S", "Declined", "OfficialUser", "Storage", "connected"]

WAIT_S = 30.0
REDIRECT = "http://127.0.0.1:1/callback"


class Storage(TokenStorage):
    """Memory of the client for one login."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Declined(Exception):
    """The authorization server has sent the user back without a code."""


class OfficialUser:
    """A user of the official client, who agrees to all that is asked.

    `shown` has the parameters of each link, `back` those of the last redirect.
    """

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []
        self.back: dict[str, str] = {}

    async def open(self, url: str) -> None:
        """Do what a browser does whose user agrees."""
        self.shown.append(dict(parse_qsl(urlsplit(url).query)))
        async with httpx2.AsyncClient(trust_env=False) as browser:
            answer = await browser.get(url)
        self.back = dict(parse_qsl(urlsplit(answer.headers["location"]).query))

    async def come_back(self) -> AuthorizationCodeResult:
        """Return what the redirect has brought.

        Raises:
            Declined: it is no code. What the client returns in that case has no member for it.
        """
        if "error" in self.back:
            raise Declined(self.back["error"])
        return AuthorizationCodeResult(**self.back)

    def provider(
        self, url: str, storage: Storage | None = None, **metadata: Any
    ) -> OAuthClientProvider:
        """Return the provider of a client of this user."""
        document = metadata.pop("client_metadata_url", None)
        given = OAuthClientMetadata(
            client_name="official", redirect_uris=[AnyUrl(REDIRECT)], **metadata
        )
        return OAuthClientProvider(
            url, given, storage or Storage(), self.open, self.come_back, document
        )


@asynccontextmanager
async def connected(
    url: str, auth: httpx2.Auth, mode: str = "auto"
) -> AsyncGenerator[Client, None]:
    """Connect the official client."""
    with anyio.fail_after(WAIT_S):
        async with httpx2.AsyncClient(auth=auth, trust_env=False) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client
