"""Authorization of the client under test: what each scenario of `auth/` configures."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp_gen.auth import (
    AuthorizationRequest,
    ClientCredentials,
    DPoP,
    EnterpriseManaged,
    OAuth,
    WorkloadIdentity,
)

__all__ = ["REFUSES", "authorizer"]

REDIRECT = "http://localhost:3000/callback"
DOCUMENT = "https://conformance-test.local/client-metadata.json"
TIMEOUT_S = 10.0

REFUSES = frozenset(
    (
        "auth/iss-normalized",
        "auth/iss-supported-missing",
        "auth/iss-unexpected",
        "auth/iss-wrong-issuer",
        "auth/metadata-issuer-mismatch",
        "auth/resource-mismatch",
        "auth/scope-retry-limit",
    )
)
"""Scenarios whose servers cannot be trusted or satisfied: the client has to say so."""


def authorizer(scenario: str, told: Mapping[str, Any]) -> Any:
    """Return the authorization of a scenario.

    Args:
        scenario: Its name.
        told: Its context from the suite.
    """
    configured = CONFIGURED.get(scenario)
    return _by_user(told) if configured is None else configured(told)


def _by_user(told: Mapping[str, Any]) -> OAuth:
    return OAuth(
        client_name="mcp_gen-conformance",
        client_metadata_url=DOCUMENT,
        redirect_uri=REDIRECT,
        on_authorize=_agree,
    )


def _registered_by_hand(told: Mapping[str, Any]) -> OAuth:
    return OAuth(
        client_id=told["client_id"],
        client_secret=told["client_secret"],
        redirect_uri=REDIRECT,
        on_authorize=_agree,
    )


def _with_proofs(told: Mapping[str, Any]) -> DPoP:
    return DPoP(_by_user(told))


def _with_secret(told: Mapping[str, Any]) -> ClientCredentials:
    return ClientCredentials(told["client_id"], told["client_secret"])


def _with_key(told: Mapping[str, Any]) -> ClientCredentials:
    return ClientCredentials(
        told["client_id"],
        private_key=told["private_key_pem"],
        algorithm=told["signing_algorithm"],
    )


def _by_employer(told: Mapping[str, Any]) -> EnterpriseManaged:
    return EnterpriseManaged(
        told["client_id"],
        told["client_secret"],
        id_token=told["idp_id_token"],
        idp_client_id=told["idp_client_id"],
        idp_issuer=told["idp_issuer"],
    )


def _by_platform(told: Mapping[str, Any]) -> WorkloadIdentity:
    return WorkloadIdentity(told["client_id"], told["valid_jwt"])


CONFIGURED: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "auth/client-credentials-basic": _with_secret,
    "auth/client-credentials-jwt": _with_key,
    "auth/cross-app-access-complete-flow": _by_employer,
    "auth/dpop": _with_proofs,
    "auth/dpop-nonce": _with_proofs,
    "auth/enterprise-managed-authorization": _by_employer,
    "auth/pre-registration": _registered_by_hand,
    "auth/wif-jwt-bearer": _by_platform,
}


async def _agree(request: AuthorizationRequest) -> str:
    """Do what a browser does whose user agrees: fetch the link, and return the redirect."""
    return await asyncio.to_thread(_redirect_of, request.url)


def _redirect_of(url: str) -> str:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT_S)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        return connection.getresponse().headers["location"]
    finally:
        connection.close()
