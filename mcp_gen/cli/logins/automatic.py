"""Logins that commands make by themselves, when a server asks for one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import structs

from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.addresses import is_loopback

if TYPE_CHECKING:
    from mcp_gen.auth.configuring.auth_settings import AuthSettings
    from mcp_gen.cli.logins.terminal_login import User
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Lines
    from mcp_gen.manager.config import ServerConfig

__all__ = [
    "ALLOW_HOSTS_VARIABLE",
    "STORE_VARIABLE",
    "automatic_login",
    "logging_in",
    "settings_for",
    "with_stored_token",
]

STORE_VARIABLE, ALLOW_HOSTS_VARIABLE = "MCP_GEN_TOKEN_STORE", "MCP_GEN_ALLOW_HOSTS"
"""Environment variables with the defaults of `--store` and `--allow-host`."""
CLIENT_NAME = "mcp-gen"


def settings_for(config: ServerConfig) -> AuthSettings:
    """Return the settings of a login: those of the config file, and of the environment."""
    # Imported with the first login.
    from mcp_gen.auth.configuring.auth_settings import AuthSettings

    auth: Any = config.auth
    found: AuthSettings = auth if isinstance(auth, AuthSettings) else AuthSettings()
    changes: dict[str, Any] = {}
    if not found.store and os.environ.get(STORE_VARIABLE):
        changes["store"] = os.environ[STORE_VARIABLE]
    if not found.allow_hosts and os.environ.get(ALLOW_HOSTS_VARIABLE):
        changes["allow_hosts"] = tuple(os.environ[ALLOW_HOSTS_VARIABLE].split())
    return structs.replace(found, **changes)


def automatic_login(config: ServerConfig, user: User) -> RequestAuthorizer | None:
    """Return what logs in at the server of a command, if it asks for that.

    Without a terminal, stored tokens are used and renewed, and nobody is asked.

    Args:
        config: The server.
        user: The terminal.

    Returns:
        The authorizer, which the command closes; None for what is no URL, has credentials of its
        own, or would get tokens in the clear.
    """
    if config.url is None or config.bearer_token is not None or config.http_client is not None:
        return None
    headers: Any = config.headers or {}
    parts = urlsplit(config.url)
    if (
        parts.username is not None
        or callable(headers)
        or "authorization" in map(str.lower, headers)
    ):
        return None
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return None
    return _AutomaticLogin(config, user)


@asynccontextmanager
async def logging_in(config: ServerConfig, user: User) -> AsyncGenerator[ServerConfig, None]:
    """Yield a configuration whose server is logged in at if it asks for that.

    Args:
        config: The configuration.
        user: The terminal.
    """
    auth = automatic_login(config, user)
    if auth is None:
        yield config
        return
    try:
        yield replace(config, auth=auth)
    finally:
        await auth.aclose()


def with_stored_token(config: ServerConfig) -> ServerConfig:
    """Return a configuration with the stored token of its server as a header, if there is one.

    For commands that send requests of their own making. A token that ends soon is renewed first.

    Args:
        config: The configuration.

    Raises:
        AuthError: The token has ended, and cannot be renewed.
        UsageError: The token is bound to a key: a header is not enough.
    """
    auth = automatic_login(config, _Nobody())
    if auth is None or config.url is None:
        return config
    url = config.url

    async def lines() -> Lines:
        try:
            return await auth.headers("POST", url)
        finally:
            await auth.aclose()

    headers: Any = config.headers or {}
    for name, value in asyncio.run(lines()):
        if name != b"authorization" or not value.startswith(b"Bearer "):
            raise UsageError("this command sends no proofs (DPoP): give a token with --header")
        headers = {**headers, "Authorization": value.decode()}
    return replace(config, headers=headers or None, auth=None)


class _Nobody:
    """Terminal at which nobody is."""

    can_ask = False

    def say(self, text: str, style: str = "") -> None:
        """Say nothing."""

    async def ask(self, prompt: str) -> str:
        raise EOFError


class _AutomaticLogin:
    """Authorizer that is made with the first token that is needed: most servers need none."""

    def __init__(self, config: ServerConfig, user: User) -> None:
        self._config = config
        self._user = user
        self._auth: RequestAuthorizer | None = None

    async def headers(self, method: str, url: str) -> Lines:
        if self._auth is None and not self._has_tokens():
            return ()
        return await self._made().headers(method, url)

    async def retry(
        self, method: str, url: str, status: int, headers: Mapping[str, str], sent: Lines
    ) -> bool:
        return await self._made().retry(method, url, status, headers, sent)

    def responded(self, url: str, headers: Mapping[str, str]) -> None:
        if self._auth is not None:
            self._auth.responded(url, headers)

    @property
    def identity(self) -> Hashable:
        return None if self._auth is None else self._auth.identity

    async def aclose(self) -> None:
        if self._auth is not None:
            await self._auth.aclose()

    def _has_tokens(self) -> bool:
        """Return False if it is certain that nothing is stored: then no more has to be loaded."""
        if self._config.auth is not None or os.environ.get(STORE_VARIABLE):
            return True
        # Imported here: this is all that a server without authorization needs of it.
        from mcp_gen.auth.stores.private_files import default_path

        return default_path("tokens.json").exists()

    def _made(self) -> RequestAuthorizer:
        if self._auth is None:
            # Imported with the first login.
            from mcp_gen.cli.logins.terminal_login import terminal_login

            settings = settings_for(self._config)
            interactive = self._user.can_ask
            tokens = settings.tokens(
                client_name=CLIENT_NAME,
                on_authorize=terminal_login(self._user, redirect_uri=settings.redirect_uri)
                if interactive and settings.type == "oauth"
                else None,
                interactive=interactive,
            )
            self._auth = settings.bound(tokens)
        return self._auth
