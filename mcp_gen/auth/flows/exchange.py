"""Requests that flows yield, the responses that they take, and what a flow is."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from enum import Enum
from typing import Protocol, TypeAlias, TypeVar

from msgspec import Struct

__all__ = ["Flow", "FlowRunner", "HttpAnswer", "HttpAsk", "Purpose"]

T = TypeVar("T")


class Purpose(Enum):
    """Purpose of a request of a flow; the text stands in errors."""

    CHALLENGE = "the challenge of the server"
    RESOURCE_METADATA = "the metadata of the protected resource"
    SERVER_METADATA = "the metadata of the authorization server"
    REGISTRATION = "the registration of the client"
    TOKEN = "a token"
    REVOCATION = "the revocation of a token"
    JWKS = "the keys of the authorization server"
    INTROSPECTION = "the introspection of a token"
    CLIENT_METADATA = "the metadata of the client"
    USERINFO = "the identity of the user"


class HttpAsk(Struct, frozen=True):
    """One HTTP request that a flow wants sent.

    A GET request for metadata or keys may follow a few redirects; no other request follows one.

    Args:
        method: The HTTP method.
        url: The URL, https or on loopback.
        purpose: What it is for.
        headers: Headers by name in lower case.
        body: The body; None for none.
    """

    method: str
    url: str
    purpose: Purpose
    headers: Mapping[str, str] = {}
    body: bytes | None = None

    def __repr__(self) -> str:
        # Neither headers nor body nor query: they hold secrets.
        return f"HttpAsk({self.method} for {self.purpose.value})"


class HttpAnswer(Struct, frozen=True):
    """The response to a request of a flow, with its whole body.

    Args:
        status: The HTTP status.
        headers: Headers by name in lower case.
        body: The body, within the limit of the one who sent the request.
    """

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""

    def __repr__(self) -> str:
        return f"HttpAnswer({self.status}, {len(self.body)} bytes)"


Flow: TypeAlias = Generator[HttpAsk, HttpAnswer, T]
"""Yields requests, takes their responses, and returns its result.

Who drives it throws `TransportError` into it where a request could not be sent.
"""


class FlowRunner(Protocol):
    """Sends the requests of flows; `Fetcher` does."""

    async def run(self, flow: Flow[T], *, configured: str | None = None) -> T:
        """Send the requests of a flow and return its result.

        Args:
            flow: The flow.
            configured: The URL that the user or operator configured.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...
