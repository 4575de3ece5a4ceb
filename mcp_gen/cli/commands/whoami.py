"""`mcp-gen whoami`: show who is logged in at a server, from what is stored."""

from __future__ import annotations

import typer

from mcp_gen.cli.accounts.credentials import (
    RemoteServer,
    Store,
    about_credentials,
    print_status,
)
from mcp_gen.cli.console.output import fail
from mcp_gen.cli.console.server_options import Config, Json

__all__ = ["whoami"]


def whoami(
    server: RemoteServer,
    store: Store = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show who is logged in at a server, with which scopes, and until when.

    This is what is stored on this machine: no server is asked.

    Exit code 1 if nobody is logged in, 2 for a mistake in the command line.

    **Examples**

    * `mcp-gen whoami https://example.org/mcp` shows the login for this server
    * `mcp-gen whoami https://example.org/mcp --json` is for scripts
    * `mcp-gen whoami files --config servers.json` takes the settings of an entry
    """
    about = about_credentials("whoami", server, config, as_json=as_json, store=store)
    status = about.ask(lambda tokens: tokens.status(about.url))
    if status is not None or as_json:
        print_status(about.url, status, as_json)
    if status is None and not as_json:
        fail("whoami", f"nobody is logged in at {about.shown}; `{about.next_step}` logs in", 1)
    if status is None or not status.logged_in:
        raise typer.Exit(1)
