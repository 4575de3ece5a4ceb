"""`mcp-gen login`: log in at a server over HTTP, and store the tokens."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mcp_gen.cli.accounts.credentials import (
    AllowHost,
    RemoteServer,
    Store,
    about_credentials,
    print_status,
)
from mcp_gen.cli.console.server_options import Config, Json

__all__ = ["login"]


def login(
    server: RemoteServer,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser",
            help="Open a browser on this machine; or print the link, and read the address that the "
            "browser ends at from stdin.",
        ),
    ] = True,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Ask for this scope; can be given more than once.", metavar="SCOPE"),
    ] = None,
    client_id: Annotated[
        str | None, typer.Option(help="A client that was registered by hand.", metavar="ID")
    ] = None,
    client_secret_env: Annotated[
        str | None,
        typer.Option(help="The environment variable with its secret.", metavar="NAME"),
    ] = None,
    client_metadata_url: Annotated[
        str | None,
        typer.Option(help="The https URL of a client id metadata document.", metavar="URL"),
    ] = None,
    issuer: Annotated[
        str | None,
        typer.Option(help="The only authorization server that may be used.", metavar="URL"),
    ] = None,
    redirect_uri: Annotated[
        str | None,
        typer.Option(
            help="A fixed redirect URI on http://127.0.0.1 or http://localhost; a free port "
            "without one.",
            metavar="URL",
        ),
    ] = None,
    allow_host: AllowHost = None,
    store: Store = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Log in at a server over HTTP, and store the tokens for other commands and programs.

    What is asked for is shown first: the server, where you log in, the scopes, and the client. Then
    a browser opens, which comes back to a page on this machine. The tokens are stored in a file
    that only you can read; see --store. Commands such as `mcp-gen tools` log in by themselves when
    a terminal is there.

    Exit code 1 if the login fails, 2 for a mistake in the command line, 3 if the server cannot be
    reached.

    **Examples**

    * `mcp-gen login https://example.org/mcp` opens a browser
    * `mcp-gen login https://example.org/mcp --no-browser` is for a machine without one
    * `mcp-gen login https://example.org/mcp --scope files:read` asks for this scope
    * `mcp-gen login https://mcp.corp/mcp --allow-host login.corp` is for use inside a company
    * `mcp-gen login files --config servers.json` takes the settings of an entry
    """
    about = about_credentials(
        "login",
        server,
        config,
        as_json=as_json,
        scopes=None if scope is None else tuple(scope),
        client_id=client_id,
        secret_env=client_secret_env,
        client_metadata_url=client_metadata_url,
        issuer=issuer,
        redirect_uri=redirect_uri,
        allow_hosts=allow_host,
        store=store,
    )
    status = about.ask(lambda tokens: tokens.login(about.url), browser=browser)
    if not as_json:
        print("logged in", file=sys.stderr)
    print_status(about.url, status, as_json)
