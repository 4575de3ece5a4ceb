"""`mcp-gen call`: call a tool (`tools/call`)."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_gen.cli.console.arguments import check_arguments, convert, parse_json, parse_pairs
from mcp_gen.cli.console.content import plain
from mcp_gen.cli.console.output import fail, print_json
from mcp_gen.cli.console.server_command import ServerCommand
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
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.client.session.session import ClientSession

__all__ = ["call"]


def call(
    server: ServerName,
    tool: Annotated[str, typer.Argument(help="The tool's name.")],
    arg: Annotated[
        list[str] | None,
        typer.Option(help="`name=value`, of the kind that the tool's schema says; repeatable."),
    ] = None,
    args: Annotated[
        str | None, typer.Option(help="All arguments as a JSON object; `-` reads stdin.")
    ] = None,
    check: Annotated[
        bool, typer.Option(help="Check the arguments by the tool's schema before they are sent.")
    ] = True,
    save: Annotated[
        Path | None, typer.Option(help="Write pictures, sounds and files to this folder.")
    ] = None,
    config: Config = None,
    revision: Revision = None,
    header: Header = None,
    env: Env = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: Json = False,
) -> None:
    """Call a tool and print its result.

    Progress is shown on a terminal, on stderr. Elicitations of the server are prompted for there,
    and declined without a terminal. --json prints the whole result, with what is beside the texts.
    Arguments that the tool's schema does not allow are not sent; --no-check sends them anyway.

    Exit code 1 if the tool fails or the server refuses, 2 for a mistake in the command line, 3 if
    the server cannot be reached, disconnects or times out.

    **Examples**

    * `mcp-gen call server.py add --arg a=1 --arg b=2` calls a tool of a Python file
    * `mcp-gen call https://example.org/mcp search --args '{"tags": ["a", "b"]}'` passes JSON
    * `mcp-gen call "npx a-server" draw --arg size=9 --save pictures` writes images to a folder
    """
    command = ServerCommand.of(
        "call",
        server,
        config=config,
        revision=revision,
        header=header,
        env=env,
        timeout=timeout,
        as_json=as_json,
    )
    try:
        given, arguments = parse_pairs(arg), parse_json(args)
    except UsageError as error:
        fail("call", error)

    async def work(session: ClientSession, screen: Screen) -> Any:
        if given or check:
            schema = await _schema(session, tool, command.options.again, check)
            arguments.update(convert(given, schema))
            if check:
                await check_arguments(tool, arguments, schema)
        screen.begin(tool)
        return await session.call_tool(tool, arguments, progress=screen.report)

    result = command.ask(work)
    data = None if as_json or result.content else plain(result).get("structuredContent")
    if data is not None:
        print_json(data)
    else:
        command.print_result(result, save)
    if result.is_error:
        raise typer.Exit(1)


async def _schema(
    session: ClientSession, name: str, server: str, must_exist: bool
) -> dict[str, Any]:
    """Return the input schema of a tool; an empty one if it is not listed and need not be.

    Raises:
        UsageError: there is no such tool.
    """
    schemas = {one.name: one.input_schema async for one in session.tools()}
    if name not in schemas and must_exist:
        near = difflib.get_close_matches(name, schemas, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no tool {name!r}; {meant}`mcp-gen tools {server}` lists them")
    return schemas.get(name, {})
