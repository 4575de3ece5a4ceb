"""Documents of protected resources and authorization servers, as clients read them."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from mcp_gen.auth.flows.exchange import HttpAnswer
from mcp_gen.core.errors import AuthError

__all__ = [
    "ClientInformation",
    "ErrorAnswer",
    "ResourceMetadata",
    "ServerMetadata",
    "TokenAnswer",
    "read_document",
]

T = TypeVar("T")


class ResourceMetadata(Struct, frozen=True):
    """Metadata of a protected resource; members that are not named here are left out.

    Source: https://www.rfc-editor.org/rfc/rfc9728.html#section-2
    """

    resource: str
    authorization_servers: list[str] | None = None
    scopes_supported: list[str] | None = None
    resource_name: str | None = None
    dpop_bound_access_tokens_required: bool | None = None


class ServerMetadata(Struct, frozen=True):
    """Metadata of an authorization server; members that are not named here are left out.

    Source: https://www.rfc-editor.org/rfc/rfc8414.html#section-2
    """

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: list[str] | None = None
    grant_types_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    token_endpoint_auth_signing_alg_values_supported: list[str] | None = None
    revocation_endpoint_auth_methods_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    dpop_signing_alg_values_supported: list[str] | None = None
    prompt_values_supported: list[str] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None


class ClientInformation(Struct, frozen=True):
    """The response to a registration. Its repr has no secret.

    Source: https://www.rfc-editor.org/rfc/rfc7591.html#section-3.2.1
    """

    client_id: str
    client_secret: str | None = None
    client_secret_expires_at: float | None = None
    token_endpoint_auth_method: str | None = None
    redirect_uris: list[str] | None = None

    def __repr__(self) -> str:
        return f"ClientInformation(client_id={self.client_id!r})"


class TokenAnswer(Struct, frozen=True):
    """A response of a token endpoint. Its repr has no secret.

    Source: https://www.rfc-editor.org/rfc/rfc6749.html#section-5.1
    """

    access_token: str
    token_type: str = "Bearer"
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None
    id_token: str | None = None
    issued_token_type: str | None = None

    def __repr__(self) -> str:
        return f"TokenAnswer(token_type={self.token_type!r}, scope={self.scope!r})"


class ErrorAnswer(Struct, frozen=True):
    """An error of an authorization server.

    Source: https://www.rfc-editor.org/rfc/rfc6749.html#section-5.2
    """

    error: str = ""
    error_description: str | None = None


def read_document(answer: HttpAnswer, type: type[T], what: str) -> T:
    """Return a JSON document as a struct.

    Args:
        answer: The response.
        type: The struct.
        what: What the document is, for the error.

    Raises:
        AuthError: It is not valid JSON, or not of that shape.
    """
    try:
        return msgspec.json.decode(answer.body, type=type)
    except msgspec.ValidationError as error:
        # Names the place and the types, not the value.
        raise AuthError(f"{what} is not as expected: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise AuthError(f"{what}: expected a JSON document, got something else") from None
