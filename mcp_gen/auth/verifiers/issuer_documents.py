"""Flows that read what an authorization server publishes: its metadata and its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mcp_gen.auth.flows.discovery import server_metadata_urls
from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk, Purpose
from mcp_gen.auth.flows.metadata import read_document
from mcp_gen.auth.flows.targets import shown_issuer
from mcp_gen.core.errors import AuthError, TransportError

__all__ = ["IssuerMetadata", "KeySet", "read_keys", "read_metadata"]

T = TypeVar("T")


class IssuerMetadata(Struct, frozen=True):
    """Metadata of an authorization server, as a resource server needs it.

    Args:
        issuer: The issuer, equal to the one that was asked for.
        jwks_uri: URL of its keys; None if it publishes none.
        introspection_endpoint: URL where tokens are introspected; None if there is none.
        document: All members.
    """

    issuer: str
    jwks_uri: str | None = None
    introspection_endpoint: str | None = None
    document: Mapping[str, Any] = {}


class KeySet(Struct, frozen=True):
    """Keys of an authorization server, as they came.

    Args:
        keys: The JWKs.
        url: Where they are.
        headers: Headers of the response, names in lower case.
    """

    keys: list[Any]
    url: str
    headers: Mapping[str, str]


class _Members(Struct):
    issuer: str
    jwks_uri: str | None = None
    introspection_endpoint: str | None = None


class _Jwks(Struct):
    keys: list[Any]


def read_metadata(issuer: str) -> Flow[IssuerMetadata]:
    """Return the metadata of an authorization server.

    Args:
        issuer: Its issuer, to which that of the metadata has to be equal in every character.

    Raises:
        AuthError: There is none of that issuer.
        TransportError: It cannot be had now.

    Source: https://www.rfc-editor.org/rfc/rfc8414.html#section-3
    """
    purpose = Purpose.SERVER_METADATA
    for url in server_metadata_urls(issuer):
        answer = yield _get(url, purpose)
        if answer.status != 200:
            _complain_of_failure(answer, purpose)
            continue
        members = read_document(answer, _Members, purpose.value)
        if members.issuer != issuer:
            raise AuthError(
                f"the metadata of {shown_issuer(issuer)} names the issuer "
                f"{shown_issuer(members.issuer)}: configure that, or correct the metadata"
            )
        return IssuerMetadata(
            members.issuer,
            members.jwks_uri,
            members.introspection_endpoint,
            msgspec.json.decode(answer.body, type=dict[str, Any]),
        )
    raise AuthError(f"{shown_issuer(issuer)} has no metadata: check `issuer`, or give `jwks_uri`")


def read_keys(issuer: str, url: str | None, *, anew: bool) -> Flow[KeySet]:
    """Return the keys of an authorization server.

    Args:
        issuer: Its issuer.
        url: Where its keys are; None to read that in its metadata.
        anew: True if no cache may answer.

    Raises:
        AuthError: There are none.
        TransportError: They cannot be had now.

    Source: https://www.rfc-editor.org/rfc/rfc7517.html#section-5
    """
    if url is None:
        url = (yield from read_metadata(issuer)).jwks_uri
        if url is None:
            raise AuthError(f"the metadata of {shown_issuer(issuer)} has no `jwks_uri`")
    answer = yield _get(url, Purpose.JWKS, {"cache-control": "no-cache"} if anew else {})
    if answer.status != 200:
        _complain_of_failure(answer, Purpose.JWKS)
        raise AuthError(
            f"the keys of {shown_issuer(issuer)} are not at its `jwks_uri`: status {answer.status}"
        )
    keys = read_document(answer, _Jwks, Purpose.JWKS.value).keys
    return KeySet(keys, url, answer.headers)


def _get(url: str, purpose: Purpose, headers: Mapping[str, str] | None = None) -> HttpAsk:
    return HttpAsk("GET", url, purpose, {"accept": "application/json", **(headers or {})})


def _complain_of_failure(answer: HttpAnswer, purpose: Purpose) -> None:
    if answer.status >= 500 or answer.status == 429:
        raise TransportError(f"{purpose.value} cannot be had: status {answer.status}")
