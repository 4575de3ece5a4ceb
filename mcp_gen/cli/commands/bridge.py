"""`mcp-gen bridge`: serve every revision in front of a server of any revision."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

import mcp_wire
from mcp_gen.cli.console.output import fail
from mcp_gen.cli.console.progress import Screen
from mcp_gen.cli.console.server_options import Config, Env, Header, read_server
from mcp_gen.cli.logins.automatic import automatic_login
from mcp_gen.core.errors import McpGenError

__all__ = ["bridge"]


class Serve(StrEnum):
    """Transport between clients and the bridge."""

    STDIO = "stdio"
    HTTP = "http"


PROBE_TIMEOUT_S = 10.0
"""Seconds that a server of the HTTP+SSE transport has to name its endpoint."""


def bridge(
    to: Annotated[
        str,
        typer.Option(
            help="The server: a URL, `file.py`, `file.py:name`, `module:name`, a command line in "
            "quotes, or a name in the file of --config."
        ),
    ],
    serve: Annotated[
        Serve, typer.Option(help="One client on stdin and stdout, or clients over HTTP.")
    ] = Serve.STDIO,
    host: Annotated[str, typer.Option(help="Address to listen on, for HTTP.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on, for HTTP; 0: a free one.")] = 8000,
    path: Annotated[str, typer.Option(help="Path of the endpoint, for HTTP.")] = "/mcp",
    sse_path: Annotated[
        str | None,
        typer.Option(help="Path of the HTTP+SSE transport of the first revision; without: none."),
    ] = None,
    revisions: Annotated[
        list[str] | None,
        typer.Option(help="Only this revision for clients; can be given more than once."),
    ] = None,
    config: Config = None,
    header: Header = None,
    env: Env = None,
) -> None:
    """Serve clients of every protocol revision in front of one server of any revision.

    What a revision cannot say is logged, and listed in `_meta` under `mcp-gen/losses`. Headers of
    clients are never sent to the server; `--header` sets those of the bridge.

    Exit code 2 for a mistake in the command line.

    **Examples**

    * `mcp-gen bridge --to "npx -y @modelcontextprotocol/server-everything"` serves one client
    * `mcp-gen bridge --to server.py --serve http --port 9000` serves clients over HTTP
    * `mcp-gen bridge --to https://example.org/mcp` gives a remote server to a local client
    """
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.bridge.bridge import Bridge

    try:
        found = read_server(to, config, header, env)
        # Without a terminal, stored tokens are used and renewed.
        auth = automatic_login(found, Screen(quiet=True))
        if auth is not None:
            found = replace(found, auth=auth)
        target, options = found.connect_target(PROBE_TIMEOUT_S)
        made = Bridge(target, revisions=revisions or mcp_wire.REVISIONS, **options)
        if serve is Serve.HTTP:
            made.run("http", host=host, port=port, path=path, legacy_sse_path=sse_path)
        else:
            made.run("stdio")
    except McpGenError as error:
        fail("bridge", error)
