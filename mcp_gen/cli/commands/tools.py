"""`mcp-gen tools`: what a server can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.cli.console.content import plain
from mcp_gen.cli.console.output import console, plain_table, print_json, shown
from mcp_gen.cli.console.progress import visible
from mcp_gen.cli.console.server_options import (
    DEFAULT_TIMEOUT_S,
    Config,
    Header,
    Json,
    Revision,
    ServerName,
    Timeout,
    ask_server,
    options_of,
)

if TYPE_CHECKING:
    from mcp_gen.cli.console.progress import Screen
    from mcp_gen.client.session.session import ClientSession

__all__ = ["signature", "tools"]


def tools(
    server: ServerName,
    config: Config = None,
    revision: Revision = None,
    header: Header = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: Json = False,
) -> None:
    """List the tools of a server, with their arguments; a `?` ends what may be left out.

    Exit code 1 if the server refuses, 2 for a mistake in the command line, 3 if the server cannot
    be reached.

    **Examples**

    * `mcp-gen tools https://example.org/mcp` lists the tools of a remote server
    * `mcp-gen tools "uvx mcp-server-time" --revision 2024-11-05` starts a command, and pins a date
    * `mcp-gen tools files --config servers.json --json` prints the schemas of one in a file
    """
    options = options_of("tools", server, config, revision, header, timeout)

    async def work(session: ClientSession, screen: Screen) -> list[Any]:
        if session.server_capabilities.tools is None:
            return []
        screen.begin("listing the tools")
        return [tool async for tool in session.tools()]

    found = ask_server("tools", options, work, quiet=as_json)
    if as_json:
        print_json([plain(tool) for tool in found])
        return
    table = plain_table("tool", "arguments", "description")
    for tool in found:
        told = visible(tool.description or tool.title or "")
        table.add_row(shown(visible(tool.name), "bold"), shown(signature(tool)), shown(told))
    console().print(table if found else "no tools")


def signature(tool: Any) -> str:
    """The arguments of a tool in short: `count: integer, sides?: 4 | 6`."""
    schema: dict[str, Any] = tool.input_schema
    required: list[str] = schema.get("required") or []
    properties: dict[str, Any] = schema.get("properties") or {}
    return visible(
        ", ".join(
            f"{name}{'' if name in required else '?'}: {_kind(one)}"
            for name, one in properties.items()
        )
    )


def _kind(schema: Any) -> str:
    if schema.__class__ is not dict:
        return "any"
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    told: Any = schema.get("type")
    if told is None:
        parts: list[Any] = schema.get("anyOf") or schema.get("oneOf") or []
        return " | ".join(dict.fromkeys(map(_kind, parts))) or "any"
    if told == "array":
        return f"{_kind(schema.get('items'))}[]"
    return " | ".join(map(str, told)) if told.__class__ is list else str(told)
