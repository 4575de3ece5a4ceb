"""`mcp-gen prompt`: the prompts of a server, and the messages of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_gen.cli.console.arguments import pairs
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
from mcp_gen.core.errors import McpGenError, UsageError

if TYPE_CHECKING:
    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.client.session.session import ClientSession

__all__ = ["prompt"]


def prompt(
    server: ServerName,
    name: Annotated[
        str | None, typer.Argument(help="The prompt; without one they are listed.")
    ] = None,
    arg: Annotated[
        list[str] | None, typer.Option(help="`name=value`; can be given more than once.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write what is no text to this folder.")] = None,
    config: Config = None,
    revision: Revision = None,
    header: Header = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: Json = False,
) -> None:
    """Print the messages of a prompt, or list the prompts of a server.

    Exit code 1 if the server refuses, 2 for a mistake in the command line, 3 if the server cannot
    be reached.

    **Examples**

    * `mcp-gen prompt server.py` lists the prompts of a Python file
    * `mcp-gen prompt https://example.org/mcp review --arg code="a = 1"` fills one in
    * `mcp-gen prompt notes summarise --config servers.json --arg name=shopping --json`
    """
    options = options_of("prompt", server, config, revision, header, timeout)
    try:
        arguments = dict(pairs(arg))
    except UsageError as error:
        fail("prompt", error)
    if name is None:
        _list(options, as_json=as_json)
        return

    async def work(session: ClientSession, screen: Screen) -> Any:
        screen.begin(name)
        return await session.get_prompt(name, arguments or None, progress=screen.report)

    result = ask_server("prompt", options, work, quiet=as_json)
    if as_json:
        print_json(plain(result))
        return
    try:
        show(result, save)
    except McpGenError as error:
        fail("prompt", error)


def _list(options: Options, *, as_json: bool) -> None:
    async def work(session: ClientSession, screen: Screen) -> list[Any]:
        if session.server_capabilities.prompts is None:
            return []
        screen.begin("listing the prompts")
        return [one async for one in session.prompts()]

    found = ask_server("prompt", options, work, quiet=as_json)
    if as_json:
        print_json([plain(one) for one in found])
        return
    table = plain_table("prompt", "arguments", "description")
    for one in found:
        named = (f"{a.name}{'' if a.required else '?'}" for a in one.arguments or ())
        told = (", ".join(named), one.description or one.title or "")
        table.add_row(shown(visible(one.name), "bold"), *(shown(visible(text)) for text in told))
    console().print(table if found else "no prompts")
