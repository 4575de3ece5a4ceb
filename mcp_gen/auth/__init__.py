"""Authorization over HTTP: OAuth clients, and servers that check tokens.

Imported by: server/serving, client/connecting, manager, compat, cli, users.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.auth.browser.browser_login import BrowserLogin
    from mcp_gen.auth.client.client_credentials import ClientCredentials
    from mcp_gen.auth.client.credentials import AuthorizationStatus
    from mcp_gen.auth.client.dpop import DPoP
    from mcp_gen.auth.client.enterprise import EnterpriseManaged
    from mcp_gen.auth.client.oauth import OAuth
    from mcp_gen.auth.client.workload import WorkloadIdentity
    from mcp_gen.auth.flows.authorization_code import AuthorizationRequest
    from mcp_gen.auth.proofs.client_assertions import KeyAssertions
    from mcp_gen.auth.proofs.keys import SigningKey
    from mcp_gen.auth.proofs.nonces import NonceIssuer
    from mcp_gen.auth.proofs.seen_proofs import SeenProofs
    from mcp_gen.auth.proxy.login_provider import LoginProvider
    from mcp_gen.auth.proxy.oauth_proxy import OAuthProxy
    from mcp_gen.auth.proxy.proxy_store import MemoryProxyStore, ProxyStore
    from mcp_gen.auth.server.dpop_checks import DpopChecks
    from mcp_gen.auth.server.resource_server import ResourceServer
    from mcp_gen.auth.stores.file_store import FileTokenStore
    from mcp_gen.auth.stores.keyring_store import KeyringTokenStore
    from mcp_gen.auth.stores.token_store import MemoryTokenStore, StoredCredentials, TokenStore
    from mcp_gen.auth.verifiers.gateway_headers import GatewayHeaders
    from mcp_gen.auth.verifiers.introspection_verifier import IntrospectionVerifier
    from mcp_gen.auth.verifiers.issuer_keys import KeyTimes
    from mcp_gen.auth.verifiers.jwt_verifier import JwtVerifier
    from mcp_gen.auth.verifiers.static_tokens import StaticTokens
    from mcp_gen.auth.verifiers.token_verifier import (
        InvalidToken,
        RequestVerifier,
        TokenVerifier,
        VerifierUnavailable,
    )
    from mcp_gen.core.errors import AuthError
    from mcp_gen.core.transport.access_token import AccessToken

__all__ = [
    "AccessToken",
    "AuthError",
    "AuthorizationRequest",
    "AuthorizationStatus",
    "BrowserLogin",
    "ClientCredentials",
    "DPoP",
    "DpopChecks",
    "EnterpriseManaged",
    "FileTokenStore",
    "GatewayHeaders",
    "IntrospectionVerifier",
    "InvalidToken",
    "JwtVerifier",
    "KeyAssertions",
    "KeyTimes",
    "KeyringTokenStore",
    "LoginProvider",
    "MemoryProxyStore",
    "MemoryTokenStore",
    "NonceIssuer",
    "OAuth",
    "OAuthProxy",
    "ProxyStore",
    "RequestVerifier",
    "ResourceServer",
    "SeenProofs",
    "SigningKey",
    "StaticTokens",
    "StoredCredentials",
    "TokenStore",
    "TokenVerifier",
    "VerifierUnavailable",
    "WorkloadIdentity",
]

_HOMES = {
    "AccessToken": "mcp_gen.core.transport.access_token",
    "AuthError": "mcp_gen.core.errors",
    "AuthorizationRequest": "mcp_gen.auth.flows.authorization_code",
    "AuthorizationStatus": "mcp_gen.auth.client.credentials",
    "BrowserLogin": "mcp_gen.auth.browser.browser_login",
    "ClientCredentials": "mcp_gen.auth.client.client_credentials",
    "DPoP": "mcp_gen.auth.client.dpop",
    "DpopChecks": "mcp_gen.auth.server.dpop_checks",
    "EnterpriseManaged": "mcp_gen.auth.client.enterprise",
    "FileTokenStore": "mcp_gen.auth.stores.file_store",
    "GatewayHeaders": "mcp_gen.auth.verifiers.gateway_headers",
    "IntrospectionVerifier": "mcp_gen.auth.verifiers.introspection_verifier",
    "InvalidToken": "mcp_gen.auth.verifiers.token_verifier",
    "JwtVerifier": "mcp_gen.auth.verifiers.jwt_verifier",
    "KeyAssertions": "mcp_gen.auth.proofs.client_assertions",
    "KeyTimes": "mcp_gen.auth.verifiers.issuer_keys",
    "KeyringTokenStore": "mcp_gen.auth.stores.keyring_store",
    "LoginProvider": "mcp_gen.auth.proxy.login_provider",
    "MemoryProxyStore": "mcp_gen.auth.proxy.proxy_store",
    "MemoryTokenStore": "mcp_gen.auth.stores.token_store",
    "NonceIssuer": "mcp_gen.auth.proofs.nonces",
    "OAuth": "mcp_gen.auth.client.oauth",
    "OAuthProxy": "mcp_gen.auth.proxy.oauth_proxy",
    "ProxyStore": "mcp_gen.auth.proxy.proxy_store",
    "RequestVerifier": "mcp_gen.auth.verifiers.token_verifier",
    "ResourceServer": "mcp_gen.auth.server.resource_server",
    "SeenProofs": "mcp_gen.auth.proofs.seen_proofs",
    "SigningKey": "mcp_gen.auth.proofs.keys",
    "StaticTokens": "mcp_gen.auth.verifiers.static_tokens",
    "StoredCredentials": "mcp_gen.auth.stores.token_store",
    "TokenStore": "mcp_gen.auth.stores.token_store",
    "TokenVerifier": "mcp_gen.auth.verifiers.token_verifier",
    "VerifierUnavailable": "mcp_gen.auth.verifiers.token_verifier",
    "WorkloadIdentity": "mcp_gen.auth.client.workload",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mcp_gen.auth' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
