"""The work of `login`, `logout` and `whoami`: settings, and what is done with them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from mcp_gen.cli.logins.automatic import CLIENT_NAME, settings_for
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.addresses import is_loopback

if TYPE_CHECKING:
    from mcp_gen.auth.client.authorizer import TokenAuthorizer
    from mcp_gen.auth.configuring.auth_settings import AuthSettings
    from mcp_gen.cli.logins.terminal_login import User
    from mcp_gen.manager.config import ServerConfig

__all__ = ["LoginCommand", "secret_in"]

T = TypeVar("T")


class LoginCommand:
    """One run of a command about the credentials for a server.

    Args:
        config: The server.
        changes: Settings of the command line, which replace those of a config file; None: not
            given.

    Raises:
        UsageError: The server is no URL, or needs no login of a user.
    """

    def __init__(self, config: ServerConfig, changes: dict[str, Any]) -> None:
        # Imported with its first use.
        from msgspec.structs import replace

        if config.url is None:
            raise UsageError(
                "SERVER: expected a URL; a command takes its credentials from `--env` and `env`"
            )
        parts = urlsplit(config.url)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.netloc)):
            raise UsageError(
                "SERVER: expected a URL that begins with https://, or http:// on loopback: others "
                "would read the token"
            )
        self.url = config.url
        given = {name: value for name, value in changes.items() if value is not None}
        self.settings: AuthSettings = replace(settings_for(config), **given)
        if self.settings.type != "oauth":
            raise UsageError("SERVER: logs in by itself, as a program: there is no user to log in")

    def run(
        self,
        work: Callable[[TokenAuthorizer], Awaitable[T]],
        user: User,
        *,
        browser: bool | None = None,
    ) -> T:
        """Run some work with the credentials, and return its result.

        Args:
            work: The work.
            user: The terminal.
            browser: True opens a browser to log in, False shows the link; None: nobody logs in.
        """
        # Imported with a login.
        from mcp_gen.cli.logins.terminal_login import terminal_login

        login = None
        if browser is not None:
            uri = self.settings.redirect_uri
            login = terminal_login(user, browser=browser, redirect_uri=uri)

        async def running() -> T:
            tokens = self.settings.tokens(
                client_name=CLIENT_NAME, on_authorize=login, interactive=login is not None
            )
            self.settings.bound(tokens)
            try:
                return await work(tokens)
            finally:
                await tokens.aclose()

        return asyncio.run(running())


def secret_in(variable: str | None) -> str | None:
    """Return the secret in an environment variable; None if none is named.

    Raises:
        UsageError: It is not set.
    """
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise UsageError(f"--client-secret-env: the environment has no `{variable}`")
    return os.environ[variable]
