"""Settings of an authorizer as a config file or a command line has them, and what they make."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from mcp_gen.auth.client.authorizer import TokenAuthorizer
    from mcp_gen.auth.client.oauth import OnAuthorize, RedirectReceiver
    from mcp_gen.auth.stores.token_store import TokenStore
    from mcp_gen.core.transport.authorizing import RequestAuthorizer

__all__ = ["GRANTS", "AuthSettings", "Grant", "token_store"]

Grant: TypeAlias = Literal["oauth", "client_credentials"]
GRANTS: Mapping[str, Grant] = {
    "oauth": "oauth",
    "client_credentials": "client_credentials",
}
"""Values of `type`."""


class AuthSettings(Struct, frozen=True, kw_only=True):
    """Settings of a login at one server. Their repr has no secret.

    Args:
        type: `oauth` for a user with a browser, `client_credentials` for a program of its own.
        client_id: Client that was registered by hand; None registers one.
        client_secret: Its secret.
        private_key: Its private key as PEM or JWK, for `client_credentials`.
        client_metadata_url: https URL of a client id metadata document.
        issuer: The only authorization server that may be used; None: the one that the server names.
        scopes: Scopes to ask for; None for those that the server names.
        redirect_uri: A fixed redirect URI; None for one on 127.0.0.1 with a free port.
        allow_hosts: Hosts of authorization servers that may have private addresses.
        store: Where tokens are kept: the path of a file, `keyring` or `memory`; None for the usual
            file.
        account: Tells several users of one server and store apart.
        dpop: True binds tokens to a key.
    """

    type: Grant = "oauth"
    client_id: str | None = None
    client_secret: str | None = None
    private_key: str | None = None
    client_metadata_url: str | None = None
    issuer: str | None = None
    scopes: tuple[str, ...] | None = None
    redirect_uri: str | None = None
    allow_hosts: tuple[str, ...] = ()
    store: str | None = None
    account: str = ""
    dpop: bool = False

    def __repr__(self) -> str:
        return f"AuthSettings(type={self.type!r}, client_id={self.client_id!r})"

    def tokens(
        self,
        *,
        client_name: str = "mcp_gen",
        on_authorize: OnAuthorize | RedirectReceiver | None = None,
        redirect_uri: str | None = None,
        interactive: bool = True,
    ) -> TokenAuthorizer:
        """Return what has the tokens of one server, without DPoP.

        Args:
            client_name: Name of the client, which users see at the login.
            on_authorize: How users log in; see `OAuth`.
            redirect_uri: Where browsers come back to, if the settings say nothing else.
            interactive: False if nobody is there to log in.

        Raises:
            UsageError: The settings do not fit together.
        """
        if self.type == "client_credentials":
            # Loaded with the first login of a program.
            from mcp_gen.auth.client.client_credentials import ClientCredentials

            return ClientCredentials(
                self.client_id or "",
                self.client_secret,
                private_key=self.private_key,
                scopes=self.scopes,
                issuer=self.issuer,
                allow_hosts=self.allow_hosts,
            )
        # Loaded with the first login of a user.
        from mcp_gen.auth.client.oauth import OAuth

        return OAuth(
            client_name=client_name,
            client_id=self.client_id,
            client_secret=self.client_secret,
            client_metadata_url=self.client_metadata_url,
            issuer=self.issuer,
            redirect_uri=self.redirect_uri or redirect_uri,
            scopes=self.scopes,
            store=token_store(self.store),
            account=self.account,
            on_authorize=on_authorize,
            interactive=interactive,
            allow_hosts=self.allow_hosts,
        )

    def authorizer(self, **options: Any) -> RequestAuthorizer:
        """Return the authorizer of one server.

        Args:
            options: Options of `tokens`.

        Raises:
            UsageError: The settings do not fit together.
        """
        return self.bound(self.tokens(**options))

    def bound(self, tokens: TokenAuthorizer) -> RequestAuthorizer:
        """Return the authorizer of one server: with DPoP if the settings say so.

        Args:
            tokens: What `tokens` returned.

        Raises:
            UsageError: The extra `auth` is not installed, which DPoP needs.
        """
        if not self.dpop:
            return tokens
        # Loaded where tokens are bound to a key.
        from mcp_gen.auth.client.dpop import DPoP

        return DPoP(tokens)


def token_store(named: str | None) -> TokenStore:
    """Return a token store by its name: a path, `keyring` or `memory`; None for the usual file."""
    if named == "memory":
        # Loaded where it is named.
        from mcp_gen.auth.stores.token_store import MemoryTokenStore

        return MemoryTokenStore()
    if named == "keyring":
        # Loaded where it is named.
        from mcp_gen.auth.stores.keyring_store import KeyringTokenStore

        return KeyringTokenStore()
    # Loaded with the first login of a user.
    from mcp_gen.auth.stores.file_store import FileTokenStore

    return FileTokenStore(None if named is None else os.path.expanduser(named))
