"""Protocols of authorization over HTTP: what gives requests their token, and what admits them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from mcp_gen.core.transport.access_token import AccessToken
    from mcp_gen.core.transport.headers import Headers, Lines

__all__ = [
    "UNVERIFIED",
    "Admission",
    "GateEndpoints",
    "Refusal",
    "RequestAuthorizer",
    "RequestGate",
]

Scope: TypeAlias = "Mapping[str, Any]"
"""An ASGI scope."""


class RequestAuthorizer(Protocol):
    """Gives the requests of a client their credentials; see `mcp_gen.auth`."""

    async def headers(self, method: str, url: str) -> Lines:
        """Return the header lines of a request that is about to be sent.

        A token that ends soon is renewed first. Without a token there are no lines: the server
        then says what it wants.

        Args:
            method: The HTTP method.
            url: The URL that the request goes to.

        Raises:
            AuthError: There is no token, and none can be had.
        """
        ...

    async def retry(
        self, method: str, url: str, status: int, headers: Mapping[str, str], sent: Lines
    ) -> bool:
        """Act on a refused request, and return True if it should be sent once more.

        It bounds its own attempts: the caller asks again after each refusal.

        Args:
            method: The HTTP method.
            url: The URL that the request went to.
            status: 401 or 403.
            headers: The response headers, names in lower case.
            sent: What `headers` returned for the request.

        Raises:
            AuthError: No token can be had; its text says why.
        """
        ...

    def responded(self, url: str, headers: Mapping[str, str]) -> None:
        """Take notice of a response, whatever its status.

        Args:
            url: The URL that the request went to.
            headers: The response headers, names in lower case.
        """
        ...

    @property
    def identity(self) -> Hashable:
        """Whose credentials these are, to keep apart what is cached; None while there are none."""
        ...

    async def aclose(self) -> None:
        """Close what was opened. Stored tokens stay."""
        ...


class Admission(Struct, frozen=True):
    """A request that may be answered.

    Args:
        principal: Stable name of the caller; None where callers are not told apart.
        token: The verified token; None if the request needs none.
    """

    principal: str | None
    token: AccessToken | None = None


UNVERIFIED = Admission(None)
"""Admission over HTTP where no gate verifies tokens, or beside a request: it has no scope."""


class Refusal(Struct, frozen=True):
    """A request that is refused.

    Args:
        status: The HTTP status.
        message: What was expected, for the JSON-RPC error of the response.
        headers: Header lines of the response, such as `WWW-Authenticate`.
    """

    status: int
    message: str
    headers: Lines = ()


class RequestGate(Protocol):
    """Admits the requests of a server; see `mcp_gen.auth.ResourceServer`."""

    leeway_s: float
    """Seconds by which clocks may differ; a stream ends that much after its token."""

    def known(self, scope: Scope, headers: Headers) -> Admission | None:
        """Return the admission of a request whose token was verified before, without waiting.

        Args:
            scope: The ASGI scope of the request.
            headers: The headers of the request.

        Returns:
            The admission; None if `admit` has to be asked.
        """
        ...

    async def admit(self, scope: Scope, headers: Headers) -> Admission | Refusal:
        """Verify the credentials of a request.

        Args:
            scope: The ASGI scope of the request.
            headers: The headers of the request.
        """
        ...

    def insufficient(self, scope: Scope, missing: Collection[str], admission: Admission) -> Refusal:
        """Return the refusal of an admitted request whose token lacks scopes.

        Args:
            scope: The ASGI scope of the request.
            missing: Scopes that the operation needs and the token has not.
            admission: The admission of the request.
        """
        ...

    async def document(self, scope: Scope, path: str) -> bytes | None:
        """Return the metadata document at a path, as JSON; None if there is none.

        It is served without credentials, to every origin.

        Args:
            scope: The ASGI scope of the request.
            path: The path, below the mount of the app.
        """
        ...

    async def aclose(self) -> None:
        """Close what was opened."""
        ...


@runtime_checkable
class GateEndpoints(Protocol):
    """Endpoints of a gate beside its documents, such as those of `mcp_gen.auth.OAuthProxy`.

    A gate that has these methods serves them without credentials. The `Host` header is validated
    first; methods, origins and bodies are the endpoint's own matter.
    """

    def serves(self, path: str) -> bool:
        """Return True if there is an endpoint at a path.

        Args:
            path: The path, below the mount of the app.
        """
        ...

    async def respond(
        self,
        scope: Scope,
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
        path: str,
    ) -> None:
        """Answer a request to an endpoint.

        Args:
            scope: The ASGI scope of the request.
            receive: The ASGI receive callable.
            send: The ASGI send callable.
            path: The path, below the mount of the app.
        """
        ...
