"""`mcp-gen prompt`: list prompts (`prompts/list`) or print one (`prompts/get`)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_gen.cli.console.arguments import parse_pairs
from mcp_gen.cli.console.output import fail
from mcp_gen.cli.console.server_command import ServerCommand, list_items
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
    env: Env = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: Json = False,
) -> None:
    """Print the messages of a prompt, or list the prompts of a server.

    Exit code 1 if the server refuses, 2 for a mistake in the command line, 3 if the server cannot
    be reached.

    **Examples**

    * `mcp-gen prompt server.py` lists the prompts of a Python file
    * `mcp-gen prompt https://example.org/mcp review --arg code="a = 1"` passes an argument
    * `mcp-gen prompt notes summarise --config servers.json --arg name=shopping --json`
    """
    command = ServerCommand.of(
        "prompt",
        server,
        config=config,
        revision=revision,
        header=header,
        env=env,
        timeout=timeout,
        as_json=as_json,
    )
    try:
        arguments = dict(parse_pairs(arg))
    except UsageError as error:
        fail("prompt", error)
    if name is None:
        found = command.ask(partial(list_items, kind="prompts"))
        command.print_items(found, ("prompt", "arguments", "description"), _row, "no prompts")
        return

    async def work(session: ClientSession, screen: Screen) -> Any:
        screen.begin(name)
        return await session.get_prompt(name, arguments or None, progress=screen.report)

    command.print_result(command.ask(work), save)


def _row(prompt: Any) -> tuple[str, str, str]:
    named = (f"{one.name}{'' if one.required else '?'}" for one in prompt.arguments or ())
    return prompt.name, ", ".join(named), prompt.description or prompt.title or ""
