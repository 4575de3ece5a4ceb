"""`mcp-gen read`: list resources (`resources/list`) or read one (`resources/read`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_gen.cli.console.content import plain
from mcp_gen.cli.console.output import print_json
from mcp_gen.cli.console.server_command import ServerCommand, list_items, list_templates
from mcp_gen.cli.console.server_options import (
    DEFAULT_TIMEOUT_S,
    Config,
    Env,
    Header,
    Json,
    Revision,
    ServerName,
    Timeout,
)

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
    env: Env = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: Json = False,
) -> None:
    """Read a resource of a server, or list its resources and templates.

    Exit code 1 if the server refuses, 2 for a mistake in the command line, 3 if the server cannot
    be reached.

    **Examples**

    * `mcp-gen read server.py` lists the resources of a Python file
    * `mcp-gen read https://example.org/mcp notes://welcome` prints the contents of one
    * `mcp-gen read files file:///logo.png --config servers.json --save pictures` writes it
    """
    command = ServerCommand.of(
        "read",
        server,
        config=config,
        revision=revision,
        header=header,
        env=env,
        timeout=timeout,
        as_json=as_json,
    )
    if uri is None:
        _list(command)
        return

    async def work(session: ClientSession, screen: Screen) -> Any:
        screen.begin(uri)
        return await session.read_resource(uri, progress=screen.report)

    command.print_result(command.ask(work), save)


def _list(command: ServerCommand) -> None:
    async def work(session: ClientSession, screen: Screen) -> tuple[list[Any], list[Any]]:
        resources = await list_items(session, screen, "resources")
        return resources, await list_templates(session, screen)

    resources, templates = command.ask(work)
    if command.as_json:
        print_json(
            {
                "resources": [plain(one) for one in resources],
                "resourceTemplates": [plain(one) for one in templates],
            }
        )
        return
    command.print_items(
        (*resources, *templates), ("resource", "name", "type", "description"), _row, "no resources"
    )


def _row(one: Any) -> tuple[str, str, str, str]:
    uri: str = getattr(one, "uri", None) or one.uri_template
    return uri, one.title or one.name, one.mime_type or "", one.description or ""
