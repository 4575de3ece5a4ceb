"""`mcp-gen read`: the resources of a server, and what is in one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_gen.cli.console.content import plain, show
from mcp_gen.cli.console.output import console, fail, plain_table, print_json, shown
from mcp_gen.cli.console.progress import visible
from mcp_gen.cli.console.server_options import (
    DEFAULT_TIMEOUT_S,
    Config,
    Header,
    Json,
    Options,
    Revision,
    ServerName,
    Timeout,
    ask_server,
    options_of,
)
from mcp_gen.core.errors import McpError, McpGenError

if TYPE_CHECKING:
    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.client.session.session import ClientSession

__all__ = ["read"]


def read(
    server: ServerName,
    uri: Annotated[
        str | None, typer.Argument(help="The resource; without one they are listed.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write what is no text to this folder.")] = None,
    config: Config = None,
    revision: Revision = None,
    header: Header = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: Json = False,
) -> None:
    """Read a resource of a server, or list its resources and templates.

    Exit code 1 if the server refuses, 2 for a mistake in the command line, 3 if the server cannot
    be reached.

    **Examples**

    * `mcp-gen read server.py` lists the resources of a Python file
    * `mcp-gen read https://example.org/mcp notes://welcome` prints what is in one
    * `mcp-gen read files file:///logo.png --config servers.json --save pictures` writes it
    """
    options = options_of("read", server, config, revision, header, timeout)
    if uri is None:
        _list(options, as_json=as_json)
        return

    async def work(session: ClientSession, screen: Screen) -> Any:
        screen.begin(uri)
        return await session.read_resource(uri, progress=screen.report)

    result = ask_server("read", options, work, quiet=as_json)
    if as_json:
        print_json(plain(result))
        return
    try:
        show(result, save)
    except McpGenError as error:
        fail("read", error)


def _list(options: Options, *, as_json: bool) -> None:
    async def work(session: ClientSession, screen: Screen) -> tuple[list[Any], list[Any]]:
        if session.server_capabilities.resources is None:
            return [], []
        screen.begin("listing the resources")
        resources = [one async for one in session.resources()]
        try:
            templates = [one async for one in session.resource_templates()]
        except McpError:
            templates = []  # servers with resources need have no templates
        return resources, templates

    resources, templates = ask_server("read", options, work, quiet=as_json)
    if as_json:
        print_json(
            {
                "resources": [plain(one) for one in resources],
                "resourceTemplates": [plain(one) for one in templates],
            }
        )
        return
    table = plain_table("resource", "name", "type", "description")
    for one in (*resources, *templates):
        uri: str = getattr(one, "uri", None) or one.uri_template
        told = (one.title or one.name, one.mime_type or "", one.description or "")
        table.add_row(shown(visible(uri), "bold"), *(shown(visible(text)) for text in told))
    console().print(table if resources or templates else "no resources")
