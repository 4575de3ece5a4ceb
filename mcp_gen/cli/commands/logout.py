"""`mcp-gen logout`: forget the tokens for a server, and revoke them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.cli.accounts.credentials import (
    AllowHost,
    RemoteServer,
    Store,
    about_credentials,
)
from mcp_gen.cli.console.output import print_json
from mcp_gen.cli.console.server_options import Config, Json

if TYPE_CHECKING:
    from mcp_gen.auth.client.authorizer import TokenAuthorizer

__all__ = ["logout"]


def logout(
    server: RemoteServer,
    allow_host: AllowHost = None,
    store: Store = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Forget the tokens and the registration for a server, and revoke the tokens.

    They are forgotten in any case. Where the authorization server revokes no tokens, or cannot be
    reached, whoever has them can use them until they end; the command says so.

    Exit code 1 if the stored tokens cannot be read, 2 for a mistake in the command line.

    **Examples**

    * `mcp-gen logout https://example.org/mcp` forgets and revokes the tokens
    * `mcp-gen logout https://example.org/mcp --json` says for scripts if they were revoked
    * `mcp-gen logout files --config servers.json` takes the settings of an entry
    """
    about = about_credentials(
        "logout",
        server,
        config,
        as_json=as_json,
        allow_hosts=allow_host,
        store=store,
    )

    async def leave(tokens: TokenAuthorizer) -> tuple[bool, bool]:
        there = await tokens.status(about.url) is not None
        return there, await tokens.logout(about.url)

    there, revoked = about.ask(leave)
    if as_json:
        print_json({"server": about.url, "was_logged_in": there, "revoked": there and revoked})
    elif not there:
        print(f"there was no login for {about.shown}")
    elif revoked:
        print(f"logged out of {about.shown}")
    else:
        print(f"logged out of {about.shown}; the tokens are not revoked, and valid to their end")
